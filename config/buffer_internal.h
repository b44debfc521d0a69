/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer_internal - what the files behind buffer_plan.h share; nobody else includes it.
 */
#ifndef CONFIG_BUFFER_INTERNAL_H
#define CONFIG_BUFFER_INTERNAL_H

#include "config/buffer_plan.h"

/** A size for people, "12.3 MB", in buffer (24 bytes hold any). @return buffer */
const char *buffer_text(uint64_t bytes, char *buffer, size_t size);

/** Index of a plan's class in the config. */
uint32_t buffer_class_index(const struct config *config, const struct buffer_plan_class *class);

/** Curves of all queues, and the check that marking is complete before a pause. */
void buffer_plan_marks(const struct config *config, const struct buffer_machine *machine,
		       struct buffer_plan *plan, struct config_errors *errors);

#endif
