/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow - prints events as they come, one a line, until a signal or the end of the leaf.
 *
 * Thread: one in a process (signals, as screen.h).
 */
#ifndef TOOLS_CTL_FOLLOW_H
#define TOOLS_CTL_FOLLOW_H

#include "tools/ctl/show.h"

/* How many of those that there are come first, unless `all` asks for all that are kept. */
#define FOLLOW_EVENTS 10

/**
 * With `json` a line is an object, as `show events --json` has them. Only events of `ports`, if there are
 * any. @return the exit status: 0 after a signal, 1 after a message on stderr
 */
int follow_run(const struct show_options *options);

#endif
