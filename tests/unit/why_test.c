/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The causes that tools/why/why.h names, and how it weighs them: values worked out by hand from the
 * formulas of its header.
 */
#include <string.h>

#include <criterion/criterion.h>

#include "tools/why/why.h"

#define FINDINGS 16

static struct why_finding findings[FINDINGS];

static size_t rank(struct why_link *links, size_t count)
{
	struct why_facts facts = {.time_ns = 1000000, .links = links, .link_count = count};

	return why_rank(&facts, findings, FINDINGS);
}

static struct why_link uplink(const char *name, uint32_t use_ppm)
{
	return (struct why_link){
		.name = name,
		.rate_bps = UINT64_C(100000000000),
		.use_ppm = use_ppm,
		.bytes = use_ppm,
	};
}

static struct why_link to_host(const char *name, uint32_t use_ppm, uint32_t senders)
{
	struct why_link link = uplink(name, use_ppm);

	link.group = WHY_GROUP_NONE;
	link.to = "h";
	link.to_host = true;
	link.senders = senders;
	return link;
}

static void is(size_t i, enum why_cause cause, const char *where, uint32_t share_ppm)
{
	cr_assert_eq(findings[i].cause, cause, "%s", findings[i].text);
	cr_assert_str_eq(findings[i].where, where);
	cr_assert_eq(findings[i].share_ppm, share_ppm, "%u", findings[i].share_ppm);
}

Test(why, nothing_to_say)
{
	struct why_link links[] = {uplink("a", 900000), uplink("b", 900000),
				   to_host("h", 900000, 1)};

	cr_assert_eq(rank(links, 3), 0);
	cr_assert_eq(rank(NULL, 0), 0);
}

/* 1 - mean / busiest = 1 - .5 / .8, times .8 */
Test(why, hot_uplink)
{
	struct why_link links[] = {uplink("a", 200000), uplink("b", 800000)};

	cr_assert_eq(rank(links, 2), 1);
	is(0, WHY_HOT_UPLINK, "b", 300000);
	cr_assert_not_null(strstr(findings[0].text, "80 % of the bytes"), "%s", findings[0].text);
	cr_assert_not_null(strstr(findings[0].text, "fair share 50 %"));
}

/* Which are no group of their own, or aren't used much, or nearly alike: nobody waited for them. */
Test(why, uneven_but_free)
{
	struct why_link alone[] = {uplink("a", 100000), uplink("b", 900000)};
	struct why_link idle[] = {uplink("a", 0), uplink("b", 290000)};
	struct why_link alike[] = {uplink("a", 700000), uplink("b", 890000)};

	alone[1].group = 1;
	cr_assert_eq(rank(alone, 2), 0);
	cr_assert_eq(rank(idle, 2), 0);
	cr_assert_eq(rank(alike, 2), 0);
	alike[1].use_ppm = 900000;
	cr_assert_eq(rank(alike, 2), 1);
}

/* A quarter of the capacity is missing, the others are used to 80 %. */
Test(why, link_down)
{
	struct why_link links[] = {uplink("a", 800000), uplink("b", 800000), uplink("c", 800000),
				   uplink("d", 0)};

	links[3].down = true;
	cr_assert_eq(rank(links, 4), 1);
	is(0, WHY_LINK_DOWN, "d", 200000);
	for (int i = 0; i < 3; i++)
		links[i].use_ppm = 0;
	cr_assert_eq(rank(links, 4), 0);
}

/* Use .8, mean of all hosts .2, 4 senders: (.8 - .2) * 3/4 */
Test(why, incast)
{
	struct why_link links[] = {to_host("h1", 800000, 4), to_host("h2", 0, 0),
				   to_host("h3", 0, 0), to_host("h4", 0, 0)};

	cr_assert_eq(rank(links, 4), 1);
	is(0, WHY_INCAST, "h1", 450000);
	/* Full load everywhere is none, neither is one sender. */
	for (int i = 0; i < 4; i++)
		links[i] = to_host("h", 800000, 4);
	cr_assert_eq(rank(links, 4), 0);
	for (int i = 0; i < 4; i++)
		links[i] = to_host("h", i == 0 ? 800000 : 0, 1);
	cr_assert_eq(rank(links, 4), 0);
}

