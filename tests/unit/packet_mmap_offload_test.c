/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dataplane/io/packet_mmap.h"
#include "dataplane/packet.h"
#include "tests/unit/bytes.h"
#include "tests/unit/superframe.h"
#include "tests/unit/veth.h"

#define TYPE_TEST 0x88b5

static struct rte_mempool *pool;
static struct port_io *io;
static int peer;
static struct superframe frame;

static void open_port(uint32_t mtu_bytes)
{
	veth_enter();
	veth_pair("leaf", "host", mtu_bytes);
	pool = veth_pool(1023, mtu_bytes);
	io = veth_port("leaf", "host", mtu_bytes, pool);
	peer = veth_peer("host", true);
}

static void setup(void)
{
	open_port(1500);
}

static void setup_jumbo(void)
{
	open_port(9000);
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

/* A host 10.1.0.1 and fd00::1 at the far end, which takes 10.1.0.2 and fd00::2 for the leaf. */
static void host_addresses(void)
{
	veth_run("echo 0 >/proc/sys/net/ipv6/conf/host/disable_ipv6;"
		 "echo 0 >/proc/sys/net/ipv6/conf/host/router_solicitations;"
		 "ip address add 10.1.0.1/24 dev host; ip address add fd00::1/64 dev host nodad;"
		 "ip neighbour add 10.1.0.2 lladdr 02:00:00:00:10:01 dev host;"
		 "ip neighbour add fd00::2 lladdr 02:00:00:00:10:01 dev host;"
		 "ip route add 10.1.0.2/32 dev host initcwnd 100;"
		 "ip route add fd00::2/128 dev host initcwnd 100");
}

/*
 * The next packet of this kind; the host also sends multicast listener reports, and what the last
 * connection left behind.
 */
static struct rte_mbuf *next_packet(uint8_t protocol, bool ipv6)
{
	for (;;) {
		struct rte_mbuf *packet;
		const uint8_t *data;

		cr_assert_eq(veth_receive(io, &packet, 1), 1, "no packet came");
		data = packet_data(packet);
		if (bytes_load16(data + 12) == (ipv6 ? 0x86dd : 0x0800) &&
		    data[ipv6 ? 20 : 23] == protocol)
			return packet;
		rte_pktmbuf_free(packet);
	}
}

static int host_socket(int type, bool ipv6, struct sockaddr_storage *leaf, socklen_t *bytes)
{
	memset(leaf, 0, sizeof(*leaf));
	if (ipv6) {
		struct sockaddr_in6 *address = (void *)leaf;

		address->sin6_family = AF_INET6;
		address->sin6_port = htons(4791);
		cr_assert_eq(inet_pton(AF_INET6, "fd00::2", &address->sin6_addr), 1);
		*bytes = sizeof(*address);
	} else {
		struct sockaddr_in *address = (void *)leaf;

		address->sin_family = AF_INET;
		address->sin_port = htons(4791);
		cr_assert_eq(inet_pton(AF_INET, "10.1.0.2", &address->sin_addr), 1);
		*bytes = sizeof(*address);
	}
	return socket(ipv6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
}

Test(packet_mmap_offload, checksums_of_a_udp_socket_are_complete, .init = setup, .fini = teardown)
{
	static const uint32_t sizes[] = {0, 1, 2, 17, 1000, 1451, 1452};
	static uint8_t payload[1500];

	host_addresses();
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		struct sockaddr_storage leaf;
		socklen_t bytes;
		int fd = host_socket(SOCK_DGRAM, ipv6 != 0, &leaf, &bytes);

		for (size_t i = 0; i < RTE_DIM(sizes); i++) {
			struct rte_mbuf *packet;
			const uint8_t *l4;

			memset(payload, (int)(0x5a + i), sizeof(payload));
			cr_assert_eq(sendto(fd, payload, sizes[i], 0, (void *)&leaf, bytes),
				     (ssize_t)sizes[i], "%s", strerror(errno));
			packet = next_packet(IPPROTO_UDP, ipv6 != 0);
			l4 = packet_data(packet) + (ipv6 != 0 ? 54 : 34);
			cr_expect_eq(packet->data_len, (ipv6 != 0 ? 62 : 42) + sizes[i]);
			cr_expect_neq(bytes_load16(l4 + 6), 0);
			cr_expect_eq(bytes_transport_sum(packet_data(packet) + 14), 0xffff,
				     "IPv%d, %u bytes", ipv6 != 0 ? 6 : 4, sizes[i]);
			rte_pktmbuf_free(packet);
		}
		(void)close(fd);
	}
	cr_expect_eq(stats_of().rx_superframes, 0);
}

/* Receive what the super-frame must become. */
static void expect_pieces(void)
{
	struct rte_mbuf *packets[2000];
	uint32_t count = superframe_pieces(&frame);

	cr_assert_leq(count, RTE_DIM(packets));
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(veth_receive(io, packets, 1), 1, "%s: piece %u of %u", frame.kind.name,
			     i, count);
		cr_expect_eq(packets[0]->nb_segs, 1);
		cr_expect_eq(packets[0]->port, 7);
		cr_expect_eq(packet_virtual_bytes(packets[0]), 0);
		superframe_expect_piece(&frame, i, packet_data(packets[0]), packets[0]->data_len);
		rte_pktmbuf_free(packets[0]);
	}
}

