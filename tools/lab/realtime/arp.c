/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/realtime/arp.h"

#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"

/* Ethernet type ARP; hardware Ethernet, protocol IPv4, their lengths: what all of ours begin with. */
static const uint8_t arp_start[] = {0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0};

#define ARP_START_OFFSET 12
#define ARP_OPERATION    21 /* low byte: 1 request, 2 reply */

bool arp_read(struct rte_mbuf *packet, struct arp *arp)
{
	const uint8_t *data = packet_data(packet);

	if (packet->data_len < ARP_FRAME_BYTES ||
	    memcmp(data + ARP_START_OFFSET, arp_start, sizeof(arp_start)) != 0 ||
	    data[ARP_OPERATION] < 1 || data[ARP_OPERATION] > 2)
		return false;
	arp->request = data[ARP_OPERATION] == 1;
	memcpy(arp->sender_mac, data + 22, 6);
	memcpy(arp->sender_ip, data + 28, 4);
	memcpy(arp->target_mac, data + 32, 6);
	memcpy(arp->target_ip, data + 38, 4);
	return true;
}

void arp_write(struct rte_mbuf *packet, const struct arp *arp)
{
	uint8_t *data;

	packet->data_off = RTE_PKTMBUF_HEADROOM;
	packet->ol_flags = 0;
	packet->data_len = ARP_FRAME_BYTES;
	packet->pkt_len = ARP_FRAME_BYTES;
	packet_virtual_bytes_set(packet, 0);
	data = packet_data(packet);
	if (arp->request)
		memset(data, 0xFF, 6);
	else
		memcpy(data, arp->target_mac, 6);
	memcpy(data + 6, arp->sender_mac, 6);
	memcpy(data + ARP_START_OFFSET, arp_start, sizeof(arp_start));
	data[ARP_OPERATION] = arp->request ? 1 : 2;
	memcpy(data + 22, arp->sender_mac, 6);
	memcpy(data + 28, arp->sender_ip, 4);
	memset(data + 32, 0, 6);
	if (!arp->request)
		memcpy(data + 32, arp->target_mac, 6);
	memcpy(data + 38, arp->target_ip, 4);
}
