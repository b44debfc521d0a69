/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "dataplane/packet.h"
#include "dataplane/parse.h"

/* Three of four flows are RDMA, the rest TCP. */
#define DSCP_PAUSED     28
#define FLOW_IS_ROCE(f) ((f) % 4 != 3)
#define ROUTER_MAC_BYTES                  \
	{                                 \
		0x02, 0, 0, 0, 0x10, 0x01 \
	}

uint32_t flow_destination(uint32_t flow)
{
	return 10u << 24 | (16 + flow % BENCH_PREFIXES) << 16 | 1u << 8 | (1 + flow);
}

uint32_t flow_source(uint32_t flow)
{
	return 10u << 24 | 1u << 16 | (1 + flow % 8);
}

void flow_station(uint32_t flow, uint8_t mac[6])
{
	const uint8_t bytes[6] = {0x02, 0, 0, 0, 0x30, (uint8_t)flow};

	memcpy(mac, bytes, 6);
}

void uplink_neighbour(uint32_t uplink, uint8_t mac[6])
{
	const uint8_t bytes[6] = {0x02, 0, 0, 0, 0x20, (uint8_t)uplink};

	memcpy(mac, bytes, 6);
}

int frames_create(struct frames *frames, struct rte_mempool *pool, uint32_t count)
{
	uint64_t state = 1;

	memset(frames, 0, sizeof(*frames));
	frames->packet = calloc(count, sizeof(*frames->packet));
	frames->flow = calloc(count, 1);
	if (frames->packet == NULL || frames->flow == NULL ||
	    rte_pktmbuf_alloc_bulk(pool, frames->packet, count) != 0) {
		free(frames->packet);
		free(frames->flow);
		return -ENOMEM;
	}
	frames->count = count;
	for (uint32_t i = 0; i < count; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		frames->flow[i] = (uint8_t)(state >> 33) % BENCH_FLOWS;
	}
	return 0;
}

void frames_free(struct frames *frames)
{
	rte_pktmbuf_free_bulk(frames->packet, frames->count);
	free(frames->packet);
	free(frames->flow);
}

static void header_of(uint8_t *out, enum frame_kind kind, uint32_t flow, uint32_t frame_bytes)
{
	static const uint8_t router_mac[6] = ROUTER_MAC_BYTES;
	struct rte_ether_hdr *ethernet = (struct rte_ether_hdr *)(void *)out;
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(void *)(ethernet + 1);
	struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(void *)(ip + 1);
	struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(void *)(ip + 1);
	uint8_t *bth = (uint8_t *)(udp + 1);
	bool roce = FLOW_IS_ROCE(flow) || kind == FRAMES_ECT || kind == FRAMES_PAUSED;
	uint32_t dscp = kind == FRAMES_PAUSED ? DSCP_PAUSED : FRAMES_DSCP_ROCE;

	memset(out, 0, TEMPLATE_BYTES);
	if (kind == FRAMES_BRIDGED)
		flow_station(flow, ethernet->dst_addr.addr_bytes);
	else
		memcpy(&ethernet->dst_addr, router_mac, 6);
	memcpy(&ethernet->src_addr, "\x02\0\0\0\x40", 5);
	ethernet->src_addr.addr_bytes[5] = (uint8_t)(flow % 8);
	ethernet->ether_type = rte_cpu_to_be_16(ETHERTYPE_IPV4);
	ip->version_ihl = 0x45;
	ip->type_of_service = roce ? (uint8_t)(dscp << 2 | 2) : 0;
	ip->total_length = rte_cpu_to_be_16((uint16_t)(frame_bytes - 14));
	ip->time_to_live = 64;
	ip->src_addr = rte_cpu_to_be_32(flow_source(flow));
	ip->dst_addr = rte_cpu_to_be_32(flow_destination(flow));
	if (roce) {
		ip->next_proto_id = IP_PROTOCOL_UDP;
		udp->src_port = rte_cpu_to_be_16((uint16_t)(49152 + flow));
		udp->dst_port = rte_cpu_to_be_16(ROCE_UDP_PORT);
		udp->dgram_len = rte_cpu_to_be_16((uint16_t)(frame_bytes - 34));
		bth[0] = 4; /* SEND only, reliable connection */
		bth[7] = (uint8_t)flow;
	} else {
		ip->next_proto_id = IP_PROTOCOL_TCP;
		tcp->src_port = rte_cpu_to_be_16((uint16_t)(49152 + flow));
		tcp->dst_port = rte_cpu_to_be_16(5201);
		tcp->data_off = 0x50;
		tcp->tcp_flags = RTE_TCP_ACK_FLAG;
	}
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

void frames_prepare(struct frames *frames, enum frame_kind kind, uint32_t packet_bytes)
{
	uint32_t frame_bytes = packet_bytes - FCS_BYTES;

	frames->packet_bytes = packet_bytes;
	for (uint32_t flow = 0; flow < BENCH_FLOWS; flow++)
		header_of(frames->header[flow], kind, flow, frame_bytes);
	for (uint32_t i = 0; i < frames->count; i++) {
		frames->packet[i]->data_len = (uint16_t)frame_bytes;
		frames->packet[i]->pkt_len = frame_bytes;
		frames->packet[i]->port = 0;
		packet_virtual_bytes_set(frames->packet[i], 0);
	}
	frames_restore(frames);
}

void frames_restore(struct frames *frames)
{
	uint32_t size = frames->packet_bytes - FCS_BYTES;

	if (size > TEMPLATE_BYTES)
		size = TEMPLATE_BYTES;
	for (uint32_t i = 0; i < frames->count; i++)
		memcpy(packet_data(frames->packet[i]), frames->header[frames->flow[i]], size);
}
