/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers with units, exactly: a decimal mantissa times the unit, in 128 bits, with no floating point.
 */
#include "config/schema_internal.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/units.h"

/* gcc and clang both have it on every 64-bit machine; __extension__ silences -Wpedantic. */
__extension__ typedef unsigned __int128 uint128;

struct unit {
	const char *suffix;
	uint64_t factor; /* in the field's unit */
};

struct units {
	enum schema_type type;
	const char *name; /* "a rate" */
	const char *rule; /* which suffixes are right */
	const char *example;
	bool bare_zero;       /* 0 needs no suffix */
	struct unit unit[10]; /* smallest first; ends with a NULL suffix */
};

static const struct units units[] = {
	{SCHEMA_UINT, "a whole number", "digits only", "4096", false, {{"", 1}}},
	{SCHEMA_RATE,
	 "a rate",
	 "a number with K, M, G or T, in bits per second",
	 "100G",
	 true,
	 {{"K", 1000}, {"M", 1000000}, {"G", 1000000000}, {"T", 1000000000000}}},
	{SCHEMA_SIZE,
	 "a size",
	 "bytes, or a number with KB, MB, GB (powers of 1000) or KiB, MiB, GiB (of 1024)",
	 "64KB",
	 false,
	 {{"", 1},
	  {"B", 1},
	  {"KB", 1000},
	  {"KiB", 1024},
	  {"MB", 1000000},
	  {"MiB", 1 << 20},
	  {"GB", 1000000000},
	  {"GiB", 1 << 30}}},
	{SCHEMA_TIME,
	 "a time",
	 "a number with ps, ns, us, ms, s or min",
	 "50us",
	 true,
	 {{"ps", 1},
	  {"ns", PS_PER_NS},
	  {"us", PS_PER_US},
	  {"ms", PS_PER_MS},
	  {"s", PS_PER_S},
	  {"min", 60 * PS_PER_S},
	  {"h", 3600 * PS_PER_S}}},
	{SCHEMA_LENGTH,
	 "a length",
	 "a number with mm, cm, m or km",
	 "3m",
	 true,
	 {{"mm", 1}, {"cm", 10}, {"m", 1000}, {"km", 1000000}}},
	/* For printing the range of ratios, which is kept in millionths. */
	{SCHEMA_RATIO, "a ratio", "a number", "0.25", true, {{"", 1000000}}},
	{SCHEMA_SHARE, "a share", "a number with %", "20%", true, {{"%", 10000}}},
};

static const struct units *units_of(enum schema_type type)
{
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].type == type)
			return &units[i];
	}
	return NULL;
}

/* A decimal as written: digits / 10^decimals. */
struct decimal {
	uint64_t digits;
	uint32_t decimals;
	bool overflow;
};

/* @return what follows the number, or NULL when text doesn't begin with one */
static const char *decimal_parse(const char *text, struct decimal *decimal)
{
	bool point = false;

	*decimal = (struct decimal){0};
	if (!isdigit((unsigned char)*text))
		return NULL;
	for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
		uint64_t digit;

		if (*text == '.') {
			if (!isdigit((unsigned char)text[1]))
				return NULL;
			point = true;
			continue;
		}
		digit = (uint64_t)(*text - '0');
		if (decimal->digits > (UINT64_MAX - digit) / 10) {
			decimal->overflow = true;
			continue;
		}
		decimal->digits = decimal->digits * 10 + digit;
		decimal->decimals += point ? 1 : 0;
	}
	return text;
}

/* @return 0; -ERANGE beyond 64 bits; -EDOM not whole in the field's unit */
static int decimal_scale(const struct decimal *decimal, uint64_t factor, uint64_t *value)
{
	uint128 scaled = (uint128)decimal->digits * factor;
	uint32_t i;

	if (decimal->overflow)
		return -ERANGE;
	for (i = 0; i < decimal->decimals; i++) {
		if (scaled % 10 != 0)
			return -EDOM;
		scaled /= 10;
	}
	if (scaled > UINT64_MAX)
		return -ERANGE;
	*value = (uint64_t)scaled;
	return 0;
}

