/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_gso.h>
#include <rte_mbuf.h>

#include "dataplane/io/offload.h"
#include "tests/unit/bytes.h"
#include "tests/unit/superframe.h"

#define CWR 0x80

static const struct superframe_kind kinds[] = {
	{"TCP4", .piece_bytes = 1448, .payload_bytes = 60000, .tcp_options = 12, .tcp_flags = 0x08},
	{"TCP4, one byte more", .piece_bytes = 1460, .payload_bytes = 2921, .tcp_flags = 0x09},
	{"TCP4, exact", .piece_bytes = 1460, .payload_bytes = 2920, .tcp_flags = 0x09},
	{"TCP4, one piece", .piece_bytes = 1460, .payload_bytes = 1459, .tcp_flags = 0x08},
	{"TCP4, 64 KB", .piece_bytes = 8948, .payload_bytes = 65495},
	{"TCP4, tiny", .piece_bytes = 1, .payload_bytes = 40, .tcp_options = 40},
	{"TCP4, odd, tag", .piece_bytes = 999, .payload_bytes = 9999, .tag_tci = 0x6064},
	{"TCP6", .ipv6 = true, .piece_bytes = 1428, .payload_bytes = 60000, .tcp_options = 12},
	{"TCP6, tag", .ipv6 = true, .piece_bytes = 1440, .payload_bytes = 7201, .tag_tci = 1},
	{"UDP4", .udp = true, .piece_bytes = 1472, .payload_bytes = 60000},
	{"UDP4, tag", .udp = true, .piece_bytes = 1001, .payload_bytes = 4000, .tag_tci = 0xe001},
	{"UDP6", .udp = true, .ipv6 = true, .piece_bytes = 1452, .payload_bytes = 60000},
	{"TCP4, CWR of RFC 3168", .piece_bytes = 1000, .payload_bytes = 3000, .tcp_flags = CWR,
	 .congestion_hint = true},
	{"TCP4, CWR of AccECN", .piece_bytes = 1000, .payload_bytes = 3000, .tcp_flags = CWR},
};

static struct superframe frame;

Test(offload, a_superframe_becomes_its_pieces)
{
	static uint8_t out[10000];

	for (size_t k = 0; k < RTE_DIM(kinds); k++) {
		struct offload_pieces pieces;
		uint32_t index;

		superframe_build(&frame, &kinds[k]);
		cr_assert_eq(
			offload_pieces_begin(&pieces, frame.data, frame.bytes, &frame.header, 9234),
			0, "%s", kinds[k].name);
		for (index = 0; pieces.left > 0; index++) {
			uint32_t bytes;

			cr_assert_eq(pieces.left, superframe_pieces(&frame) - index);
			memset(out, 0xaa, sizeof(out));
			bytes = offload_pieces_next(&pieces, out);
			superframe_expect_piece(&frame, index, out, bytes);
			cr_expect_eq(out[bytes], 0xaa, "%s: wrote too far", kinds[k].name);
		}
		cr_expect_eq(index, superframe_pieces(&frame), "%s", kinds[k].name);
	}
}

Test(offload, a_superframe_with_a_finished_checksum_becomes_the_same)
{
	static uint8_t out[2000];

	for (size_t k = 0; k < RTE_DIM(kinds); k++) {
		struct offload_pieces pieces;

		superframe_build(&frame, &kinds[k]);
		frame.header.flags = VIRTIO_NET_HDR_F_DATA_VALID;
		frame.header.csum_start = frame.header.csum_offset = 0;
		if (kinds[k].piece_bytes > 1500)
			continue;
		cr_assert_eq(
			offload_pieces_begin(&pieces, frame.data, frame.bytes, &frame.header, 1518),
			0, "%s", kinds[k].name);
		frame.header.csum_offset = kinds[k].udp ? 6 : 16;
		for (uint32_t index = 0; pieces.left > 0; index++) {
			uint32_t bytes = offload_pieces_next(&pieces, out);

			superframe_expect_piece(&frame, index, out, bytes);
		}
	}
}

