/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * why_leaf - what slowed traffic down at a running leaf: what it had counted some seconds ago, which it remembers
 * for telemetry.history, or what it counts now, and what it has counted then; the difference is weighed by
 * tools/why/why.h.
 *
 * Uplinks are the ports that `show balance` has; any other port is one to a host. How many ports sent to a
 * host isn't counted: it is the least number that accounts for what its port sent.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_WHY_LEAF_H
#define TOOLS_CTL_WHY_LEAF_H

#include <stdbool.h>

#include "tools/ctl/client.h"
#include "tools/why/why.h"

/* Between the two looks when nobody says. */
#define WHY_LEAF_LAST_SECONDS 10.0
#define WHY_LEAF_NEXT_SECONDS 2.0
#define WHY_LEAF_SECONDS_MAX  3600.0

/* X(enum, name of the table, of that with its counters of some time ago; "": none are needed) */
#define WHY_LEAF_TABLES(X)                   \
	X(PORTS, "ports", "past_ports")      \
	X(QUEUES, "queues", "past_queues")   \
	X(PFC, "pfc", "past_queues")         \
	X(BUFFERS, "buffers", "past_queues") \
	X(BALANCE, "balance", "")            \
	X(WORKERS, "workers", "past_workers")

#define WHY_LEAF_ENUM_(id, name, past) WHY_LEAF_##id,
enum why_leaf_table { WHY_LEAF_TABLES(WHY_LEAF_ENUM_) WHY_LEAF_TABLE_COUNT };
#undef WHY_LEAF_ENUM_

/* One look at a leaf. */
struct why_look {
	struct reply table[WHY_LEAF_TABLE_COUNT];
};

struct why_leaf {
	struct why_facts facts;
	struct why_link *links;
	struct why_worker *workers;
	char (*text)[80]; /* names that no table has */
};

void why_look_init(struct why_look *look);
void why_look_free(struct why_look *look);

/**
 * Facts of the time between two looks. They borrow names from `after`.
 * @return 0; -ENOMEM; -EPROTO: another instance of the leaf, or no time between
 */
int why_leaf_facts(const struct why_look *before, const struct why_look *after,
		   struct why_leaf *leaf);
void why_leaf_free(struct why_leaf *leaf);

/**
 * The command. @param seconds the last ones, of which a part is rounded up; or with `next` those that come
 * @return the exit status: 0, or 1 after a message on stderr
 */
int why_leaf_run(const char *runtime_dir, double seconds, bool next, bool as_json);

#endif
