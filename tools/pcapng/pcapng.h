/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcapng - frames in a file that Wireshark reads: IETF draft-ietf-opsawg-pcapng, Ethernet, times in ns.
 *
 * A section, then its interfaces, numbered from 0, then packets. Errors show in ferror() of the file.
 *
 * Thread: any; a file by one.
 */
#ifndef PCAPNG_PCAPNG_H
#define PCAPNG_PCAPNG_H

#include <stdint.h>
#include <stdio.h>

/* Section 4.3, option epb_flags. */
enum pcapng_direction { PCAPNG_UNKNOWN, PCAPNG_INBOUND, PCAPNG_OUTBOUND };

struct pcapng_packet {
	uint32_t interface;
	uint32_t direction; /* enum pcapng_direction */
	uint64_t time_ns;   /* since the epoch, or whatever the file's zero is */
	const void *data;   /* data_bytes of it; zeros follow up to captured_bytes */
	uint32_t data_bytes;
	uint32_t captured_bytes; /* in the file */
	uint32_t original_bytes; /* on the wire */
};

void pcapng_section(FILE *file);

/** @param snap_bytes of a frame at most; 0: no frame is cut */
void pcapng_interface(FILE *file, const char *name, uint32_t snap_bytes);
void pcapng_packet(FILE *file, const struct pcapng_packet *packet);

/** What there was of an interface up to now. @param dropped that were to be captured, and aren't in the file */
void pcapng_statistics(FILE *file, uint32_t interface, uint64_t time_ns, uint64_t received,
		       uint64_t dropped);

#endif
