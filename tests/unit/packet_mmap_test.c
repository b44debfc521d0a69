/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dataplane/io/packet_mmap.h"
#include "dataplane/packet.h"
#include "tests/unit/bytes.h"
#include "tests/unit/veth.h"

#define TYPE_TEST 0x88b5 /* IEEE 802 local experimental */
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8

static struct rte_mempool *pool;
static struct port_io *io;
static int peer;
static uint8_t sent[VETH_FRAME_BYTES], seen[VETH_FRAME_BYTES];

static void open_port(uint32_t mtu_bytes)
{
	veth_enter();
	veth_pair("leaf", "host", mtu_bytes);
	pool = veth_pool(1023, mtu_bytes);
	io = veth_port("leaf", "host", mtu_bytes, pool);
	peer = veth_peer("host", false);
}

static void setup(void)
{
	open_port(1500);
}

static void setup_jumbo(void)
{
	open_port(MTU_BYTES_MAX);
}

static void teardown(void)
{
	port_io_close(io);
	if (pool != NULL)
		cr_expect_eq(rte_mempool_in_use_count(pool), 0);
}

static void expect_frame(struct rte_mbuf *packet, const uint8_t *frame, uint32_t bytes)
{
	cr_expect_eq(packet->nb_segs, 1);
	cr_expect_eq(packet->port, 7);
	cr_expect_eq(packet_virtual_bytes(packet), 0);
	cr_expect_eq(packet->pkt_len, packet->data_len);
	cr_assert_eq(packet->data_len, bytes, "%u bytes, not %u", packet->data_len, bytes);
	cr_expect_eq(memcmp(packet_data(packet), frame, bytes), 0, "%u bytes differ", bytes);
}

static void expect_received(const uint8_t *frame, uint32_t bytes)
{
	struct rte_mbuf *packet;

	cr_assert_eq(veth_receive(io, &packet, 1), 1, "%u bytes", bytes);
	expect_frame(packet, frame, bytes);
	rte_pktmbuf_free(packet);
}

Test(packet_mmap, frames_of_every_length_arrive_byte_for_byte, .init = setup_jumbo,
     .fini = teardown)
{
	/* 14: an Ethernet header alone; 9234: MTU 9216, header and VLAN tag. */
	static const uint32_t bytes[] = {14,   15,   60,   61,   64,   127,  128,  1514, 1518,
					 2048, 4095, 4096, 4114, 8192, 9000, 9229, 9230};

	for (size_t i = 0; i < RTE_DIM(bytes); i++) {
		bytes_frame(sent, bytes[i], TYPE_TEST, (uint32_t)i);
		veth_peer_send(peer, sent, bytes[i]);
		expect_received(sent, bytes[i]);
	}
	bytes_frame(sent, FRAME_BYTES_MAX, TYPE_VLAN, 1);
	veth_peer_send(peer, sent, FRAME_BYTES_MAX);
	expect_received(sent, FRAME_BYTES_MAX);
}

Test(packet_mmap, frames_of_every_length_leave_byte_for_byte, .init = setup_jumbo, .fini = teardown)
{
	static const uint32_t bytes[] = {14,   15,   60,   61,   64,   127,  128,  1514, 1518,
					 2048, 4095, 4096, 4114, 8192, 9000, 9229, 9230, 9234};

	for (size_t i = 0; i < RTE_DIM(bytes); i++) {
		struct rte_mbuf *packet = veth_packet(pool, bytes[i], (uint32_t)i);

		bytes_frame(sent, bytes[i], TYPE_TEST, (uint32_t)i);
		if (bytes[i] == FRAME_BYTES_MAX) {
			bytes_store16(packet_data(packet) + 12, TYPE_VLAN);
			bytes_store16(sent + 12, TYPE_VLAN);
		}
		cr_assert_eq(io->ops->tx_burst(io, 0, &packet, 1), 1);
		cr_assert_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS), bytes[i]);
		cr_expect_eq(memcmp(seen, sent, bytes[i]), 0, "%u bytes differ", bytes[i]);
	}
	cr_expect_eq(io->ops->tx_backlog(io, 0), 0);
}

