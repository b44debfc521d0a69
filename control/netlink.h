/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * netlink - what we tell the kernel and what it tells us (rtnetlink(7), through libmnl).
 *
 * Two sockets: one is subscribed to links and neighbours and only ever read; the other carries our
 * requests, each of which waits for the kernel's answer (microseconds: the kernel answers within the
 * system call). Messages may be lost when the first socket's buffer runs over: netlink_read() then
 * says -ENOBUFS, and netlink_dump() tells everything anew.
 *
 * Thread: control.
 */
#ifndef CONTROL_NETLINK_H
#define CONTROL_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct netlink;

struct netlink_link {
	uint32_t ifindex;
	bool up;      /* administratively */
	bool running; /* and its carrier is there */
	bool deleted;
};

struct netlink_neighbour {
	uint32_t ifindex;
	struct config_ip address;
	uint8_t mac[6];
	bool resolved; /* mac is usable: reachable, stale, being probed, permanent */
	bool failed;   /* nobody answered */
	bool deleted;
};

struct netlink_handlers {
	void (*link)(void *context, const struct netlink_link *link);
	void (*neighbour)(void *context, const struct netlink_neighbour *neighbour);
	void *context;
};

/** @return 0, or -errno */
int netlink_open(struct netlink **netlink, const struct netlink_handlers *handlers);
void netlink_close(struct netlink *netlink);

/** Readable when the kernel has told something. */
int netlink_descriptor(const struct netlink *netlink);

/** Hand what was told to the handlers. @return 0, or -ENOBUFS: messages were lost, dump */
int netlink_read(struct netlink *netlink);

/** Hand all links and neighbours that there are now to the handlers. @return 0, or -errno */
int netlink_dump(struct netlink *netlink);

/** Set a link's address, MTU and state. @return 0, or -errno of the kernel */
int netlink_link_set(struct netlink *netlink, uint32_t ifindex, const uint8_t mac[6],
		     uint32_t mtu_bytes, bool up);

/** Add an address (IPv6: without duplicate address detection) or remove it. */
int netlink_address(struct netlink *netlink, uint32_t ifindex, const struct config_prefix *address,
		    bool add);

/** Let the kernel resolve a neighbour, or confirm one that it hasn't used for a while. */
int netlink_neighbour_use(struct netlink *netlink, uint32_t ifindex,
			  const struct config_ip *address);

/** Enter a permanent neighbour, or (mac NULL) remove it. */
int netlink_neighbour_set(struct netlink *netlink, uint32_t ifindex,
			  const struct config_ip *address, const uint8_t *mac);

struct netlink_hop {
	uint32_t ifindex;
	struct config_ip address;
};

/**
 * Enter a route into the main table, or remove it.
 * @param hop    to remove: may be none, then the one with this prefix and metric goes
 * @param metric priority of the route; lower wins
 */
int netlink_route(struct netlink *netlink, const struct config_prefix *to,
		  const struct netlink_hop *hop, uint16_t hop_count, uint32_t metric, bool add);

#endif
