/* SPDX-License-Identifier: BSD-3-Clause */
/* Flow control by queue is not in DPDK's stable ABI yet; Debian 12 keeps to one version. */
#define ALLOW_EXPERIMENTAL_API
#include "dataplane/io/flow_control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

const struct flow_control_ops flow_control_dpdk = {
	.link_get = rte_eth_dev_flow_ctrl_get,
	.link_set = rte_eth_dev_flow_ctrl_set,
	.queue_info = rte_eth_dev_priority_flow_ctrl_queue_info_get,
	.queue_set = rte_eth_dev_priority_flow_ctrl_queue_configure,
};

/* Can the device obey pauses of all these priorities? Else why[] says what is missing. */
static int can_obey(const struct flow_control_ops *ops, uint16_t id, uint8_t lossless_mask,
		    char *why, size_t size)
{
	struct rte_eth_pfc_queue_info info = {0};
	int error = ops->queue_info(id, &info);
	uint32_t classes = 32u - (uint32_t)__builtin_clz(lossless_mask | 1u);

	if (error != 0) {
		(void)snprintf(why, size, "it has no priority flow control that DPDK knows (%s)",
			       strerror(-error));
		return error;
	}
	if (info.mode_capa != RTE_ETH_FC_RX_PAUSE && info.mode_capa != RTE_ETH_FC_FULL) {
		(void)snprintf(why, size, "it sends pauses by priority, but obeys none");
		return -ENOTSUP;
	}
	if (classes > info.tc_max) {
		(void)snprintf(why, size,
			       "it obeys pauses of priorities below %u, and %u is lossless",
			       info.tc_max, classes - 1);
		return -ERANGE;
	}
	return 0;
}

uint16_t flow_control_queues(const struct flow_control_ops *ops, uint16_t id,
			     enum flow_control_wish wish, uint8_t lossless_mask)
{
	char why[160];

	if (wish == FLOW_CONTROL_SOFTWARE ||
	    can_obey(ops, id, lossless_mask, why, sizeof(why)) != 0)
		return 0;
	return (uint16_t)__builtin_popcount(lossless_mask);
}

static int obey(const struct flow_control_ops *ops, uint16_t id, uint32_t priority, bool on,
		struct flow_control *control)
{
	struct rte_eth_pfc_queue_conf conf = {
		.mode = on ? RTE_ETH_FC_RX_PAUSE : RTE_ETH_FC_NONE,
		.rx_pause = {.tx_qid = control->queue_of[priority], .tc = (uint8_t)priority},
	};
	int error = ops->queue_set(id, &conf);

	if (error != 0)
		(void)snprintf(control->why, sizeof(control->why),
			       "it can't be told to %s pauses of priority %u: %s",
			       on ? "obey" : "ignore", priority, strerror(-error));
	else if (on)
		control->lossless |= (uint8_t)(1u << priority);
	else
		control->lossless &= (uint8_t) ~(1u << priority);
	return error;
}

int flow_control_change(const struct flow_control_ops *ops, uint16_t id, uint8_t lossless_mask,
			struct flow_control *control)
{
	int error = 0;

	for (uint32_t p = 0; p < PRIORITY_COUNT && error == 0; p++) {
		bool on = (lossless_mask >> p & 1) != 0;

		if (((control->lossless >> p & 1) != 0) == on)
			continue;
		if (control->queue_of[p] != 0) {
			error = obey(ops, id, p, on, control);
			continue;
		}
		(void)snprintf(
			control->why, sizeof(control->why),
			"priority %u wasn't lossless at the start: restart the leaf, so that "
			"the device obeys its pauses",
			p);
		error = -EBUSY;
	}
	return error;
}

static int start_hardware(const struct flow_control_ops *ops, uint16_t id, uint8_t lossless_mask,
			  uint16_t queues, struct flow_control *out)
{
	int error = can_obey(ops, id, lossless_mask, out->why, sizeof(out->why));
	char why[sizeof(out->why)];

	if (error != 0)
		return error;
	if (queues < __builtin_popcount(lossless_mask)) {
		(void)snprintf(
			out->why, sizeof(out->why),
			"it has too few transmit queues: one for each lossless class and one "
			"for the others are needed");
		return -ENOSPC;
	}
	for (uint32_t rest = lossless_mask, queue = 1; rest != 0; rest &= rest - 1, queue++)
		out->queue_of[__builtin_ctz(rest)] = (uint8_t)queue;
	error = flow_control_change(ops, id, lossless_mask, out);
	if (error == 0) {
		out->hardware = true;
		return 0;
	}
	/* All or none. */
	memcpy(why, out->why, sizeof(why));
	(void)flow_control_change(ops, id, 0, out);
	memcpy(out->why, why, sizeof(why));
	memset(out->queue_of, 0, sizeof(out->queue_of));
	out->lossless = 0;
	return error;
}

enum link_answer { LINK_NONE, LINK_FORWARDS, LINK_KEEPS, LINK_STAYS };

/* Switch pauses of the whole link off, and ask for MAC control frames. */
static enum link_answer stop_link_pauses(const struct flow_control_ops *ops, uint16_t id)
{
	struct rte_eth_fc_conf conf = {0};
	int error;

	if (ops->link_get(id, &conf) != 0)
		return LINK_NONE;
	conf.mode = RTE_ETH_FC_NONE;
	conf.mac_ctrl_frame_fwd = 1;
	if (ops->link_set(id, &conf) == 0)
		return LINK_FORWARDS;
	conf.mac_ctrl_frame_fwd = 0;
	error = ops->link_set(id, &conf);
	return error == 0 || error == -ENOTSUP ? LINK_KEEPS : LINK_STAYS;
}

int flow_control_start(const struct flow_control_ops *ops, uint16_t id, enum flow_control_wish wish,
		       uint8_t lossless_mask, uint16_t queues, struct flow_control *out)
{
	static const char *const software[] = {
		[LINK_NONE] = "the device has no flow control of its own",
		[LINK_FORWARDS] = "the device hands pause frames over",
		[LINK_KEEPS] = "the device doesn't promise to hand pause frames over",
		[LINK_STAYS] = "the device keeps pauses of the whole link (802.3x) switched on",
	};
	enum link_answer answer;
	char why[sizeof(out->why)];
	int error;

	memset(out, 0, sizeof(*out));
	answer = stop_link_pauses(ops, id);
	if (wish == FLOW_CONTROL_HARDWARE || (wish == FLOW_CONTROL_AUTO && answer >= LINK_KEEPS)) {
		error = start_hardware(ops, id, lossless_mask, queues, out);
		if (error == 0)
			(void)snprintf(out->why, sizeof(out->why), "%s",
				       wish == FLOW_CONTROL_HARDWARE ? "as configured"
								     : software[answer]);
		if (error == 0 || wish == FLOW_CONTROL_HARDWARE)
			return error;
		memcpy(why, out->why, sizeof(why));
		(void)snprintf(out->why, sizeof(out->why), "%s, and %.90s", software[answer], why);
	} else {
		(void)snprintf(out->why, sizeof(out->why), "%s", software[answer]);
	}
	out->doubtful = answer >= LINK_KEEPS;
	return 0;
}
