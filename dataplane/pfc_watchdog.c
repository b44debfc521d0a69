/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/pfc_watchdog.h"

/* A hold may have gaps of one part in so many, if nothing gets through. */
#define GAP_SHARE 64

/* Between two evaluations. */
struct interval {
	uint64_t elapsed_ps;
	uint64_t paused_ps;
	bool sent;
	bool queued_before;
	bool queued;
	bool paused;
};

void pfc_watchdog_init(struct pfc_watchdog *watchdog, uint64_t now_ps,
		       const struct pfc_watchdog_input *input)
{
	*watchdog = (struct pfc_watchdog){
		.evaluated_ps = now_ps,
		.sent_packets = input->sent_packets,
		.paused_ps = input->paused_ps,
		.queued = input->queued,
	};
}

static enum pfc_watchdog_event look_for_storm(struct pfc_watchdog *watchdog,
					      const struct pfc_watchdog_rule *rule,
					      const struct interval *interval)
{
	bool throughout =
		interval->queued_before && !interval->sent &&
		interval->paused_ps >= interval->elapsed_ps - interval->elapsed_ps / GAP_SHARE;

	if (!interval->queued || !interval->paused) {
		watchdog->summed_ps = 0;
		return PFC_WATCHDOG_NONE;
	}
	if (!throughout) {
		/* Held from somewhere in here on, unless its first packet came later still. */
		watchdog->summed_ps =
			interval->sent || interval->queued_before ? interval->paused_ps : 0;
		return PFC_WATCHDOG_NONE;
	}
	watchdog->summed_ps += interval->paused_ps;
	if (watchdog->summed_ps < rule->detect_ps)
		return PFC_WATCHDOG_NONE;
	watchdog->stormed = true;
	watchdog->summed_ps = 0;
	return PFC_WATCHDOG_DETECTED;
}

static enum pfc_watchdog_event look_for_calm(struct pfc_watchdog *watchdog,
					     const struct pfc_watchdog_rule *rule,
					     const struct interval *interval)
{
	if (interval->paused) {
		watchdog->summed_ps = 0;
		return PFC_WATCHDOG_NONE;
	}
	if (interval->paused_ps != 0)
		watchdog->summed_ps = 0;
	watchdog->summed_ps += interval->elapsed_ps - interval->paused_ps;
	if (watchdog->summed_ps < rule->restore_ps)
		return PFC_WATCHDOG_NONE;
	watchdog->stormed = false;
	watchdog->summed_ps = 0;
	return PFC_WATCHDOG_RESTORED;
}

enum pfc_watchdog_event pfc_watchdog_evaluate(struct pfc_watchdog *watchdog,
					      const struct pfc_watchdog_rule *rule, uint64_t now_ps,
					      const struct pfc_watchdog_input *input)
{
	struct interval interval = {
		.elapsed_ps = now_ps - watchdog->evaluated_ps,
		.paused_ps = input->paused_ps - watchdog->paused_ps,
		.sent = input->sent_packets != watchdog->sent_packets,
		.queued_before = watchdog->queued,
		.queued = input->queued,
		.paused = input->paused,
	};

	if (!time_after(now_ps, watchdog->evaluated_ps))
		return PFC_WATCHDOG_NONE;
	if (interval.paused_ps > interval.elapsed_ps)
		interval.paused_ps = interval.elapsed_ps;
	watchdog->evaluated_ps = now_ps;
	watchdog->sent_packets = input->sent_packets;
	watchdog->paused_ps = input->paused_ps;
	watchdog->queued = input->queued;
	return watchdog->stormed ? look_for_calm(watchdog, rule, &interval)
				 : look_for_storm(watchdog, rule, &interval);
}
