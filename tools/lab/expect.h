/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expect - comparisons over results: `lossless_drops == 0`, `latency_ns.p99 < 5us`,
 * `flows[incast-3].slowdown <= 1.05`, `links[leaf1->spine1].utilisation >= 90%`.
 *
 *	KEY OPERATOR VALUE
 *
 * KEY names a number of the result as in the JSON (CONTRACT.md), with the element of a list in
 * brackets: its place, counted from 0, or its name (of a link: its direction). OPERATOR is one of
 * == != < <= > >=. VALUE is a plain number, or has a unit that fits the key: a time for keys with
 * `_ns`, a size for keys with `bytes`, a share anywhere.
 *
 * Numbers are compared in millionths, as integers, so that nothing depends on rounding.
 *
 * Thread: any.
 */
#ifndef LAB_EXPECT_H
#define LAB_EXPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum expect_operator {
	EXPECT_EQUAL,
	EXPECT_UNEQUAL,
	EXPECT_LESS,
	EXPECT_AT_MOST,
	EXPECT_MORE,
	EXPECT_AT_LEAST,
};

struct expect {
	char key[200];
	enum expect_operator operator;
	char value[40];
	__int128 micro; /* the value in millionths of the key's unit */
};

/**
 * @param why on error says what is wrong with the text
 * @return 0 or -EINVAL
 */
int expect_parse(const char *text, struct expect *expect, char *why, size_t why_size);

/**
 * Look the key up.
 * @param found gets the number as it stands in the result, for messages
 * @return 1 it holds, 0 it doesn't, -ENOENT there is no such number in the result
 */
int expect_evaluate(const struct expect *expect, json_t *result, char *found, size_t found_size);

/** True when the number may be missing before a run although it can come up: a flow's completion. */
bool expect_is_late(const struct expect *expect);

#endif
