/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the schema: numbers with units, ratios. */
#include <criterion/criterion.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config/schema.h"

/* ---- numbers with units: the factors are those of CONTRACT: decimal but for the -bi- sizes ---- */

#define K UINT64_C(1000)
#define M (K * K)
#define G (K * M)
#define T (K * G)

static const struct {
	enum schema_type type;
	const char *text;
	uint64_t value;
} right_numbers[] = {
	{SCHEMA_UINT, "0", 0},
	{SCHEMA_UINT, "007", 7},
	{SCHEMA_UINT, "4.0", 4},
	{SCHEMA_UINT, "18446744073709551615", UINT64_MAX},
	{SCHEMA_RATE, "100G", 100 * G},
	{SCHEMA_RATE, "2.5G", 25 * G / 10},
	{SCHEMA_RATE, "100M", 100 * M},
	{SCHEMA_RATE, "1.6T", 16 * T / 10},
	{SCHEMA_RATE, "64K", 64 * K},
	{SCHEMA_RATE, "0.001K", 1},
	{SCHEMA_RATE, "0", 0},
	{SCHEMA_SIZE, "9216", 9216},
	{SCHEMA_SIZE, "1B", 1},
	{SCHEMA_SIZE, "64KB", 64 * K},
	{SCHEMA_SIZE, "64KiB", 64 << 10},
	{SCHEMA_SIZE, "1MiB", 1048576},
	{SCHEMA_SIZE, "1.5MiB", 1572864},
	{SCHEMA_SIZE, "0.5KiB", 512},
	{SCHEMA_SIZE, "2GB", 2 * G},
	{SCHEMA_SIZE, "17179869183GiB", UINT64_C(17179869183) << 30},
	{SCHEMA_TIME, "1ps", 1},
	{SCHEMA_TIME, "1.68ns", 1680},
	{SCHEMA_TIME, "50us", 50 * M},
	{SCHEMA_TIME, "200ms", 200 * G},
	{SCHEMA_TIME, "1s", T},
	{SCHEMA_TIME, "5min", 300 * T},
	{SCHEMA_TIME, "2h", 7200 * T},
	{SCHEMA_TIME, "0", 0},
	{SCHEMA_TIME, "0.000000000001s", 1},
	{SCHEMA_LENGTH, "3m", 3000},
	{SCHEMA_LENGTH, "2km", 2 * M},
	{SCHEMA_LENGTH, "50cm", 500},
	{SCHEMA_LENGTH, "1.5m", 1500},
	{SCHEMA_SHARE, "20%", 200000},
	{SCHEMA_SHARE, "0.1%", 1000},
	{SCHEMA_SHARE, "100%", 1000000},
	{SCHEMA_SHARE, "0.0001%", 1},
};

Test(schema, reads_numbers_with_units_exactly)
{
	char why[256];
	size_t i;

	for (i = 0; i < sizeof(right_numbers) / sizeof(right_numbers[0]); i++) {
		uint64_t value = 12345;
		int rc = schema_parse_number(right_numbers[i].type, right_numbers[i].text, &value,
					     why, sizeof(why));

		cr_expect_eq(rc, 0, "%s: %s", right_numbers[i].text, why);
		cr_expect_eq(value, right_numbers[i].value, "%s gave %" PRIu64,
			     right_numbers[i].text, value);
	}
}

