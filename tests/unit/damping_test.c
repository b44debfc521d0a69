/* SPDX-License-Identifier: BSD-3-Clause */
/* Links that flap: for how long they are kept out. Figures are those of Junos and IP event dampening. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "control/damping.h"

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

static const struct config_damping usual = {2000, 1000, 5 * PS_PER_S, 20 * PS_PER_S};

/* Times go down, 10 ms apart, the last one at 0. @return when it is let in, to a ms; 0: it never was out */
static uint64_t out_ns(const struct config_damping *config, uint32_t times)
{
	const uint64_t begin_ns = 1000 * NS_PER_S;
	struct damping damping = {0};
	uint64_t now_ns = begin_ns;

	for (uint32_t i = 0; i < times; i++, now_ns += 10 * NS_PER_MS)
		damping_down(config, &damping, now_ns);
	now_ns -= 10 * NS_PER_MS;
	for (uint64_t after_ns = 0; after_ns < 100 * NS_PER_S; after_ns += NS_PER_MS)
		if (!damping_holds(config, &damping, false, now_ns + after_ns))
			return after_ns;
	return UINT64_MAX;
}

Test(damping, a_penalty_halves_in_each_half_life)
{
	struct damping damping = {0};

	cr_expect_eq(damping_penalty(&usual, &damping, NS_PER_S), 0);
	damping_down(&usual, &damping, NS_PER_S);
	for (uint64_t n = 0; n < 10; n++)
		cr_expect_eq(damping_penalty(&usual, &damping, (1 + 5 * n) * NS_PER_S), 1000u >> n);
	/* Never more between two of them, and never below the exponential by more than it is above its chord. */
	for (uint64_t ms = 0; ms < 20000; ms++) {
		uint32_t now = damping_penalty(&usual, &damping, NS_PER_S + ms * NS_PER_MS);

		cr_assert_leq(damping_penalty(&usual, &damping, NS_PER_S + (ms + 1) * NS_PER_MS),
			      now);
	}
	cr_expect_eq(damping_penalty(&usual, &damping, 1000000 * NS_PER_S), 0);
}

/* 3000 to 1000 are log2(3) = 1.585 half-lives, 7.92 s; even decay within each is 0.06 of one slower at most. */
Test(damping, LF_UP_the_third_time_within_seconds_keeps_a_link_out_for_longer_each_time)
{
	uint64_t before_ns = 0;

	cr_expect_eq(out_ns(&usual, 1), 0);
	cr_expect_eq(out_ns(&usual, 2), 0);
	cr_expect(out_ns(&usual, 3) >= 7920 * NS_PER_MS && out_ns(&usual, 3) <= 8400 * NS_PER_MS,
		  "%ju", (uintmax_t)out_ns(&usual, 3));
	for (uint32_t times = 3; times <= 16; times++) {
		cr_expect_gt(out_ns(&usual, times), before_ns, "%u", times);
		before_ns = out_ns(&usual, times);
	}
	for (uint32_t times = 17; times < 1000; times += 97)
		cr_expect(out_ns(&usual, times) >= 19 * NS_PER_S &&
				  out_ns(&usual, times) <= 20 * NS_PER_S + NS_PER_MS,
			  "%u: %ju", times, (uintmax_t)out_ns(&usual, times));
}

Test(damping, a_penalty_must_exceed_what_suppresses)
{
	struct damping damping = {0};

	damping_down(&usual, &damping, NS_PER_S);
	damping_down(&usual, &damping, NS_PER_S);
	cr_expect_eq(damping_penalty(&usual, &damping, NS_PER_S), 2000);
	cr_expect_not(damping_holds(&usual, &damping, false, NS_PER_S));
	damping_down(&usual, &damping, NS_PER_S);
	cr_expect(damping_holds(&usual, &damping, false, NS_PER_S));
}

/* Of any config: never for longer than it says. */
Test(damping, no_link_is_kept_out_for_longer_than_max)
{
	static const struct config_damping rows[] = {
		{2000, 1000, 5 * PS_PER_S, 12 * PS_PER_S},
		{1000, 100, 2 * PS_PER_S, 7 * PS_PER_S},
		{2000, 1999, PS_PER_S, PS_PER_S},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t most_ns = rows[i].max_ps / 1000;

		cr_expect_leq(out_ns(&rows[i], 1000), most_ns + NS_PER_MS, "row %zu: %ju", i,
			      (uintmax_t)out_ns(&rows[i], 1000));
		cr_expect_geq(out_ns(&rows[i], 1000), most_ns * 9 / 10, "row %zu: %ju", i,
			      (uintmax_t)out_ns(&rows[i], 1000));
	}
}

