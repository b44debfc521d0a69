/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spray_fixture - a leaf that sprays towards one other: port SPRAY_HOST with one host, and two uplinks from
 * SPRAY_UP on, each a way to the other leaf.
 */
#ifndef TESTS_UNIT_SPRAY_FIXTURE_H
#define TESTS_UNIT_SPRAY_FIXTURE_H

#include "dataplane/balance/siphash.h"
#include "tests/unit/leaf_fixture.h"

enum {
	SPRAY_HOST,
	SPRAY_UP,
	SPRAY_UPLINKS = 2,
	SPRAY_PORTS = SPRAY_UP + SPRAY_UPLINKS,
	SPRAY_TEST_DSCP = 26,
	SPRAY_TEST_PRIORITY = 3
};

extern const struct siphash_key spray_fixture_key;

/* Addresses in host byte order. */
struct spray_side {
	uint32_t ours, theirs; /* addresses of the leaves */
	uint64_t epoch;
	uint64_t host_mac;
	const char *host;   /* our host's address */
	const char *prefix; /* of our hosts */
	const char *their_prefix;
	uint32_t promote_bytes;
	struct spray_peer *peer; /* kept by the caller, as long as the leaf lives */
};

/** An address as messages have it. */
void spray_fixture_address(uint8_t out[16], uint32_t ip);

/** Put a snapshot in force; the fixture is open. */
void spray_fixture_start(struct leaf_fixture *fixture, const struct spray_side *side);

#endif