static const struct {
	enum schema_type type;
	const char *text;
	int rc;
	const char *why;
} wrong_numbers[] = {
	{SCHEMA_UINT, "", -EINVAL, "digits only"},
	{SCHEMA_UINT, "-1", -EINVAL, "digits only"},
	{SCHEMA_UINT, "+1", -EINVAL, "digits only"},
	{SCHEMA_UINT, " 1", -EINVAL, "digits only"},
	{SCHEMA_UINT, "1 ", -EINVAL, "digits only"},
	{SCHEMA_UINT, "0x10", -EINVAL, "digits only"},
	{SCHEMA_UINT, "1e3", -EINVAL, "digits only"},
	{SCHEMA_UINT, "1.5", -EINVAL, "digits only"},
	{SCHEMA_UINT, "18446744073709551616", -ERANGE, "64 bits"},
	{SCHEMA_UINT, "99999999999999999999999999999999999999999", -ERANGE, "64 bits"},
	{SCHEMA_RATE, "100", -EINVAL, "such as 100G"},
	{SCHEMA_RATE, "100g", -EINVAL, "K, M, G or T"},
	{SCHEMA_RATE, "100 G", -EINVAL, "K, M, G or T"},
	{SCHEMA_RATE, "100Gbps", -EINVAL, "K, M, G or T"},
	{SCHEMA_RATE, ".5G", -EINVAL, "K, M, G or T"},
	{SCHEMA_RATE, "1.G", -EINVAL, "K, M, G or T"},
	{SCHEMA_RATE, "1.2.3G", -EINVAL, "K, M, G or T"},
	{SCHEMA_RATE, "G", -EINVAL, "K, M, G or T"},
	{SCHEMA_RATE, "0.0001K", -ERANGE, "bits per second"},
	{SCHEMA_RATE, "18446744.073709551616T", -ERANGE, "64 bits"},
	{SCHEMA_SIZE, "64K", -EINVAL, "KiB"},
	{SCHEMA_SIZE, "64kB", -EINVAL, "such as 64KB"},
	{SCHEMA_SIZE, "1.5", -ERANGE, "bytes"},
	{SCHEMA_SIZE, "17179869184GiB", -ERANGE, "64 bits"},
	{SCHEMA_TIME, "50", -EINVAL, "such as 50us"},
	{SCHEMA_TIME, "50u", -EINVAL, "ps, ns, us, ms, s or min"},
	{SCHEMA_TIME, "0.1ps", -ERANGE, "picoseconds"},
	{SCHEMA_TIME, "5125h", -ERANGE, "64 bits"},
	{SCHEMA_LENGTH, "3", -EINVAL, "mm, cm, m or km"},
	{SCHEMA_LENGTH, "0.1mm", -ERANGE, "millimetres"},
	{SCHEMA_SHARE, "20", -EINVAL, "such as 20%"},
	{SCHEMA_SHARE, "0.00001%", -ERANGE, "millionths"},
	{SCHEMA_BOOL, "1", -EINVAL, ""},
};

Test(schema, refuses_numbers_that_are_not_exactly_right_and_says_what_would_be)
{
	char why[256];
	size_t i;

	for (i = 0; i < sizeof(wrong_numbers) / sizeof(wrong_numbers[0]); i++) {
		uint64_t value = 12345;
		int rc;

		why[0] = '\0';
		rc = schema_parse_number(wrong_numbers[i].type, wrong_numbers[i].text, &value, why,
					 sizeof(why));
		cr_expect_eq(rc, wrong_numbers[i].rc, "\"%s\" gave %d", wrong_numbers[i].text, rc);
		cr_expect_eq(value, 12345, "\"%s\" changed the value", wrong_numbers[i].text);
		cr_expect_not_null(strstr(why, wrong_numbers[i].why), "\"%s\": %s",
				   wrong_numbers[i].text, why);
	}
}

