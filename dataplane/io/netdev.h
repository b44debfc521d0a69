/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * netdev - makes a kernel network interface fit to be a port of the leaf, and undoes that.
 *
 * What netdev_prepare() changes on the interface, in this order, and netdev_restore() puts back:
 *   MTU             set to the port's, when it differs
 *   receive merging rx-gro, rx-lro, rx-gro-hw, rx-gro-list, rx-udp-gro-forwarding off: a leaf
 *                   forwards the frames that were sent, not bigger ones
 *   IPv6            /proc/sys/net/ipv6/conf/NAME/disable_ipv6 = 1, or the kernel would answer
 *                   neighbour and router solicitations on a port beside us
 *   ARP             IFF_NOARP, or the kernel would answer ARP requests on the port for any address
 *                   that this machine has, the leaf's own TAPs included (sysctl arp_ignore is 0)
 *   up              IFF_UP
 * A process that is killed leaves them changed; the next one finds them right.
 *
 * An interface is known by its index: renaming it does no harm, one that is deleted and created
 * again is another.
 *
 * Thread: control; netdev_link(), netdev_mtu() and netdev_running() by any (they only read).
 * These are ioctls: microseconds, and some wait for the kernel's rtnl lock.
 */
#ifndef DATAPLANE_IO_NETDEV_H
#define DATAPLANE_IO_NETDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/io/io_error.h"
#include "dataplane/port_io.h"

/* Words of 32 features that are kept; Linux 6.18 has 64 features. */
#define NETDEV_FEATURE_WORDS 4

struct netdev {
	int fd;    /* a socket in the interface's namespace; its owner closes it */
	int index; /* the kernel's */
	uint8_t mac[6];
	/* How it was found; a zero mask means nothing to put back. */
	int mtu_before;
	uint32_t changed;
	uint32_t feature_words; /* that this kernel has */
	uint32_t features_off[NETDEV_FEATURE_WORDS];
	short flags_before;
};

/**
 * Look the interface up and change it as said above. On failure everything is put back.
 * @param fd         a socket of any kind in the interface's namespace
 * @param mtu_bytes  MTU_BYTES_MIN..MTU_BYTES_MAX
 * @param error      why not; on success a warning, or ""
 * @return 0, -ENODEV (no such interface), -ENOTSUP (not Ethernet, or part of a bond), -EPERM
 *         (CAP_NET_ADMIN is missing), or what the kernel said to a change
 */
int netdev_prepare(struct netdev *netdev, int fd, const char *name, uint32_t mtu_bytes,
		   struct io_error *error);

/** Put back what was changed. Harmless after a failed prepare or when the interface is gone. */
void netdev_restore(struct netdev *netdev);

/** State and speed as the device reports them. @return 0, or -ENODEV: it is gone */
int netdev_link(const struct netdev *netdev, struct port_io_link *link);

/** The interface's MTU now, bytes, or -ENODEV. */
int netdev_mtu(const struct netdev *netdev);

/** Whether the interface is up and has carrier. Takes no lock of the kernel. */
bool netdev_running(const struct netdev *netdev);

#endif
