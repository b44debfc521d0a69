/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reference - runs of an independent simulator, to compare the lab with.
 *
 * The tables in reference/ are results of the ns-3 simulator that was published with HPCC (SIGCOMM 2019;
 * github.com/alibaba-edu/High-Precision-Congestion-Control, commit 9f4be2a), run with a clock of 1 ps. Its
 * switches are unlike ours in three ways that matter; the first two can be set here:
 *
 *   frames     payload and 48 bytes, nothing between frames. Ours have 58, and a payload of whole words, so
 *              that they are two bytes longer. A byte of theirs is REFERENCE_SCALE of ours here: links run
 *              faster by that, and buffers are larger. Framing overhead is 0.
 *   buffer     4096 bytes reserved for each port, headroom of three times rate and delay of the link, and
 *              the rest shared, of which a port may have an eighth of what is free above its reserve; it
 *              may go on 3072 bytes below that. Our xon lies that far below the limit without the reserve.
 *              So the reserve is 0 here, and what is shared is larger by as much as gives the same
 *              thresholds when all senders send.
 *   decisions  a port's threshold is looked at when a packet of its own comes (xoff) or goes (xon). Ours are
 *              looked at in every poll, so that others' packets pause it, too.
 *
 * Thread: the test's.
 */
#ifndef TESTS_LAB_REFERENCE_H
#define TESTS_LAB_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/lab/harness.h"

#define REFERENCE_PRIORITY 3

/* Payload of 1000 bytes there, as ours: 1048 and 1050 bytes on the wire. */
#define REFERENCE_PAYLOAD_BYTES 990u
#define REFERENCE_SCALE         (1050 / 1048.0)

/* Nodes have the reference's numbers, and are called n0, n1 ...: hosts first, then switches. */
struct reference_link {
	uint16_t ends[2];
	uint32_t rate_gbps;
};

/* How a switch divides its buffer. */
struct reference_switch {
	uint32_t alpha_q8; /* of the ports that matter: 32, at 400G 128 */
	uint32_t senders;  /* ports on which data comes in */
};

struct reference_network {
	const struct reference_link *links; /* of 1 us */
	uint32_t link_count;
	const struct reference_switch *switches;
	uint32_t hosts, switch_count;
	uint64_t buffer_bytes; /* of each switch */
	const char *rest;      /* of the scenario */
};

struct scenario *reference_scenario(const struct reference_network *network);
struct simulation *reference_simulation(struct scenario *scenario,
					const struct reference_network *network);

/** One switch, n`hosts`, with so many hosts; all but the last send to that. @param rest of the scenario */
struct simulation *reference_star(uint32_t hosts, uint64_t buffer_bytes, const char *rest);

/* DCQCN as there: a mark is told by every acknowledgement, and rates have a timer only. */
struct reference_cc {
	const char *name;
	uint32_t alpha_us, decrease_us, increase_us, fast_recovery;
	double additive_mbps, hyper_mbps;
	double kmin_bytes, kmax_bytes, pmax_percent;
};

/** @return the preset `hpcc`, `paper`, `paper5`, `step` or `step5`; the test fails without it */
const struct reference_cc *reference_cc(const char *name);
/** Scenario text of it between duration and traffic. @return bytes, as snprintf() */
int reference_cc_text(const struct reference_cc *cc, char *text, size_t size);

/** Scenario text between duration and traffic: one lossless class, without marks; hosts without control. */
#define REFERENCE_PFC_ONLY                                                        \
	"leaf:\n"                                                                 \
	"  memory: 128MiB\n"                                                      \
	"  classes:\n"                                                            \
	"    - {priority: 3, name: roce, dscp: [26], lossless: true, ecn: off}\n" \
	"    - {priority: 0, name: rest}\n"                                       \
	"  buffer: {allow_pfc_before_ecn: true}\n"                                \
	"hosts: {cc: none, mtu: 1024, ack_every: 1, acks: apart, operation: send}\n"

/* --- tables --- */

#define REFERENCE_COLUMNS_MAX 24

struct reference_row {
	char text[512];
	const char *field[REFERENCE_COLUMNS_MAX];
	uint32_t fields;
};

struct reference_table {
	struct reference_row *rows;
	uint32_t count;
};

/** The rows of reference/NAME.csv that begin with these fields, `a,b,c`; the test fails without any. */
struct reference_table reference_read(const char *name, const char *begin);
void reference_free(struct reference_table *table);
double reference_number(const struct reference_row *row, uint32_t field);

/** Print both, and fail when ours isn't within a share of theirs. */
void reference_compare(const char *what, double ours, double theirs, double share);

#endif
