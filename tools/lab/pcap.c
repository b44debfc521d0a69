/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/pcap.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/output.h"

/* Block types and options, sections 4.1 to 4.3. */
#define BLOCK_SECTION      0x0A0D0D0Au
#define BLOCK_INTERFACE    1u
#define BLOCK_PACKET       6u
#define BYTE_ORDER_MAGIC   0x1A2B3C4Du
#define OPTION_IF_NAME     2u
#define OPTION_IF_TSRESOL  9u
#define LINKTYPE_ETHERNET  1u
#define TSRESOL_NS         9u
#define BLOCK_WORDS_BYTES  12u /* type and twice the length */
#define PACKET_FIXED_BYTES 20u

struct pcap_side {
	struct wire_tap tap;
	struct pcap *pcap;
	uint32_t interface;
};

struct pcap {
	struct output output;
	uint64_t start_ps;
	struct pcap_side side[2];
};

static void put(struct pcap *pcap, const void *bytes, size_t size)
{
	(void)fwrite(bytes, 1, size, pcap->output.file); /* output_close() tells */
}

static void put_u32(struct pcap *pcap, uint32_t value)
{
	put(pcap, &value, sizeof(value));
}

static void put_zeros(struct pcap *pcap, uint32_t count)
{
	static const uint8_t zeros[256];

	for (; count > sizeof(zeros); count -= (uint32_t)sizeof(zeros))
		put(pcap, zeros, sizeof(zeros));
	put(pcap, zeros, count);
}

static uint32_t padded(uint32_t size)
{
	return (size + 3) & ~3u;
}

static void put_section(struct pcap *pcap)
{
	put_u32(pcap, BLOCK_SECTION);
	put_u32(pcap, 28);
	put_u32(pcap, BYTE_ORDER_MAGIC);
	put_u32(pcap, 1);          /* version 1.0 */
	put_u32(pcap, UINT32_MAX); /* length of the section: not said */
	put_u32(pcap, UINT32_MAX);
	put_u32(pcap, 28);
}

static void put_interface(struct pcap *pcap, const char *name)
{
	uint32_t name_bytes = (uint32_t)strlen(name);
	uint32_t length = BLOCK_WORDS_BYTES + 8 + 4 + padded(name_bytes) + 4 + 4 + 4;

	put_u32(pcap, BLOCK_INTERFACE);
	put_u32(pcap, length);
	put_u32(pcap, LINKTYPE_ETHERNET);
	put_u32(pcap, 0); /* no frame is cut */
	put_u32(pcap, OPTION_IF_NAME | name_bytes << 16);
	put(pcap, name, name_bytes);
	put_zeros(pcap, padded(name_bytes) - name_bytes);
	put_u32(pcap, OPTION_IF_TSRESOL | 1u << 16);
	put_u32(pcap, TSRESOL_NS);
	put_u32(pcap, 0); /* end of options */
	put_u32(pcap, length);
}

static void pcap_frame(struct wire_tap *tap, const struct wire *wire, struct rte_mbuf *packet,
		       uint64_t start_ps, uint64_t arrival_ps)
{
	struct pcap_side *side = (struct pcap_side *)tap;
	struct pcap *pcap = side->pcap;
	uint64_t time_ns = (start_ps - pcap->start_ps) / PS_PER_NS;
	uint32_t bytes = packet_length(packet);
	uint32_t length = BLOCK_WORDS_BYTES + PACKET_FIXED_BYTES + padded(bytes);

	(void)wire;
	(void)arrival_ps;
	put_u32(pcap, BLOCK_PACKET);
	put_u32(pcap, length);
	put_u32(pcap, side->interface);
	put_u32(pcap, (uint32_t)(time_ns >> 32));
	put_u32(pcap, (uint32_t)time_ns);
	put_u32(pcap, bytes);
	put_u32(pcap, bytes);
	put(pcap, packet_data(packet), packet->data_len);
	put_zeros(pcap, padded(bytes) - packet->data_len);
	put_u32(pcap, length);
}

struct pcap *pcap_open(struct fabric *fabric, uint32_t link, const char *path)
{
	struct pcap *pcap = allocate(sizeof(*pcap));

	if (output_open(&pcap->output, path) != 0) {
		free(pcap);
		return NULL;
	}
	pcap->start_ps = fabric->engine->start_ps;
	put_section(pcap);
	for (uint32_t i = 0; i < 2; i++) {
		struct wire *wire = &fabric->wires[(size_t)2 * link + i];

		put_interface(pcap, wire->name);
		pcap->side[i] = (struct pcap_side){{.frame = pcap_frame}, pcap, i};
		wire_listen(wire, &pcap->side[i].tap);
	}
	return pcap;
}

int pcap_close(struct pcap *pcap, bool keep)
{
	int result;

	if (pcap == NULL)
		return 0;
	result = output_close(&pcap->output, keep);
	free(pcap);
	return result;
}