Test(packet_mmap, tags_are_where_they_were, .init = setup, .fini = teardown)
{
	/* The kernel takes the outer tag of each out; what is behind it stays in the frame. */
	static const struct {
		uint16_t outer, outer_tci, inner, inner_tci;
	} row[] = {
		{TYPE_VLAN, 0x0001, TYPE_TEST, 0x1234}, {TYPE_VLAN, 0xefff, 0x0800, 0x4500},
		{TYPE_VLAN, 0x6000, TYPE_TEST, 0},      {TYPE_QINQ, 0x0064, TYPE_VLAN, 0x00c8},
		{TYPE_VLAN, 0x7065, TYPE_VLAN, 0x60c8}, {TYPE_VLAN, 0, TYPE_QINQ, 0x0fff},
	};

	for (size_t i = 0; i < RTE_DIM(row); i++) {
		bytes_frame(sent, 1518, row[i].outer, (uint32_t)i);
		bytes_store16(sent + 14, row[i].outer_tci);
		bytes_store16(sent + 16, row[i].inner);
		bytes_store16(sent + 18, row[i].inner_tci);
		veth_peer_send(peer, sent, row[i].outer == TYPE_VLAN ? 1518 : 1514);
		expect_received(sent, row[i].outer == TYPE_VLAN ? 1518 : 1514);
	}
}

Test(packet_mmap, bursts_keep_their_order_around_the_ring, .init = setup, .fini = teardown)
{
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	uint32_t received = 0;

	/* More than the 690 transmit slots (1 MiB / 1552) and the 2600 receive slots. */
	for (uint32_t sequence = 0; sequence < 100 * BURST_COUNT_MAX;) {
		for (uint32_t i = 0; i < BURST_COUNT_MAX; i++)
			packets[i] = veth_packet(pool, 60 + (sequence + i) % 1400, sequence + i);
		cr_assert_eq(io->ops->tx_burst(io, 0, packets, BURST_COUNT_MAX), BURST_COUNT_MAX);
		for (uint32_t i = 0; i < BURST_COUNT_MAX; i++, sequence++) {
			uint32_t bytes = 60 + sequence % 1400;

			bytes_frame(sent, bytes, TYPE_TEST, sequence);
			cr_assert_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS),
				     bytes);
			cr_assert_eq(memcmp(seen, sent, bytes), 0, "frame %u", sequence);
			veth_peer_send(peer, seen, bytes);
		}
		cr_assert_eq(veth_receive(io, packets, BURST_COUNT_MAX), BURST_COUNT_MAX);
		for (uint32_t i = 0; i < BURST_COUNT_MAX; i++, received++) {
			bytes_frame(sent, 60 + received % 1400, TYPE_TEST, received);
			expect_frame(packets[i], sent, 60 + received % 1400);
		}
		rte_pktmbuf_free_bulk(packets, BURST_COUNT_MAX);
	}
	cr_expect_eq(io->ops->tx_backlog(io, 0), 0);
}

static bool readable(void)
{
	struct pollfd ready = {.fd = io->ops->descriptor(io, 0), .events = POLLIN};

	return poll(&ready, 1, 0) > 0;
}

Test(packet_mmap, backlog_and_descriptor_tell_what_waits, .init = setup, .fini = teardown)
{
	struct rte_mbuf *packet;

	for (int32_t waiting = 0; waiting < 300; waiting++) {
		cr_assert_eq(io->ops->rx_backlog(io, 0), waiting);
		cr_assert_eq(readable(), waiting > 0);
		bytes_frame(sent, 60, TYPE_TEST, (uint32_t)waiting);
		veth_peer_send(peer, sent, 60);
	}
	for (int32_t waiting = 300; waiting > 0; waiting--) {
		cr_assert_eq(io->ops->rx_backlog(io, 0), waiting);
		cr_assert(readable());
		cr_assert_eq(io->ops->rx_burst(io, 0, &packet, 1), 1);
		rte_pktmbuf_free(packet);
	}
	cr_expect_eq(io->ops->rx_backlog(io, 0), 0);
	cr_expect_not(readable());
	cr_expect_eq(io->ops->rx_burst(io, 0, &packet, 1), 0);
}

