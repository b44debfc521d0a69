/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sketch - which flows are the largest of those that are spread over uplinks, and what each uplink carries.
 *
 * One packet in SKETCH_SAMPLE_BYTES of routed bytes that have several next hops is looked at, and stands for that
 * many. The distance to the next one is drawn, a half to three halves of that, so that nothing periodic hides.
 * Every byte is as likely to be looked at as any other: sums are unbiased, and what is said of a flow or an
 * uplink of so many bytes has a standard error of at most sqrt(bytes * SKETCH_SAMPLE_BYTES), that is 5.1 % of
 * 100 MB.
 *
 * What is looked at goes to Space-Saving (Metwally, Agrawal, El Abbadi, ICDT 2005, section 3) with SKETCH_FLOWS
 * counters: a flow that has none takes over the smallest one, and its value. So no flow of more than 1/SKETCH_FLOWS
 * of all bytes is missing, and a flow's `bytes` are too many by at most its `over_bytes`, which are at most
 * 1/SKETCH_FLOWS of all. Found by going through all of them: so seldom, that is cheaper than keeping lists.
 *
 * It counts in windows of a second; readers see the last one that is complete, so flows that have ended make
 * room. A window ends with the first packet looked at after its time.
 *
 * A flow is a 5-tuple, of RoCEv2 with the destination queue pair, and a priority. Each worker has a sketch of its own.
 *
 * Thread: one worker writes, anybody reads; what readers see is consistent, or they are told to try again.
 */
#ifndef DATAPLANE_BALANCE_SKETCH_H
#define DATAPLANE_BALANCE_SKETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

#define SKETCH_FLOWS        64
#define SKETCH_SAMPLE_BYTES 262144u
#define SKETCH_WINDOW_PS    PS_PER_S

/* sketch_flow.egress of one that went several ways */
#define SKETCH_EGRESS_SEVERAL (UINT16_MAX - 1)

struct parsed;
struct sketch;

struct sketch_key {
	uint8_t source[16]; /* IPv4: the first four bytes, the rest zero */
	uint8_t destination[16];
	uint32_t ports; /* as on the wire; 0: it has none */
	uint32_t qp;    /* RoCEv2: destination queue pair */
	uint8_t kind;   /* KIND_IPV4 or KIND_IPV6 */
	uint8_t protocol;
	uint8_t priority;
	uint8_t roce; /* 1: qp is valid */
	uint32_t unused;
};

#define SKETCH_KEY_WORDS 6
_Static_assert(sizeof(struct sketch_key) == SKETCH_KEY_WORDS * sizeof(uint64_t),
	       "compared by words");

struct sketch_flow {
	struct sketch_key key;
	uint64_t bytes;      /* at least bytes - over_bytes are this flow's */
	uint64_t over_bytes; /* may be another's */
	uint16_t egress;     /* a port, or SKETCH_EGRESS_SEVERAL */
};

/* The last complete window. */
struct sketch_look {
	uint64_t start_ps, end_ps;
	uint64_t bytes; /* of all flows */
	uint32_t count;
	struct sketch_flow flow[SKETCH_FLOWS]; /* in no order */
};

/** @param ports that packets may leave by. @param seed of the distances. Control. @return NULL: no memory */
struct sketch *sketch_create(uint16_t ports, uint64_t seed);
void sketch_free(struct sketch *sketch);

/**
 * Look at a packet. Not for every packet: when so many bytes have passed.
 * @param sketch NULL: does nothing
 * @param ip     its IP header
 * @return bytes to let pass until the next one
 * Cost: 200 to 400 instructions
 */
uint32_t sketch_take(struct sketch *sketch, uint64_t now_ps, const struct parsed *parsed,
		     const uint8_t *ip, uint8_t priority, uint16_t egress);

/**
 * What the last complete window holds. Any thread.
 * @param port_bytes NULL, or [ports]: set to what each carried in it
 * @return false: nothing is complete yet, or the writer was faster; what was written then is of no use
 */
bool sketch_read(const struct sketch *sketch, struct sketch_look *look, uint64_t *port_bytes);

/** All bytes by a port since the start, as far as they were spread. Any thread. */
uint64_t sketch_port_bytes(const struct sketch *sketch, uint16_t port);

#endif