static const struct superframe_kind kinds[] = {
	{"TCP4", .piece_bytes = 1448, .payload_bytes = 60000, .tcp_options = 12, .tcp_flags = 0x08},
	{"TCP6", .ipv6 = true, .piece_bytes = 1428, .payload_bytes = 60000, .tcp_options = 12},
	/* As long as Linux makes them: 65535 bytes with all headers. */
	{"TCP4 64 KB", .piece_bytes = 1460, .payload_bytes = 65481, .tcp_flags = 0x09},
	{"TCP4 short", .piece_bytes = 100, .payload_bytes = 1001},
	{"TCP4 tagged", .piece_bytes = 1460, .payload_bytes = 60000, .tag_tci = 0x6064},
	{"TCP6 tagged", .ipv6 = true, .piece_bytes = 1440, .payload_bytes = 30000, .tag_tci = 5},
	{"UDP4", .udp = true, .piece_bytes = 1472, .payload_bytes = 60000},
	{"UDP6", .udp = true, .ipv6 = true, .piece_bytes = 1452, .payload_bytes = 60000},
};

static void send_superframe(void)
{
	veth_peer_send_offload(peer, &frame.header, frame.data, frame.bytes);
}

Test(packet_mmap_offload, superframes_become_frames_of_the_mtu, .init = setup, .fini = teardown)
{
	for (size_t k = 0; k < RTE_DIM(kinds); k++) {
		superframe_build(&frame, &kinds[k]);
		send_superframe();
		expect_pieces();
		cr_expect_eq(stats_of().rx_superframes, k + 1, "%s", kinds[k].name);
	}
	cr_expect_eq(stats_of().rx_superframe_drops, 0);
	cr_expect_eq(stats_of().rx_missed_packets, 0);
}

Test(packet_mmap_offload, superframes_that_fit_into_a_jumbo_slot_are_cut_too, .init = setup_jumbo,
     .fini = teardown)
{
	const struct superframe_kind kind = {"TCP4 in a slot", .piece_bytes = 1448,
					     .payload_bytes = 8000, .tcp_options = 12};

	superframe_build(&frame, &kind);
	send_superframe();
	send_superframe();
	expect_pieces();
	expect_pieces();
	cr_expect_eq(stats_of().rx_superframes, 2);
}

Test(packet_mmap_offload, superframes_and_frames_keep_their_order, .init = setup, .fini = teardown)
{
	static const struct virtio_net_hdr nothing;
	static uint8_t plain[1514];
	struct rte_mbuf *packet;

	for (uint32_t round = 0; round < 10; round++) {
		struct superframe_kind kind = kinds[round % 4];

		kind.payload_bytes -= round;
		superframe_build(&frame, &kind);
		bytes_frame(plain, 1514, TYPE_TEST, round);
		veth_peer_send_offload(peer, &nothing, plain, 1514);
		send_superframe();
		veth_peer_send_offload(peer, &nothing, plain, 60);
		/* The waiting frames are two and a half bursts and more. */
		cr_assert_eq(veth_receive(io, &packet, 1), 1);
		cr_expect_eq(packet->data_len, 1514);
		cr_expect_eq(memcmp(packet_data(packet), plain, 1514), 0);
		rte_pktmbuf_free(packet);
		expect_pieces();
		cr_assert_eq(veth_receive(io, &packet, 1), 1);
		cr_expect_eq(packet->data_len, 60);
		cr_expect_eq(memcmp(packet_data(packet), plain, 60), 0);
		rte_pktmbuf_free(packet);
	}
}