Test(schema, writes_numbers_as_people_do)
{
	static const struct {
		enum schema_type type;
		uint64_t value;
		const char *text;
	} rows[] = {
		{SCHEMA_RATE, 25 * G / 10, "2.5G"},
		{SCHEMA_RATE, 1600 * G, "1.6T"},
		{SCHEMA_RATE, M, "1M"},
		{SCHEMA_RATE, 0, "0"},
		{SCHEMA_SIZE, 9216, "9216"},
		{SCHEMA_SIZE, 268435456, "256MiB"},
		{SCHEMA_SIZE, 10 * M, "10MB"},
		{SCHEMA_SIZE, 1000001, "1000001B"},
		{SCHEMA_TIME, 50 * M, "50us"},
		{SCHEMA_TIME, 1680, "1.68ns"},
		{SCHEMA_TIME, 300 * T, "5min"},
		{SCHEMA_LENGTH, 1500, "1.5m"},
		{SCHEMA_SHARE, 1000, "0.1%"},
		{SCHEMA_SHARE, 200000, "20%"},
		{SCHEMA_UINT, UINT64_MAX, "18446744073709551615"},
	};
	char buffer[40];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(
			schema_format_number(rows[i].type, rows[i].value, buffer, sizeof(buffer)),
			rows[i].text);
}

/* What is written is read back as the same, whatever the number. */
Test(schema, reads_what_it_writes)
{
	static const enum schema_type types[] = {SCHEMA_RATE, SCHEMA_SIZE, SCHEMA_TIME,
						 SCHEMA_LENGTH};
	uint64_t number = UINT64_C(0x9e3779b97f4a7c15);
	char buffer[40];
	char why[256];
	uint32_t i;

	for (i = 0; i < 4000; i++) {
		enum schema_type type = types[i % 4];
		uint64_t value = number >> (8 + i % 48);
		uint64_t again = 0;
		int rc;

		/* A rate below 1K has no unit of its own. */
		if (type == SCHEMA_RATE)
			value += 1000;
		number = number * UINT64_C(6364136223846793005) + 1442695040888963407;
		schema_format_number(type, value, buffer, sizeof(buffer));
		rc = schema_parse_number(type, buffer, &again, why, sizeof(why));
		cr_assert_eq(rc, 0, "%s: %s", buffer, why);
		cr_assert_eq(again, value, "%" PRIu64 " became %s", value, buffer);
	}
}

Test(schema, reads_ratios_in_lowest_terms)
{
	static const struct {
		const char *text;
		uint32_t numerator, denominator;
		int rc;
	} rows[] = {
		{"1/2", 1, 2, 0},
		{"2", 2, 1, 0},
		{"0.25", 1, 4, 0},
		{"4/8", 1, 2, 0},
		{"0", 0, 1, 0},
		{"64", 64, 1, 0},
		{"65", 0, 0, -ERANGE},
		{"1/0", 0, 0, -EINVAL},
		{"1/", 0, 0, -EINVAL},
		{"/2", 0, 0, -EINVAL},
		{"-1", 0, 0, -EINVAL},
		{"1/2/3", 0, 0, -EINVAL},
		{"0.5/2", 0, 0, -EINVAL},
		{"50%", 0, 0, -EINVAL},
		{"1.0000000001", 0, 0, -EINVAL},
		{"999999999/999999999", 1, 1, 0},
	};
	const struct schema_row row = {"alpha", SCHEMA_RATIO, .size = sizeof(struct schema_ratio),
				       .max = 64 * 1000000};
	char why[256];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct schema_ratio ratio = {0};

		cr_expect_eq(schema_parse_value(&row, rows[i].text, &ratio, why, sizeof(why)),
			     rows[i].rc, "%s", rows[i].text);
		cr_expect_eq(ratio.numerator, rows[i].numerator, "%s", rows[i].text);
		cr_expect_eq(ratio.denominator, rows[i].denominator, "%s", rows[i].text);
	}
}

Test(schema, holds_a_number_to_the_width_of_its_field)
{
	const struct schema_row row = {"x", SCHEMA_UINT, .size = 1};
	struct {
		uint8_t value, after;
	} field = {1, 77};
	char why[256];

	cr_expect_eq(schema_parse_value(&row, "255", &field.value, why, sizeof(why)), 0);
	cr_expect_eq(field.value, 255);
	cr_expect_eq(schema_parse_value(&row, "256", &field.value, why, sizeof(why)), -ERANGE);
	cr_expect_eq(field.value, 255);
	cr_expect_eq(field.after, 77);
}
