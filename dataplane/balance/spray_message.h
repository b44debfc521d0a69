/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spray_message - what leaves tell each other about in-order spray and safe moves: the wire format.
 *
 * UDP, port SPRAY_PORT at both ends. All numbers are big-endian:
 *
 *   0  version (1)          1  type               2  worker of the sender   3  uplink of the sender
 *   4  sender's epoch (8)   12 receiver's epoch (8)                         20 counter (8)
 *   28 the message          then 8 bytes of SipHash-2-4 over all before
 *
 * Authentic: the hash begins with the IP addresses of both leaves, so that a message is worth nothing on its
 * way back or at a third leaf. Fresh: a leaf draws a larger epoch each time it starts, and takes nothing that
 * doesn't name its present one; only a hello may come before that is known (receiver's epoch 0). It proves
 * nothing yet: what a new epoch of a peer puts an end to has to wait for a hello that names ours. Not
 * replayed: spray_replay_accept(), one for each worker and uplink of each peer, because what takes one path
 * in two classes may come in another order, but hardly by more than 64.
 *
 * In order: the transactions of a worker's requests, demotions and releases grow (spray_source.h says why), and
 * a destination ignores one that is smaller than one it has heard of that worker. So do the serials of hellos,
 * whatever uplink they take: what an older one says of links, which may have come late by a slow or dying one, is
 * ignored. Both wrap.
 *
 * Nothing here is secret, so nothing is encrypted. No byte of a message is looked at, its version apart,
 * before the hash is right. Then every field is checked against its range all the same.
 *
 * Thread: any; no state.
 */
#ifndef DATAPLANE_BALANCE_SPRAY_MESSAGE_H
#define DATAPLANE_BALANCE_SPRAY_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/balance/siphash.h"

/* Unassigned in IANA's registry of October 2025 (4791 RoCEv2, 4792 Unified Bus, 4793 Ultra Ethernet). */
#define SPRAY_PORT 4798

#define SPRAY_VERSION           1
#define SPRAY_UPLINKS_MAX       32
#define SPRAY_MESSAGE_BYTES_MAX 384 /* room that any message fits */

/* X(upper case, what it is for) */
#define SPRAY_MESSAGE_TYPES(X)                                                   \
	X(HELLO, "who is there; by every uplink, so that arrival ports show")    \
	X(REQUEST, "may this flow be sprayed?")                                  \
	X(ANSWER, "yes, or why not")                                             \
	X(FENCE_WANTED, "a number is missing: send fences")                      \
	X(FENCE, "behind the data of one uplink")                                \
	X(FEEDBACK, "how late and how much came by each uplink")                 \
	X(DEMOTE, "no more numbers after this one; tell when all have come")     \
	X(DRAINED, "nothing is missing up to this number")                       \
	X(RELEASE, "forget the flow, once nothing up to this number is missing") \
	X(RELEASED, "it is forgotten")                                           \
	X(BYE, "this epoch ends")                                                \
	X(PROBE, "behind a flow's data on its uplink: reply when it has come")   \
	X(PASSED, "the probe has come")                                          \
	X(PLACED, "elephants that come to you by each of our uplinks")           \
	X(LOADS, "elephants of others at the far end of each of your uplinks")

#define SPRAY_MESSAGE_TYPE_(upper, help) SPRAY_##upper,
enum spray_message_type {
	SPRAY_NOTHING,
	SPRAY_MESSAGE_TYPES(SPRAY_MESSAGE_TYPE_) SPRAY_MESSAGE_TYPE_COUNT
};
#undef SPRAY_MESSAGE_TYPE_

enum spray_answer {
	SPRAY_YES,
	SPRAY_FULL,    /* no room for another flow */
	SPRAY_OWNED,   /* another leaf or worker sprays it */
	SPRAY_BUSY,    /* packets are still missing: ask again */
	SPRAY_FOREIGN, /* not a destination of ours, or one that others serve as well */
	SPRAY_ANSWER_COUNT
};

/* Why a message was refused. */
#define SPRAY_ERRORS(X)                                             \
	X(NONE, "accepted")                                         \
	X(SHORT, "shorter than any message")                        \
	X(VERSION, "of another version")                            \
	X(FORGED, "not authenticated")                              \
	X(TYPE, "of an unknown type")                               \
	X(LENGTH, "shorter or longer than its type and counts say") \
	X(FIELD, "with a field out of its range")

