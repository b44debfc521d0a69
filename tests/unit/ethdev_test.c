/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "dataplane/io/ethdev.h"
#include "dataplane/io/ethdev_counters.h"
#include "dataplane/packet.h"

#define POOL_COUNT 2047

/* What drivers use; Debian doesn't ship the header. */
struct rte_eth_dev *rte_eth_dev_allocated(const char *name);
int rte_eth_dev_callback_process(struct rte_eth_dev *device, enum rte_eth_event_type event,
				 void *argument);

static struct rte_mempool *pool, *pool_jumbo;

static void setup(void)
{
	static char line[] = "test --no-huge -m 64 --no-shconf --no-pci --no-telemetry -l 0 "
			     "--log-level=1";
	char *arguments[16];
	int count = 0;

	for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
		arguments[count++] = word;
	cr_assert_geq(rte_eal_init(count, arguments), 0);
	pool = rte_pktmbuf_pool_create("small", POOL_COUNT, 0, 0, RTE_PKTMBUF_HEADROOM + 1518,
				       SOCKET_ID_ANY);
	pool_jumbo = rte_pktmbuf_pool_create("jumbo", 255, 0, 0,
					     RTE_PKTMBUF_HEADROOM + FRAME_BYTES_MAX, SOCKET_ID_ANY);
	cr_assert(pool != NULL && pool_jumbo != NULL);
}

static void teardown(void)
{
	cr_expect_eq(rte_mempool_in_use_count(pool), 0);
	cr_expect_eq(rte_mempool_in_use_count(pool_jumbo), 0);
	cr_expect_eq(rte_eth_dev_count_total(), 0, "a device is still plugged in");
}

static struct ethdev_params params_of(const char *device)
{
	return (struct ethdev_params){
		.device = device,
		.driver = ETHDEV_VDEV,
		.port = 9,
		.rx_queues_max = 1,
		.tx_queues = 1,
		.mtu_bytes = 1500,
		.pool = pool,
	};
}

static struct port_io *open_port(const struct ethdev_params *params)
{
	struct port_io *io = NULL;
	struct io_error error;

	cr_assert_eq(ethdev_open(params, &io, &error), 0, "%s", error.text);
	cr_assert_str_eq(error.text, "");
	return io;
}

static struct rte_mbuf *packet_of(struct rte_mempool *from, uint32_t bytes, uint8_t fill)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(from);

	cr_assert_not_null(packet);
	memset(rte_pktmbuf_append(packet, (uint16_t)bytes), fill, bytes);
	return packet;
}

Test(ethdev, frames_sent_into_a_ring_come_back, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_ring0");
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	struct port_io_link link;
	struct port_io_stats stats;
	struct port_io *io;
	uint8_t expected[1518];

	params.rx_descriptors = params.tx_descriptors = 256;
	io = open_port(&params);
	cr_expect_eq(io->port, 9);
	cr_expect_eq(io->rx_queues, 1);
	cr_expect_eq(io->flags, PORT_IO_POLLED);
	cr_expect_eq(io->ops->link(io, &link), 0);
	cr_expect(link.up);
	cr_expect_eq(link.speed_bps, UINT64_C(10000000000), "what rte_eth_ring says");
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 0);
	for (uint32_t i = 0; i < BURST_COUNT_MAX; i++) {
		packets[i] = packet_of(pool, 60 + i * 47, (uint8_t)i);
		/* Whatever was in them before. */
		packets[i]->port = 1;
		packet_virtual_bytes_set(packets[i], 77);
	}
	cr_assert_eq(io->ops->tx_burst(io, 0, packets, BURST_COUNT_MAX), BURST_COUNT_MAX);
	memset(packets, 0, sizeof(packets));
	cr_assert_eq(io->ops->rx_burst(io, 0, packets, 20), 20);
	cr_assert_eq(io->ops->rx_burst(io, 0, packets + 20, BURST_COUNT_MAX), 12);
	for (uint32_t i = 0; i < BURST_COUNT_MAX; i++) {
		cr_expect_eq(packets[i]->port, 9);
		cr_expect_eq(packet_virtual_bytes(packets[i]), 0);
		cr_expect_eq(packets[i]->data_len, 60 + i * 47);
		memset(expected, (int)i, sizeof(expected));
		cr_expect_eq(memcmp(packet_data(packets[i]), expected, 60 + i * 47), 0);
	}
	rte_pktmbuf_free_bulk(packets, BURST_COUNT_MAX);
	io->ops->stats(io, &stats);
	cr_expect_eq(memcmp(&stats, &(struct port_io_stats){0}, sizeof(stats)), 0);
	port_io_close(io);
}