Test(packet_mmap, frames_stay_in_the_ring_while_the_pool_is_empty, .init = setup, .fini = teardown)
{
	struct rte_mbuf *held[1023], *packets[BURST_COUNT_MAX];
	struct port_io_stats stats;

	for (uint32_t i = 0; i < 8; i++) {
		bytes_frame(sent, 100, TYPE_TEST, i);
		veth_peer_send(peer, sent, 100);
	}
	cr_assert_eq(rte_pktmbuf_alloc_bulk(pool, held, 1023), 0);
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 0);
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 0);
	io->ops->stats(io, &stats);
	cr_expect_eq(stats.rx_no_buffer, 2);
	cr_expect_eq(io->ops->rx_backlog(io, 0), 8);

	/* Three buffers for eight frames: some are better than none. */
	rte_pktmbuf_free_bulk(held, 3);
	cr_expect_eq(io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX), 2);
	rte_pktmbuf_free_bulk(packets, 2);
	rte_pktmbuf_free_bulk(held + 3, 1020);
	for (uint32_t i = 2; i < 8; i++) {
		bytes_frame(sent, 100, TYPE_TEST, i);
		expect_received(sent, 100);
	}
	io->ops->stats(io, &stats);
	cr_expect_eq(stats.rx_missed_packets, 0);
}

Test(packet_mmap, what_others_send_out_of_the_port_is_not_received, .init = setup, .fini = teardown)
{
	int other = veth_peer("leaf", false);

	bytes_frame(sent, 200, TYPE_TEST, 1);
	veth_peer_send(other, sent, 200);
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), VETH_WAIT_MS), 200);
	cr_expect_eq(io->ops->rx_backlog(io, 0), 0);
	(void)close(other);
}

static void read_text(const char *command, char *text, size_t size)
{
	FILE *pipe = popen(command, "re");
	size_t bytes;

	cr_assert_not_null(pipe);
	bytes = fread(text, 1, size - 1, pipe);
	text[bytes] = '\0';
	cr_assert_eq(pclose(pipe), 0, "%s", command);
}

#define STATE                                                                                  \
	"ip -o link show leaf | sed 's/qdisc.*//; s/^[0-9]*: //';"                             \
	"ethtool -k leaf | grep -E '^(generic-receive|large-receive|rx-gro-list|rx-udp-gro)';" \
	"cat /proc/sys/net/ipv6/conf/leaf/disable_ipv6; ip -6 address show dev leaf"

Test(packet_mmap, what_it_changes_is_put_back)
{
	char before[2048], during[2048], after[2048];

	veth_enter();
	veth_pair("leaf", "host", 1500);
	veth_run("ethtool -K leaf gro on rx-gro-list on");
	pool = veth_pool(63, 9000);
	read_text(STATE, before, sizeof(before));
	io = veth_port("leaf", "host", 9000, pool);
	read_text(STATE, during, sizeof(during));
	cr_expect_not_null(strstr(during, "mtu 9000"), "%s", during);
	cr_expect_not_null(strstr(during, "NOARP,UP"), "%s", during);
	cr_expect_not_null(strstr(during, "generic-receive-offload: off"), "%s", during);
	cr_expect_not_null(strstr(during, "rx-gro-list: off"), "%s", during);
	cr_expect_not_null(strstr(during, "\n1\n"), "%s", during);
	port_io_close(io);
	read_text(STATE, after, sizeof(after));
	cr_expect_str_eq(before, after);
	cr_expect_not_null(strstr(after, "generic-receive-offload: on"), "%s", after);
}

Test(packet_mmap, the_kernel_does_not_answer_beside_us, .init = setup, .fini = teardown)
{
	/* Who has 10.9.9.9, which this machine has on another interface? */
	static const uint8_t request[60] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0,    0, 0x20, 2, 0x08, 0x06,
		0,    1,    8,    0,    6,    4,    0,    1, 0x02, 0, 0,    0, 0x20, 2,
		10,   9,    9,    1,    0,    0,    0,    0, 0,    0, 10,   9, 9,    9,
	};

	veth_run("ip link add other type veth peer name other1");
	veth_run("ip address add 10.9.9.9/24 dev other; ip link set other up");
	veth_peer_send(peer, request, sizeof(request));
	expect_received(request, sizeof(request));
	/* A reply would have been sent before the request was received here. */
	cr_expect_eq(veth_peer_receive(peer, seen, sizeof(seen), 0), 0);
}

