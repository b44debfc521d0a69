/* SPDX-License-Identifier: BSD-3-Clause */
/* telemetry_client - telemetry over DPDK's real socket, the daemon below it a fake (telemetry_fake.h). */
#ifndef TESTS_UNIT_TELEMETRY_CLIENT_H
#define TESTS_UNIT_TELEMETRY_CLIENT_H

#include <stdbool.h>

#include "tools/ctl/reply.h"

/* For a test's .init and .fini. */
void telemetry_client_start(void);
void telemetry_client_stop(void);

/* Where the socket is, while a test runs. */
extern char telemetry_client_dir[];

/** A table, all its pages. Fails the test when there is none. */
struct reply ask(const char *command);

bool has_counter(const struct reply *reply, const char *name, const char *unit);

#endif
