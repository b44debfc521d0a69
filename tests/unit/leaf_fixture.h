/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leaf_fixture - a leaf with memory ports, a hand-made snapshot and time of its own.
 *
 * What always holds is checked here: conservation after every poll, and at the end that every
 * buffer is back in the pool. A test that leaves something queued says so by fixture_close(), which
 * stops the leaf (DROP_STOPPED) and must find all buffers nevertheless.
 *
 * With ROCELEAF_TEST_WORKERS=n in the environment, ports are dealt out to n workers; a poll is one of each, and
 * of those that got something from others.
 *
 * Memory ports stand in for all devices, the CPU's among them, whose packet_meta is kept in
 * struct frame.
 */
#ifndef TESTS_UNIT_LEAF_FIXTURE_H
#define TESTS_UNIT_LEAF_FIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/io/memory.h"
#include "dataplane/leaf.h"
#include "dataplane/snapshot.h"
#include "dataplane/units.h"
#include "dataplane/worker.h"
#include "tests/unit/frames.h"

#define FIXTURE_PACKETS    4095
#define FIXTURE_BUFFERS    1024 /* frames that a memory port holds in each direction */
#define FIXTURE_GROUPS     300
#define FIXTURE_VLANS      32
#define FIXTURE_INTERFACES 64
#define FIXTURE_ROUTER     UINT64_C(0x020000000001) /* the router's MAC */

struct leaf_fixture {
	struct rte_mempool *pool;
	struct fib *fib;
	struct leaf *leaf;
	uint16_t worker_count;
	struct worker *worker; /* the first */
	uint16_t port_count;
	uint16_t cpu; /* port_count: the CPU's port */
	struct memory_io *memory[PORT_COUNT_MAX];
	struct snapshot *snapshot; /* in force */
	uint64_t now_ps;
	uint64_t due_ps; /* what the last poll returned */
	uint64_t polls;
};

/**
 * A test between start() and finish(), which the file defines. Not in .init and .fini: what fails
 * there doesn't fail the test.
 */
#define LEAF_TEST(suite, name)                   \
	static void suite##_##name##_body(void); \
	Test(suite, name)                        \
	{                                        \
		start();                         \
		suite##_##name##_body();         \
		finish();                        \
	}                                        \
	static void suite##_##name##_body(void)

/** EAL without huge pages. */
void fixture_start_eal(void);

/** @param now_ps when its time begins */
void fixture_open_at(struct leaf_fixture *fixture, uint16_t port_count, uint64_t now_ps);
void fixture_open(struct leaf_fixture *fixture, uint16_t port_count);

/** Also checks that all buffers are back. */
void fixture_close(struct leaf_fixture *fixture);

/* --- snapshots; free until published --- */

/*
 * All ports are off, the CPU's is up. Classes: 3 lossless, 6 and 7 strict, all others of weight 1;
 * DSCP 26, 48 and 56 lead to 3, 6 and 7, DSCP 8p to p for p = 1, 2, 4, 5, the others to 0; PCP p to p.
 * Ports run at 100G, 100 us ahead.
 */
struct snapshot *snapshot_of(const struct leaf_fixture *fixture);

/** The same as another one. */
struct snapshot *snapshot_copy(const struct snapshot *from);
void snapshot_drop(const struct snapshot *snapshot);

void snapshot_port_rate(struct snapshot *snapshot, uint16_t port, uint64_t rate_bps,
			uint64_t run_ahead_ps, uint64_t catch_up_ps);

/** A bridged port. @param native_vlan VLAN of its untagged frames, 0: none; it becomes a member */
void snapshot_bridged(struct snapshot *snapshot, uint16_t port, uint16_t native_vlan);

/** Makes the VLAN; a trunk's VLAN has the port among the tagged ones. */
void snapshot_trunk(struct snapshot *snapshot, uint16_t port, uint16_t vlan);

/** A VLAN interface, or (vlan 0) a routed port; the port is turned to routed. @return its index */
uint16_t snapshot_interface(struct snapshot *snapshot, uint16_t port, uint16_t vlan,
			    uint32_t mtu_bytes);

/** @return index of the new adjacency; MAC source is the router's */
uint32_t snapshot_adjacency(struct snapshot *snapshot, uint64_t mac, uint16_t egress,
			    uint16_t interface);

/** A group of adjacencies first..first+count-1. @return its index */
uint32_t snapshot_group(struct snapshot *snapshot, uint8_t kind, uint16_t interface, uint32_t first,
			uint16_t count);

/** @param address "10.0.0.1" or "fd00::1" */
void snapshot_neighbour(struct snapshot *snapshot, const char *address, uint16_t interface,
			uint32_t adjacency);

/** @param prefix "10.2.0.0/16" or "fd00:2::/64" */
void fixture_route(struct leaf_fixture *fixture, const char *prefix, uint32_t group);

/** Put in force; the one before is freed once the leaf is quiet. */
void fixture_publish(struct leaf_fixture *fixture, struct snapshot *snapshot);

/*
 * A router: ports 0..count-1 are routed, with 10.P.0.0/16 and fd00:P::/32 behind a next hop of MAC
 * 02:00:00:01:00:P on port P, MTU 1500.
 */
struct snapshot *snapshot_router(struct leaf_fixture *fixture, uint16_t count);
uint64_t router_peer(uint16_t port);

/* --- packets --- */

/** Put one frame on the wire into a port. */
void fixture_inject(struct leaf_fixture *fixture, uint16_t port, const struct frame *frame);

/** Poll once now. @return when it wants to be polled again, as worker_poll() */
uint64_t fixture_poll(struct leaf_fixture *fixture);

/** Poll whenever it is due until nothing waits in the leaf; time passes. */
void fixture_settle(struct leaf_fixture *fixture);

/** Poll whenever it is due, from now to a time, and then. */
void fixture_run_until(struct leaf_fixture *fixture, uint64_t until_ps);

/** Take the next frame that a port has sent. @return false when there is none */
bool fixture_take(struct leaf_fixture *fixture, uint16_t port, struct frame *frame);

/** How many frames a port has sent; they are freed. */
uint32_t fixture_discard(struct leaf_fixture *fixture, uint16_t port);

/** Frames in queues and staging. */
uint64_t fixture_queued(const struct leaf_fixture *fixture);

/** A worker has seen that few buffers are left. */
bool fixture_guarded(const struct leaf_fixture *fixture);

/** Headroom in use. */
uint64_t fixture_headroom(const struct leaf_fixture *fixture);

/* --- expectations --- */

/** A frame into a port comes out of another one like this, and nothing else happens. */
void expect_sent(struct leaf_fixture *fixture, const char *what, uint16_t from,
		 const struct frame *in, uint16_t to, const struct frame *out);

/** A frame into a port is dropped for this reason, and nothing else happens. */
void expect_drop(struct leaf_fixture *fixture, const char *what, uint16_t from,
		 const struct frame *in, enum drop_reason reason);

/** No port has sent anything that nobody took. */
void expect_silence(struct leaf_fixture *fixture, const char *what);

/** How often a reason was counted, over all ports. */
uint64_t drops_of(const struct leaf_fixture *fixture, enum drop_reason reason);
uint64_t drops_total(const struct leaf_fixture *fixture);

/** A number from 0 to below - 1; any generator will do that is the same everywhere. */
uint32_t draw(uint64_t *state, uint32_t below);

#endif
