/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tools/lab/expect.h"

static json_t *result(void)
{
	return json_loads(
		"{\"lossless_drops\": 3, \"share\": 0.25, \"drops\": {\"mtu\": 0},"
		" \"latency_ns\": {\"p99\": 4999},"
		" \"flows\": [{\"name\": \"a\", \"slowdown\": 1.05},"
		"             {\"name\": \"b.c\", \"fct_ns\": 2000000, \"bytes\": 64000}],"
		" \"links\": [{\"name\": \"l\", \"direction\": \"x->y\", \"queue_max_bytes\": 1000},"
		"             {\"name\": \"l\", \"direction\": \"y->x\", \"queue_max_bytes\": 2000}]}",
		0, NULL);
}

static const struct {
	const char *text;
	int holds;
} cases[] = {
	{"lossless_drops == 3", 1},
	{"lossless_drops==3", 1},
	{"lossless_drops != 3", 0},
	{"lossless_drops < 3", 0},
	{"lossless_drops <= 3", 1},
	{"lossless_drops > 2.5", 1},
	{"lossless_drops >= 4", 0},
	{"lossless_drops > -1", 1},
	{"drops.mtu == 0", 1},
	{"share == 25%", 1},
	{"share < 0.250001", 1},
	{"share < 0.25", 0},
	{"latency_ns.p99 < 5us", 1},
	{"latency_ns.p99 < 4.999us", 0},
	{"latency_ns.p99 == 4999", 1},
	{"flows[a].slowdown <= 1.05", 1},
	{"flows[0].slowdown < 1.05", 0},
	{"flows[b.c].fct_ns == 2ms", 1},
	{"flows[1].bytes == 64KB", 1},
	{"links[x->y].queue_max_bytes <= 1KB", 1},
	{"links[y->x].queue_max_bytes <= 1KB", 0},
	{"links[y->x].queue_max_bytes == 2000", 1},
	{"flows[a].fct_ns < 1us", -ENOENT},
	{"flows[z].bytes == 1", -ENOENT},
	{"flows[7].bytes == 1", -ENOENT},
	{"nothing == 0", -ENOENT},
	{"drops == 0", -ENOENT},
	{"flows[a == 0", -ENOENT},
};

Test(expect, compares_numbers_of_the_result)
{
	json_t *numbers = result();

	cr_assert_not_null(numbers);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct expect expect;
		char why[256] = "", found[64];

		if (expect_parse(cases[i].text, &expect, why, sizeof(why)) != 0) {
			cr_expect_eq(cases[i].holds, -ENOENT, "%s: %s", cases[i].text, why);
			continue;
		}
		cr_expect_eq(expect_evaluate(&expect, numbers, found, sizeof(found)),
			     cases[i].holds, "%s", cases[i].text);
	}
	json_decref(numbers);
}

static const char *const wrong[] = {
	"",
	"lossless_drops",
	"lossless_drops = 0",
	"== 0",
	"lossless_drops ==",
	"lossless_drops == x",
	"lossless_drops == 1..2",
	"lossless_drops == 1.",
	"lossless_drops == 5us",
	"latency_ns.p99 < 5KB",
	"queue_max_bytes < 5us",
	"share < 0.1234567",
	"lossless_drops == 99999999999999999999999",
};

Test(expect, what_makes_no_sense_is_refused)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct expect expect;
		char why[256] = "";

		cr_expect_eq(expect_parse(wrong[i], &expect, why, sizeof(why)), -EINVAL, "%s",
			     wrong[i]);
		cr_expect_neq(why[0], '\0', "%s", wrong[i]);
	}
}