Test(damping, one_that_is_switched_off_keeps_nothing_out)
{
	static const struct config_damping off = {0, 0, 0, 0};

	cr_expect_eq(out_ns(&off, 100), 0);
}

#define PORTS                                                          \
	"ports:\n"                                                     \
	"  - {name: a, device: eth0, address: 10.0.0.0/31}\n"          \
	"  - {name: b, device: eth1, address: 10.0.0.2/31}\n"          \
	"  - {name: c, device: eth2, address: 10.0.0.4/31}\n"          \
	"  - {name: h, device: eth3, address: 10.1.0.1/24}\n"          \
	"routes:\n"                                                    \
	"  - {to: 10.2.0.0/16, via: [10.0.0.1, 10.0.0.3, 10.0.0.5]}\n" \
	"  - {to: 10.3.0.0/16, via: [10.0.0.1, 10.0.0.3]}\n"           \
	"  - {to: 10.4.0.0/16, via: [10.0.0.5]}\n"

static struct config *load(const char *more, struct config_errors *errors)
{
	char text[2048];

	snprintf(text, sizeof(text), "%s%s", PORTS, more);
	return config_load_string("leaf.yaml", text, strlen(text), errors);
}

Test(damping, the_last_one_up_of_any_route_is_not_kept_out)
{
	static const struct {
		bool up[4];
		bool last[4];
	} rows[] = {
		{{true, true, true, true}, {false, false, false, false}},
		{{true, false, false, true}, {true, false, false, false}},
		{{false, true, true, true}, {false, true, false, false}},
		{{false, false, true, true}, {true, true, true, false}},
		{{false, false, false, true}, {true, true, true, false}},
	};
	struct config_errors errors;
	struct config *config = load("", &errors);
	struct damping damping = {0};

	cr_assert_not_null(config);
	cr_expect_eq(config->balance.damping.suppress, 0, "off unless asked for");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint16_t port = 0; port < 4; port++)
			cr_expect_eq(damping_is_last(config, rows[i].up, port), rows[i].last[port],
				     "row %zu port %u", i, port);
	config_free(config);
	for (uint64_t i = 1; i < 10; i++)
		damping_down(&usual, &damping, i * NS_PER_S);
	cr_expect(damping_holds(&usual, &damping, false, 10 * NS_PER_S));
	cr_expect_not(damping_holds(&usual, &damping, true, 10 * NS_PER_S));
	cr_expect(damping_holds(&usual, &damping, false, 10 * NS_PER_S), "others are back");
}

Test(damping, a_config_says_what_it_wants)
{
	struct config_errors errors;
	struct config *config = load("balance: {damping: {}}\n", &errors);

	cr_assert_not_null(config);
	cr_expect_eq(memcmp(&config->balance.damping, &usual, sizeof(usual)), 0);
	config_free(config);
	config = load("balance: {damping: off}\n", &errors);
	cr_assert_not_null(config);
	cr_expect_eq(config->balance.damping.suppress, 0);
	config_free(config);
	config = load("balance: {damping: {half_life: 30s}}\n", &errors);
	cr_expect_null(config);
	cr_expect_not_null(strstr(errors.error[0].text, "half_life"), "%s", errors.error[0].text);
}

/* What a config may say can happen: a link that flaps without end is kept out, and is not with one more. */
Test(damping, what_suppresses_can_be_exceeded)
{
	static const struct {
		const char *rest;
		uint32_t most; /* by hand: the greatest that sinks below reuse within max */
	} rows[] = {
		{"half_life: 5s, max: 20s", 15999}, /* 999 << 4, and what is rounded */
		{"half_life: 10s, max: 10s", 1999},
		{"half_life: 2s, max: 3s",
		 2665}, /* 1332 in a half-life, of which a quarter goes: 999 */
		{"reuse: 1, half_life: 1s, max: 12s", 4095},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_errors errors;
		struct config *config;
		char text[128];

		snprintf(text, sizeof(text), "balance: {damping: {%s, suppress: %u}}\n",
			 rows[i].rest, rows[i].most - 1);
		config = load(text, &errors);
		cr_assert_not_null(config, "row %zu: %s", i, errors.error[0].text);
		cr_expect_gt(out_ns(&config->balance.damping, 100), 0, "row %zu", i);
		config_free(config);
		snprintf(text, sizeof(text), "balance: {damping: {%s, suppress: %u}}\n",
			 rows[i].rest, rows[i].most);
		cr_expect_null(load(text, &errors), "row %zu", i);
	}
}
