/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_control - who obeys the pauses of a DPDK device's peer: the leaf, or the device.
 *
 * The leaf always sends the pauses itself, because it alone knows its buffer. Those received it can
 * obey only when the device hands MAC control frames over. Many NICs keep them, and some obey pauses
 * of the whole link (802.3x) on their own, which stops every class. So, in this order:
 *	1. pauses of the whole link are switched off, and MAC control frames asked for
 *	   (mac_ctrl_frame_fwd); a device that has no such thing hands every frame over
 *	2. software    the leaf obeys. Always when wished; by `auto` when the device took 1, or can't do 3
 *	3. hardware    the device obeys, by priority: each lossless one has a transmit queue of its own,
 *	               which the device holds (rte_eth_dev_priority_flow_ctrl_queue_configure). When
 *	               wished; by `auto` when the device refused to hand frames over
 * A driver may take 1 and keep the frames all the same: whoever counts (control/faults.h) sees that.
 *
 * Not used is rte_eth_dev_priority_flow_ctrl_set(): it needs a device in DCB mode, whose traffic
 * classes take over the scheduling that is ours.
 *
 * Thread: control. What is called on the device stands in a table, so that the decision can be tested
 * without one.
 */
#ifndef DATAPLANE_IO_FLOW_CONTROL_H
#define DATAPLANE_IO_FLOW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

struct rte_eth_fc_conf;
struct rte_eth_pfc_queue_conf;
struct rte_eth_pfc_queue_info;

/* As rte_eth_dev_flow_ctrl_get() and so on. */
struct flow_control_ops {
	int (*link_get)(uint16_t id, struct rte_eth_fc_conf *conf);
	int (*link_set)(uint16_t id, struct rte_eth_fc_conf *conf);
	int (*queue_info)(uint16_t id, struct rte_eth_pfc_queue_info *info);
	int (*queue_set)(uint16_t id, struct rte_eth_pfc_queue_conf *conf);
};

/** The device's own. */
extern const struct flow_control_ops flow_control_dpdk;

enum flow_control_wish { FLOW_CONTROL_SOFTWARE, FLOW_CONTROL_AUTO, FLOW_CONTROL_HARDWARE };

struct flow_control {
	bool hardware;                    /* the device obeys */
	bool doubtful;                    /* software, but the device may keep the frames */
	uint8_t lossless;                 /* bit p: the device obeys pauses of priority p */
	uint8_t queue_of[PRIORITY_COUNT]; /* transmit queue of each; 0: that of all others */
	char why[160];                    /* of a person's interest, half a sentence */
};

/**
 * Transmit queues that the device must have, beside queue 0, so that it might obey.
 * @return 0: it can't, or shall not; else one for each lossless priority
 */
uint16_t flow_control_queues(const struct flow_control_ops *ops, uint16_t id,
			     enum flow_control_wish wish, uint8_t lossless_mask);

/**
 * Decide and set up. The device is started.
 * @param queues what it has beside queue 0: flow_control_queues(), or 0
 * @return 0, or -errno of the device when `hardware` is wished and can't be; why[] says what is missing
 */
int flow_control_start(const struct flow_control_ops *ops, uint16_t id, enum flow_control_wish wish,
		       uint8_t lossless_mask, uint16_t queues, struct flow_control *out);

/**
 * Other classes are lossless now. Those that have got no queue at the start can't be obeyed.
 * @return 0, or -errno: why[] says which priority; those before it are as they should be
 */
int flow_control_change(const struct flow_control_ops *ops, uint16_t id, uint8_t lossless_mask,
			struct flow_control *control);

#endif