Test(packet_mmap, the_device_tells_its_speed_and_address, .init = setup, .fini = teardown)
{
	struct port_io_link link;
	char text[64], mac[64];

	cr_assert_eq(io->ops->link(io, &link), 0);
	cr_expect(link.up);
	/* What `ethtool leaf` says of any veth. */
	cr_expect_eq(link.speed_bps, UINT64_C(10000000000));
	read_text("ip -o link show leaf | sed 's/.*ether //; s/ .*//'", text, sizeof(text));
	(void)snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x\n", io->mac[0], io->mac[1],
		       io->mac[2], io->mac[3], io->mac[4], io->mac[5]);
	cr_expect_str_eq(text, mac);
	cr_expect_eq(io->port, 7);
	cr_expect_eq(io->rx_queues, 1);
	cr_expect_eq(io->flags, PORT_IO_POLLED);
}

/* The kernel may set IFF_RUNNING late; until then a leaf would drop what its hosts send. */
Test(packet_mmap, the_link_is_known_as_soon_as_it_is_there)
{
	veth_enter();
	pool = veth_pool(255, 1500);
	for (uint32_t i = 0; i < 5; i++) {
		const struct packet_mmap_params params = {
			.interface = "leaf",
			.mtu_bytes = 1500,
			.pool = pool,
			.socket_id = SOCKET_ID_ANY,
		};
		struct port_io_link link;
		struct io_error error;

		veth_pair("leaf", "host", 1500);
		veth_run("ip link set leaf up");
		cr_assert_eq(packet_mmap_open(&params, &io, &error), 0, "%s", error.text);
		cr_assert_eq(io->ops->link(io, &link), 0);
		cr_assert(link.up, "pair %u", i);
		veth_run("ip link set host down");
		cr_assert_eq(io->ops->link(io, &link), 0);
		cr_assert_not(link.up, "pair %u", i);
		port_io_close(io);
		veth_run("ip link delete leaf");
	}
}

Test(packet_mmap, what_cannot_be_a_port_is_refused_with_its_name)
{
	struct packet_mmap_params params = {.port = 1, .socket_id = SOCKET_ID_ANY};
	struct {
		const char *interface, *says;
		uint32_t mtu_bytes, rx_slots;
		int result;
	} row[] = {
		{"nowhere", "interface nowhere", 1500, 0, -ENODEV},
		{"a-name-that-is-far-too-long", "a-name-that-is-far-too-long", 1500, 0, -ENODEV},
		{"", "interface ''", 1500, 0, -ENODEV},
		{"lo", "interface lo: not an Ethernet interface", 1500, 0, -ENOTSUP},
		{"leaf", "interface leaf: MTU 67 bytes is not in 68..9216", 67, 0, -EINVAL},
		{"leaf", "interface leaf: MTU 9217 bytes is not in 68..9216", 9217, 0, -EINVAL},
		/* 4000 + 18 bytes of header + 128 of headroom; the pool was made for 1500. */
		{"leaf",
		 "interface leaf: MTU 4000 bytes needs packet buffers of 4146 bytes, the "
		 "pool has 1646",
		 4000, 0, -EINVAL},
		{"leaf", "interface leaf: rings of 65537 and 0 slots", 1500, 65537, -EINVAL},
	};
	struct port_io *port = NULL;
	struct io_error error;

	veth_enter();
	veth_pair("leaf", "host", 1500);
	params.pool = veth_pool(63, 1500);
	for (size_t i = 0; i < RTE_DIM(row); i++) {
		params.interface = row[i].interface;
		params.mtu_bytes = row[i].mtu_bytes;
		params.rx_slots = row[i].rx_slots;
		cr_expect_eq(packet_mmap_open(&params, &port, &error), row[i].result, "%s: %s",
			     row[i].interface, error.text);
		cr_expect_not_null(strstr(error.text, row[i].says), "%s", error.text);
		cr_expect_null(port);
	}
}