/* What to spoil in a frame that was right. */
struct refusal {
	const char *name;
	int kind; /* index into kinds */
	uint32_t offset, value, width;
	int32_t cut; /* bytes taken off the end */
	int result;
};

Test(offload, superframes_that_make_no_sense_are_refused)
{
	static const struct refusal row[] = {
		{"IPv4 total length 0 (more than 64 KB)", 0, 16, 0, 2, 0, -EBADMSG},
		{"IPv4 total length too long", 0, 16, 60053, 2, 0, -EBADMSG},
		{"IPv4 total length too short", 0, 16, 60051, 2, 0, -EBADMSG},
		{"IPv4 header of 16 bytes", 0, 14, 0x44, 1, 0, -EBADMSG},
		{"a tunnel", 0, 23, IPPROTO_UDP, 1, 0, -ENOTSUP},
		{"TCP header of 16 bytes", 0, 46, 0x40, 1, 0, -EBADMSG},
		{"not IP", 0, 12, 0x88b5, 2, 0, -ENOTSUP},
		{"IPv6 in a TCP4 super-frame", 0, 12, 0x86dd, 2, 0, -ENOTSUP},
		{"IPv4 in a TCP6 super-frame", 7, 12, 0x0800, 2, 0, -ENOTSUP},
		{"IPv6 payload length 0", 7, 18, 0, 2, 0, -EBADMSG},
		{"IPv6 extension header", 7, 20, 0, 1, 0, -ENOTSUP},
		{"UDP said, TCP sent", 9, 23, IPPROTO_TCP, 1, 0, -ENOTSUP},
		{"cut before IPv4's end", 0, 0, 2, 1, 60000 + 32 + 1, -EBADMSG},
		{"cut before IPv6's end", 7, 0, 2, 1, 60000 + 32 + 1, -EBADMSG},
		{"cut in the tag", 6, 0, 2, 1, 9999 + 40 + 1, -ENOTSUP},
		{"nothing at all", 0, 0, 2, 1, 60066, -ENOTSUP},
	};

	for (size_t i = 0; i < RTE_DIM(row); i++) {
		struct offload_pieces pieces;

		superframe_build(&frame, &kinds[row[i].kind]);
		if (row[i].width == 1)
			frame.data[row[i].offset] = (uint8_t)row[i].value;
		else
			bytes_store16(frame.data + row[i].offset, row[i].value);
		cr_expect_eq(offload_pieces_begin(&pieces, frame.data,
						  frame.bytes - (uint32_t)row[i].cut, &frame.header,
						  9234),
			     row[i].result, "%s", row[i].name);
		cr_expect_eq(pieces.left, 0, "%s", row[i].name);
	}
}

Test(offload, superframes_that_would_not_fit_are_refused)
{
	struct offload_pieces pieces;
	struct virtio_net_hdr header;

	superframe_build(&frame, &kinds[0]);
	/* 14 + 20 + 32 + 1448 */
	cr_expect_eq(offload_pieces_begin(&pieces, frame.data, frame.bytes, &frame.header, 1513),
		     -EMSGSIZE);
	cr_expect_eq(offload_pieces_begin(&pieces, frame.data, frame.bytes, &frame.header, 1514),
		     0);
	header = frame.header;
	header.gso_size = 0;
	cr_expect_eq(offload_pieces_begin(&pieces, frame.data, frame.bytes, &header, 1514),
		     -EBADMSG);
	header = frame.header;
	header.gso_type = VIRTIO_NET_HDR_GSO_UDP; /* fragments: no kernel sends them any more */
	cr_expect_eq(offload_pieces_begin(&pieces, frame.data, frame.bytes, &header, 1514),
		     -ENOTSUP);
	header.gso_type = 77;
	cr_expect_eq(offload_pieces_begin(&pieces, frame.data, frame.bytes, &header, 1514),
		     -ENOTSUP);
	cr_expect_eq(offload_pieces_begin(&pieces, frame.data, OFFLOAD_FRAME_BYTES_MAX + 1,
					  &frame.header, 1514),
		     -ENOTSUP);
}

