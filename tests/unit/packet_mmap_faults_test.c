/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/io/packet_mmap.h"
#include "dataplane/packet.h"
#include "tests/unit/bytes.h"
#include "tests/unit/veth.h"

#define TYPE_TEST 0x88b5
#define TYPE_VLAN 0x8100

static struct rte_mempool *pool;
static struct port_io *io;
static int peer;
static uint8_t sent[VETH_FRAME_BYTES], seen[VETH_FRAME_BYTES];

static void setup(void)
{
	veth_enter();
	veth_pair("leaf", "host", 1500);
	pool = veth_pool(1023, 1500);
	io = veth_port("leaf", "host", 1500, pool);
	peer = veth_peer("host", false);
}

static void teardown(void)
{
	port_io_close(io);
	if (pool != NULL)
		cr_expect_eq(rte_mempool_in_use_count(pool), 0);
}

static struct port_io_stats stats_of(void)
{
	struct port_io_stats stats;

	io->ops->stats(io, &stats);
	return stats;
}

/* Offer count fresh packets from a sequence number on, free what isn't taken. */
static uint16_t offer(uint32_t bytes, uint32_t sequence, uint16_t count)
{
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	uint16_t taken;

	for (uint16_t i = 0; i < count; i++)
		packets[i] = veth_packet(pool, bytes, sequence + i);
	taken = io->ops->tx_burst(io, 0, packets, count);
	cr_assert_leq(taken, count);
	rte_pktmbuf_free_bulk(packets + taken, count - taken);
	return taken;
}

static void expect_traffic(void)
{
	struct rte_mbuf *packet;

	bytes_frame(sent, 200, TYPE_TEST, 77);
	veth_peer_send(peer, sent, 200);
	cr_assert_eq(veth_receive(io, &packet, 1), 1);
	cr_expect_eq(memcmp(packet_data(packet), sent, 200), 0);
	rte_pktmbuf_free(packet);
	cr_assert_eq(offer(200, 77, 1), 1);
	cr_assert_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS), 200);
	cr_expect_eq(memcmp(seen, sent, 200), 0);
}

Test(packet_mmap_faults, every_frame_is_received_or_missed, .init = setup, .fini = teardown)
{
	const uint32_t total = 5000; /* the ring holds 4 MiB / (96 + 1518) = 2598, rounded up */
	int32_t waiting;
	uint32_t received;

	bytes_frame(sent, 300, TYPE_TEST, 1);
	for (uint32_t i = 0; i < total; i++)
		veth_peer_send(peer, sent, 300);
	waiting = io->ops->rx_backlog(io, 0);
	cr_expect_geq(waiting, 2598);
	cr_expect_lt(waiting, 2598 + 40, "a block has 40 slots");
	cr_expect_eq(stats_of().rx_missed_packets, total - (uint32_t)waiting);
	received = veth_drain(io);
	cr_expect_eq(received, (uint32_t)waiting);
	/* Reading the kernel's counter clears it; ours must not. */
	cr_expect_eq(stats_of().rx_missed_packets, total - received);
	cr_expect_eq(stats_of().rx_missed_packets, total - received);
	cr_expect_eq(stats_of().rx_error_packets, 0);
	expect_traffic();
}

Test(packet_mmap_faults, a_full_ring_takes_a_part_and_loses_nothing, .fini = teardown)
{
	/* Rings are made of blocks of 64 KB: seven slots of 32 or 96 + 9216 + 18 bytes. */
	struct packet_mmap_params params = {
		.interface = "leaf",
		.mtu_bytes = MTU_BYTES_MAX,
		.socket_id = SOCKET_ID_ANY,
		.rx_slots = 1,
		.tx_slots = 1,
	};
	struct io_error error;

	veth_enter();
	veth_pair("leaf", "host", MTU_BYTES_MAX);
	pool = veth_pool(255, MTU_BYTES_MAX);
	params.pool = pool;
	cr_assert_eq(packet_mmap_open(&params, &io, &error), 0, "%s", error.text);
	veth_wait(io, "host");
	peer = veth_peer("host", false);
	for (uint32_t sequence = 0; sequence < 70; sequence += 7) {
		cr_assert_eq(offer(9000, sequence, 32), 7);
		for (uint32_t i = 0; i < 7; i++) {
			bytes_frame(sent, 9000, TYPE_TEST, sequence + i);
			cr_assert_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS),
				     9000);
			cr_assert_eq(memcmp(seen, sent, 9000), 0, "frame %u", sequence + i);
		}
	}
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), 0), 0);
	cr_expect_eq(stats_of().tx_error_packets, 0);

	for (uint32_t i = 0; i < 10; i++)
		veth_peer_send(peer, sent, 9000);
	cr_expect_eq(io->ops->rx_backlog(io, 0), 7);
	cr_expect_eq(veth_drain(io), 7);
	cr_expect_eq(stats_of().rx_missed_packets, 3);
}

