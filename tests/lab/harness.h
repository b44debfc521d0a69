/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * harness - what the lab's tests share: EAL and a packet pool, scenarios from text, and a rig: one
 * real leaf between testers that send frames byte by byte and keep what they get.
 */
#ifndef TESTS_LAB_HARNESS_H
#define TESTS_LAB_HARNESS_H

#include <stdint.h>

#include "config/config.h"
#include "tools/lab/engine.h"
#include "tools/lab/link.h"
#include "tools/lab/scenario.h"
#include "tools/lab/simulation.h"
#include "tools/lab/switch_node.h"

#define HARNESS_PACKETS 120000

/* A Criterion fixture: EAL and the pool. */
void harness_start(void);
/* The same with a pool of so many packets. */
void harness_start_packets(uint32_t packets);
struct rte_mempool *harness_pool(void);
/* A number in the environment. */
uint64_t harness_number(const char *name, uint64_t otherwise);
/* Every packet must be back. */
void harness_check_pool(void);

/*
 * The scenario of this text; the test fails with its errors when it has some. Receivers acknowledge nothing
 * unless it has hosts.ack_every.
 */
struct scenario *harness_scenario(const char *text);

/* Load, for harness_run_to(). @param check conservation after each step of a switch. For harness_finish(). */
struct simulation *harness_create(const char *text, uint64_t start_ps, bool check);

/* Load, run to the end, check conservation. For harness_finish(). */
struct simulation *harness_simulate(const char *text, uint64_t start_ps, bool check);
void harness_finish(struct simulation *simulation);

/* The same to be run in steps, with a clock that wraps after 1 us and conservation after each step. */
struct simulation *harness_begin(const char *text);
/* Run until a time from the start. */
void harness_run_to(struct simulation *simulation, uint64_t time_ps);

/* Times that a switch has paused its peers, in these priorities of all its ports. */
uint64_t harness_pauses(const struct simulation *simulation, uint32_t index, uint8_t priorities);
/* Packets dropped anywhere, for any reason. */
uint64_t harness_drops(const struct simulation *simulation);
/* Traffic has ended: nothing waits, nobody is paused, flows are in order, everything sent has come. */
void harness_check_quiet(const struct simulation *simulation, bool all_received);

/* The flow of that name; the test fails without it. */
struct flow *harness_flow(struct simulation *simulation, const char *name);

/* --- a rig --- */

#define RIG_FRAME_BYTES 256
#define RIG_PORTS_MAX   40

struct rig_frame {
	uint64_t time_ps; /* sent or received: since the start */
	uint32_t length;  /* on the wire */
	uint32_t real;    /* bytes that exist */
	uint8_t bytes[RIG_FRAME_BYTES];
};

struct tester {
	struct node node;
	struct rig *rig;
	struct wire *tx, *rx;
	struct rig_frame *plan; /* in order of time */
	uint32_t plan_count, plan_next;
	struct rig_frame *received;
	uint32_t received_count;
};

struct rig {
	struct engine *engine;
	struct config *config;
	struct switch_node *leaf;
	struct tester tester[RIG_PORTS_MAX];
	struct wire wire[2 * RIG_PORTS_MAX]; /* 2 i to port i of the leaf, 2 i + 1 from it */
	uint16_t port_count;
	uint32_t packets_max; /* buffers of the leaf */
	bool link_down[RIG_PORTS_MAX];
};

/* A leaf by its leaf.yaml; every port needs a speed. Cables are 1 m. */
struct rig *rig_create(const char *yaml);
void rig_free(struct rig *rig);

/* The same with other ends than testers: open, plug in one for each port, publish. */
struct rig *rig_open(const char *yaml, uint32_t packets_max);
/* @param end a node of the rig's engine; arrivals at its port 0. @param delay_ps one way */
void rig_plug(struct rig *rig, uint16_t port, struct node *end, uint64_t delay_ps);
/*
 * Put the rig's config in force, and what link_down says. Again: what a reload does, of a config with the
 * same ports, addresses and routes. @return 0, or what apply_snapshot() said; then nothing has changed
 */
int rig_publish(struct rig *rig);
/* Another leaf.yaml; the same conditions. @return as rig_publish() */
int rig_reload(struct rig *rig, const char *yaml);

/* Frame to be sent at a time (not before that of the one before). */
void rig_send(struct rig *rig, uint16_t port, uint64_t time_ps, const uint8_t *bytes, uint32_t real,
	      uint32_t length);
void rig_run(struct rig *rig, uint64_t until_ps);

/* --- frames --- */

struct rig_packet {
	uint8_t family; /* 4 or 6 */
	uint8_t tos;    /* DSCP << 2 | ECN */
	bool tagged;
	uint16_t vlan;
	uint8_t pcp;
	uint8_t source_mac[6], destination_mac[6];
	uint8_t source_ip[16], destination_ip[16];
	uint16_t source_port;
	uint8_t opcode;
	uint32_t psn;
	uint32_t payload_bytes;
};

/* Write the frame of a packet. @return its length on the wire; its real bytes in *real */
uint32_t rig_build(const struct rig_packet *packet, uint8_t bytes[RIG_FRAME_BYTES], uint32_t *real);

#endif
