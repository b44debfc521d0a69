/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer_plan - the packet buffer divided: every threshold in bytes, the pool guard in buffers.
 *
 * Buffers and bytes. What is scarce are buffers, of one frame each; thresholds are in bytes (frame
 * length), as in standards and papers. The config promises of what frames the bytes consist:
 * `small_frames` (share s) in frames of 60 (64 with FCS), the rest in RDMA packets of F bytes, that is
 * rdma_mtu and the fewest headers (58), or the port's longest frame where that is less. Their mean
 *	m = 1 / (s/60 + (1-s)/F)
 * is what a buffer is worth. Then
 *	guard  = sum over pairs of ceil(headroom / m of the pair) + buffers in rings and caches
 *	space  = (buffers - guard) * smallest m        what all but headroom may take
 *	pool   = space + sum of headrooms
 *	B      = pool - headroom - reserved - overshoot - lossy - hold
 * As long as queued frames average m or more, bytes decide; when they don't, free buffers sink to the
 * guard before bytes do to their limits, every lossless pair is paused and lossy frames are dropped:
 * by no mix of frames is the pool over-committed, because what may still come after the pauses fits the
 * guard. (A mix below the promise within the headroom itself is what the promise excludes.)
 *
 * Terms
 *	headroom   of each lossless (priority, port): headroom.h; with `headroom_pool` the sum over
 *	           `oversubscribe`, not less than the largest. 0 for a port that sends no pauses (pfc
 *	           off, honour-only) or that can't put packets into a lossless class (trust none)
 *	reserved   of each such pair: the class's, default one longest frame of the port
 *	overshoot  a burst of BUFFER_BURST_PACKETS longest frames a worker: thresholds are compared
 *	           once per burst
 *	hold       with peers of in-order spray, what may be held to restore order: hold_max, by default a
 *	           quarter of space. Longer frames than the mean may then fill its buffers, to 64 MiB at most
 *	lossy      lossy_max of space that hold leaves; all that is left when there are no lossless pairs
 *
 * Pause levels. With used bytes u the limit of class c is alpha_c * (B - u), and
 *	T_c     = alpha_c B / (1 + sum of all pairs' alpha)     every pair congested alike
 *	        = alpha B / (1 + n alpha) for n pairs with one alpha
 *	floor_c = alpha_c B / product of all pairs' (1 + alpha) pairs filled one after another, the
 *	                                                        last one's limit
 *	alone_c = alpha_c B / (1 + alpha_c)                     a single congested pair
 * xoff when a pair's occupancy exceeds reserved + limit; xon at max(reserved, limit - xon_offset).
 *
 * ECN before PFC. A queue that one pair fills is as deep as the pair's occupancy, so marking must be
 * complete before T: Kmax + 2 longest frames <= T (one that crosses, one that departs), else the
 * config is refused unless it says allow_pfc_before_ecn. `ecn: auto`: Kmin is 1 KB per Gb/s of the
 * egress port, three of its longest frames at least (below that marking is noise), Kmax = 4 Kmin,
 * Pmax 20 %; both scaled down together until they fit, refused under those three frames. k = T / Kmin
 * is over how many egress queues one sender may spread before it is paused unmarked (DCQCN, section 4).
 *
 * Pure; 64-bit arithmetic that saturates or is bounded by the config's ranges. Thread: any.
 */
#ifndef CONFIG_BUFFER_PLAN_H
#define CONFIG_BUFFER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "config/headroom.h"

/* Ethernet 14, IPv4 20, UDP 8, BTH 12, invariant CRC 4: the fewest around an RDMA payload. */
#define BUFFER_RDMA_HEADER_BYTES_MIN 58
/* With a VLAN tag 4, IPv6 instead of IPv4 20 more, RETH 16: the most. */
#define BUFFER_RDMA_HEADER_BYTES_MAX 98

#define BUFFER_BURST_PACKETS 32
#define BUFFER_ALPHA_ONE_Q8  256u

#define BUFFER_ECN_BYTES_PER_GBPS 1000u
#define BUFFER_ECN_FRAMES_MIN     3u
#define BUFFER_ECN_PMAX_PPM       200000u

/* What the config can't know of the machine that it shall run on. */
struct buffer_machine_port {
	uint64_t rate_bps;     /* counts where the config names no speed */
	uint64_t run_ahead_ps; /* of the wire clock; the lab: 0 */
	uint64_t nic_delay_ps; /* what `nic_delay: auto` means; one way */
};

struct buffer_machine {
	const struct buffer_machine_port *port; /* [port_count] */
	uint64_t poll_ps;                       /* worst poll interval of a worker; the lab: 0 */
	uint32_t workers;
	uint32_t buffers;      /* in the pool */
	uint32_t data_bytes;   /* longest frame that a buffer holds; 0: any */
	uint32_t held_buffers; /* that rings and caches may hold */
};

struct buffer_plan_pair {
	bool lossless;            /* can hold lossless packets */
	uint32_t reserved_bytes;  /* 0 unless lossless, as is all below */
	uint32_t headroom_bytes;  /* 0 also where no pauses are sent */
	struct headroom headroom; /* its terms */
	uint32_t mean_bytes;      /* of its frames: m */
	uint32_t guard_buffers;   /* that the headroom may take */
};

/* A queue's marking and early drops. */
struct buffer_plan_queue {
	bool ecn, wred;
	bool scaled; /* `ecn: auto` had to be scaled down */
	struct config_curve ecn_curve, wred_curve;
	uint64_t half_life_ps; /* both go by the average depth; 0: by the depth itself */
	uint64_t k;            /* T / Kmin; 0: no lossless class, or no ecn */
};

struct buffer_plan_class {
	const struct config_class *class; /* NULL: no class has this priority */
	bool lossless;
	uint32_t alpha_q8;
	uint32_t xon_offset_bytes;
	uint64_t equal_bytes; /* T */
	uint64_t floor_bytes;
	uint64_t alone_bytes;
};

struct buffer_plan {
	uint16_t port_count;
	uint32_t pair_count; /* lossless ones: n */
	uint32_t frame_bytes_max;

	/* In buffers. */
	uint32_t buffers;
	uint32_t held_buffers;
	uint64_t headroom_buffers;
	uint32_t guard_buffers; /* both together */
	uint32_t hold_buffers;  /* hold bytes at the mean: more packets aren't held */
	uint32_t lossy_buffers; /* lossy bytes at the mean: more buffers lossy frames don't get */

	/* In bytes. */
	uint32_t mean_bytes;           /* the smallest m: from which mean on bytes decide */
	uint64_t pool_bytes;           /* the sum of what follows: */
	uint64_t headroom_bytes;       /* all pairs', or the headroom pool's */
	uint64_t reserved_bytes;       /* all pairs' */
	uint64_t overshoot_bytes;      /* by bursts */
	uint64_t hold_bytes;           /* to restore order */
	uint64_t lossy_bytes;          /* cap of all lossy traffic */
	uint64_t shared_bytes;         /* B */
	uint64_t hold_max_bytes;       /* more isn't held, in whatever frames */
	uint64_t headroom_pairs_bytes; /* all pairs' headrooms, pool or not */

	struct buffer_plan_class class[PRIORITY_COUNT];
	struct buffer_plan_pair *pair;   /* [priority][port_count] */
	struct buffer_plan_queue *queue; /* [priority][port_count] */
};

/**
 * Divide the buffer.
 * @param plan   filled on success; for buffer_plan_free()
 * @param errors what doesn't fit, with its numbers, at the key to change
 * @return 0; -EINVAL with errors->count >= 1; -ENOMEM
 */
int buffer_plan_create(const struct config *config, const struct buffer_machine *machine,
		       struct buffer_plan *plan, struct config_errors *errors);

/** A plan that was not created must be zero. */
void buffer_plan_free(struct buffer_plan *plan);

static inline const struct buffer_plan_pair *buffer_plan_pair(const struct buffer_plan *plan,
							      uint32_t priority, uint32_t port)
{
	return &plan->pair[(size_t)priority * plan->port_count + port];
}

static inline const struct buffer_plan_queue *buffer_plan_queue(const struct buffer_plan *plan,
								uint32_t priority, uint32_t port)
{
	return &plan->queue[(size_t)priority * plan->port_count + port];
}

/** Speed that counts for a port: the config's, else the machine's. */
uint64_t buffer_plan_rate_bps(const struct config *config, const struct buffer_machine *machine,
			      uint32_t port);

/** Mean of frames that keep the promise. @param full_bytes of a full RDMA packet, >= 60 */
uint32_t buffer_plan_mean_bytes(uint32_t small_frames_ppm, uint32_t full_bytes);

/** The smallest mean frame that a port's lossless classes promise; its MTU's where none is lossless. */
uint32_t buffer_plan_port_mean_bytes(const struct config *config, const struct config_port *port);

#endif
