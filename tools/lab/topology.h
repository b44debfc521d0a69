/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology - which nodes a fabric has, how they are cabled, and what they are called and addressed.
 * A plain graph; nothing here runs.
 *
 * A node with one link is a host, any other a switch. The hosts of one switch share a subnet, in
 * which they are bridged; between switches is routed, over all shortest paths.
 *
 *	subnet S of a switch with hosts     10.S.0.0/16, the switch 10.S.255.254, hosts from 10.S.0.1
 *	link N between two switches         172.16.0.0/12 + 2 N, a /31
 *	MAC addresses                       02:00:00:... of switches, 02:10:00:SS:HH:HH of hosts
 *
 * Names: a link is called like the host on it, or like the two switches with a dash between
 * (`leaf1-spine1`), with .2, .3 ... when there are more of them. One direction of it is called after
 * both ends: `leaf1->spine1`.
 *
 * Thread: any.
 */
#ifndef LAB_TOPOLOGY_H
#define LAB_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define TOPOLOGY_SUBNETS_MAX   254
#define TOPOLOGY_TRANSITS_MAX  (1u << 19)
#define TOPOLOGY_PREFIX_LENGTH 16
#define TOPOLOGY_NONE          UINT32_MAX
#define TOPOLOGY_LINK_NAME     72

struct topology_node {
	char name[CONFIG_NAME_BYTES];
	bool host;
	uint32_t index;      /* among the hosts, or among the switches */
	uint32_t link_count; /* of its ports 0.. */
	uint32_t *links;     /* [link_count], in port order */
	uint32_t subnet;     /* 1..; 0: a switch without hosts */
	uint32_t station;    /* of a host in its subnet, 1.. */
};

struct topology_link {
	char name[TOPOLOGY_LINK_NAME];
	uint32_t node[2];
	uint32_t port[2]; /* at each of them */
	uint64_t rate_bps;
	uint64_t delay_ps;
	uint32_t transit; /* number among links between switches; TOPOLOGY_NONE: to a host */
};

struct topology {
	struct topology_node *nodes;
	struct topology_link *links;
	uint32_t node_count, link_count;
	uint32_t node_size, link_size; /* allocated */
	uint32_t host_count, switch_count;
	uint32_t *hosts; /* [host_count]: node of each host */
	uint32_t *switches;
	uint32_t overhead_bytes;
};

struct topology *topology_create(void);
void topology_free(struct topology *topology);

/** @return index of the node */
uint32_t topology_add_node(struct topology *topology, const char *name);
/** Two different nodes that exist. @return index of the link */
uint32_t topology_add_link(struct topology *topology, uint32_t a, uint32_t b, uint64_t rate_bps,
			   uint64_t delay_ps);

/** @return index, or TOPOLOGY_NONE */
uint32_t topology_find_node(const struct topology *topology, const char *name);

/**
 * After the last node and link: kinds, names of links, subnets.
 * @param why gets what is wrong, with the name of the node
 * @return 0, or -EINVAL
 */
int topology_complete(struct topology *topology, char *why, size_t why_size);

/** The end of a link that isn't this node. */
static inline uint32_t topology_other(const struct topology_link *link, uint32_t node)
{
	return link->node[0] == node ? link->node[1] : link->node[0];
}

/**
 * Hops from every node to one.
 * @param hops [node_count], TOPOLOGY_NONE: no way
 */
void topology_hops(const struct topology *topology, uint32_t to, uint32_t *hops);

/* --- addresses --- */

void topology_mac(const struct topology *topology, uint32_t node, uint8_t mac[6]);
/** Of a host, or of a switch in its subnet. */
struct config_ip topology_ip(const struct topology *topology, uint32_t node);
/** The gateway of a host: its switch, or the host itself when there is none. */
uint32_t topology_gateway(const struct topology *topology, uint32_t host);
/** Network of a subnet. */
struct config_prefix topology_network(uint32_t subnet);
/** Address of one end (0, 1) of a link between switches. */
struct config_ip topology_transit_ip(const struct topology_link *link, uint32_t end);

/**
 * When the last bit of a train of frames arrives that is sent at once over an empty shortest path, ps
 * after its first bit left.
 */
struct topology_train {
	uint64_t count;       /* of frames, >= 1 */
	uint32_t frame_bytes; /* of every frame but the last, overhead included */
	uint32_t last_bytes;  /* of the last */
	uint64_t extra_bytes; /* that some frames are longer, in all */
};
uint64_t topology_ideal_ps(const struct topology *topology, uint32_t from, uint32_t to,
			   const struct topology_train *train);

#endif
