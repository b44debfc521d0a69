/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/flow_path.h"

#include "dataplane/balance/hash.h"
#include "dataplane/fib.h"
#include "dataplane/snapshot.h"
#include "tools/lab/fabric.h"

/* The wire that leaves a node by one of its ports. */
static uint32_t wire_of_port(const struct topology *topology, uint32_t node, uint32_t port)
{
	uint32_t link = topology->nodes[node].links[port];

	return 2 * link + (topology->links[link].node[0] == node ? 0 : 1);
}

/* What the leaf's parser makes of the flow's packets, as far as the hash looks at it. */
static void parse_template(const struct frame_template *template, struct parsed *parsed)
{
	const uint8_t *ip = template->bytes + template->ip_offset;

	*parsed = (struct parsed){
		.kind = KIND_IPV4,
		.protocol = IP_PROTOCOL_UDP,
		.source = load_u32(ip + 12),
		.destination = load_u32(ip + 16),
		.ports = load_u32(template->bytes + template->udp_offset),
		.bth_qp = load_u32(template->bytes + template->bth_offset + 4),
	};
}

/* Port of a switch by which a packet leaves, or TOPOLOGY_NONE. */
static uint32_t routed_port(const struct fabric *fabric, uint32_t node, const struct flow *flow)
{
	const struct topology *topology = fabric->scenario->topology;
	const struct switch_node *this = fabric->switches[topology->nodes[node].index];
	const struct snapshot *snapshot = this->snapshot;
	const uint8_t *ip = flow->template.bytes + flow->template.ip_offset;
	const struct group *group;
	struct parsed parsed;
	uint32_t member;

	parse_template(&flow->template, &parsed);
	group = &snapshot->group[fib_find4(snapshot->fib[0],
					   __builtin_bswap32(parsed.destination))];
	if (group->count != 0)
		member = group->first +
			 balance_member(balance_hash(&parsed, ip, snapshot->hash_seed),
					group->count);
	else if (group->balanced != 0)
		member = group->members +
			 balance_hash_member(snapshot, group, &parsed, ip, flow->params.priority);
	else
		return TOPOLOGY_NONE;
	return snapshot->adjacency[member].egress;
}

uint32_t flow_path(const struct fabric *fabric, const struct flow *flow,
		   uint32_t wires[FLOW_PATH_WIRES_MAX])
{
	const struct topology *topology = fabric->scenario->topology;
	const struct scenario_flow *from = &fabric->scenario->flows[flow->id];
	uint32_t to = topology->hosts[from->destination];
	uint32_t last = topology->nodes[to].links[0];
	uint32_t before = topology_other(&topology->links[last], to);
	uint32_t at = topology->hosts[from->source];
	uint32_t count = 0, port = 0;

	while (at != to && count < FLOW_PATH_WIRES_MAX) {
		if (at == before)
			port = topology->links[last]
				       .port[topology->links[last].node[0] == at ? 0 : 1];
		else if (!topology->nodes[at].host)
			port = routed_port(fabric, at, flow);
		if (port >= topology->nodes[at].link_count)
			break;
		wires[count] = wire_of_port(topology, at, port);
		at = topology_other(&topology->links[wires[count] / 2], at);
		count++;
	}
	return count;
}
