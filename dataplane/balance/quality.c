/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/quality.h"

#include "dataplane/balance/balance.h"
#include "dataplane/internal.h"

/* Time that bytes take on a wire. */
static uint64_t bytes_ps(uint64_t bytes, uint64_t rate_bps)
{
	return (uint64_t)(bytes * ((unsigned __int128)8 * PS_PER_S) / rate_bps);
}

void quality_sample(struct quality *quality, uint64_t now_ps, uint64_t sent_bytes,
		    uint64_t paused_ps, uint64_t rate_bps)
{
	uint64_t elapsed_ps = now_ps - quality->sampled_ps, steps, busy_ps;

	if (quality->started && elapsed_ps < QUALITY_SAMPLE_PS)
		return;
	if (quality->started) {
		steps = elapsed_ps / QUALITY_SAMPLE_PS;
		busy_ps = bytes_ps(sent_bytes - quality->sent_bytes, rate_bps) +
			  (paused_ps - quality->paused_ps);
		/* As if it had come evenly; no wire is busier than all the time. */
		busy_ps = (busy_ps < elapsed_ps ? busy_ps : elapsed_ps) / steps;
		if (busy_ps > QUALITY_SAMPLE_PS)
			busy_ps = QUALITY_SAMPLE_PS;
		if (steps > QUALITY_STEPS_MAX)
			steps = QUALITY_STEPS_MAX;
		for (uint64_t step = 0; step < steps; step++) {
			quality->busy_ps += busy_ps;
			quality->busy_ps -= quality->busy_ps / QUALITY_DISCOUNT;
		}
	}
	quality->started = true;
	quality->sampled_ps = now_ps;
	quality->sent_bytes = sent_bytes;
	quality->paused_ps = paused_ps;
}

uint32_t quality_band(const struct quality *quality, uint64_t queue_bytes, uint64_t rate_bps)
{
	uint64_t band = (quality->busy_ps + bytes_ps(queue_bytes, rate_bps)) / QUALITY_BAND_PS;

	return band < QUALITY_BAND_MAX ? (uint32_t)band : QUALITY_BAND_MAX;
}

static uint32_t band_of_port(struct worker *worker, struct quality *quality, uint16_t port,
			     uint8_t priority)
{
	const struct leaf *leaf = worker->leaf;
	const struct worker *owner = leaf->worker[leaf->owner[port]];
	const struct pfc_port *pfc = &leaf->pfc[port];
	uint64_t rate_bps = worker->snapshot->port[port].rate_bps;

	if ((pfc_paused(pfc) >> priority & 1) != 0 &&
	    time_after(pfc_until_ps(pfc, priority), worker->now_ps))
		return QUALITY_BAND_PAUSED;
	quality_sample(quality, worker->now_ps, counter_get(&owner->port_counters[port].tx_bytes),
		       counter_get(&pfc->count[priority].rx_paused_ps), rate_bps);
	return quality_band(quality, queue_depth_bytes(leaf_queue(leaf, port, priority)), rate_bps);
}

uint32_t quality_of_port(struct worker *worker, uint16_t port, uint8_t priority)
{
	struct quality *quality =
		&worker->balance.quality[(uint32_t)priority * worker->leaf->ports + port];
	uint32_t band = band_of_port(worker, quality, port, priority);

	atomic_store_explicit(&quality->band, (uint8_t)band, memory_order_relaxed);
	return band;
}
