/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/message_chaos.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/spray_message.h"
#include "dataplane/packet.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"

/* Ethernet, IPv4 without options, UDP. */
#define PORT_OFFSET    (14 + 20 + 2)
#define PAYLOAD_OFFSET (14 + 20 + 8)

static bool is_message(struct rte_mbuf *packet)
{
	const uint8_t *frame = packet_data(packet);

	return packet->data_len > PAYLOAD_OFFSET && frame[12] == 0x08 && frame[13] == 0 &&
	       frame[14] == 0x45 && frame[14 + 9] == 17 &&
	       (frame[PORT_OFFSET] << 8 | frame[PORT_OFFSET + 1]) == SPRAY_PORT;
}

static void repeat(struct message_chaos *chaos, struct wire *wire, struct rte_mbuf *packet)
{
	struct engine *engine = chaos->fabric->engine;
	uint64_t due_ps = engine->now_ps + random_below(&chaos->random, 200 * PS_PER_US);
	struct rte_mbuf *copy = NULL;

	if (chaos->copies < MESSAGE_CHAOS_COPIES)
		copy = rte_pktmbuf_alloc(chaos->fabric->pool);
	if (copy == NULL)
		return;
	/* Out of the same pool: what begins at the same place fits. */
	copy->data_off = packet->data_off;
	copy->data_len = packet->data_len;
	copy->pkt_len = packet->data_len;
	memcpy(packet_data(copy), packet_data(packet), packet->data_len);
	packet_virtual_bytes_set(copy, 0);
	chaos->copy[chaos->copies].packet = copy;
	chaos->copy[chaos->copies].wire = wire;
	chaos->copy[chaos->copies++].due_ps = due_ps;
	engine_wake(engine, &chaos->node, due_ps);
}

static void chaos_frame(struct wire_tap *tap, const struct wire *wire, struct rte_mbuf *packet,
			uint64_t start_ps, uint64_t arrival_ps)
{
	struct message_chaos_tap *this = (struct message_chaos_tap *)tap;
	struct message_chaos *chaos = this->chaos;
	uint64_t what;

	(void)wire;
	(void)start_ps;
	(void)arrival_ps;
	if (!is_message(packet))
		return;
	what = random_below(&chaos->random, 16);
	if (what == 0) {
		uint64_t at = random_below(&chaos->random, packet->data_len - PAYLOAD_OFFSET);

		packet_data(packet)[PAYLOAD_OFFSET + at] ^=
			(uint8_t)(1 + random_below(&chaos->random, 255));
		chaos->corrupted++;
	} else if (what <= 2) {
		repeat(chaos, this->wire, packet);
	}
}

static uint64_t chaos_run(struct node *node, uint64_t now_ps)
{
	struct message_chaos *chaos = (struct message_chaos *)node;
	uint64_t next_ps = now_ps + TIME_IDLE_PS;
	uint32_t due = 0;
	struct rte_mbuf *packet[MESSAGE_CHAOS_COPIES];
	struct wire *wire[MESSAGE_CHAOS_COPIES];

	for (uint32_t i = 0; i < chaos->copies;) {
		if (time_after(chaos->copy[i].due_ps, now_ps)) {
			next_ps = time_min(next_ps, chaos->copy[i++].due_ps);
			continue;
		}
		packet[due] = chaos->copy[i].packet;
		wire[due++] = chaos->copy[i].wire;
		chaos->copy[i] = chaos->copy[--chaos->copies];
	}
	/* Sent, they are heard by their tap, which may repeat them once more. */
	for (uint32_t i = 0; i < due; i++) {
		wire_send(wire[i], packet[i]);
		chaos->repeated++;
	}
	return next_ps;
}

static void chaos_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static const struct node_ops chaos_ops = {
	.kind = "message chaos",
	.arrive = chaos_arrive,
	.run = chaos_run,
};

void message_chaos_init(struct message_chaos *chaos, struct fabric *fabric, uint64_t seed)
{
	const struct topology *topology = fabric->scenario->topology;

	memset(chaos, 0, sizeof(*chaos));
	chaos->fabric = fabric;
	chaos->random.state = seed;
	chaos->taps = allocate(2 * (size_t)topology->link_count * sizeof(*chaos->taps));
	engine_add(fabric->engine, &chaos->node, &chaos_ops);
	for (uint32_t w = 0; w < 2 * topology->link_count; w++) {
		const struct topology_link *link = &topology->links[w / 2];
		const struct topology_node *to = &topology->nodes[link->node[1 - w % 2]];

		if (link->transit == TOPOLOGY_NONE || to->subnet == 0)
			continue;
		chaos->taps[w] = (struct message_chaos_tap){
			.tap = {.frame = chaos_frame},
			.chaos = chaos,
			.wire = &fabric->wires[w],
		};
		wire_listen(&fabric->wires[w], &chaos->taps[w].tap);
	}
}

void message_chaos_fini(struct message_chaos *chaos)
{
	for (uint32_t i = 0; i < chaos->copies; i++)
		rte_pktmbuf_free(chaos->copy[i].packet);
	free(chaos->taps);
}
