/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * arp - reads and writes ARP of IPv4 over Ethernet: a port that we drive has no kernel behind it that would
 * answer for our address.
 *
 * Source: RFC 826; RFC 5227 section 2.1 for how zero and broadcast addresses are used.
 *
 * Thread: any.
 */
#ifndef LAB_REALTIME_ARP_H
#define LAB_REALTIME_ARP_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;

#define ARP_FRAME_BYTES 42 /* devices pad it to 60 */

/* Who says something, and whom it is about. */
struct arp {
	bool request; /* else a reply */
	uint8_t sender_mac[6], sender_ip[4];
	uint8_t target_mac[6], target_ip[4]; /* of a request: mac unused */
};

/** @return false: it is no ARP of IPv4 over Ethernet */
bool arp_read(struct rte_mbuf *packet, struct arp *arp);

/** Make a frame, a request to all stations. @param packet with room for ARP_FRAME_BYTES, whatever was in it */
void arp_write(struct rte_mbuf *packet, const struct arp *arp);

#endif
