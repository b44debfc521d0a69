/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/offload.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

/* Where SCTP keeps its checksum; nothing else that the kernel leaves unfinished has it there. */
#define SCTP_CHECKSUM_OFFSET 8
#define CRC32C_POLYNOMIAL    0x82f63b78u /* Castagnoli, reflected: RFC 9260 appendix A */

static uint16_t load16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return rte_be_to_cpu_16(value);
}

static void store16(uint8_t *at, uint32_t value)
{
	uint16_t wire = rte_cpu_to_be_16((uint16_t)value);

	memcpy(at, &wire, sizeof(wire));
}

static void store_sum(uint8_t *at, uint16_t sum)
{
	memcpy(at, &sum, sizeof(sum)); /* sums are kept in the order of memory */
}

/* A sum of 16-bit words, carries added until none is left. */
static uint16_t fold(uint64_t sum)
{
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* The complement; UDP's 0 would mean "no checksum" (RFC 768), the same number is 0xffff. */
static uint16_t finish(uint64_t sum, bool udp)
{
	uint16_t checksum = (uint16_t)~fold(sum);

	return checksum == 0 && udp ? 0xffff : checksum;
}

static uint32_t crc32c(const uint8_t *data, uint32_t bytes)
{
	uint32_t crc = UINT32_MAX;

	for (uint32_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ ((crc & 1) != 0 ? CRC32C_POLYNOMIAL : 0);
	}
	return ~crc;
}

/* Bytes of the Ethernet header with up to two tags, and the type of what follows. */
static uint32_t ether_parse(const uint8_t *frame, uint32_t bytes, uint16_t *type)
{
	uint32_t offset = RTE_ETHER_HDR_LEN;

	*type = 0;
	if (bytes < offset)
		return bytes;
	*type = load16(frame + offset - 2);
	for (unsigned int tags = 0; tags < 2; tags++) {
		if (*type != RTE_ETHER_TYPE_VLAN && *type != RTE_ETHER_TYPE_QINQ)
			break;
		if (bytes < offset + sizeof(struct rte_vlan_hdr))
			return bytes;
		offset += (uint32_t)sizeof(struct rte_vlan_hdr);
		*type = load16(frame + offset - 2);
	}
	return offset;
}

/* Whether this is SCTP right behind an IP header without extensions. */
static bool is_sctp(const uint8_t *frame, uint32_t l4_offset)
{
	uint16_t type;
	uint32_t l3_offset = ether_parse(frame, l4_offset, &type);

	if (type == RTE_ETHER_TYPE_IPV4 && l4_offset >= l3_offset + sizeof(struct rte_ipv4_hdr))
		return frame[l3_offset + offsetof(struct rte_ipv4_hdr, next_proto_id)] ==
		       IPPROTO_SCTP;
	if (type == RTE_ETHER_TYPE_IPV6 && l4_offset >= l3_offset + sizeof(struct rte_ipv6_hdr))
		return frame[l3_offset + offsetof(struct rte_ipv6_hdr, proto)] == IPPROTO_SCTP;
	return false;
}

int offload_checksum_finish(uint8_t *frame, uint32_t bytes, const struct virtio_net_hdr *header)
{
	uint32_t start = header->csum_start;
	uint32_t offset = header->csum_offset;
	uint32_t crc;

	if ((header->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) == 0)
		return 0;
	if (start + offset + sizeof(uint16_t) > bytes)
		return -EBADMSG;
	if (offset == SCTP_CHECKSUM_OFFSET && is_sctp(frame, start)) {
		if (start + offset + sizeof(crc) > bytes)
			return -EBADMSG;
		memset(frame + start + offset, 0, sizeof(crc));
		crc = rte_cpu_to_le_32(crc32c(frame + start, bytes - start));
		memcpy(frame + start + offset, &crc, sizeof(crc));
		return 0;
	}
	/* The field holds the sum of the pseudo-header already. */
	store_sum(frame + start + offset,
		  finish(rte_raw_cksum(frame + start, bytes - start),
			 offset == offsetof(struct rte_udp_hdr, dgram_cksum)));
	return 0;
}

static int ipv4_begin(struct offload_pieces *pieces)
{
	const uint8_t *l3 = pieces->frame + pieces->l3_offset;
	uint32_t l3_bytes = pieces->bytes - pieces->l3_offset;
	struct rte_ipv4_hdr ip;

	if (l3_bytes < sizeof(ip))
		return -EBADMSG;
	memcpy(&ip, l3, sizeof(ip));
	if (ip.next_proto_id != pieces->protocol)
		return -ENOTSUP;
	if (rte_be_to_cpu_16(ip.total_length) != l3_bytes || rte_ipv4_hdr_len(&ip) < sizeof(ip) ||
	    rte_ipv4_hdr_len(&ip) > l3_bytes)
		return -EBADMSG;
	pieces->ipv4 = true;
	pieces->l4_offset = pieces->l3_offset + rte_ipv4_hdr_len(&ip);
	pieces->pseudo_sum = rte_ipv4_phdr_cksum(&ip, RTE_MBUF_F_TX_TCP_SEG);
	return 0;
}

static int ipv6_begin(struct offload_pieces *pieces)
{
	const uint8_t *l3 = pieces->frame + pieces->l3_offset;
	uint32_t l3_bytes = pieces->bytes - pieces->l3_offset;
	struct rte_ipv6_hdr ip;

	if (l3_bytes < sizeof(ip))
		return -EBADMSG;
	memcpy(&ip, l3, sizeof(ip));
	if (ip.proto != pieces->protocol)
		return -ENOTSUP;
	if (rte_be_to_cpu_16(ip.payload_len) != l3_bytes - sizeof(ip))
		return -EBADMSG;
	pieces->ipv4 = false;
	pieces->l4_offset = pieces->l3_offset + (uint32_t)sizeof(ip);
	pieces->pseudo_sum = rte_ipv6_phdr_cksum(&ip, RTE_MBUF_F_TX_TCP_SEG);
	return 0;
}

/* Length of the TCP or UDP header, or a negative errno. */
static int l4_bytes_of(const struct offload_pieces *pieces)
{
	const uint8_t *l4 = pieces->frame + pieces->l4_offset;
	uint32_t l4_bytes = pieces->bytes - pieces->l4_offset;
	uint32_t bytes;

	if (pieces->protocol == IPPROTO_UDP)
		return l4_bytes < sizeof(struct rte_udp_hdr) ? -EBADMSG
							     : (int)sizeof(struct rte_udp_hdr);
	if (l4_bytes < sizeof(struct rte_tcp_hdr))
		return -EBADMSG;
	bytes = (l4[offsetof(struct rte_tcp_hdr, data_off)] >> 4) * 4u;
	return bytes < sizeof(struct rte_tcp_hdr) || bytes > l4_bytes ? -EBADMSG : (int)bytes;
}

int offload_pieces_begin(struct offload_pieces *pieces, const uint8_t *frame, uint32_t bytes,
			 const struct virtio_net_hdr *header, uint32_t piece_max)
{
	uint8_t gso = header->gso_type & (uint8_t)~VIRTIO_NET_HDR_GSO_ECN;
	uint32_t payload_bytes;
	uint16_t type;
	int result;

	memset(pieces, 0, sizeof(*pieces));
	if (bytes > OFFLOAD_FRAME_BYTES_MAX)
		return -ENOTSUP;
	pieces->frame = frame;
	pieces->bytes = bytes;
	pieces->protocol = gso == OFFLOAD_GSO_UDP_DATAGRAMS ? IPPROTO_UDP : IPPROTO_TCP;
	pieces->l3_offset = ether_parse(frame, bytes, &type);
	if (type == RTE_ETHER_TYPE_IPV4 && gso != VIRTIO_NET_HDR_GSO_TCPV6)
		result = ipv4_begin(pieces);
	else if (type == RTE_ETHER_TYPE_IPV6 && gso != VIRTIO_NET_HDR_GSO_TCPV4)
		result = ipv6_begin(pieces);
	else
		result = -ENOTSUP;
	if (result != 0)
		return result;
	if (gso != VIRTIO_NET_HDR_GSO_TCPV4 && gso != VIRTIO_NET_HDR_GSO_TCPV6 &&
	    gso != OFFLOAD_GSO_UDP_DATAGRAMS)
		return -ENOTSUP;
	result = l4_bytes_of(pieces);
	if (result < 0)
		return result;
	pieces->header_bytes = pieces->l4_offset + (uint32_t)result;
	pieces->piece_bytes = header->gso_size;
	payload_bytes = bytes - pieces->header_bytes;
	if (payload_bytes == 0 || pieces->piece_bytes == 0)
		return -EBADMSG;
	if (pieces->header_bytes + RTE_MIN(pieces->piece_bytes, payload_bytes) > piece_max)
		return -EMSGSIZE;
	/* Without that hint CWR is a bit of AccECN's counter, to be kept in every piece. */
	pieces->congestion_once = (header->gso_type & VIRTIO_NET_HDR_GSO_ECN) != 0;
	pieces->left = (payload_bytes + pieces->piece_bytes - 1) / pieces->piece_bytes;
	return 0;
}

/* Lengths and, for IPv4, identification and header checksum. */
static void l3_write(const struct offload_pieces *pieces, uint8_t *l3, uint32_t l3_bytes)
{
	struct rte_ipv4_hdr ip;

	if (!pieces->ipv4) {
		store16(l3 + offsetof(struct rte_ipv6_hdr, payload_len),
			l3_bytes - (uint32_t)sizeof(struct rte_ipv6_hdr));
		return;
	}
	memcpy(&ip, l3, sizeof(ip));
	store16(l3 + offsetof(struct rte_ipv4_hdr, total_length), l3_bytes);
	store16(l3 + offsetof(struct rte_ipv4_hdr, packet_id),
		rte_be_to_cpu_16(ip.packet_id) + pieces->index);
	store_sum(l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum), 0);
	store_sum(l3 + offsetof(struct rte_ipv4_hdr, hdr_checksum),
		  finish(rte_raw_cksum(l3, rte_ipv4_hdr_len(&ip)), false));
}

