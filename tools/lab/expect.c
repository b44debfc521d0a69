/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/expect.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"

#define MICRO 1000000

static const struct {
	const char *text;
	enum expect_operator operator;
} operators[] = {
	/* Longer ones first: <= begins with <. */
	{"==", EXPECT_EQUAL},    {"!=", EXPECT_UNEQUAL}, {"<=", EXPECT_AT_MOST},
	{">=", EXPECT_AT_LEAST}, {"<", EXPECT_LESS},     {">", EXPECT_MORE},
};

/* --- the value --- */

/* 12, 1.05, -3: at most six decimals. */
static int parse_plain(const char *text, __int128 *micro)
{
	bool negative = *text == '-';
	uint64_t whole = 0, fraction = 0, scale = MICRO;
	const char *at = text + negative;

	if (!isdigit((unsigned char)*at))
		return -EINVAL;
	for (; isdigit((unsigned char)*at); at++) {
		if (whole > UINT64_MAX / 100)
			return -EINVAL;
		whole = whole * 10 + (uint64_t)(*at - '0');
	}
	if (*at == '.') {
		for (at++; isdigit((unsigned char)*at); at++) {
			if (scale == 1)
				return -EINVAL;
			scale /= 10;
			fraction += (uint64_t)(*at - '0') * scale;
		}
		if (at[-1] == '.')
			return -EINVAL;
	}
	if (*at != '\0')
		return -EINVAL;
	*micro = (__int128)whole * MICRO + fraction;
	if (negative)
		*micro = -*micro;
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The part of the key after its last bracket says the unit: latency_ns.p99, flows[a].fct_ns. */
static const char *unit_part(const char *key)
{
	const char *bracket = strrchr(key, ']');

	return bracket == NULL ? key : bracket + 1;
}

static int parse_value(struct expect *expect, char *why, size_t why_size)
{
	const char *unit = unit_part(expect->key);
	bool time = strstr(unit, "_ns") != NULL;
	bool size = ends_with(unit, "bytes");
	uint64_t number;
	char text[128];

	if (parse_plain(expect->value, &expect->micro) == 0)
		return 0;
	if (expect->value[strlen(expect->value) - 1] == '%') {
		if (schema_parse_number(SCHEMA_SHARE, expect->value, &number, text, sizeof(text)) ==
		    0) {
			expect->micro = number;
			return 0;
		}
	} else if (time && schema_parse_number(SCHEMA_TIME, expect->value, &number, text,
					       sizeof(text)) == 0) {
		/* ps to millionths of ns */
		expect->micro = (__int128)number * 1000;
		return 0;
	} else if (size && schema_parse_number(SCHEMA_SIZE, expect->value, &number, text,
					       sizeof(text)) == 0) {
		expect->micro = (__int128)number * MICRO;
		return 0;
	}
	snprintf(why, why_size, "\"%s\" is not %s that %s could be compared with", expect->value,
		 time   ? "a time (50us)"
		 : size ? "a size (64KB)"
			: "a number or a share (1.05, 5%)",
		 expect->key);
	return -EINVAL;
}

/* --- the text --- */

static void copy_trimmed(char *to, const char *from, size_t length)
{
	while (length > 0 && isspace((unsigned char)*from)) {
		from++;
		length--;
	}
	while (length > 0 && isspace((unsigned char)from[length - 1]))
		length--;
	memcpy(to, from, length);
	to[length] = '\0';
}

/* Where the operator stands: the first of =!<> that isn't within brackets. */
static const char *find_operator(const char *text)
{
	bool inside = false;

	for (; *text != '\0'; text++) {
		if (*text == '[')
			inside = true;
		else if (*text == ']')
			inside = false;
		else if (!inside && strchr("=!<>", *text) != NULL)
			return text;
	}
	return NULL;
}

int expect_parse(const char *text, struct expect *expect, char *why, size_t why_size)
{
	const char *at = find_operator(text);
	const char *value = NULL;

	memset(expect, 0, sizeof(*expect));
	for (size_t i = 0;
	     at != NULL && value == NULL && i < sizeof(operators) / sizeof(*operators); i++) {
		if (strncmp(at, operators[i].text, strlen(operators[i].text)) != 0)
			continue;
		expect->operator= operators[i].operator;
		value = at + strlen(operators[i].text);
	}
	if (value == NULL) {
		snprintf(why, why_size,
			 "has no comparison: write KEY == VALUE, or with != < <= > >=");
		return -EINVAL;
	}
	if ((size_t)(at - text) >= sizeof(expect->key) || strlen(value) >= sizeof(expect->value)) {
		snprintf(why, why_size, "is too long: at most %zu and %zu characters on both sides",
			 sizeof(expect->key) - 1, sizeof(expect->value) - 1);
		return -EINVAL;
	}
	copy_trimmed(expect->key, text, (size_t)(at - text));
	copy_trimmed(expect->value, value, strlen(value));
	if (expect->key[0] == '\0' || expect->value[0] == '\0') {
		snprintf(why, why_size, "has nothing %s the operator",
			 expect->key[0] == '\0' ? "before" : "after");
		return -EINVAL;
	}
	return parse_value(expect, why, why_size);
}

/* --- the result --- */

/* Element of a list by place, or by "direction" or "name". */
static json_t *element(json_t *list, const char *which)
{
	size_t index;
	json_t *entry;
	char *end;
	unsigned long place = strtoul(which, &end, 10);

	if (*which != '\0' && *end == '\0')
		return json_array_get(list, place);
	json_array_foreach(list, index, entry)
	{
		const char *direction = json_string_value(json_object_get(entry, "direction"));
		const char *name = json_string_value(json_object_get(entry, "name"));

		if (strcmp(which, direction != NULL ? direction : name != NULL ? name : "") == 0)
			return entry;
	}
	return NULL;
}

static json_t *look_up(const char *key, json_t *result)
{
	char copy[sizeof(((struct expect *)0)->key)];
	char *at = copy;

	snprintf(copy, sizeof(copy), "%s", key);
	while (result != NULL && *at != '\0') {
		size_t length;
		char next;

		if (*at == '[') {
			char *end = strchr(at, ']');

			if (end == NULL)
				return NULL;
			*end = '\0';
			result = element(result, at + 1);
			at = end + 1;
			at += *at == '.';
			continue;
		}
		length = strcspn(at, ".[");
		next = at[length];
		at[length] = '\0';
		result = json_object_get(result, at);
		at += length;
		*at = next;
		at += next == '.';
	}
	return result;
}

int expect_evaluate(const struct expect *expect, json_t *result, char *found, size_t found_size)
{
	json_t *value = look_up(expect->key, result);
	__int128 micro;

	if (json_is_integer(value)) {
		snprintf(found, found_size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		micro = (__int128)json_integer_value(value) * MICRO;
	} else if (json_is_real(value)) {
		double real = json_real_value(value);

		snprintf(found, found_size, "%.6f", real);
		micro = (__int128)(real * MICRO + (real < 0 ? -0.5 : 0.5));
	} else {
		return -ENOENT;
	}
	switch (expect->operator) {
	case EXPECT_EQUAL:
		return micro == expect->micro;
	case EXPECT_UNEQUAL:
		return micro != expect->micro;
	case EXPECT_LESS:
		return micro < expect->micro;
	case EXPECT_AT_MOST:
		return micro <= expect->micro;
	case EXPECT_MORE:
		return micro > expect->micro;
	default:
		return micro >= expect->micro;
	}
}

bool expect_is_late(const struct expect *expect)
{
	const char *unit = unit_part(expect->key);

	/* Of a collective: when its last repetition is over, or that repetition. */
	if (strncmp(expect->key, "collective.", 11) == 0 ||
	    strncmp(expect->key, "collectives[", 12) == 0)
		return ends_with(unit, "_ns") || ends_with(unit, "_gbps") ||
		       ends_with(unit, "slowdown") || ends_with(unit, "slowdown_mean");
	return strncmp(expect->key, "flows[", 6) == 0 &&
	       (strcmp(unit, ".fct_ns") == 0 || strcmp(unit, ".slowdown") == 0);
}
