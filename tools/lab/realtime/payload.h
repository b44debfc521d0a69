/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * payload - what the lab's frames leave out: makes a frame whole for a real wire, and takes it apart again.
 *
 * The payload is a pattern that follows from queue pair and PSN, so that a receiver can tell each packet's
 * bytes from those of any other; a packet that is sent again has the same.
 *
 * The invariant CRC is the Ethernet's CRC-32 over eight bytes of ones and the IP packet without its last
 * four bytes. What routers and switches may change counts as ones: type of service, time to live and checksum of
 * the IP header, the UDP checksum, and byte 4 of the BTH. It is sent lowest byte first.
 * Source: InfiniBand Architecture Specification, volume 1, annex A17.3.3 (and 7.8.1).
 *
 * IPv4 without options, untagged. Cost: one pass for the pattern and one for the CRC, both in the cache;
 * DPDK computes the CRC by carry-less multiplication where the CPU has that.
 *
 * Thread: any.
 */
#ifndef LAB_REALTIME_PAYLOAD_H
#define LAB_REALTIME_PAYLOAD_H

#include <stdint.h>

struct rte_mbuf;
struct frame_view;

/**
 * Give a frame of frame_build(), frame_build_reply() or notifier_build() its payload, padding and CRC.
 * @return 0, or -ENOSPC: it is longer than its buffer, and unchanged
 */
int payload_seal(struct rte_mbuf *packet);

enum payload_verdict {
	PAYLOAD_RIGHT,
	PAYLOAD_FOREIGN, /* no RoCEv2 frame that we read, or one that contradicts itself */
	PAYLOAD_CRC,     /* its invariant CRC is wrong */
	PAYLOAD_CORRUPT, /* its CRC is right, but its payload isn't the pattern */
};

/**
 * Check a frame that has come. When it is right or corrupt, what payload_seal() added is virtual again, and
 * *view says what it is. Bytes behind the IP packet go.
 */
enum payload_verdict payload_open(struct rte_mbuf *packet, struct frame_view *view);

#endif
