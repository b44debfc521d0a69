/* SPDX-License-Identifier: BSD-3-Clause */
/* Who obeys pauses, with devices that answer as the table says. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include "dataplane/io/flow_control.h"

#define DEVICE 7

/* What the device answers, and what it was told. */
static struct {
	int link_get, link_forward, link_off; /* results */
	int info;
	enum rte_eth_fc_mode capable;
	uint8_t classes;
	int queue_set;
	uint8_t refuses; /* bit p: queue_set fails for p */
	/* State. */
	enum rte_eth_fc_mode link;
	bool forwards;
	uint32_t link_sets, queue_sets;
	uint8_t obeys;
	uint16_t queue[PRIORITY_COUNT];
} device;

static int link_get(uint16_t id, struct rte_eth_fc_conf *conf)
{
	cr_assert_eq(id, DEVICE);
	*conf = (struct rte_eth_fc_conf){.mode = RTE_ETH_FC_FULL, .high_water = 77};
	return device.link_get;
}

static int link_set(uint16_t id, struct rte_eth_fc_conf *conf)
{
	int result = conf->mac_ctrl_frame_fwd != 0 ? device.link_forward : device.link_off;

	cr_assert_eq(id, DEVICE);
	cr_expect_eq(conf->high_water, 77, "the rest is as it was");
	device.link_sets++;
	if (result == 0) {
		device.link = conf->mode;
		device.forwards = conf->mac_ctrl_frame_fwd != 0;
	}
	return result;
}

static int queue_info(uint16_t id, struct rte_eth_pfc_queue_info *info)
{
	cr_assert_eq(id, DEVICE);
	*info = (struct rte_eth_pfc_queue_info){device.classes, device.capable};
	return device.info;
}

static int queue_set(uint16_t id, struct rte_eth_pfc_queue_conf *conf)
{
	uint8_t tc = conf->rx_pause.tc;

	cr_assert_eq(id, DEVICE);
	cr_assert_lt(tc, PRIORITY_COUNT);
	device.queue_sets++;
	if ((device.refuses >> tc & 1) != 0)
		return -EIO;
	if (conf->mode == RTE_ETH_FC_RX_PAUSE)
		device.obeys |= (uint8_t)(1u << tc);
	else
		device.obeys &= (uint8_t) ~(1u << tc);
	device.queue[tc] = conf->rx_pause.tx_qid;
	return 0;
}

static const struct flow_control_ops ops = {link_get, link_set, queue_info, queue_set};

/* A NIC with everything. */
static void start(void)
{
	memset(&device, 0, sizeof(device));
	device.link = RTE_ETH_FC_FULL;
	device.capable = RTE_ETH_FC_FULL;
	device.classes = 8;
}

TestSuite(flow_control, .init = start);

#define LOSSLESS (1u << 3 | 1u << 4)

static struct flow_control control;

static int begin(enum flow_control_wish wish)
{
	uint16_t queues = flow_control_queues(&ops, DEVICE, wish, LOSSLESS);

	return flow_control_start(&ops, DEVICE, wish, LOSSLESS, queues, &control);
}

static void expect_why(const char *words)
{
	cr_expect_not_null(strstr(control.why, words), "%s", control.why);
}