Test(ethdev, a_full_ring_takes_a_part, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_ring0");
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	struct port_io *io = open_port(&params);
	uint32_t sent = 0, received = 0;
	uint16_t taken;

	/* rte_eth_ring's vdev makes rings for 1023. */
	do {
		for (uint32_t i = 0; i < BURST_COUNT_MAX; i++)
			packets[i] = packet_of(pool, 60, (uint8_t)(sent + i));
		taken = io->ops->tx_burst(io, 0, packets, BURST_COUNT_MAX);
		rte_pktmbuf_free_bulk(packets + taken, BURST_COUNT_MAX - taken);
		sent += taken;
	} while (taken == BURST_COUNT_MAX);
	cr_expect_eq(sent, 1023);
	do {
		taken = io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX);
		for (uint16_t i = 0; i < taken; i++)
			cr_assert_eq(packet_data(packets[i])[0], (uint8_t)(received + i));
		rte_pktmbuf_free_bulk(packets, taken);
		received += taken;
	} while (taken != 0);
	cr_expect_eq(received, sent);
	port_io_close(io);
}

Test(ethdev, frames_of_several_segments_or_too_long_are_dropped_and_counted, .init = setup,
     .fini = teardown)
{
	struct ethdev_params params = params_of("net_ring0");
	struct port_io *io = open_port(&params);
	struct rte_mbuf *packets[6] = {
		packet_of(pool, 60, 0),         packet_of(pool, 700, 1),
		packet_of(pool, 1518, 2),       packet_of(pool_jumbo, 1519, 3),
		packet_of(pool_jumbo, 9234, 4), packet_of(pool, 61, 5),
	};
	struct port_io_stats stats;

	cr_assert_eq(rte_pktmbuf_chain(packets[1], packet_of(pool, 700, 1)), 0);
	cr_assert_eq(io->ops->tx_burst(io, 0, packets, 6), 6);
	cr_assert_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 3);
	cr_expect_eq(packets[0]->data_len, 60);
	cr_expect_eq(packets[1]->data_len, 1518);
	cr_expect_eq(packets[2]->data_len, 61);
	rte_pktmbuf_free_bulk(packets, 3);
	io->ops->stats(io, &stats);
	cr_expect_eq(stats.rx_error_packets, 3);
	port_io_close(io);
}

Test(ethdev, every_queue_is_polled_apart, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_null0,size=128");
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	struct port_io_stats stats;
	struct port_io *io;

	params.rx_queues_max = 4;
	params.tx_queues = 2;
	io = open_port(&params);
	cr_expect_eq(io->rx_queues, 4);
	for (uint16_t queue = 0; queue < 4; queue++) {
		cr_assert_eq(io->ops->rx_burst(io, queue, packets, BURST_COUNT_MAX),
			     BURST_COUNT_MAX);
		for (uint32_t i = 0; i < BURST_COUNT_MAX; i++) {
			cr_expect_eq(packets[i]->port, 9);
			cr_expect_eq(packets[i]->data_len, 128);
		}
		cr_assert_eq(io->ops->tx_burst(io, queue % 2, packets, BURST_COUNT_MAX),
			     BURST_COUNT_MAX, "the null device swallows all");
	}
	io->ops->stats(io, &stats);
	cr_expect_eq(stats.rx_error_packets + stats.tx_error_packets + stats.rx_missed_packets, 0);
	port_io_close(io);
}

Test(ethdev, a_bound_of_queues_gives_what_the_device_spreads_over, .init = setup, .fini = teardown)
{
	static const struct {
		const char *device;
		uint16_t rx_queues_max, rx_queues;
	} row[] = {
		/* net_null spreads over as many as DPDK takes, net_ring has one and doesn't. */
		{"net_null0", 1, 1},
		{"net_null1", 8, 8},
		{"net_ring0", 1, 1},
		{"net_ring1", 64, 1},
	};

	for (size_t i = 0; i < RTE_DIM(row); i++) {
		struct ethdev_params params = params_of(row[i].device);
		struct rte_mbuf *packet;
		struct port_io *io;

		params.rx_queues_max = row[i].rx_queues_max;
		io = open_port(&params);
		cr_expect_eq(io->rx_queues, row[i].rx_queues, "%s: %u", row[i].device,
			     io->rx_queues);
		for (uint16_t queue = 0; queue < io->rx_queues; queue++)
			if (io->ops->rx_burst(io, queue, &packet, 1) == 1)
				rte_pktmbuf_free(packet);
		port_io_close(io);
	}
}