/* 14 bytes of Ethernet and a transport part that isn't looked into. */
static void finish(uint8_t *data, uint32_t bytes, uint16_t start, uint16_t offset, int result)
{
	struct virtio_net_hdr header = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = start,
		.csum_offset = offset,
	};

	cr_expect_eq(offload_checksum_finish(data, bytes, &header), result);
}

Test(offload, an_unfinished_checksum_is_finished)
{
	/* RFC 1071 section 3: 0001 f203 f4f5 f6f7 sum up to ddf2. */
	uint8_t even[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0x00, 0x00};
	/* The same with one more byte: ddf2 + ab00 = 188f2, folded 88f3. */
	uint8_t odd[] = {0xee, 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0x00, 0x00, 0xab};
	/* A pseudo-header's sum of 1000 in the field counts: ddf2 + 1000 = edf2. */
	uint8_t pseudo[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7, 0x10, 0x00};

	/* 2 past the end of the words: not UDP's place. */
	finish(even, sizeof(even), 0, 8, 0);
	cr_expect_eq(bytes_load16(even + 8), 0xffff - 0xddf2);
	finish(odd, sizeof(odd), 1, 8, 0);
	cr_expect_eq(bytes_load16(odd + 9), 0xffff - 0x88f3);
	finish(pseudo, sizeof(pseudo), 0, 8, 0);
	cr_expect_eq(bytes_load16(pseudo + 8), 0xffff - 0xedf2);
}

Test(offload, a_udp_checksum_is_never_zero)
{
	uint8_t udp[8] = {0xff, 0xff}, tcp[20] = {0xff, 0xff};

	finish(udp, sizeof(udp), 0, 6, 0);
	cr_expect_eq(bytes_load16(udp + 6), 0xffff, "RFC 768: all ones stands for zero");
	finish(tcp, sizeof(tcp), 0, 16, 0);
	cr_expect_eq(bytes_load16(tcp + 16), 0);
}

Test(offload, a_checksum_outside_of_the_frame_is_refused)
{
	uint8_t data[64] = {0}, copy[64] = {0};
	struct virtio_net_hdr none = {.csum_start = 60000, .csum_offset = 60000};

	finish(data, 60, 59, 0, -EBADMSG);
	finish(data, 60, 60, 0, -EBADMSG);
	finish(data, 60, 34, 25, -EBADMSG);
	finish(data, 60, 65535, 65535, -EBADMSG);
	finish(data, 0, 0, 0, -EBADMSG);
	finish(data, 60, 58, 0, 0);
	cr_expect_eq(offload_checksum_finish(copy, 60, &none), 0, "nothing asked for");
	cr_expect_eq(memcmp(copy, (uint8_t[64]){0}, 64), 0);
}

Test(offload, an_sctp_checksum_is_a_crc)
{
	/* RFC 3720 B.4: the CRC32C of 32 bytes of zeros is, in order of transmission, aa 36 91 8a. */
	static const uint8_t crc[] = {0xaa, 0x36, 0x91, 0x8a};
	uint8_t data[14 + 40 + 32] = {0};

	bytes_store16(data + 12, 0x0800);
	data[14 + 9] = 132;
	data[34 + 8] = 0x55; /* what stood in the field doesn't count */
	finish(data, 34 + 32, 34, 8, 0);
	cr_expect_eq(memcmp(data + 34 + 8, crc, sizeof(crc)), 0);

	memset(data, 0, sizeof(data));
	bytes_store16(data + 12, 0x86dd);
	data[14 + 6] = 132;
	finish(data, 54 + 32, 54, 8, 0);
	cr_expect_eq(memcmp(data + 54 + 8, crc, sizeof(crc)), 0);
	finish(data, 54 + 10, 54, 8, -EBADMSG);
}

