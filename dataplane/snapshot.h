/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * snapshot - everything that control decides and the packet path reads, immutable.
 *
 * Control builds a complete one, publishes it with leaf_publish() and frees the one before when
 * leaf_quiet() says that no worker can still hold it. Workers take the pointer once per poll;
 * queued packets never refer to it.
 *
 * Indices: ports 0..port_count-1 are real ones, port_count is the CPU's pseudo-port. Group 0 is
 * "no route" (FIB_NO_ROUTE).
 */
#ifndef DATAPLANE_SNAPSHOT_H
#define DATAPLANE_SNAPSHOT_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/balance/siphash.h"
#include "dataplane/fib.h"
#include "dataplane/port_bits.h"
#include "dataplane/units.h"

#define PORT_NONE      UINT16_MAX
#define INTERFACE_NONE UINT16_MAX
#define PEER_NONE      UINT16_MAX
#define VLAN_COUNT     4096
#define VRF_COUNT      1

enum port_mode {
	PORT_MODE_OFF,     /* takes and sends nothing */
	PORT_MODE_BRIDGED, /* access or trunk */
	PORT_MODE_ROUTED,
	PORT_MODE_CPU,
};

/* port_table.pfc */
#define PORT_PFC_SEND   0x1u /* pauses its peer */
#define PORT_PFC_HONOUR 0x2u /* is paused by its peer */

enum port_trust { PORT_TRUST_DSCP, PORT_TRUST_PCP, PORT_TRUST_NONE };

struct port_table {
	alignas(64) uint8_t mode; /* enum port_mode */
	uint8_t trust;            /* enum port_trust */
	uint16_t native_vlan;     /* bridged: VLAN of untagged frames (access or native); 0: none */
	uint16_t interface;       /* routed: its interface; else INTERFACE_NONE */
	uint8_t pfc;              /* PORT_PFC_* */
	bool link_up;             /* administrative and carrier, as control knows it */
	bool fabric;              /* what comes through it may carry sequences of in-order spray */
	uint32_t frame_bytes_max; /* MTU + FRAME_HEADER_BYTES, both directions */
	uint64_t rate_bps;        /* of its wire clock */
	int32_t overhead_change; /* bytes of a frame on the wire, beyond WIRE_OVERHEAD_BYTES; the lab */
	uint64_t run_ahead_ps; /* how far the wire clock may run ahead of time into the device */
	uint64_t catch_up_ps;  /* how far it may lag behind, to make good for a late poll */
};

struct vlan_table {
	uint16_t interface; /* its VLAN interface, or INTERFACE_NONE */
	struct port_bits members;
	struct port_bits tagged; /* subset of members: the tag stays on */
};

/* A routed port or VLAN interface: where the kernel lives too (one TAP each). */
struct interface {
	uint16_t port; /* routed port, or PORT_NONE */
	uint16_t vlan; /* VLAN interface, or 0 */
	uint16_t vrf;
	uint32_t mtu_bytes; /* layer 3 */
};

/* Weight of a group's heaviest member (balance/hash.h). */
#define BALANCE_WEIGHT_MAX 65536u

/* Where a routed packet goes next. */
struct adjacency {
	uint8_t destination_mac[6];
	uint8_t source_mac[6];
	uint16_t egress; /* a port (later: or a LAG); PORT_NONE: look the MAC up in the FDB */
	uint16_t vlan;   /* VLAN interface: its VLAN, else 0 */
	uint32_t plain_bytes_max; /* untagged frames to here that are just rewritten and queued;
				   * adjacency_plain_bytes_max(), or 0: each is looked at */
	uint32_t mtu_bytes;
	uint16_t interface;
	uint16_t unused;
	uint32_t
		weight; /* as a group's member: 0 (not usable) .. BALANCE_WEIGHT_MAX, the largest's */
};

_Static_assert(sizeof(struct adjacency) == 32, "found by shifting");

/** Longest untagged frame that an adjacency can take as it is. */
static inline uint32_t adjacency_plain_bytes_max(const struct adjacency *adjacency)
{
	return adjacency->vlan == 0 ? adjacency->mtu_bytes + 14 : 0;
}

/* Its two addresses lie side by side, as in a frame, and are copied together. */
#define ADJACENCY_MAC_BYTES 12
_Static_assert(offsetof(struct adjacency, destination_mac) == 0 &&
		       offsetof(struct adjacency, source_mac) == 6,
	       "as in a frame");

enum group_kind {
	GROUP_NO_ROUTE,
	GROUP_VIA,      /* adjacencies first..first+count-1; count 0: none resolved */
	GROUP_ATTACHED, /* the destination itself is a neighbour on `interface` */
	GROUP_LOCAL,    /* one of our own addresses */
	GROUP_DROP,     /* a subnet's broadcast and network address, blackholes */
};