Test(ethdev, an_empty_pool_loses_nothing_but_the_burst, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_null0,size=128");
	struct rte_mbuf *held[POOL_COUNT], *packets[BURST_COUNT_MAX];
	struct port_io *io = open_port(&params);

	cr_assert_eq(rte_pktmbuf_alloc_bulk(pool, held, POOL_COUNT), 0);
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 0);
	rte_pktmbuf_free_bulk(held, POOL_COUNT);
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), BURST_COUNT_MAX);
	rte_pktmbuf_free_bulk(packets, BURST_COUNT_MAX);
	port_io_close(io);
}

Test(ethdev, a_device_that_is_pulled_out_takes_all_and_counts, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_null0");
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	struct port_io *io = open_port(&params);
	struct port_io_link link = {.up = true};
	struct port_io_stats stats;

	for (uint32_t i = 0; i < 10; i++)
		packets[i] = packet_of(pool, 60, 0);
	cr_assert_eq(rte_eth_dev_callback_process(rte_eth_dev_allocated("net_null0"),
						  RTE_ETH_EVENT_INTR_RMV, NULL),
		     0);
	cr_expect_eq(io->ops->tx_burst(io, 0, packets, 10), 10);
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 0);
	cr_expect_eq(io->ops->link(io, &link), -ENODEV);
	cr_expect_not(link.up);
	io->ops->stats(io, &stats);
	cr_expect_eq(stats.tx_error_packets, 10);
	port_io_close(io);
}

Test(ethdev, a_closed_device_can_be_opened_again, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_ring0");

	for (int round = 0; round < 5; round++) {
		struct rte_mbuf *packet = packet_of(pool, 60, 0);
		struct port_io *io = open_port(&params);

		cr_assert_eq(rte_eth_dev_count_total(), 1);
		cr_expect_eq(io->ops->tx_burst(io, 0, &packet, 1), 1);
		cr_expect_eq(io->ops->rx_burst(io, 0, &packet, 1), 1);
		rte_pktmbuf_free(packet);
		port_io_close(io);
	}
}

Test(ethdev, what_does_not_fit_is_refused_with_its_name, .init = setup, .fini = teardown)
{
	static const struct {
		const char *device;
		enum ethdev_driver driver;
		uint32_t mtu_bytes;
		uint16_t rx_queues, tx_queues;
		int result; /* 0: whatever the driver said */
		const char *says;
	} row[] = {
		{"net_null0", ETHDEV_VDEV, 67, 1, 1, -EINVAL,
		 "device net_null0: MTU 67 bytes is not in 68..9216"},
		{"net_null0", ETHDEV_VDEV, 9217, 1, 1, -EINVAL,
		 "MTU 9217 bytes is not in 68..9216"},
		/* 4200 + 18 + 128; the pool's 128 + 1518. */
		{"net_null0", ETHDEV_VDEV, 4200, 1, 1, -EINVAL,
		 "device net_null0: MTU 4200 bytes needs packet buffers of 4346 bytes, the pool has "
		 "1646"},
		{"net_null0", ETHDEV_VDEV, 1500, 0, 1, -EINVAL,
		 "0 receive queues are not in 1..64"},
		{"net_null0", ETHDEV_VDEV, 1500, 65, 1, -EINVAL, "65 receive queues"},
		{"net_null0", ETHDEV_VDEV, 1500, 1, 10, -EINVAL, "10 transmit queues"},
		{"net_nonsense0", ETHDEV_VDEV, 1500, 1, 1, 0,
		 "device net_nonsense0: no driver took it"},
		{"0000:ff:1f.7", ETHDEV_VFIO, 1500, 1, 1, 0,
		 "device 0000:ff:1f.7: no driver took it (is it bound to vfio-pci?"},
		{"", ETHDEV_VDEV, 1500, 1, 1, -EINVAL, "device ''"},
		{"nowhere", ETHDEV_AF_XDP, 1500, 1, 1, 0, "device nowhere: no driver took it"},
	};

	for (size_t i = 0; i < RTE_DIM(row); i++) {
		struct ethdev_params params = params_of(row[i].device);
		struct port_io *io = NULL;
		struct io_error error;
		int result;

		params.driver = row[i].driver;
		params.mtu_bytes = row[i].mtu_bytes;
		params.rx_queues_max = row[i].rx_queues;
		params.tx_queues = row[i].tx_queues;
		result = ethdev_open(&params, &io, &error);
		cr_expect_lt(result, 0, "row %zu", i);
		if (row[i].result != 0)
			cr_expect_eq(result, row[i].result, "row %zu: %d %s", i, result,
				     error.text);
		cr_expect_not_null(strstr(error.text, row[i].says), "row %zu: %s", i, error.text);
		cr_expect_null(io);
		cr_expect_eq(rte_eth_dev_count_total(), 0, "row %zu", i);
	}
}