/* --- DPDK's own segmentation as a second opinion --- */

#define GSO_PIECES_MAX 128

static void gso_compare(struct rte_mempool *pool, struct rte_mempool *indirect,
			const struct superframe_kind *kind)
{
	static uint8_t ours[10000], theirs[10000];
	struct rte_mbuf *out[GSO_PIECES_MAX], *whole = rte_pktmbuf_alloc(pool);
	struct rte_gso_ctx context = {
		.direct_pool = pool,
		.indirect_pool = indirect,
		.gso_types = RTE_ETH_TX_OFFLOAD_TCP_TSO,
	};
	struct offload_pieces pieces;
	int count;

	superframe_build(&frame, kind);
	context.gso_size = (uint16_t)(frame.header_bytes + kind->piece_bytes);
	cr_assert_not_null(whole);
	memcpy(rte_pktmbuf_append(whole, (uint16_t)frame.bytes), frame.data, frame.bytes);
	whole->ol_flags =
		RTE_MBUF_F_TX_TCP_SEG | (kind->ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
	whole->l2_len = frame.l3_offset & 127;
	whole->l3_len = (frame.l4_offset - frame.l3_offset) & 511;
	whole->l4_len = (frame.header_bytes - frame.l4_offset) & 255;
	count = rte_gso_segment(whole, &context, out, GSO_PIECES_MAX);
	if (kind->ipv6) {
		cr_expect_leq(count, 0, "it can't, says offload.h");
		rte_pktmbuf_free(whole);
		return;
	}
	cr_assert_eq(count, (int)superframe_pieces(&frame), "%s: %d", kind->name, count);
	cr_assert_eq(offload_pieces_begin(&pieces, frame.data, frame.bytes, &frame.header, 9234),
		     0);
	for (int i = 0; i < count; i++) {
		uint32_t bytes = offload_pieces_next(&pieces, ours);
		uint32_t checksum = frame.l4_offset + 16;

		cr_assert_eq(out[i]->pkt_len, bytes, "%s, piece %d", kind->name, i);
		/* It comes in two segments, so this copies. */
		cr_assert_eq(rte_pktmbuf_read(out[i], 0, bytes, theirs), theirs);
		/* It leaves checksums alone; ours are checked elsewhere. */
		memset(theirs + checksum, 0, 2);
		memset(ours + checksum, 0, 2);
		memset(theirs + frame.l3_offset + 10, 0, 2);
		memset(ours + frame.l3_offset + 10, 0, 2);
		cr_expect_eq(memcmp(ours, theirs, bytes), 0, "%s, piece %d", kind->name, i);
	}
	rte_pktmbuf_free_bulk(out, (unsigned int)count);
	rte_pktmbuf_free(whole);
}

Test(offload, pieces_are_those_of_rte_gso)
{
	static char line[] = "test --no-huge -m 64 --no-shconf --no-pci --no-telemetry -l 0 "
			     "--log-level=4";
	struct rte_mempool *pool, *indirect;
	char *arguments[16];
	int count = 0;

	for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
		arguments[count++] = word;
	cr_assert_geq(rte_eal_init(count, arguments), 0);
	pool = rte_pktmbuf_pool_create("direct", 255, 0, 0, UINT16_MAX, SOCKET_ID_ANY);
	indirect = rte_pktmbuf_pool_create("indirect", 255, 0, 0, 0, SOCKET_ID_ANY);
	cr_assert(pool != NULL && indirect != NULL);
	for (size_t k = 0; k < RTE_DIM(kinds); k++)
		if (!kinds[k].udp && (kinds[k].tcp_flags & CWR) == 0 &&
		    superframe_pieces(&(struct superframe){.kind = kinds[k]}) > 1 &&
		    kinds[k].payload_bytes < 65000)
			gso_compare(pool, indirect, &kinds[k]);
	cr_expect_eq(rte_mempool_in_use_count(pool), 0);
}
