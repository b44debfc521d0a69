/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording - the files that a run writes along the way: options --pcap and --trace.
 *
 *	--pcap LINK=FILE                          pcap.h
 *	--trace flow:NAME=FILE                    trace.h
 *	--trace queue:SWITCH:LINK:PRIORITY=FILE   of a switch towards the link's other end
 *
 * Thread: the lab's.
 */
#ifndef LAB_RECORDING_H
#define LAB_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;

struct recording {
	bool trace;       /* --trace, or --pcap */
	const char *what; /* the option's value, kept by the caller */
	void *open;       /* struct pcap or struct trace; NULL: not yet */
};

/** @return true when it reads like one of the above, apart from names */
bool recording_valid(const struct recording *recording);

/** Begin all, before the run. @return 0, or -errno after a message on stderr; all are closed then */
int recordings_open(struct recording *recordings, uint32_t count, struct fabric *fabric);

/** @param keep false: leave no files behind. @return 0, or the first error */
int recordings_close(struct recording *recordings, uint32_t count, bool keep);

#endif