static int not_this(const struct units *kind, char *why, size_t why_size)
{
	snprintf(why, why_size, "is not %s: write %s, such as %s", kind->name, kind->rule,
		 kind->example);
	return -EINVAL;
}

int schema_parse_number(enum schema_type type, const char *text, uint64_t *value, char *why,
			size_t why_size)
{
	const struct units *kind = units_of(type);
	const struct unit *unit;
	struct decimal decimal;
	const char *suffix;
	int rc;

	if (kind == NULL)
		return -EINVAL;
	suffix = decimal_parse(text, &decimal);
	if (suffix == NULL)
		return not_this(kind, why, why_size);
	for (unit = kind->unit; unit->suffix != NULL; unit++) {
		if (strcmp(unit->suffix, suffix) == 0)
			break;
	}
	if (unit->suffix == NULL) {
		if (*suffix != '\0' || !kind->bare_zero || decimal.digits != 0 || decimal.overflow)
			return not_this(kind, why, why_size);
		*value = 0;
		return 0;
	}
	rc = decimal_scale(&decimal, unit->factor, value);
	if (rc == -ERANGE) {
		snprintf(why, why_size, "is a number beyond what 64 bits hold");
		return -ERANGE;
	}
	if (rc == -EDOM) {
		if (type == SCHEMA_UINT)
			return not_this(kind, why, why_size);
		snprintf(why, why_size, "is finer than can be kept: at most a whole number of %s",
			 type == SCHEMA_SIZE     ? "bytes"
			 : type == SCHEMA_RATE   ? "bits per second"
			 : type == SCHEMA_LENGTH ? "millimetres"
			 : type == SCHEMA_TIME   ? "picoseconds"
						 : "millionths");
		return -ERANGE;
	}
	return 0;
}

/* value / factor as a decimal, when it has at most `decimals_max` decimals. */
static bool format_scaled(uint64_t value, const struct unit *unit, uint32_t decimals_max,
			  char *buffer, size_t size)
{
	uint64_t factor = unit->factor;
	uint64_t remainder;
	char decimals[8] = {0};
	uint32_t count = 0;

	assert(factor != 0);
	remainder = value % factor;
	while (remainder != 0 && count < decimals_max) {
		uint128 next = (uint128)remainder * 10;

		decimals[count++] = (char)('0' + (int)(next / factor));
		remainder = (uint64_t)(next % factor);
	}
	if (remainder != 0)
		return false;
	snprintf(buffer, size, "%" PRIu64 "%s%s%s", value / factor, count > 0 ? "." : "", decimals,
		 unit->suffix);
	return true;
}

/* Sizes below this are printed in bytes: nobody calls an MTU of 9216 bytes 9KiB. */
#define SIZE_PLAIN_MAX 100000

const char *schema_format_number(enum schema_type type, uint64_t value, char *buffer, size_t size)
{
	const struct units *kind = units_of(type);
	uint32_t decimals_max = type == SCHEMA_SIZE    ? 0
				: type == SCHEMA_SHARE ? 4
				: type == SCHEMA_RATIO ? 6
						       : 3;
	size_t count = 0;

	snprintf(buffer, size, "%" PRIu64, value);
	if (kind == NULL || type == SCHEMA_UINT || (value == 0 && kind->bare_zero) ||
	    (type == SCHEMA_SIZE && value < SIZE_PLAIN_MAX))
		return buffer;
	while (kind->unit[count].suffix != NULL)
		count++;
	/* In the largest unit that needs few decimals; 0.1% is fine, 0.5G is not. */
	while (count-- > 0) {
		if (value < kind->unit[count].factor && count > 0)
			continue;
		if (format_scaled(value, &kind->unit[count], decimals_max, buffer, size))
			break;
	}
	return buffer;
}