Test(ethdev, a_vhost_socket_is_a_port, .init = setup, .fini = teardown)
{
	char path[] = "/tmp/vhost-test-XXXXXX", device[64];
	struct ethdev_params params = params_of(device);
	struct rte_mbuf *packets[1];
	struct port_io_link link;
	struct port_io *io;

	cr_assert_not_null(mkdtemp(path));
	(void)snprintf(device, sizeof(device), "%s/socket", path);
	params.driver = ETHDEV_VHOST;
	io = open_port(&params);
	cr_expect_eq(access(device, F_OK), 0);
	cr_expect_eq(io->ops->link(io, &link), 0);
	cr_expect_not(link.up, "nobody is at the other end");
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, 1), 0);
	port_io_close(io);
	cr_expect_neq(access(device, F_OK), 0, "the socket is left behind");
	cr_expect_eq(rmdir(path), 0);
}

Test(ethdev, a_device_is_one_port_only, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_ring0");
	struct port_io *io = open_port(&params), *second = NULL;
	struct rte_mbuf *packet = packet_of(pool, 60, 0);
	struct io_error error;

	params.port = 10;
	cr_expect_eq(ethdev_open(&params, &second, &error), -EBUSY);
	cr_expect_not_null(strstr(error.text, "device net_ring0: is a port already"), "%s",
			   error.text);
	cr_expect_null(second);
	/* The first one is unharmed. */
	cr_expect_eq(io->ops->tx_burst(io, 0, &packet, 1), 1);
	cr_expect_eq(io->ops->rx_burst(io, 0, &packet, 1), 1);
	cr_expect_eq(packet->port, 9);
	rte_pktmbuf_free(packet);
	port_io_close(io);
}

Test(ethdev, virtual_devices_leave_pauses_to_the_leaf, .init = setup, .fini = teardown)
{
	struct ethdev_params params = params_of("net_ring0");
	const struct flow_control *control;
	struct port_io_stats stats;
	struct io_error error;
	struct port_io *io;

	params.rx_descriptors = params.tx_descriptors = 256;
	params.flow_control = FLOW_CONTROL_AUTO;
	params.lossless_mask = 1u << 3;
	io = open_port(&params);
	control = ethdev_flow_control(io);
	cr_assert_not_null(control);
	cr_expect_not(control->hardware);
	cr_expect_not(control->doubtful);
	cr_expect_str_eq(control->why, "the device has no flow control of its own");
	cr_expect_eq(io->alone, 0);
	cr_expect_eq(ethdev_set_lossless(io, 1u << 4), 0, "nothing to be told");
	io->ops->stats(io, &stats);
	cr_expect_eq(stats.rx_device_pauses, 0);
	port_io_close(io);

	params.flow_control = FLOW_CONTROL_HARDWARE;
	cr_assert_lt(ethdev_open(&params, &io, &error), 0);
	cr_expect_not_null(strstr(error.text, "net_ring0: pfc: hardware: it has no priority flow "
					      "control"),
			   "%s", error.text);
}

/* Names as drivers have them: ixgbe, i40e, ice, mlx5, hns3, bnxt. */
Test(ethdev, finds_counters_of_pauses_received_by_name)
{
	static const char *const counters[] = {
		"rx_flow_control_xoff_packets",
		"rx_priority3_xoff_packets",
		"rx_xoff_packets",
		"rx_pause_packets",
		"mac_rx_mac_pause_num",
		"rx_pfc_ena_frames_pri3",
	};
	static const char *const others[] = {
		"rx_good_packets",           "tx_flow_control_xoff_packets",
		"tx_priority3_xoff_packets", "mac_tx_mac_pause_num",
		"rx_missed_errors",          "tx_pfc_ena_frames_pri3",
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		cr_expect(ethdev_counts_pauses(counters[i]), "%s", counters[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_not(ethdev_counts_pauses(others[i]), "%s", others[i]);
}

/* ixgbe, mlx5, bnxt; and what isn't one: ours, checksums of other layers. */
Test(ethdev, knows_counters_of_wrong_checksums_by_their_names)
{
	cr_expect(ethdev_counts_crc_errors("rx_crc_errors"));
	cr_expect(ethdev_counts_crc_errors("rx_crc_errors_phy"));
	cr_expect(ethdev_counts_crc_errors("rx_fcs_err_frames"));
	cr_expect_not(ethdev_counts_crc_errors("tx_crc_errors"));
	cr_expect_not(ethdev_counts_crc_errors("rx_l3_l4_xsum_error"));
	cr_expect_not(ethdev_counts_crc_errors("rx_good_packets"));
	cr_expect_not(ethdev_counts_crc_errors("rx_length_errors"));
}