/* How packets of a class spread over a group's members (balance/balance.h). */
enum balance_mode {
	BALANCE_BY_CLASS, /* of a group: as class_table.balance says */
	BALANCE_ECMP,     /* by a hash of the flow */
	BALANCE_FLOWLET,  /* a flow may move when it has paused */
	BALANCE_ADAPTIVE, /* a flow may move when nothing of it is on its way */
	BALANCE_SPRAY,    /* every packet by itself, and the order is restored at the other end */
	BALANCE_SPRAY_UNORDERED, /* every packet by itself: the hosts put up with any order */
	BALANCE_STATIC,          /* by the destination's address alone */
	BALANCE_MODES
};

struct group {
	uint8_t kind; /* enum group_kind */
	uint8_t mode; /* enum balance_mode, where `balanced` */
	uint16_t
		interface; /* ATTACHED, LOCAL, and VIA without members: whose neighbour is asked for */
	uint16_t count;    /* VIA: members, all alike, in every class by hash of 5-tuple and queue
			    * pair; else 0 */
	uint16_t balanced; /* VIA of count 0: members that balance_choose() chooses from */
	uint16_t
		peer; /* `balanced`: leaf that the packets go to (snapshot.spray); PEER_NONE: not known */
	bool alike;       /* `balanced`: all members have the same weight */
	uint32_t first;   /* of `count` adjacencies; count 0: one whose plain_bytes_max is 0 */
	uint32_t members; /* first of `balanced` adjacencies */
};

/* One slot of the neighbour hash: linear probing, power of two, at most half full. */
struct neighbour {
	uint8_t address[16]; /* IPv4 in the first four bytes, the rest zero */
	uint16_t interface;  /* INTERFACE_NONE: slot is empty */
	uint8_t family;      /* 4 or 6 */
	uint32_t adjacency;
};

/* One of the eight priorities, as egress queues see it. */
struct class_table {
	bool lossless;
	bool strict;
	uint8_t balance;        /* enum balance_mode, not BY_CLASS */
	uint32_t quantum_bytes; /* DWRR: weight * SCHEDULE_QUANTUM_BYTES; >= 1 weight always */
	uint64_t max_rate_bps;  /* shaper of a strict class; 0: none */
	uint32_t max_rate_ppm;  /* or a share of the port's rate; 0: none */
};

/*
 * The buffer (buffer.h). All thresholds in wire bytes (frame length); `shared` is what lossless pairs
 * take beyond their reserve under the dynamic threshold, `lossy` a cap of its own that never lowers it.
 */
struct buffer_class {
	uint32_t
		alpha_q8; /* 256 * alpha: lossless of free shared bytes, lossy of what its cap leaves */
	uint32_t xon_offset_bytes; /* xon lies that far below xoff */
};

/* One (priority, port) as ingress; for a lossy one both are 0. */
struct buffer_pair {
	uint32_t reserved_bytes;
	uint32_t headroom_bytes; /* what may still come after xoff */
};

/* One (priority, port) as egress queue (mark.h). A chance is a probability times 2^32, less one. */
struct mark_table {
	uint32_t ecn_min_bytes, ecn_max_bytes, ecn_chance;    /* min UINT32_MAX: never marks */
	uint32_t wred_min_bytes, wred_max_bytes, wred_chance; /* min UINT32_MAX: never drops */
	uint64_t half_life_ps; /* both go by the average depth of mark.h; 0: by the depth itself */
};

struct buffer_table {
	uint64_t shared_bytes;
	uint64_t lossy_bytes;
	uint32_t lossy_packets;       /* buffers that lossy frames may have, however short */
	uint64_t headroom_pool_bytes; /* all pairs together; 0: each has its own headroom */
	uint32_t packets_max;         /* buffers that may be in use */
	uint32_t guard_packets; /* as few left: pause every lossless pair, refuse lossy frames */
	struct buffer_class class[PRIORITY_COUNT];
	struct buffer_pair *pair; /* [priority][ports], ports: port_count + 1 */
	struct mark_table *mark;  /* [priority][ports] */
};

enum watchdog_action { WATCHDOG_OFF, WATCHDOG_ALERT, WATCHDOG_DROP, WATCHDOG_FORWARD };

/* Against pause storms (storm.h). */
struct watchdog_table {
	uint8_t action; /* enum watchdog_action */
	uint64_t detect_ps, restore_ps, poll_ps;
};

/* What the modes of balanced groups need to know (balance/balance.h). */
struct balance_table {
	uint64_t gap_ps; /* FLOWLET: silence after which a flow may move */
	uint32_t flows;  /* FLOWLET: that a worker remembers */
	bool by_5tuple;  /* the queue pair has no say */
};