Test(flow_control, decides_by_what_the_device_offers)
{
	static const struct {
		const char *name;
		int link_get, link_forward, link_off, info;
		enum flow_control_wish wish;
		bool hardware, doubtful;
		int result;
		const char *why;
	} rows[] = {
		{"virtual", -ENOTSUP, 0, 0, -ENOTSUP, FLOW_CONTROL_AUTO, false, false, 0,
		 "no flow control of its own"},
		{"virtual, hardware", -ENOTSUP, 0, 0, -ENOTSUP, FLOW_CONTROL_HARDWARE, false, false,
		 -ENOTSUP, "no priority flow control that DPDK knows"},
		{"forwards", 0, 0, 0, 0, FLOW_CONTROL_AUTO, false, false, 0,
		 "hands pause frames over"},
		{"forwards, software", 0, 0, 0, 0, FLOW_CONTROL_SOFTWARE, false, false, 0,
		 "hands pause frames over"},
		{"forwards, hardware", 0, 0, 0, 0, FLOW_CONTROL_HARDWARE, true, false, 0,
		 "as configured"},
		{"keeps", 0, -EINVAL, 0, 0, FLOW_CONTROL_AUTO, true, false, 0, "doesn't promise"},
		{"keeps, software", 0, -EINVAL, 0, 0, FLOW_CONTROL_SOFTWARE, false, true, 0,
		 "doesn't promise"},
		{"keeps, can't", 0, -EINVAL, 0, -ENOTSUP, FLOW_CONTROL_AUTO, false, true, 0,
		 "and it has no priority flow control"},
		{"keeps, can't, hardware", 0, -EINVAL, 0, -ENOTSUP, FLOW_CONTROL_HARDWARE, false,
		 false, -ENOTSUP, "no priority flow control"},
		{"sets nothing", 0, -ENOTSUP, -ENOTSUP, -ENOTSUP, FLOW_CONTROL_AUTO, false, true, 0,
		 "doesn't promise"},
		{"link pauses stay", 0, -EINVAL, -EIO, -ENOTSUP, FLOW_CONTROL_AUTO, false, true, 0,
		 "(802.3x) switched on"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start();
		device.link_get = rows[i].link_get;
		device.link_forward = rows[i].link_forward;
		device.link_off = rows[i].link_off;
		device.info = rows[i].info;
		cr_expect_eq(begin(rows[i].wish), rows[i].result, "%s", rows[i].name);
		cr_expect_eq(control.hardware, rows[i].hardware, "%s", rows[i].name);
		cr_expect_eq(control.doubtful, rows[i].doubtful, "%s", rows[i].name);
		cr_expect_eq(device.obeys, rows[i].hardware ? LOSSLESS : 0, "%s", rows[i].name);
		expect_why(rows[i].why);
		/* Off, wherever it can be. */
		cr_expect_eq(device.link,
			     rows[i].link_get == 0 &&
					     (rows[i].link_forward == 0 || rows[i].link_off == 0)
				     ? RTE_ETH_FC_NONE
				     : RTE_ETH_FC_FULL,
			     "%s", rows[i].name);
	}
}

Test(flow_control, asks_for_frames_and_then_for_the_rest_without_them)
{
	cr_expect_eq(begin(FLOW_CONTROL_SOFTWARE), 0);
	cr_expect(device.forwards);
	cr_expect_eq(device.link_sets, 1);
	start();
	device.link_forward = -EINVAL;
	cr_expect_eq(begin(FLOW_CONTROL_SOFTWARE), 0);
	cr_expect_not(device.forwards);
	cr_expect_eq(device.link_sets, 2);
	cr_expect_eq(device.queue_sets, 0);
}

Test(flow_control, gives_each_lossless_priority_a_queue_of_its_own)
{
	cr_expect_eq(flow_control_queues(&ops, DEVICE, FLOW_CONTROL_HARDWARE, LOSSLESS), 2);
	cr_expect_eq(flow_control_queues(&ops, DEVICE, FLOW_CONTROL_AUTO, 0xff), 8);
	cr_expect_eq(flow_control_queues(&ops, DEVICE, FLOW_CONTROL_SOFTWARE, LOSSLESS), 0);
	cr_expect_eq(begin(FLOW_CONTROL_HARDWARE), 0);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		cr_expect_eq(control.queue_of[p], p == 3 ? 1 : p == 4 ? 2 : 0, "%u", p);
	cr_expect_eq(device.queue[3], 1);
	cr_expect_eq(device.queue[4], 2);
	cr_expect_eq(control.lossless, LOSSLESS);
}

Test(flow_control, does_not_take_a_device_that_can_not_obey_all)
{
	device.classes = 4;
	cr_expect_eq(flow_control_queues(&ops, DEVICE, FLOW_CONTROL_HARDWARE, LOSSLESS), 0);
	cr_expect_eq(begin(FLOW_CONTROL_HARDWARE), -ERANGE);
	expect_why("priorities below 4, and 4 is lossless");
	device.classes = 5;
	cr_expect_eq(begin(FLOW_CONTROL_HARDWARE), 0);
	start();
	device.capable = RTE_ETH_FC_TX_PAUSE;
	cr_expect_eq(begin(FLOW_CONTROL_HARDWARE), -ENOTSUP);
	expect_why("obeys none");
	start();
	cr_expect_eq(flow_control_start(&ops, DEVICE, FLOW_CONTROL_HARDWARE, LOSSLESS, 1, &control),
		     -ENOSPC);
	expect_why("too few transmit queues");
	cr_expect_eq(device.queue_sets, 0);
}

Test(flow_control, obeys_all_or_none)
{
	device.refuses = 1u << 4;
	cr_expect_eq(begin(FLOW_CONTROL_HARDWARE), -EIO);
	expect_why("obey pauses of priority 4");
	cr_expect_eq(device.obeys, 0, "3 was told before, and is taken back");
	cr_expect_eq(control.queue_of[3], 0);
	/* By itself it falls back. */
	device.link_forward = -EINVAL;
	cr_expect_eq(begin(FLOW_CONTROL_AUTO), 0);
	cr_expect_not(control.hardware);
	cr_expect(control.doubtful);
	expect_why("doesn't promise to hand pause frames over, and it can't be told");
}

Test(flow_control, follows_other_lossless_classes_as_far_as_queues_go)
{
	cr_expect_eq(begin(FLOW_CONTROL_HARDWARE), 0);
	cr_expect_eq(flow_control_change(&ops, DEVICE, 1u << 3, &control), 0);
	cr_expect_eq(device.obeys, 1u << 3);
	cr_expect_eq(flow_control_change(&ops, DEVICE, LOSSLESS, &control), 0);
	cr_expect_eq(device.obeys, LOSSLESS);
	cr_expect_eq(flow_control_change(&ops, DEVICE, 1u << 4 | 1u << 5, &control), -EBUSY);
	expect_why("priority 5 wasn't lossless");
	cr_expect_eq(device.obeys, 1u << 4);
	cr_expect_eq(flow_control_change(&ops, DEVICE, 0, &control), 0);
	cr_expect_eq(device.obeys, 0);
}
