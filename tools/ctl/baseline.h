/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * baseline - what `roceleafctl clear` remembers: the counters at that moment, in a file.
 *
 * Nothing in the daemon is reset, so that clients don't disturb each other; `show` subtracts what
 * this user's file says. The file belongs to one instance of the daemon and means nothing after a
 * restart. It lies in the runtime directory (roceleafctl.UID.baseline) or, where that can't be
 * written, in $XDG_RUNTIME_DIR.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_BASELINE_H
#define TOOLS_CTL_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/ctl/reply.h"

#define BASELINE_PATH_BYTES 4096

struct baseline {
	json_t *tables;     /* by command; NULL: there is none */
	uint64_t cleared_s; /* real time since the epoch, seconds */
	uint64_t instance;
};

/** An empty one, to be filled with baseline_add() and saved. @return 0 or -ENOMEM */
int baseline_create(struct baseline *baseline, uint64_t now_s);

/** Remember a table's counters. @return 0 or -ENOMEM */
int baseline_add(struct baseline *baseline, const char *command, const struct reply *reply);

/**
 * Write it, whole or not at all.
 * @return 0; -EACCES ... and error says which file
 */
int baseline_save(const struct baseline *baseline, const char *runtime_dir,
		  struct ctl_error *error);

/**
 * Read it. No file, or one that isn't ours, is an empty baseline.
 */
void baseline_load(struct baseline *baseline, const char *runtime_dir);

/**
 * Take it off a table. @return true when the baseline belonged to the same instance
 */
bool baseline_apply(const struct baseline *baseline, const char *command, struct reply *reply);

void baseline_free(struct baseline *baseline);

#endif
