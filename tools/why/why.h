/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * why - what slowed traffic down, from what leaves have counted over some time, worst first.
 *
 * A cause is weighed by the share of that time which it may have cost those who met it, between 0 and 1:
 *
 *	pausing peer	share of the time that it kept a queue paused. What is paused by a switch is weighed
 *			by a half: that switch passes on what it has met itself.
 *	hot uplink	1 - mean / busiest of the use of uplinks that share traffic, times the use of the
 *			busiest: an even spread would have been through by that much earlier.
 *	incast		n senders share a host's link: 1 - 1/n, times its use, times 1 - mean / its use over all
 *			links to hosts. Where every host gets as much as it can that is no incast, but full load.
 *	lossy class	share of the bytes of a link, where lossless traffic goes too, times its use; where a queue
 *			dropped, the share of its packets, times the link's use, if that is more.
 *	slow worker	share of the time that arrived frames waited for it; and that it stood still.
 *	link down	share of the uplinks' capacity that is missing, times the use of the others.
 *
 * Shares say what is worth looking at first; they don't add up. What hosts do before they send can't be seen in
 * a leaf, and isn't guessed at.
 *
 * Thread: any; nothing is shared. Nothing here is hot.
 */
#ifndef TOOLS_WHY_WHY_H
#define TOOLS_WHY_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#define WHY_TEXT_BYTES 512
#define WHY_PPM        1000000u
/* A cause of less than this isn't worth a sentence. */
#define WHY_LEAST_PPM  10000u

/* X(enum, word) */
#define WHY_CAUSES(X)                   \
	X(PAUSING_PEER, "pausing-peer") \
	X(HOT_UPLINK, "hot-uplink")     \
	X(INCAST, "incast")             \
	X(LOSSY_CLASS, "lossy-class")   \
	X(SLOW_WORKER, "slow-worker")   \
	X(LINK_DOWN, "link-down")       \
	X(LOSSLESS_LOSS, "lossless-loss")

#define WHY_ENUM_(id, word) WHY_##id,
enum why_cause { WHY_CAUSES(WHY_ENUM_) WHY_CAUSE_COUNT };
#undef WHY_ENUM_

#define WHY_GROUP_NONE UINT32_MAX

/*
 * One direction of a link, and the queues of the port that sends on it. Of what a host sends, only names, use and
 * bytes by class are known. Names are borrowed.
 */
struct why_link {
	const char *name;     /* "up2", "leaf1->spine1" */
	const char *to;       /* who is at the other end, or NULL: nobody knows */
	const char *priority; /* the one that was paused longest, or NULL */
	const char *lossy;    /* name of the class with most of lossy_bytes, or NULL */
	bool to_host;         /* else to a switch */
	bool down;            /* at the end of the time */
	uint32_t group;       /* links that share traffic have the same; WHY_GROUP_NONE: none */
	uint64_t rate_bps;    /* 0: unknown */
	uint32_t use_ppm;     /* of the wire's time */
	uint32_t paused_ppm;  /* of the time: the other end kept a queue paused */
	uint64_t pauses;      /* how often; 0 with paused_ppm > 0: unknown */
	uint64_t storms;      /* that the watchdog saw */
	uint64_t bytes;       /* sent, all classes */
	uint64_t lossless_bytes, lossy_bytes;
	uint64_t lossy_packets, lossy_dropped; /* sent, and refused by the queue before */
	uint64_t packets, marked;
	uint64_t queue_max_bytes;
	uint32_t senders; /* of lossless traffic that ends at the other end, at least; 0: unknown */
};

struct why_worker {
	const char *name;  /* "worker 1", "leaf1 worker 0" */
	uint32_t late_ppm; /* share of the time that frames waited for it, or that it stood still */
	uint32_t busy_ppm; /* 0: unknown */
	uint64_t stalls;   /* how often it stood still */
	uint64_t longest_ns; /* 0: unknown */
};

struct why_facts {
	uint64_t time_ns;
	const struct why_link *links;
	size_t link_count;
	const struct why_worker *workers;
	size_t worker_count;
	uint64_t lossless_drops;
};

struct why_finding {
	enum why_cause cause;
	const char *where; /* name of the link or worker */
	uint32_t share_ppm;
	char text[WHY_TEXT_BYTES];
};

/** "hot-uplink" */
const char *why_cause_word(enum why_cause cause);

/**
 * Find causes of at least WHY_LEAST_PPM, largest share first; of one cause at most three places, the rest is
 * counted in the last one's text.
 * @param findings room for `max`, of which as many are filled as are returned
 */
size_t why_rank(const struct why_facts *facts, struct why_finding *findings, size_t max);

/** As JSON: {"time_ns", "findings": [{"cause", "where", "share", "text"}], "unseen": what can't be known} */
json_t *why_json(const struct why_facts *facts, const struct why_finding *findings, size_t count);

/** Write findings: as JSON for programs, or in words. */
void why_write(const struct why_facts *facts, const struct why_finding *findings, size_t count,
	       bool as_json, FILE *out);

#endif