#define SPRAY_ERROR_(upper, help) SPRAY_ERROR_##upper,
enum spray_error { SPRAY_ERRORS(SPRAY_ERROR_) SPRAY_ERROR_COUNT };
#undef SPRAY_ERROR_

/* Who sends to whom: IP addresses as on the wire; IPv4 in the first four bytes, the others 0. */
struct spray_path {
	uint8_t source[16];
	uint8_t destination[16];
};

struct spray_flow {
	uint8_t family; /* 4 or 6 */
	uint8_t dscp;   /* 0..63 */
	uint16_t vrf;
	uint32_t qp; /* destination queue pair, 24 bits */
	uint8_t source[16];
	uint8_t destination[16]; /* IPv4 in the first four bytes, the others 0 */
};

struct spray_uplink {
	uint32_t speed_mbps;
	bool up;
};

struct spray_arrived {
	uint32_t lateness_ps; /* mean; 2^32-1 stands for more as well */
	uint32_t packets;
	bool silent; /* lateness is for how long */
	bool up;     /* the destination leaf's own port */
};

struct spray_message {
	uint8_t type; /* enum spray_message_type */
	uint8_t worker;
	uint8_t uplink; /* by which it leaves, 0..SPRAY_UPLINKS_MAX-1 */
	uint64_t epoch, receiver_epoch;
	uint64_t counter; /* of this epoch, worker and uplink; the first is 1 */
	union {
		struct {
			uint32_t capabilities; /* none defined: to be ignored */
			uint32_t serial;       /* larger than that of the last one that says else */
			uint8_t count;         /* of uplinks, 1..SPRAY_UPLINKS_MAX */
			struct spray_uplink uplink[SPRAY_UPLINKS_MAX];
		} hello;
		struct {
			uint32_t transaction;
			struct spray_flow flow;
			uint16_t first; /* number that the start stands for, 2..65535 */
		} request;
		struct {
			uint32_t transaction; /* another one for each */
			struct spray_flow flow;
		} probe;
		struct {
			uint32_t transaction; /* of the request */
			uint8_t worker;       /* that asked */
			uint8_t answer;       /* enum spray_answer */
			struct spray_flow flow;
		} answer; /* ANSWER; PASSED, which is YES */
		struct {
			uint32_t transaction; /* an answer repeats its question's */
			struct spray_flow flow;
			uint16_t number; /* 2..65535: the last one that the message is about */
		} sequence; /* FENCE_WANTED, FENCE, DEMOTE, DRAINED, RELEASE, RELEASED */
		struct {
			uint8_t count; /* of uplinks of the receiver, 1..SPRAY_UPLINKS_MAX */
			struct spray_arrived uplink[SPRAY_UPLINKS_MAX];
		} feedback;
		struct {
			uint8_t worker; /* PLACED: 0; LOADS: that placed */
			uint8_t count;  /* of uplinks of whoever placed, 1..SPRAY_UPLINKS_MAX */
			uint16_t uplink[SPRAY_UPLINKS_MAX];
		} elephants; /* PLACED, LOADS */
	};
};

/**
 * @param message sound: fields that spray_message_decode() would refuse are our own mistake
 * @param out     room for SPRAY_MESSAGE_BYTES_MAX
 * @return bytes of UDP payload
 */
uint32_t spray_message_encode(const struct spray_message *message, const struct spray_path *path,
			      struct siphash_key key, uint8_t *out);

/**
 * @param data UDP payload, not trusted; `size` bytes of it are read at most
 * @param out  complete only when accepted; what its type doesn't use is 0
 */
enum spray_error spray_message_decode(const uint8_t *data, uint32_t size,
				      const struct spray_path *path, struct siphash_key key,
				      struct spray_message *out);

/* What came from one worker by one uplink of a peer in its present epoch. All zero: nothing yet. */
struct spray_replay {
	uint64_t highest; /* counter */
	uint64_t seen;    /* bit i: highest - i has come */
};

/**
 * Has this counter not come before? The window of IPsec (RFC 4303, section 3.4.3), 64 wide.
 * @return false: a replay, or too old to tell
 */
bool spray_replay_accept(struct spray_replay *replay, uint64_t counter);

#endif
