/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tap - where a routed port or VLAN interface meets the kernel: one TAP each.
 *
 * The kernel answers ARP, neighbour solicitations and ICMP there, and routing daemons speak over it.
 * The TAP has the leaf's router MAC, the interface's addresses and MTU, no offloads (so that frames
 * arrive whole and with checksums), and the carrier of the ports behind it. It goes away with its
 * descriptor, whatever happens to this process.
 *
 * Set so that the kernel stays in its part (sysctl, per TAP): arp_ignore 1 and arp_announce 2 (each
 * interface answers for its own addresses), accept_ra 0, autoconf 0, router_solicitations 0 (a
 * router takes no routes from its hosts), dad_transmits 0 (all TAPs share one MAC, hence one
 * link-local address).
 *
 * Thread: control.
 */
#ifndef CONTROL_TAP_H
#define CONTROL_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "control/apply.h"
#include "control/loop.h"
#include "control/netlink.h"
#include "dataplane/io/io_error.h"

struct rte_mbuf;
struct rte_mempool;

/* Frames read from one TAP at a time. */
#define TAP_BURST 32

struct tap {
	char name[16];
	uint16_t port; /* PORT_NONE: VLAN interface */
	uint16_t vlan;
	uint16_t interface; /* its number in the snapshot in force */
	uint32_t mtu_bytes;
	struct config_prefix address[CONFIG_ADDRESSES_MAX];
	uint16_t address_count;
	uint8_t mac[6];
	int fd;
	uint32_t ifindex;
	bool carrier;
	struct loop_source source;
	/* Written by control, read by anybody. */
	_Atomic uint64_t punt_packets, punt_bytes, punt_errors;
	_Atomic uint64_t kernel_packets, kernel_bytes, kernel_drops;
};

/**
 * Create a TAP, up and with carrier.
 * @return the TAP, or NULL with a message that names it
 */
struct tap *tap_open(struct netlink *netlink, const struct apply_interface *interface,
		     const uint8_t mac[6], struct io_error *error);

/** Remove it from the kernel. NULL is fine. */
void tap_close(struct tap *tap);

/**
 * Make it what the interface says; all or nothing.
 * @return 0, or -errno with a message; then it is as before
 */
int tap_change(struct tap *tap, struct netlink *netlink, const struct apply_interface *interface,
	       struct io_error *error);

void tap_set_carrier(struct tap *tap, bool carrier);

/**
 * Read frames that the kernel sends, as packets with PACKET_CPU and the interface's number, at
 * least FRAME_BYTES_MIN long.
 * @param data_bytes longest frame that a buffer of the pool takes
 * @return how many, at most TAP_BURST; what can't be taken is counted in kernel_drops
 */
uint16_t tap_read(struct tap *tap, struct rte_mempool *pool, uint32_t data_bytes,
		  struct rte_mbuf **packets);

/** Give a frame to the kernel. The packet stays with the caller. */
void tap_write(struct tap *tap, struct rte_mbuf *packet);

#endif
