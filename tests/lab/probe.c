/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/probe.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "dataplane/snapshot.h"
#include "tools/lab/allocate.h"

#define TYPE_MAC_CONTROL 0x8808u
#define OPCODE_PFC       0x0101u

static struct probe *probe_now; /* ports' operations have no room for it */
static const struct port_io_ops *inner;

static uint32_t big_endian(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

/* 01-80-C2-00-00-0x: for the next station alone. */
static bool is_reserved(const uint8_t *frame)
{
	static const uint8_t group[5] = {0x01, 0x80, 0xc2, 0, 0};

	return memcmp(frame, group, sizeof(group)) == 0 && frame[5] < 0x10;
}

static bool is_pfc(const uint8_t *frame)
{
	return is_reserved(frame) && frame[5] == 1 && big_endian(frame + 12) == TYPE_MAC_CONTROL &&
	       big_endian(frame + 14) == OPCODE_PFC;
}

static struct probe_port *port_of(const struct port_io *io, const struct switch_node **node)
{
	const struct virtual_io *virtual_io = (const struct virtual_io *)io;
	uint32_t count = probe_now->fabric->scenario->topology->switch_count;

	for (uint32_t s = 0; s < count; s++) {
		*node = probe_now->fabric->switches[s];
		if (virtual_io >= (*node)->io && virtual_io < (*node)->io + (*node)->port_count)
			return &probe_now->port[s][virtual_io - (*node)->io];
	}
	abort(); /* a port of no switch */
}

/* A pause has come: the last one counts. */
static void note(struct probe_port *port, const uint8_t *frame, const struct wire *wire,
		 uint64_t now_ps)
{
	const uint8_t *times = frame + 18;

	probe_now->received_pauses++;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		/* 512 bits a quantum. */
		unsigned __int128 bits_ps =
			(unsigned __int128)big_endian(times + 2 * p) * 512 * PS_PER_S;

		if ((frame[17] >> p & 1) == 0)
			continue;
		port->from_ps[p] = now_ps;
		port->until_ps[p] = now_ps + (uint64_t)(bits_ps / wire->rate.rate_bps);
		port->paused |= (uint8_t)(1u << p);
	}
}

static uint16_t probe_rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			       uint16_t count)
{
	const struct switch_node *node;
	struct probe_port *port = NULL;
	uint16_t n = inner->rx_burst(io, queue, packets, count);

	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *frame = packet_data(packets[i]);

		if (!is_pfc(frame))
			continue;
		if (port == NULL)
			port = port_of(io, &node);
		note(port, frame, ((struct virtual_io *)io)->tx, node->node.engine->now_ps);
	}
	return n;
}

/* A frame that is about to leave. */
static void look(struct port_io *io, struct rte_mbuf *packet)
{
	const uint8_t *frame = packet_data(packet);
	const struct switch_node *node;
	struct probe_port *port = port_of(io, &node);
	uint64_t now_ps = node->node.engine->now_ps;
	uint32_t priority;

	if (is_reserved(frame)) {
		if (!is_pfc(frame) || memcmp(frame + 6, io->mac, 6) != 0)
			probe_now->forwarded_control++;
		if ((frame[17] & ~node->snapshot->lossless_mask) != 0)
			probe_now->lossy_pauses++;
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			port->pauses +=
				(frame[17] >> p & 1) != 0 && big_endian(frame + 18 + 2 * p) != 0;
		return;
	}
	if (port->paused == 0)
		return;
	priority = packet_meta(packet)->priority; /* a flooded one is in no class of its DSCP */
	if ((port->paused >> priority & 1) == 0 ||
	    (node->snapshot->lossless_mask >> priority & 1) == 0)
		return;
	if (!time_after(port->until_ps[priority], now_ps))
		port->paused &= (uint8_t) ~(1u << priority);
	else
		probe_now->sent_while_paused++;
}

static uint16_t probe_tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			       uint16_t count)
{
	if (count != 0 && wire_free(((struct virtual_io *)io)->tx))
		look(io, packets[0]); /* one is taken at a time */
	return inner->tx_burst(io, queue, packets, count);
}

void probe_start(struct probe *probe, struct fabric *fabric)
{
	static struct port_io_ops ops;
	const struct topology *topology = fabric->scenario->topology;

	cr_assert_leq(topology->switch_count, PROBE_SWITCHES_MAX);
	memset(probe, 0, sizeof(*probe));
	probe->fabric = fabric;
	inner = fabric->switches[0]->io[0].io.ops;
	ops = *inner;
	ops.rx_burst = probe_rx_burst;
	ops.tx_burst = probe_tx_burst;
	for (uint32_t s = 0; s < topology->switch_count; s++) {
		struct switch_node *node = fabric->switches[s];

		probe->port[s] = allocate(node->port_count * sizeof(struct probe_port));
		for (uint16_t i = 0; i < node->port_count; i++)
			node->io[i].io.ops = &ops;
	}
	probe_now = probe;
}

void probe_stop(struct probe *probe)
{
	for (uint32_t s = 0; s < PROBE_SWITCHES_MAX; s++)
		free(probe->port[s]);
	probe_now = NULL;
}

void probe_forget(struct probe *probe, uint32_t switch_index, uint32_t port)
{
	probe->port[switch_index][port].paused = 0;
}
