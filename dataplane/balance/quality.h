/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quality - how well a path serves now, as far as its first hop shows: the lower the better.
 *
 * Counted in time of the link: how long what waits in the class's own queue will take, and how much of the
 * last while the wire was busy. The latter is the discounting rate estimator of CONGA (Alizadeh et al., SIGCOMM
 * 2014, section 3.2): a register that grows by what is sent and every 16 us loses the share alpha = 1/10, so
 * that it follows the rate with a time constant of 160 us, the paper's (section 3.6). Because it is kept as time
 * rather than bytes, links of all speeds compare. Time in which the peer had paused the class counts like
 * time in which the wire was busy: an uplink that may not send isn't an idle one. One that is paused
 * at this moment is the last choice.
 *
 * The sum is cut into bands, so that paths that differ by less than a packet or two count as equal.
 *
 * What happens behind the first hop isn't seen from here.
 *
 * Thread: one worker's own state. Nothing is done per packet: a sample is taken when somebody asks, at
 * most each 16 us, from counters that the port's owner keeps anyway.
 */
#ifndef DATAPLANE_BALANCE_QUALITY_H
#define DATAPLANE_BALANCE_QUALITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

#define QUALITY_SAMPLE_PS (16 * PS_PER_US)
/* alpha = 1 / this */
#define QUALITY_DISCOUNT  10
/* The register of a link that is always busy tends to this from below: T_dre (1/alpha - 1). */
#define QUALITY_BUSY_PS   (QUALITY_SAMPLE_PS * (QUALITY_DISCOUNT - 1))
/* After so many samples without anything 1 part in 700,000 is left. */
#define QUALITY_STEPS_MAX 128

/* Width of a band; the worst ones. */
#define QUALITY_BAND_PS     (5 * PS_PER_US)
#define QUALITY_BAND_MAX    254u
#define QUALITY_BAND_PAUSED 255u

struct worker;

/* Of one (priority, port). Zeros: never asked. */
struct quality {
	uint64_t busy_ps;    /* the register */
	uint64_t sampled_ps; /* when it was last brought up to date */
	uint64_t sent_bytes; /* counters as they were then */
	uint64_t paused_ps;
	bool started;
	_Atomic uint8_t band; /* as somebody last asked; any thread may read it */
};

/**
 * Bring the register up to date.
 * @param sent_bytes all that the port has ever sent; @param paused_ps all the time that it was paused
 * @param rate_bps   of the port, not 0
 */
void quality_sample(struct quality *quality, uint64_t now_ps, uint64_t sent_bytes,
		    uint64_t paused_ps, uint64_t rate_bps);

/** Band of a path. @param queue_bytes that wait now; @return 0..QUALITY_BAND_MAX */
uint32_t quality_band(const struct quality *quality, uint64_t queue_bytes, uint64_t rate_bps);

/** Band of an egress port for a class, now. @return 0..QUALITY_BAND_PAUSED */
uint32_t quality_of_port(struct worker *worker, uint16_t port, uint8_t priority);

#endif
