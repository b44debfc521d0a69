/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cc - congestion control of one flow: how fast it may send now.
 *
 * A controller hears of what it listens to: that a congestion notification (CNP) has come for its flow, that
 * bytes were sent, that bytes were acknowledged, and that time has passed. It answers with rate_bps, which its
 * host paces the flow's packets by, and window_bytes, which may be outstanding. How notifications come
 * about is the receiver's part: host/notification.h.
 *
 * A new algorithm is a file with a struct cc_ops called cc_NAME, its line in CC_ALGORITHMS, and, if it can
 * be tuned, its parameters in struct cc_params and their keys in scenario_hosts.c.
 *
 * What a controller computes is part of every digest: integers only, nothing random, no clock but the
 * times that it is given. Those never go back, and wrap (units.h).
 *
 * Thread: the lab's.
 */
#ifndef LAB_CC_CC_H
#define LAB_CC_CC_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lab/cc/dcqcn.h"

/* X(NAME, name, help) */
#define CC_ALGORITHMS(X)                                                    \
	X(NONE, none, "Every flow sends at its own rate whatever happens.") \
	X(DCQCN, dcqcn,                                                     \
	  "Rates fall at congestion notifications and rise again: "         \
	  "SIGCOMM 2015.")                                                  \
	X(DCTCP, dctcp,                                                     \
	  "Windows shrink by the share of marks in what was acknowledged: " \
	  "RFC 8257.")

#define CC_ENUM_(upper, lower, help) CC_##upper,
enum cc_kind { CC_ALGORITHMS(CC_ENUM_) CC_COUNT };
#undef CC_ENUM_

struct cc_params {
	enum cc_kind kind;
	struct dcqcn_params dcqcn;
	struct dctcp_params {
		uint32_t gain_q30; /* above 0, at most one */
	} dctcp;
};

struct cc_limits {
	uint64_t link_bps;      /* of the host's link */
	uint64_t most_bps;      /* that the flow wants to send at; at most link_bps */
	uint32_t payload_bytes; /* of a packet, at most */
};

/* The common part of every controller, first in its struct. */
struct cc {
	const struct cc_ops *ops;
	uint64_t rate_bps; /* on the wire, framing overhead included; RATE_BPS_MIN..most_bps */
	uint64_t
		window_bytes; /* of payload that may be outstanding; 0 after create(): any number */
};

struct cc_ops {
	/** Params and limits are kept by the caller as long as the controller lives. */
	struct cc *(*create)(const struct cc_params *params, const struct cc_limits *limits);
	/** A notification has come. NULL: the algorithm listens to none. */
	void (*cnp)(struct cc *cc, uint64_t now_ps);
	/**
	 * So many bytes of payload were acknowledged for the first time, 0 for a duplicate. May change
	 * window_bytes. NULL: the algorithm doesn't care, and pays nothing for it.
	 * @param marked a packet that this acknowledges came with CE
	 */
	void (*acked)(struct cc *cc, uint64_t bytes, bool marked, uint64_t now_ps);
	/**
	 * A frame of so many bytes leaves, and the next one is spaced by the new rate_bps. NULL: rate_bps
	 * never changes, and advance() isn't called.
	 * @return when the rate rises by itself at the earliest: time for advance(), later than now_ps
	 */
	uint64_t (*sent)(struct cc *cc, uint32_t bytes, uint64_t now_ps);
	/** Nothing but time has passed. @return as sent() */
	uint64_t (*advance)(struct cc *cc, uint64_t now_ps);
};

#define CC_DECLARE_(upper, lower, help) extern const struct cc_ops cc_##lower;
CC_ALGORITHMS(CC_DECLARE_)
#undef CC_DECLARE_

/** @return a controller for cc_free() */
struct cc *cc_create(const struct cc_params *params, const struct cc_limits *limits);
/** NULL is legal. */
void cc_free(struct cc *cc);

#endif
