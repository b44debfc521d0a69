/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spray_talk - a leaf that sprays in order, and the test as its peer: it speaks the protocol of spray_message.h,
 * sends what it likes, and looks at every frame.
 */
#ifndef TESTS_UNIT_SPRAY_TALK_H
#define TESTS_UNIT_SPRAY_TALK_H

#include "dataplane/balance/sequence.h"
#include "dataplane/balance/spray_message.h"
#include "tests/unit/spray_fixture.h"

enum { HOST = SPRAY_HOST, UP = SPRAY_UP, UPLINKS = SPRAY_UPLINKS, DSCP = SPRAY_TEST_DSCP };

#define OURS       0x0aff0001u /* 10.255.0.1 */
#define THEIRS     0x0aff0002u
#define HERE       0x0c000005u /* 12.0.0.5, a host of ours */
#define THERE      0x0b000001u /* 11.0.0.1, one of theirs */
#define OUR_EPOCH  77
#define PROMOTE    4000
#define PAYLOAD    1000
#define MESSAGES   256
#define FRAMES     1024
#define UDP_OFFSET (14 + 20)

extern struct talk {
	struct leaf_fixture fixture;
	uint64_t their_epoch, counter[UPLINKS];
	uint32_t hello_serial;
	/* What the leaf has sent since talk_clear(). */
	struct spray_message message[MESSAGES];
	uint16_t message_port[MESSAGES];
	uint32_t messages;
	struct frame frame[FRAMES];
	uint16_t frame_port[FRAMES];
	uint32_t frames;
} talk;

/** What LEAF_TEST begins and ends with. */
void start(void);
void finish(void);

void talk_clear(void);

/** Poll until workers have told each other everything; keep what left. */
void talk_poll(void);
void talk_pass(uint64_t time_ps);

/* --- messages --- */

/** The last message of a type, or NULL. */
const struct spray_message *last_said(enum spray_message_type type);

/** The same, which must be there. */
struct spray_message said(enum spray_message_type type);

/** @param from address of the leaf that it claims to be from */
struct frame message_frame(struct spray_message m, uint32_t uplink, uint32_t from);
void tell(struct spray_message m, uint32_t uplink);

/** The next hello: all their uplinks are up, and as fast. @param receiver_epoch whom they have heard, 0: nobody */
struct spray_message hello_message(uint64_t receiver_epoch);

/** The next hello, by all uplinks. */
void hello(uint64_t receiver_epoch);

/** They know each other, and what came before our start has come. */
void meet(void);

/** Packets of a host of ours until the leaf asks. @return the request */
struct spray_message promote(uint32_t qp);
void answer(const struct spray_message *request, enum spray_answer say);

/** Ask for an agreement on a flow of theirs that begins at this number. @return what the leaf said, or NULL */
const struct spray_message *agree(uint32_t destination, uint32_t qp, uint16_t first);

/* --- packets --- */

/** A packet of a host of ours to one of theirs. @param sum its UDP checksum */
void host_sends(uint8_t opcode, uint32_t qp, uint16_t sum);

/** A packet of theirs to our host comes by an uplink. @param sum its UDP checksum, or number */
void they_send(uint32_t uplink, uint32_t qp, uint16_t sum);

struct spray_flow their_flow(uint32_t destination, uint32_t qp);
uint16_t checksum(const struct frame *frame);

#endif