static void tcp_write(const struct offload_pieces *pieces, uint8_t *l4)
{
	uint8_t *sequence = l4 + offsetof(struct rte_tcp_hdr, sent_seq);
	uint8_t *flags = l4 + offsetof(struct rte_tcp_hdr, tcp_flags);
	uint32_t value;

	memcpy(&value, sequence, sizeof(value));
	value = rte_cpu_to_be_32(rte_be_to_cpu_32(value) + pieces->index * pieces->piece_bytes);
	memcpy(sequence, &value, sizeof(value));
	if (pieces->left > 1)
		*flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
	if (pieces->index > 0 && pieces->congestion_once)
		*flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
}

uint32_t offload_pieces_next(struct offload_pieces *pieces, uint8_t *out)
{
	uint32_t offset = pieces->header_bytes + pieces->index * pieces->piece_bytes;
	uint32_t payload_bytes = RTE_MIN(pieces->piece_bytes, pieces->bytes - offset);
	uint32_t bytes = pieces->header_bytes + payload_bytes;
	uint32_t l4_bytes = bytes - pieces->l4_offset;
	bool udp = pieces->protocol == IPPROTO_UDP;
	uint8_t *l4 = out + pieces->l4_offset;
	uint8_t *checksum = l4 + (udp ? offsetof(struct rte_udp_hdr, dgram_cksum)
				      : offsetof(struct rte_tcp_hdr, cksum));

	assert(pieces->left > 0);
	memcpy(out, pieces->frame, pieces->header_bytes);
	memcpy(out + pieces->header_bytes, pieces->frame + offset, payload_bytes);
	l3_write(pieces, out + pieces->l3_offset, bytes - pieces->l3_offset);
	if (udp)
		store16(l4 + offsetof(struct rte_udp_hdr, dgram_len), l4_bytes);
	else
		tcp_write(pieces, l4);
	store_sum(checksum, 0);
	store_sum(checksum,
		  finish((uint64_t)pieces->pseudo_sum + rte_cpu_to_be_16((uint16_t)l4_bytes) +
				 rte_raw_cksum(l4, l4_bytes),
			 udp));
	pieces->index++;
	pieces->left--;
	return bytes;
}