/* Another leaf (balance/spray.h). */
struct spray_peer {
	uint8_t address[16]; /* IPv4 in the first four bytes, the rest zero */
	uint32_t members; /* first of its adjacencies; their order numbers our uplinks towards it */
	uint16_t count;   /* 1..SPRAY_UPLINKS_MAX */
};

/* What in-order spray needs to know. But for members and their weights it never changes. */
struct spray_table {
	struct spray_peer *peer;
	uint16_t peer_count; /* 0: no in-order spray, and nothing else counts */
	uint8_t family;      /* of all addresses: 4 or 6 */
	uint8_t address[16]; /* ours */
	struct siphash_key key;
	uint64_t epoch;         /* not 0; larger with each start of the leaf */
	uint64_t hold_bytes;    /* that may be held */
	uint32_t hold_packets;  /* likewise */
	uint32_t promote_bytes; /* of a flow, before it is sprayed */
	uint32_t frame_bytes;   /* largest frame of any port */
	uint64_t slowest_bps;   /* port of the fabric */
	uint8_t dscp;           /* of messages between leaves: the most urgent class that has one */
};

struct snapshot {
	uint64_t generation; /* counts publications */

	/* classify */
	uint8_t by_dscp[64]; /* priority of each DSCP */
	uint8_t by_pcp[8];
	uint8_t priority_default; /* lossy: untrusted, non-IP and flooded frames */
	uint8_t priority_control; /* lossy: non-IP frames of the kernel (ARP must not starve) */
	uint8_t lossless_mask;    /* bit p: priority p is lossless */
	uint8_t strict_mask;
	struct class_table class[PRIORITY_COUNT];

	/* ports, VLANs */
	uint16_t port_count; /* real ports; port[port_count] is the CPU's */
	struct port_table *port;
	struct vlan_table *vlan;         /* vlan[0]: an empty one */
	uint16_t vlan_index[VLAN_COUNT]; /* into vlan; 0: no such VLAN */
	uint64_t fdb_age_ps;             /* default 300 s (IEEE 802.1Q table 8-6) */

	/* routing */
	uint8_t router_mac[6];
	const struct fib *fib[VRF_COUNT];
	struct interface *interface;
	uint16_t interface_count;
	struct group *group;
	uint32_t group_count;
	struct adjacency *adjacency;
	uint32_t adjacency_count;
	struct neighbour *neighbour;
	uint32_t neighbour_mask; /* slots - 1 */
	uint64_t hash_seed;      /* ECMP; differs between tiers, so that they don't polarise */

	struct balance_table balance;
	struct spray_table spray;

	struct buffer_table buffer;
	struct watchdog_table watchdog;
};

/** Thresholds of a (port, priority) as ingress. Any port, the CPU's too. */
static inline struct buffer_pair *snapshot_pair(const struct snapshot *snapshot, uint32_t port,
						uint32_t priority)
{
	return &snapshot->buffer.pair[priority * (snapshot->port_count + 1u) + port];
}

/** Thresholds of a (port, priority) as egress queue. */
static inline struct mark_table *snapshot_mark(const struct snapshot *snapshot, uint32_t port,
					       uint32_t priority)
{
	return &snapshot->buffer.mark[priority * (snapshot->port_count + 1u) + port];
}

/** Slot where a search for this neighbour starts. */
static inline uint32_t neighbour_hash(const uint8_t address[16], uint16_t interface)
{
	uint64_t low, high;

	__builtin_memcpy(&low, address, 8);
	__builtin_memcpy(&high, address + 8, 8);
	low = (low ^ (high << 32 | high >> 32) ^ interface) * UINT64_C(0x9E3779B97F4A7C15);
	return (uint32_t)(low >> 32);
}

/** Hot. Adjacency of a neighbour, or NULL when it isn't resolved. */
static inline const struct adjacency *neighbour_find(const struct snapshot *snapshot,
						     const uint8_t address[16], uint8_t family,
						     uint16_t interface)
{
	uint32_t slot = neighbour_hash(address, interface);

	for (;; slot++) {
		const struct neighbour *n = &snapshot->neighbour[slot & snapshot->neighbour_mask];

		if (n->interface == INTERFACE_NONE)
			return NULL;
		if (n->interface == interface && n->family == family &&
		    __builtin_memcmp(n->address, address, 16) == 0)
			return &snapshot->adjacency[n->adjacency];
	}
}

/** The same of an IPv4 address, as on the wire. */
static inline const struct adjacency *neighbour_find4(const struct snapshot *snapshot,
						      uint32_t destination, uint16_t interface)
{
	uint8_t address[16] = {0};

	__builtin_memcpy(address, &destination, sizeof(destination));
	return neighbour_find(snapshot, address, 4, interface);
}

#endif