/* A TAP that nobody reads holds as many frames as its queue is long. */
static int tap_open(uint32_t queue_length)
{
	struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI, .ifr_name = "tap"};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		cr_skip_test("/dev/net/tun: %s", strerror(errno));
	cr_assert_geq(fd, 0, "/dev/net/tun: %s", strerror(errno));
	cr_assert_eq(ioctl(fd, TUNSETIFF, &request), 0, "%s", strerror(errno));
	veth_run("ip link set tap txqueuelen %u", queue_length);
	return fd;
}

Test(packet_mmap_faults, a_full_device_takes_a_part_and_loses_nothing, .fini = teardown)
{
	uint32_t offered = 0, read_back = 0;
	int fd;

	veth_enter();
	pool = veth_pool(1023, 1500);
	fd = tap_open(40);
	io = veth_port("tap", NULL, 1500, pool);
	cr_expect_eq(offer(1000, 0, 32), 32);
	cr_expect_eq(offer(1000, 32, 32), 8, "the device holds 40");
	cr_expect_eq(offer(1000, 40, 32), 0);
	cr_expect_eq(io->ops->tx_backlog(io, 0), 0, "no frame stays between us and the device");
	for (offered = 40; read_back < 500; read_back++) {
		bytes_frame(sent, 1000, TYPE_TEST, read_back);
		cr_assert_eq(read(fd, seen, sizeof(seen)), 1000, "frame %u", read_back);
		cr_assert_eq(memcmp(seen, sent, 1000), 0, "frame %u", read_back);
		offered += offer(1000, offered, (uint16_t)(read_back % 5));
	}
	cr_expect_eq(stats_of().tx_error_packets, 0);
	(void)close(fd);
}

Test(packet_mmap_faults, a_device_without_carrier_takes_all_and_counts, .init = setup,
     .fini = teardown)
{
	veth_run("ip link set host down");
	cr_assert(veth_link_becomes(io, false));
	cr_expect_eq(offer(100, 0, 32), 32);
	cr_expect_eq(offer(100, 32, 7), 7);
	cr_expect_eq(stats_of().tx_error_packets, 39);
	cr_expect_eq(io->ops->tx_backlog(io, 0), 0);
	veth_run("ip link set host up");
	veth_wait(io, "host");
	(void)close(peer);
	peer = veth_peer("host", false);
	expect_traffic();
	cr_expect_eq(stats_of().tx_error_packets, 39);
}

static bool error_waits(void)
{
	struct pollfd ready = {.fd = io->ops->descriptor(io, 0), .events = POLLIN};
	int error;
	socklen_t size = sizeof(error);

	(void)poll(&ready, 1, 0);
	cr_assert_eq(getsockopt(ready.fd, SOL_SOCKET, SO_ERROR, &error, &size), 0);
	return (ready.revents & POLLERR) != 0;
}

Test(packet_mmap_faults, comes_back_after_down_and_up, .init = setup, .fini = teardown)
{
	struct rte_mbuf *packets[BURST_COUNT_MAX];

	for (uint32_t round = 0; round < 3; round++) {
		expect_traffic();
		veth_run("ip link set leaf down");
		cr_assert(veth_link_becomes(io, false));
		cr_expect(error_waits());
		cr_expect_not(error_waits(), "an error must not wake us for ever");
		cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 0);
		cr_expect_eq(offer(100, 0, 32), 32);
		cr_expect_eq(stats_of().tx_error_packets, 32 * (round + 1));
		veth_run("ip link set leaf up");
		veth_wait(io, "host");
	}
	expect_traffic();
}

Test(packet_mmap_faults, frames_received_before_the_interface_went_down_are_not_lost, .init = setup,
     .fini = teardown)
{
	bytes_frame(sent, 300, TYPE_TEST, 1);
	for (uint32_t i = 0; i < 100; i++)
		veth_peer_send(peer, sent, 300);
	veth_run("ip link set leaf down");
	cr_expect_eq(veth_drain(io), 100);
	cr_expect_eq(stats_of().rx_missed_packets, 0);
}