/* What a host does is worse than what a switch passes on. */
Test(why, pauses)
{
	struct why_link links[] = {to_host("h1", 0, 0), uplink("up", 0)};

	links[0].paused_ppm = 300000;
	links[1].paused_ppm = 500000;
	links[1].to = "spine";
	links[1].priority = "3";
	cr_assert_eq(rank(links, 2), 2);
	is(0, WHY_PAUSING_PEER, "h1", 300000);
	is(1, WHY_PAUSING_PEER, "up", 250000);
	cr_assert_not_null(strstr(findings[1].text, "spine paused up in priority 3 for 50.0 %"),
			   "%s", findings[1].text);
}

Test(why, lossy_class)
{
	struct why_link link = to_host("h1", 800000, 1);

	link.lossy_bytes = 3000;
	link.lossy_packets = 3;
	cr_assert_eq(rank(&link, 1), 0, "nobody is beside it");
	link.lossless_bytes = 1000;
	cr_assert_eq(rank(&link, 1), 1);
	is(0, WHY_LOSSY_CLASS, "h1", 600000);
	/* It loses one of four packets, and 1/10 of the bytes are its own. */
	link.lossless_bytes = 27000;
	link.lossy_dropped = 1;
	cr_assert_eq(rank(&link, 1), 1);
	is(0, WHY_LOSSY_CLASS, "h1", 200000);
}

Test(why, workers)
{
	struct why_worker workers[] = {{.name = "w0", .late_ppm = 19999},
				       {.name = "w1", .late_ppm = 20000, .stalls = 2}};
	struct why_facts facts = {.time_ns = 1, .workers = workers, .worker_count = 2};

	cr_assert_eq(why_rank(&facts, findings, FINDINGS), 1);
	is(0, WHY_SLOW_WORKER, "w1", 20000);
	cr_assert_not_null(strstr(findings[0].text, "stood still 2 times"));
}

/* Lost lossless packets are a fault, above all else. */
Test(why, loss_first)
{
	struct why_link link = to_host("h1", 0, 0);
	struct why_facts facts = {
		.time_ns = 1, .links = &link, .link_count = 1, .lossless_drops = 7};

	link.paused_ppm = WHY_PPM - 1;
	cr_assert_eq(why_rank(&facts, findings, FINDINGS), 2);
	is(0, WHY_LOSSLESS_LOSS, "fabric", WHY_PPM);
}

/* Three places of a cause, the worst, and a word about the others; as many as there is room for. */
Test(why, many_places)
{
	static const char *const names[] = {"h0", "h1", "h2", "h3", "h4"};
	struct why_link links[5];
	struct why_facts facts = {.time_ns = 1, .links = links, .link_count = 5};

	for (uint32_t i = 0; i < 5; i++) {
		links[i] = to_host(names[i], 0, 0);
		links[i].paused_ppm = 100000 * (i + 1);
	}
	cr_assert_eq(why_rank(&facts, findings, FINDINGS), 3);
	is(0, WHY_PAUSING_PEER, "h4", 500000);
	is(2, WHY_PAUSING_PEER, "h2", 300000);
	cr_assert_not_null(strstr(findings[2].text, "2 more places"), "%s", findings[2].text);
	cr_assert_eq(why_rank(&facts, findings, 1), 1);
}

/* Names are a peer's: too long a text is cut, and JSON stays whole. */
Test(why, long_names)
{
	char name[2 * WHY_TEXT_BYTES];
	struct why_link link;
	struct why_facts facts = {.time_ns = 5, .links = &link, .link_count = 1};
	json_t *object, *finding;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	link = to_host(name, 0, 0);
	link.paused_ppm = 500000;
	cr_assert_eq(why_rank(&facts, findings, FINDINGS), 1);
	cr_assert_eq(strlen(findings[0].text), WHY_TEXT_BYTES - 1);
	object = why_json(&facts, findings, 1);
	finding = json_array_get(json_object_get(object, "findings"), 0);
	cr_assert_str_eq(json_string_value(json_object_get(finding, "cause")), "pausing-peer");
	cr_assert_float_eq(json_real_value(json_object_get(finding, "share")), .5, 1e-9);
	cr_assert_eq(json_integer_value(json_object_get(object, "time_ns")), 5);
	json_decref(object);
}
