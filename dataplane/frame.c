/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <rte_byteorder.h>

#include "dataplane/internal.h"

#define MAC_PAIR_BYTES 12
#define TAG_BYTES      4

int frame_tag(struct rte_mbuf *packet, struct parsed *parsed, bool tagged, uint16_t vlan,
	      uint8_t priority)
{
	uint8_t *data = packet_data(packet);
	bool has_tag = (parsed->flags & PARSED_TAGGED) != 0;

	if (!tagged) {
		if (!has_tag)
			return 0;
		memmove(data + TAG_BYTES, data, MAC_PAIR_BYTES);
		packet->data_off += TAG_BYTES;
		packet->data_len -= TAG_BYTES;
		packet->pkt_len -= TAG_BYTES;
		parsed->l3_offset -= TAG_BYTES;
		parsed->length -= TAG_BYTES;
		parsed->flags &= (uint8_t)~PARSED_TAGGED;
		return 0;
	}
	if (has_tag) {
		uint16_t tci = rte_be_to_cpu_16(load_u16(data + 14));

		if ((tci & 0xfff) != vlan) {
			/* A priority tag: its PCP stays. */
			parsed->tci = (uint16_t)((tci & 0xf000) | vlan);
			tci = rte_cpu_to_be_16(parsed->tci);
			memcpy(data + 14, &tci, sizeof(tci));
		}
		return 0;
	}
	if (rte_pktmbuf_headroom(packet) < TAG_BYTES)
		return -ENOSPC;
	packet->data_off -= TAG_BYTES;
	packet->data_len += TAG_BYTES;
	packet->pkt_len += TAG_BYTES;
	data -= TAG_BYTES;
	memmove(data, data + TAG_BYTES, MAC_PAIR_BYTES);

	uint32_t tag =
		rte_cpu_to_be_32((uint32_t)ETHERTYPE_VLAN << 16 | (uint32_t)priority << 13 | vlan);

	memcpy(data + MAC_PAIR_BYTES, &tag, sizeof(tag));
	parsed->l3_offset += TAG_BYTES;
	parsed->flags |= PARSED_TAGGED;
	parsed->tci = (uint16_t)(priority << 13 | vlan);
	parsed->length += TAG_BYTES;
	return 0;
}