Test(packet_mmap_faults, survives_the_interface_being_deleted, .init = setup, .fini = teardown)
{
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	struct port_io_link link;

	bytes_frame(sent, 300, TYPE_TEST, 1);
	for (uint32_t i = 0; i < 5; i++)
		veth_peer_send(peer, sent, 300);
	cr_assert_eq(offer(100, 0, 32), 32);
	veth_run("ip link delete leaf");
	cr_expect_eq(veth_drain(io), 5);
	cr_assert_eq(io->ops->link(io, &link), -ENODEV);
	cr_expect_not(link.up);
	cr_expect_eq(link.speed_bps, 0);
	cr_expect(error_waits());
	cr_expect_not(error_waits());
	for (uint32_t i = 0; i < 100; i++) {
		cr_assert_eq(offer(100, 0, 32), 32);
		cr_assert_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 0);
	}
	cr_expect_eq(stats_of().tx_error_packets, 3200);
	/* Another interface of that name is not this one. */
	veth_pair("leaf", "host", 1500);
	cr_assert_eq(io->ops->link(io, &link), -ENODEV);
	cr_expect_not(link.up);
}

Test(packet_mmap_faults, follows_a_renamed_interface, .init = setup, .fini = teardown)
{
	veth_run("ip link set leaf down; ip link set leaf name renamed; ip link set renamed up");
	veth_wait(io, "host");
	expect_traffic();
}

/* Send a burst of: 60 fits, too long, 61 fits. Both that fit must come through. */
static void send_around_a_long_one(uint32_t long_bytes, uint16_t type, uint64_t errors)
{
	struct rte_mbuf *packets[3] = {
		veth_packet(pool, 60, 1),
		veth_packet(pool, long_bytes, 2),
		veth_packet(pool, 61, 3),
	};
	uint16_t taken = 0;

	bytes_store16(packet_data(packets[1]) + 12, type);
	/* In two calls when the kernel has to say no. */
	for (int call = 0; call < 2 && taken < 3; call++)
		taken = (uint16_t)(taken + io->ops->tx_burst(io, 0, packets + taken,
							     (uint16_t)(3 - taken)));
	cr_assert_eq(taken, 3);
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS), 60);
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS), 61);
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), 0), 0);
	cr_expect_eq(stats_of().tx_error_packets, errors);
}

Test(packet_mmap_faults, frames_that_the_device_cannot_carry_are_counted, .init = setup,
     .fini = teardown)
{
	struct rte_mbuf *packet = veth_packet(pool, 14, 1);
	struct port_io_link link;

	send_around_a_long_one(1515, TYPE_TEST, 1);
	send_around_a_long_one(1518, TYPE_TEST, 2);
	/* An 802.1ad tag isn't allowed for. */
	send_around_a_long_one(1518, 0x88a8, 3);
	rte_pktmbuf_trim(packet, 1);
	cr_assert_eq(io->ops->tx_burst(io, 0, &packet, 1), 1);
	cr_expect_eq(stats_of().tx_error_packets, 4);

	/* The MTU is lowered behind our back: the kernel says so, then we know. */
	veth_run("ip link set leaf mtu 1300");
	send_around_a_long_one(1514, TYPE_TEST, 5);
	send_around_a_long_one(1315, TYPE_TEST, 6);
	send_around_a_long_one(1319, TYPE_VLAN, 7);
	cr_expect_eq(offer(1314, 0, 1), 1);
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS), 1314);
	/* And raised again, beyond what our slots hold. */
	veth_run("ip link set leaf mtu 9000");
	cr_assert_eq(io->ops->link(io, &link), 0);
	cr_expect_eq(offer(1514, 0, 1), 1);
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS), 1514);
	cr_expect_eq(stats_of().tx_error_packets, 7);
}

Test(packet_mmap_faults, frames_longer_than_the_port_takes_are_counted, .init = setup,
     .fini = teardown)
{
	veth_run("ip link set leaf mtu 9000; ip link set host mtu 9000");
	bytes_frame(sent, 1515, TYPE_TEST, 1); /* fits into a packet with a tag's room */
	veth_peer_send(peer, sent, 1519);
	veth_peer_send(peer, sent, 1600);
	veth_peer_send(peer, sent, 1622); /* 96 + 1518 rounded up, less 76 of header, is 1540 */
	veth_peer_send(peer, sent, 9014);
	cr_expect_eq(veth_drain(io), 0);
	cr_expect_eq(stats_of().rx_error_packets, 4);
	cr_expect_eq(stats_of().rx_missed_packets, 0);
	expect_traffic();
}
