/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * show - the commands that ask: show (once, as JSON, or watched) and clear.
 *
 * Thread: one in a process (it may take the screen).
 */
#ifndef TOOLS_CTL_SHOW_H
#define TOOLS_CTL_SHOW_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/ctl/view.h"

struct show_options {
	const char *runtime_dir;
	const struct view *view;
	char *const *ports; /* names to show; port_count 0: all */
	size_t port_count;
	bool json;
	bool all;
	bool absolute; /* don't take off what `clear` remembers */
	bool follow;   /* follow.h: events as they come */
	bool watch;
	double watch_seconds; /* between frames */
	unsigned long count;  /* frames; 0: until a signal */
};

/** @return the exit status: 0, or 1 after a message on stderr */
int show_run(const struct show_options *options);

/** Remember the counters of all views. @return the exit status */
int show_clear(const char *runtime_dir);

#endif
