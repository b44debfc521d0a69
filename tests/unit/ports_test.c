/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "control/memory.h"
#include "control/ports.h"

static struct config_errors errors;

/* One port with these keys, and so many workers. */
static struct config *load(uint32_t workers, const char *port)
{
	char text[512];
	int size = snprintf(text, sizeof(text),
			    "leaf: {workers: %u, idle: spin}\n"
			    "ports: [{name: a, %s, speed: 10G, vlan: {access: 1}}]\n",
			    workers, port);
	struct config *config = config_load_string("t.yaml", text, (size_t)size, &errors);

	cr_assert_not_null(config, "%s", errors.error[0].text);
	return config;
}

static const struct {
	const char *port;
	bool may_spread;
} kinds[] = {
	{"device: '0000:17:00.0'", true}, {"device: net_null0, driver: vdev", true},
	{"device: eth7", false},          {"device: eth7, driver: af_xdp", false},
	{"device: /run/vm1.sock", false},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

Test(ports, a_device_that_may_spread_gets_a_receive_queue_for_each_worker_others_one)
{
	static const uint32_t workers[] = {1, 2, 5, ETHDEV_RX_QUEUES_MAX};

	for (size_t k = 0; k < KINDS; k++) {
		for (size_t w = 0; w < sizeof(workers) / sizeof(workers[0]); w++) {
			struct config *config = load(workers[w], kinds[k].port);

			cr_expect_eq(ports_rx_queues_max(config, &config->ports[0]),
				     kinds[k].may_spread ? workers[w] : 1, "%s, %u workers",
				     kinds[k].port, workers[w]);
			config_free(config);
		}
	}
}

/* 64 KiB for each beyond the first (memory.c). */
Test(ports, memory_of_eal_grows_with_the_receive_queues_there_may_be)
{
	for (size_t k = 0; k < KINDS; k++) {
		struct memory_plan one, five;
		struct config *config = load(1, kinds[k].port);

		memory_plan(config, &one);
		config_free(config);
		config = load(5, kinds[k].port);
		memory_plan(config, &five);
		config_free(config);
		cr_expect_eq(five.eal_bytes - one.eal_bytes,
			     kinds[k].may_spread ? 4 * (64u << 10) : 0, "%s", kinds[k].port);
		cr_expect_eq(five.buffer_count, one.buffer_count, "%s", kinds[k].port);
	}
}
