/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - `roceleafctl record`: has a leaf record its queues' depths, waits, and prints what came.
 *
 * Thread: one in a process (signals, as screen.h).
 */
#ifndef TOOLS_CTL_RECORD_H
#define TOOLS_CTL_RECORD_H

struct record_options {
	const char *runtime_dir;
	/* As texts, which the leaf reads; NULL: not given. */
	const char *time; /* how long */
	const char *last; /* or: of what has been recorded anyway */
	const char *every, *port, *priority, *trigger;
	const char *csv; /* file to write, "-": standard output */
	int json;
};

/** @return the exit status: 0; 1 after a message on stderr; 2 bad usage, after a message, too */
int record_run(const struct record_options *options);

extern const char record_help[];

/** The command with its own options. @param argv [0] is "record" */
int record_main(const char *runtime_dir, int argc, char **argv);

#endif
