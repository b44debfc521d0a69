/* SPDX-License-Identifier: BSD-3-Clause */
/* telemetry_fake - stands in for daemon, leaf, FDB, events and apply below telemetry_test.c. */
#ifndef TESTS_UNIT_TELEMETRY_FAKE_H
#define TESTS_UNIT_TELEMETRY_FAKE_H

#include "control/daemon.h"
#include "control/events.h"

#define FAKE_STARTED_NS      UINT64_C(1700000000000000000)
#define FAKE_INTERFACES_MAX  4
#define FAKE_NEIGHBOUR_SLOTS 8

extern struct fake {
	struct config config;
	struct config_port *ports;
	char path[64];
	struct snapshot snapshot;
	struct neighbour slots[FAKE_NEIGHBOUR_SLOTS];
	struct adjacency adjacencies[1];
	struct port_table tables[PORT_COUNT_MAX];
	struct buffer_pair pairs[PRIORITY_COUNT * PORT_COUNT_MAX];
	struct mark_table marks[PRIORITY_COUNT * PORT_COUNT_MAX];
	uint8_t reasons;   /* of every pair */
	uint64_t consumed; /* packets, and bytes, of every port */
	int locked;
	uint64_t now_ps;
	bool large; /* counters at their largest */
	uint64_t drop_ttl[PORT_COUNT_MAX], drop_no_route[PORT_COUNT_MAX], missed[PORT_COUNT_MAX];
	uint64_t hold_expired;
	uint32_t fdb_slots, fdb_every; /* every n-th slot is used */
	uint32_t neighbours;
	uint32_t
		flows; /* all like `flow`, of queue pairs 0, 1..., each 1000 bytes less than the one before */
	struct sketch_flow flow;
	struct group group;
	struct adjacency members[2];
	uint64_t events;
	char event_text[EVENTS_TEXT_BYTES];
	uint64_t steps; /* the last of them runs */
	struct recording *recording;
	struct history *history;
	uint16_t interfaces, address_count;
	struct config_prefix address[FAKE_INTERFACES_MAX][CONFIG_ADDRESSES_MAX];
} fake;

/** Nothing in it but so many ports, port0..., on devices veth0... */
void fake_reset(uint16_t ports);

#endif
