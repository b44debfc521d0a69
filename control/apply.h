/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apply - from a checked config to what the dataplane reads. Pure: no device, no clock, no global.
 *
 * The one piece of control/ that the lab shares with the daemon: both must turn the same YAML into
 * the same leaf.
 *
 * Thread: control.
 */
#ifndef CONTROL_APPLY_H
#define CONTROL_APPLY_H

#include <stdint.h>

#include "config/buffer_plan.h"
#include "config/config.h"
#include "dataplane/snapshot.h"

/* What the config can't know: the state of things around us. Index: port. */
struct apply_port {
	uint64_t rate_bps; /* of the device, where the config says nothing */
	bool link_up;
	uint64_t run_ahead_ps; /* see port_table; the lab: 0 */
	uint64_t catch_up_ps;
	uint64_t nic_delay_ps; /* one way, where the config says `auto`; the lab: 0 */
};

/* A neighbour learned from the kernel, beside the config's static ones (which win). */
struct apply_neighbour {
	struct config_ip address;
	uint8_t mac[6];
	uint16_t interface; /* as numbered by apply_interface_count() */
};

struct apply_state {
	const struct apply_port *port;
	const struct apply_neighbour *neighbour;
	uint32_t neighbour_count;
	uint32_t packets_max;  /* buffers in the pool; bounds the queues */
	uint32_t packets_held; /* of these, what rings and caches may hold; the lab: 0 */
	uint64_t poll_ps;      /* worst poll interval of a worker; the lab: 0 */
	uint64_t hash_seed;
	uint64_t spray_epoch; /* larger with each start, the same over reloads; not 0 */
};

/*
 * Interfaces are numbered: routed ports in the order of the config, then VLANs that have addresses.
 */
uint16_t apply_interface_count(const struct config *config);

/** Name ("port up1" -> "up1", VLAN 100 -> "vlan100"), addresses and MTU of an interface. */
struct apply_interface {
	char name[16];
	uint16_t port; /* PORT_NONE: VLAN interface */
	uint16_t vlan;
	uint32_t mtu_bytes;
	const struct config_prefix *address;
	uint16_t address_count;
};
void apply_interface(const struct config *config, uint16_t index, struct apply_interface *out);

/** Most routes that a FIB needs for this config, over both families: fib_create()'s routes_max. */
uint32_t apply_routes_max(const struct config *config);

/**
 * Divide the buffer as apply_snapshot() will: for messages before it, and for tables.
 * @return as buffer_plan_create()
 */
int apply_plan(const struct config *config, const struct apply_state *state,
	       struct buffer_plan *plan, struct config_errors *errors);

/**
 * Build a snapshot and fill the FIB side that it will name.
 * @param fib empty, or filled by an earlier apply of the same config (then it isn't touched:
 *            pass fib_filled = true; group indices depend only on the config)
 * @return the snapshot, for snapshot_free(); NULL with rte_errno set (ENOMEM, ENOSPC, EINVAL: apply_plan()
 *         says why), and then the FIB may hold a part of the routes
 */
struct snapshot *apply_snapshot(const struct config *config, const struct apply_state *state,
				struct fib *fib, bool fib_filled);

/** Mode of a class, or of the leaf where it has none: never BALANCE_BY_CLASS. */
uint8_t apply_balance_mode(const struct config *config, enum config_balance_mode mode);

void snapshot_free(const struct snapshot *snapshot);

/**
 * Which ports can be chosen for routes of several next hops, as things are.
 * @param snapshot one built of this config
 * @param serves   of each port
 */
void apply_uplinks(const struct config *config, const struct snapshot *snapshot, bool *serves);

/**
 * The next hops whose neighbours must be resolved for the config's routes: unique (interface,
 * address) pairs, by address. @return how many; at most `max` are stored
 */
struct apply_next_hop {
	struct config_ip address;
	uint16_t interface;
};
uint32_t apply_next_hops(const struct config *config, struct apply_next_hop *out, uint32_t max);

/**
 * Next hop for a destination by the config alone: of the longest prefix the first next hop, or the
 * destination itself when it is attached. Control's slow path: which neighbour a held packet wants.
 * @return 0, or -ENOENT (no route, or one of our own and special addresses)
 */
int apply_resolve(const struct config *config, const struct config_ip *destination,
		  struct apply_next_hop *out);

#endif
