/* SPDX-License-Identifier: BSD-3-Clause */
/* What `balance` becomes in a snapshot. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "control/apply.h"

#define ROUTER                                                                   \
	"ports:\n"                                                               \
	"  - {name: u1, device: eth1, speed: 100G, address: 10.255.0.0/31}\n"    \
	"  - {name: u2, device: eth2, speed: 100G, address: 10.255.0.2/31}\n"    \
	"neighbours:\n"                                                          \
	"  - {address: 10.255.0.1, mac: '02:00:00:00:20:01'}\n"                  \
	"  - {address: 10.255.0.3, mac: '02:00:00:00:20:02'}\n"                  \
	"classes:\n"                                                             \
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, ecn: {kmin: " \
	"400KB, kmax: 1600KB}%s}\n"                                              \
	"  - {priority: 0, name: best-effort}\n"                                 \
	"routes:\n"                                                              \
	"  - {to: 10.2.0.0/16, via: [10.255.0.1, 10.255.0.3]}\n"                 \
	"  - {to: 10.3.0.0/16, via: [10.255.0.1, 10.255.0.3]%s}\n"               \
	"%s"

enum { BY_CLASS, OF_ITS_OWN, ROUTES };

struct applied {
	struct config *config;
	struct snapshot *snapshot;
};

/* @param class, route, leaf what is said there, if anything */
static struct applied apply_text(const char *class, const char *route, const char *leaf)
{
	static struct config_errors errors;
	struct apply_port port[2] = {{.link_up = true}, {.link_up = true}};
	const struct apply_state state = {.port = port, .packets_max = 60000, .hash_seed = 4711};
	struct applied applied;
	char text[2048];

	snprintf(text, sizeof(text), ROUTER, class, route, leaf);
	errors = (struct config_errors){0};
	applied.config = config_load_string("leaf.yaml", text, strlen(text), &errors);
	cr_assert_not_null(applied.config, "%s", errors.error[0].text);
	applied.snapshot = apply_snapshot(applied.config, &state, NULL, true);
	cr_assert_not_null(applied.snapshot);
	return applied;
}

static void drop_applied(struct applied *applied)
{
	snapshot_free(applied->snapshot);
	config_free(applied->config);
}

static const struct group *route_group(const struct applied *applied, uint32_t route)
{
	return &applied->snapshot->group[applied->snapshot->group_count - ROUTES + route];
}

/* In line by hash: `count`; else `balanced`. */
Test(apply_balance, only_routes_that_need_it_leave_the_short_way)
{
	static const struct {
		const char *class, *route, *leaf;
		bool balanced[ROUTES];
		uint8_t mode, class_mode, rest_mode;
	} rows[] = {
		{"", "", "", {false, false}, BALANCE_BY_CLASS, BALANCE_ECMP, BALANCE_ECMP},
		{"",
		 "",
		 "balance: {mode: flowlet}\n",
		 {true, true},
		 BALANCE_BY_CLASS,
		 BALANCE_FLOWLET,
		 BALANCE_FLOWLET},
		{", balance: static",
		 "",
		 "",
		 {true, true},
		 BALANCE_BY_CLASS,
		 BALANCE_STATIC,
		 BALANCE_ECMP},
		{", balance: ecmp",
		 "",
		 "balance: {mode: spray-unordered}\n",
		 {true, true},
		 BALANCE_BY_CLASS,
		 BALANCE_ECMP,
		 BALANCE_SPRAY_UNORDERED},
		{"",
		 ", balance: spray-unordered",
		 "",
		 {false, true},
		 BALANCE_SPRAY_UNORDERED,
		 BALANCE_ECMP,
		 BALANCE_ECMP},
		{"",
		 ", balance: ecmp",
		 "balance: {mode: flowlet}\n",
		 {true, false},
		 BALANCE_ECMP,
		 BALANCE_FLOWLET,
		 BALANCE_FLOWLET},
		/* The short way hashes queue pairs. */
		{"",
		 "",
		 "balance: {hash: 5tuple}\n",
		 {true, true},
		 BALANCE_BY_CLASS,
		 BALANCE_ECMP,
		 BALANCE_ECMP},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct applied applied = apply_text(rows[i].class, rows[i].route, rows[i].leaf);

		for (uint32_t route = 0; route < ROUTES; route++) {
			const struct group *group = route_group(&applied, route);

			cr_expect_eq(group->balanced, rows[i].balanced[route] ? 2 : 0,
				     "row %zu, route %u", i, route);
			cr_expect_eq(group->count, rows[i].balanced[route] ? 0 : 2,
				     "row %zu, route %u", i, route);
		}
		cr_expect_eq(route_group(&applied, BY_CLASS)->mode, BALANCE_BY_CLASS);
		cr_expect_eq(route_group(&applied, OF_ITS_OWN)->mode, rows[i].mode, "row %zu", i);
		cr_expect_eq(applied.snapshot->class[3].balance, rows[i].class_mode, "row %zu", i);
		cr_expect_eq(applied.snapshot->class[0].balance, rows[i].rest_mode, "row %zu", i);
		cr_expect_eq(applied.snapshot->class[5].balance, rows[i].rest_mode,
			     "row %zu: a priority without a class", i);
		drop_applied(&applied);
	}
}

/* kmax of 1600 KB lasts 128 us at 100G, and there are two queues that may differ. */
Test(apply_balance, the_gap_is_two_marked_queues_where_all_flowlets_are_marked)
{
	static const struct {
		const char *class, *leaf;
		uint64_t gap_ps;
	} rows[] = {
		{", balance: flowlet", "", 256 * PS_PER_US},
		{", balance: flowlet", "balance: {gap: 70us}\n", 70 * PS_PER_US},
		/* best-effort isn't marked: what hardware takes. */
		{"", "balance: {mode: flowlet}\n", 256 * PS_PER_US},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct applied applied = apply_text(rows[i].class, "", rows[i].leaf);

		cr_expect_eq(applied.snapshot->balance.gap_ps, rows[i].gap_ps, "row %zu", i);
		drop_applied(&applied);
	}
}

Test(apply_balance, the_gap_grows_where_a_port_is_slower)
{
	struct applied applied = apply_text(", balance: flowlet", "", "");
	struct apply_port port[2] = {{.link_up = true}, {.link_up = true}};
	const struct apply_state state = {.port = port, .packets_max = 60000};

	applied.config->ports[1].speed_bps = UINT64_C(50000000000);
	snapshot_free(applied.snapshot);
	applied.snapshot = apply_snapshot(applied.config, &state, NULL, true);
	cr_assert_eq(applied.snapshot->balance.gap_ps, 512 * PS_PER_US);
	drop_applied(&applied);
}

Test(apply_balance, seed_hash_and_flows_are_as_written)
{
	struct applied applied = apply_text("", "", "");

	cr_expect_eq(applied.snapshot->hash_seed, 4711, "the leaf's own");
	cr_expect_eq(applied.snapshot->balance.flows, 65536);
	cr_expect(!applied.snapshot->balance.by_5tuple);
	drop_applied(&applied);
	applied = apply_text("", "", "balance: {seed: 0, hash: [5tuple], flows: 512}\n");
	cr_expect_eq(applied.snapshot->hash_seed, 0);
	cr_expect_eq(applied.snapshot->balance.flows, 512);
	cr_expect(applied.snapshot->balance.by_5tuple);
	drop_applied(&applied);
}
