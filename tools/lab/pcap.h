/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pcap - the frames of one link in a file that Wireshark reads.
 *
 * Format: tools/pcapng/pcapng.h, an interface for each direction, named like it
 * (`leaf1->spine1`), times in ns since the start of the run: when the first bit leaves. Headers are real;
 * payload and invariant CRC, which don't exist in the lab, are written as zeros.
 *
 * Thread: the lab's.
 */
#ifndef LAB_PCAP_H
#define LAB_PCAP_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct pcap;

/** Record a link from now on. @return NULL: the file can't be written, stderr says why */
struct pcap *pcap_open(struct fabric *fabric, uint32_t link, const char *path);

/** After the run, before its fabric goes; NULL is legal. @return as output_close() */
int pcap_close(struct pcap *pcap, bool keep);

#endif
