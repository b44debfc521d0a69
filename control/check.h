/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - `roceleaf --check`: reads a config and prints what it amounts to, in bytes and in time.
 * Opens no device and starts nothing.
 *
 * Thread: any.
 */
#ifndef CONTROL_CHECK_H
#define CONTROL_CHECK_H

#include <stdio.h>

/**
 * @param path   the config
 * @param out    where the tables go
 * @param errors where messages go
 * @return the exit status: 0, or 1 when the config is refused
 */
int check_run(const char *path, FILE *out, FILE *errors);

#endif
