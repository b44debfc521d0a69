/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * drop - every reason for which a packet ends here, each counted per ingress port.
 *
 * One list gives the enum, the name in `show drops` and metrics, and the help. A packet is counted
 * under exactly one of: a drop reason, consumed (meant for the leaf itself), or sent.
 */
#ifndef DATAPLANE_DROP_H
#define DATAPLANE_DROP_H

/* X(enum, name, help) */
#define DROP_REASONS(X)                                                                            \
	X(TOO_SHORT, "too_short", "shorter than its headers say")                                  \
	X(TOO_LONG, "too_long", "longer than the port's MTU")                                      \
	X(SOURCE_MAC, "source_mac", "source MAC is zero, multicast or equal to the destination")   \
	X(WRONG_MAC, "wrong_mac", "routed port: not addressed to us")                              \
	X(RESERVED_MAC, "reserved_mac", "01-80-C2-00-00-0x: never forwarded (IEEE 802.1Q 8.6.3)")  \
	X(VLAN, "vlan", "the port is not a member of the frame's VLAN")                            \
	X(SAME_PORT, "same_port", "bridged back to the port it came from")                         \
	X(FLOOD_POLICED, "flood_policed", "flooding beyond its rate")                              \
	X(NO_BUFFER, "no_buffer", "no buffer for a copy")                                          \
	X(IP_HEADER, "ip_header", "IP version, header length or total length is wrong")            \
	X(IP_CHECKSUM, "ip_checksum", "IPv4 header checksum is wrong")                             \
	X(MARTIAN_SOURCE, "martian_source", "source address can't be on a wire (RFC 1812 5.3.7)")  \
	X(MARTIAN_DESTINATION, "martian_destination", "destination address can't be routed")       \
	X(MULTICAST, "multicast", "IP multicast, not routed")                                      \
	X(TTL, "ttl", "TTL or hop limit used up")                                                  \
	X(NO_ROUTE, "no_route", "no route to the destination")                                     \
	X(NO_MEMBER, "no_member", "a route, but none of its next hops is usable")                  \
	X(MTU, "mtu", "longer than the egress MTU")                                                \
	X(UNROUTABLE, "unroutable", "routed port: neither IP nor ARP")                             \
	X(PUNT_POLICED, "punt_policed", "for the kernel, beyond the rate of its reason")           \
	X(QUEUE_FULL, "queue_full", "egress queue at its limit")                                   \
	X(WRED, "wred", "random early drop: lossy queue above its threshold")                      \
	X(LOSSY_FULL, "lossy_full", "lossy packets fill their share of the buffer")                \
	X(GUARD, "guard", "few buffers left: they are kept for lossless packets")                  \
	X(BACKLOG, "backlog", "lossy: shed while the receive ring fills")                          \
	X(WATCHDOG, "watchdog", "for a queue in a pause storm, whose watchdog drops")              \
	X(HEADROOM, "headroom", "lossless: past its headroom; a fault of peer or plan")            \
	X(LINK_DOWN, "link_down", "egress port is down, or those of all next hops are")            \
	X(DUPLICATE, "duplicate", "sprayed: its number is held already")                           \
	X(SEQUENCE, "sequence", "may carry a number of before the leaf's start (balance/spray.h)") \
	X(STOPPED, "stopped", "still queued when the leaf stopped")

#define DROP_ENUM_(id, name, help) DROP_##id,
enum drop_reason { DROP_REASONS(DROP_ENUM_) DROP_COUNT };
#undef DROP_ENUM_

/** Name of a reason ("too_short"), "?" when out of range. */
const char *drop_name(enum drop_reason reason);

/** One line of help. */
const char *drop_help(enum drop_reason reason);

#endif
