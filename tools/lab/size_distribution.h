/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * size_distribution - sizes of flows as they were measured in data centres, and those of a file.
 *
 * A distribution is a list of (size, share of flows up to it), shares rising to 100 %; between two points the
 * share rises in proportion. Shares are in millionths (ppm), sampling is in integers.
 *
 *	websearch	WebSearch (DCTCP, SIGCOMM 2010), as the HPCC artifact has it
 *	hadoop		Facebook's Hadoop (SIGCOMM 2015), as the HPCC artifact has it
 *	storage		AliStorage2019, as the ConWeave artifact has it
 *	rpc		GoogleRPC2008, as the ConWeave artifact has it
 *	solar		Solar2022, as the ConWeave artifact has it
 *
 * A file has a line for each point: `bytes percent`, or `workload bytes percent` when it holds several
 * distributions, between white space or commas; `#` begins a comment, and a line that begins with the word
 * `workload` is a heading.
 *
 * Thread: any.
 */
#ifndef LAB_SIZE_DISTRIBUTION_H
#define LAB_SIZE_DISTRIBUTION_H

#include <stdint.h>

#include "config/config.h"
#include "tools/lab/random.h"

#define SIZE_PPM 1000000u

/* 0 stands for a file. */
enum size_workload {
	SIZE_WEBSEARCH = 1,
	SIZE_HADOOP,
	SIZE_STORAGE,
	SIZE_RPC,
	SIZE_SOLAR,
	SIZE_WORKLOADS
};

struct size_point {
	uint64_t bytes;
	uint32_t ppm; /* of flows have at most so many bytes */
};

struct size_distribution {
	const struct size_point *points; /* the first has 0 ppm or stands for all up to it */
	uint32_t count;
	struct size_point *own; /* of a file; for size_distribution_fini() */
};

/** One of the built-in ones. @param workload not 0 */
struct size_distribution size_distribution_of(enum size_workload workload);

/**
 * Read a file.
 * @param workload which of those in the file; "": it holds only one
 * @return 0, or -EINVAL with the reason in errors
 */
int size_distribution_read(const char *path, const char *workload,
			   struct size_distribution *distribution, struct config_errors *errors);
void size_distribution_fini(struct size_distribution *distribution);

/** A size, 1 byte at least. */
uint64_t size_distribution_draw(const struct size_distribution *distribution,
				struct random *random);

/** The mean of what is drawn, bytes, rounded down but 1 at least. */
uint64_t size_distribution_mean_bytes(const struct size_distribution *distribution);

#endif
