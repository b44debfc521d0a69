/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ecn - congestion experienced: writing it into one IP header. Whether to is mark.h's question.
 *
 * Only packets whose sender can react are marked, ECT(0) and ECT(1) alike; the others are left as
 * they are, to the last bit. A tunnel is marked in its outer header alone, as that is the one we
 * route by; its end carries the mark inwards (RFC 6040). The RoCEv2 invariant CRC doesn't cover the
 * field (InfiniBand specification annex A17.3.3).
 *
 * IPv4: bits 1..0 of byte 1, with the header checksum patched. IPv6: bits 5..4 of byte 1, as the
 * traffic class begins four bits earlier, and no checksum covers it.
 *
 * Source: RFC 3168 section 5; RFC 1624 for the checksum.
 * Thread: whoever holds the packet.
 */
#ifndef DATAPLANE_ECN_H
#define DATAPLANE_ECN_H

#include <stdint.h>
#include <string.h>

#include "dataplane/packet.h"

/* The field's values (RFC 3168 figure 1). */
enum ecn_codepoint { ECN_NOT_ECT = 0, ECN_ECT1 = 1, ECN_ECT0 = 2, ECN_CE = 3 };

enum ecn_mark {
	ECN_MARK_SET,     /* it was ECT(0) or ECT(1), and is CE now */
	ECN_MARK_WAS_CE,  /* somebody before us had marked it; unchanged */
	ECN_MARK_NOT_ECT, /* its transport doesn't know ECN, or it isn't IP; unchanged */
};

/**
 * Hot: one load.
 * @param l3     the IP header, at any alignment; its first two bytes are read
 * @param flags  PACKET_IPV4 or PACKET_IPV6; neither reads as ECN_NOT_ECT, without looking at l3
 */
static inline enum ecn_codepoint ecn_codepoint(const uint8_t *l3, uint8_t flags)
{
	if ((flags & PACKET_IPV4) != 0)
		return (enum ecn_codepoint)(l3[1] & 3);
	if ((flags & PACKET_IPV6) != 0)
		return (enum ecn_codepoint)(l3[1] >> 4 & 3);
	return ECN_NOT_ECT;
}

/*
 * A word of the header grows by `more` > 0, so its checksum shrinks by that in one's complement, in
 * either byte order (RFC 1071 section 2). Same as ~(~sum + more) of RFC 1624 equation 3: of the two
 * zeros 0x0000 comes out, never 0xffff, like a checksum computed afresh, whichever of them went in.
 */
static inline uint16_t ecn_checksum(uint16_t sum, uint16_t more)
{
	return (uint16_t)(sum - more - (sum < more));
}

/**
 * Mark one packet. Hot: 19 instructions for IPv4, 16 for IPv6, 7 to 13 when there is nothing to do.
 * @param l3     the IP header, at any alignment, 12 bytes of it readable (IPv6: 2), its sum right
 * @param flags  packet_meta.flags: PACKET_IPV4 or PACKET_IPV6
 */
static inline enum ecn_mark ecn_mark(uint8_t *l3, uint8_t flags)
{
	enum ecn_codepoint codepoint = ecn_codepoint(l3, flags);
	uint16_t sum;

	if (codepoint == ECN_NOT_ECT)
		return ECN_MARK_NOT_ECT;
	if (codepoint == ECN_CE)
		return ECN_MARK_WAS_CE;
	if ((flags & PACKET_IPV4) == 0) {
		l3[1] |= ECN_CE << 4;
		return ECN_MARK_SET;
	}
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte 1 is the higher one");
	memcpy(&sum, l3 + 10, sizeof(sum));
	sum = ecn_checksum(sum, (uint16_t)((ECN_CE - codepoint) << 8));
	memcpy(l3 + 10, &sum, sizeof(sum));
	l3[1] |= ECN_CE;
	return ECN_MARK_SET;
}

#endif