Test(packet_mmap_offload, a_superframe_waits_for_buffers, .init = setup, .fini = teardown)
{
	struct rte_mbuf *held[1023], *packets[BURST_COUNT_MAX];
	uint32_t index = 0;

	superframe_build(&frame, &kinds[0]);
	send_superframe();
	cr_assert_eq(rte_pktmbuf_alloc_bulk(pool, held, 1020), 0);
	while (index < superframe_pieces(&frame)) {
		uint16_t count = io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX);

		cr_assert(count > 0 && count <= 3, "%u", count);
		for (uint16_t i = 0; i < count; i++)
			superframe_expect_piece(&frame, index++, packet_data(packets[i]),
						packets[i]->data_len);
		/* With the last buffers out nothing comes, and nothing is lost. */
		if (index < superframe_pieces(&frame) && count == 3)
			cr_assert_eq(io->ops->rx_burst(io, 0, held + 1020, 1), 0);
		cr_expect_eq(io->ops->rx_backlog(io, 0), index < superframe_pieces(&frame));
		rte_pktmbuf_free_bulk(packets, count);
	}
	rte_pktmbuf_free_bulk(held, 1020);
	cr_expect_eq(stats_of().rx_missed_packets, 0);
}

Test(packet_mmap_offload, superframes_are_received_or_missed, .init = setup, .fini = teardown)
{
	const uint64_t total = 600; /* of 60 KB, so 36 MB: no socket queue holds them */
	struct port_io_stats stats;
	uint64_t received;

	superframe_build(&frame, &kinds[0]);
	for (uint64_t i = 0; i < total; i++)
		send_superframe();
	received = veth_drain(io);
	stats = stats_of();
	cr_expect_gt(stats.rx_missed_packets, 0);
	cr_expect_gt(stats.rx_superframes, 0);
	cr_expect_eq(stats.rx_superframes + stats.rx_missed_packets, total);
	cr_expect_eq(received, stats.rx_superframes * superframe_pieces(&frame));
	send_superframe();
	expect_pieces();
}

Test(packet_mmap_offload, superframes_outlive_the_interface_going_down, .init = setup,
     .fini = teardown)
{
	superframe_build(&frame, &kinds[0]);
	send_superframe();
	send_superframe();
	veth_run("ip link set leaf down");
	expect_pieces();
	expect_pieces();
	cr_expect_eq(stats_of().rx_missed_packets, 0);
}

Test(packet_mmap_offload, superframes_of_a_larger_mtu_are_counted, .init = setup, .fini = teardown)
{
	const struct superframe_kind large = {"jumbo", .piece_bytes = 8948, .payload_bytes = 60000};

	veth_run("ip link set host mtu 9000");
	superframe_build(&frame, &large);
	send_superframe();
	cr_expect_eq(veth_drain(io), 0);
	cr_expect_eq(stats_of().rx_superframes, 1);
	cr_expect_eq(stats_of().rx_superframe_drops, 1);
	superframe_build(&frame, &kinds[0]);
	send_superframe();
	expect_pieces();
	cr_expect_eq(stats_of().rx_superframe_drops, 1);
}

/* --- a real TCP connection, with the leaf's end played by hand --- */

/* Answer a SYN: the same packet back with addresses, ports and flags turned round. */
static void answer_syn(struct rte_mbuf *syn, bool ipv6)
{
	static const uint8_t options[8] = {2, 4, 1460 >> 8, 1460 & 0xff, 3, 3, 7, 0};
	uint8_t *data = packet_data(syn), *l3 = data + 14, *l4 = l3 + (ipv6 ? 40 : 20);
	uint32_t address = ipv6 ? 16 : 4, at = ipv6 ? 8 : 12;
	uint8_t swap[16];

	memcpy(swap, data, 6);
	memcpy(data, data + 6, 6);
	memcpy(data + 6, swap, 6);
	memcpy(swap, l3 + at, address);
	memcpy(l3 + at, l3 + at + address, address);
	memcpy(l3 + at + address, swap, address);
	memcpy(swap, l4, 2);
	memcpy(l4, l4 + 2, 2);
	memcpy(l4 + 2, swap, 2);
	bytes_store32(l4 + 8, bytes_load32(l4 + 4) + 1);
	bytes_store32(l4 + 4, 1);
	l4[12] = 28 / 4 << 4;
	l4[13] = 0x12; /* SYN, ACK */
	bytes_store16(l4 + 14, 65535);
	memcpy(l4 + 20, options, sizeof(options));
	if (ipv6) {
		bytes_store16(l3 + 4, 28);
	} else {
		bytes_store16(l3 + 2, 48);
		bytes_store16(l3 + 10, 0);
		bytes_store16(l3 + 10, (uint16_t)~bytes_sum(l3, 20, 0));
	}
	bytes_store16(l4 + 16, 0);
	bytes_store16(l4 + 16, (uint16_t)~bytes_transport_sum(l3));
	syn->data_len = (uint16_t)(14 + (ipv6 ? 40 : 20) + 28);
	syn->pkt_len = syn->data_len;
	cr_assert_eq(io->ops->tx_burst(io, 0, &syn, 1), 1);
}

