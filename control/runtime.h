/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtime - the directory of a running leaf: created when missing (mode 0700), and locked, so that a
 * second daemon on it is refused. The lock goes with the process, however it ends.
 *
 * Thread: control.
 */
#ifndef CONTROL_RUNTIME_H
#define CONTROL_RUNTIME_H

#include <stddef.h>

#include "config/config.h"

/**
 * Create and lock the directory.
 * @param fd the lock; close it to let go
 * @return 0, or -errno with an error that names the directory: -EBUSY when a daemon runs there
 */
int runtime_open(const struct config *config, int *fd, struct config_errors *errors);

/** Path of a file in it. @return -ENAMETOOLONG when it doesn't fit */
int runtime_path(const struct config *config, const char *name, char *path, size_t size);

#endif
