/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/pcap.h"

#include <stdlib.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/output.h"
#include "tools/pcapng/pcapng.h"

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

static void pcap_frame(struct wire_tap *tap, const struct wire *wire, struct rte_mbuf *packet,
		       uint64_t start_ps, uint64_t arrival_ps)
{
	struct pcap_side *side = (struct pcap_side *)tap;
	struct pcap *pcap = side->pcap;
	uint32_t bytes = packet_length(packet);

	(void)wire;
	(void)arrival_ps;
	pcapng_packet(pcap->output.file, &(struct pcapng_packet){
						 .interface = side->interface,
						 .time_ns = (start_ps - pcap->start_ps) / PS_PER_NS,
						 .data = packet_data(packet),
						 .data_bytes = packet->data_len,
						 .captured_bytes = bytes,
						 .original_bytes = bytes,
					 });
}

struct pcap *pcap_open(struct fabric *fabric, uint32_t link, const char *path)
{
	struct pcap *pcap = allocate(sizeof(*pcap));

	if (output_open(&pcap->output, path) != 0) {
		free(pcap);
		return NULL;
	}
	pcap->start_ps = fabric->engine->start_ps;
	pcapng_section(pcap->output.file);
	for (uint32_t i = 0; i < 2; i++) {
		struct wire *wire = &fabric->wires[(size_t)2 * link + i];

		pcapng_interface(pcap->output.file, wire->name, 0);
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