static void tcp_connection(bool ipv6)
{
	static uint8_t payload[60000];
	uint32_t l4_offset = ipv6 ? 54 : 34, next = 0, done = 0;
	struct sockaddr_storage leaf;
	socklen_t bytes;
	int fd = host_socket(SOCK_STREAM | SOCK_NONBLOCK, ipv6, &leaf, &bytes);
	int room = 1 << 20;
	struct pollfd writable = {.fd = fd, .events = POLLOUT};
	struct rte_mbuf *packet;
	bool id_known = false, syn;
	uint16_t id = 0;

	cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	for (uint32_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 13 + i / 255);
	cr_assert(connect(fd, (void *)&leaf, bytes) != 0 && errno == EINPROGRESS);
	packet = next_packet(IPPROTO_TCP, ipv6);
	cr_expect_eq(bytes_transport_sum(packet_data(packet) + 14), 0xffff, "of the SYN");
	next = bytes_load32(packet_data(packet) + l4_offset + 4) + 1;
	answer_syn(packet, ipv6);
	/* The handshake's last; on a busy machine the SYN may have come twice. */
	do {
		packet = next_packet(IPPROTO_TCP, ipv6);
		syn = (packet_data(packet)[l4_offset + 13] & 0x02) != 0;
		rte_pktmbuf_free(packet);
	} while (syn);
	cr_assert_eq(poll(&writable, 1, VETH_WAIT_MS), 1, "not connected");
	cr_assert_eq(send(fd, payload, sizeof(payload), 0), (ssize_t)sizeof(payload), "%s",
		     strerror(errno));
	while (done < sizeof(payload)) {
		const uint8_t *data, *l4;
		uint32_t header, got;

		packet = next_packet(IPPROTO_TCP, ipv6);
		data = packet_data(packet);
		l4 = data + l4_offset;
		header = l4_offset + (l4[12] >> 4) * 4u;
		got = packet->data_len - header;
		cr_expect_leq(packet->data_len, 1514);
		cr_expect_eq(bytes_transport_sum(data + 14), 0xffff, "after %u bytes", done);
		if ((int32_t)(bytes_load32(l4 + 4) - next - done) < 0) {
			/* Sent again, because nobody acknowledges anything here. */
			id_known = false;
			rte_pktmbuf_free(packet);
			continue;
		}
		cr_assert_eq(bytes_load32(l4 + 4), next + done, "sequence after %u bytes", done);
		cr_assert_leq(done + got, sizeof(payload));
		cr_assert_eq(memcmp(data + header, payload + done, got), 0);
		if (!ipv6) {
			cr_expect_eq(bytes_sum(data + 14, 20, 0), 0xffff);
			cr_expect_eq(bytes_load16(data + 16), packet->data_len - 14);
			if (id_known)
				cr_expect_eq(bytes_load16(data + 18), (uint16_t)(id + 1));
			id = bytes_load16(data + 18);
			id_known = true;
		}
		done += got;
		rte_pktmbuf_free(packet);
	}
	(void)close(fd);
}

Test(packet_mmap_offload, a_tcp_socket_sends_superframes_and_we_get_frames, .init = setup,
     .fini = teardown)
{
	uint64_t before;

	host_addresses();
	tcp_connection(false);
	before = stats_of().rx_superframes;
	cr_expect_gt(before, 0);
	tcp_connection(true);
	cr_expect_gt(stats_of().rx_superframes, before);
	cr_expect_eq(stats_of().rx_superframe_drops, 0);
}
