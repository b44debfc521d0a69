/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int ctl_fail(struct ctl_error *error, int number, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started in the line above */
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return -number;
}

void text_rate(char out[TEXT_NUMBER_BYTES], double per_second)
{
	static const char prefix[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
	size_t step = 0;
	int digits;

	if (!(per_second >= 0)) {
		snprintf(out, TEXT_NUMBER_BYTES, "-");
		return;
	}
	/* 999.5 would be rounded to four digits, so it belongs to the next prefix. */
	while (per_second >= 999.5 && step + 1 < sizeof(prefix)) {
		per_second /= 1000;
		step++;
	}
	if (per_second > 9999)
		per_second = 9999;
	/* The same at the other bounds: 9.995 is 10.0, 99.95 is 100. */
	if (per_second < 0.005)
		digits = 0;
	else if (per_second < 9.995)
		digits = 2;
	else if (per_second < 99.95)
		digits = 1;
	else
		digits = 0;
	snprintf(out, TEXT_NUMBER_BYTES, "%.*f%c", digits, per_second, prefix[step]);
}

void text_speed(char out[TEXT_NUMBER_BYTES], uint64_t bps)
{
	static const struct {
		uint64_t unit;
		char letter;
	} units[] = {
		{UINT64_C(1000000000), 'G'},
		{UINT64_C(1000000), 'M'},
		{UINT64_C(1000), 'k'},
	};

	if (bps == 0) {
		snprintf(out, TEXT_NUMBER_BYTES, "-");
		return;
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t tenths = bps / (units[i].unit / 10);

		if (bps < units[i].unit || bps % (units[i].unit / 10) != 0)
			continue;
		if (tenths % 10 == 0)
			snprintf(out, TEXT_NUMBER_BYTES, "%" PRIu64 "%c", tenths / 10,
				 units[i].letter);
		else
			snprintf(out, TEXT_NUMBER_BYTES, "%" PRIu64 ".%u%c", tenths / 10,
				 (unsigned)(tenths % 10), units[i].letter);
		return;
	}
	snprintf(out, TEXT_NUMBER_BYTES, "%" PRIu64, bps);
}

void text_duration(char out[TEXT_NUMBER_BYTES], uint64_t seconds)
{
	uint64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;

	if (minutes == 0)
		snprintf(out, TEXT_NUMBER_BYTES, "%us", (unsigned)seconds);
	else if (hours == 0)
		snprintf(out, TEXT_NUMBER_BYTES, "%um%02us", (unsigned)minutes,
			 (unsigned)(seconds % 60));
	else if (days == 0)
		snprintf(out, TEXT_NUMBER_BYTES, "%uh%02um", (unsigned)hours,
			 (unsigned)(minutes % 60));
	else
		snprintf(out, TEXT_NUMBER_BYTES, "%" PRIu64 "d%02uh", days, (unsigned)(hours % 24));
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xC0) != 0x80;
	return width;
}

void text_clean(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c != '\0'; c++) {
		if (*c < 0x20 || *c == 0x7F)
			*c = '?';
		/* U+0080..U+009F are C2 80..C2 9F; some terminals obey them. */
		else if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0)
			c[0] = c[1] = '?';
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int text_compare(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0') {
		size_t na = 0, nb = 0;

		if (!is_digit(*a) || !is_digit(*b)) {
			if (*a != *b)
				return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
			a++;
			b++;
			continue;
		}
		while (a[0] == '0' && is_digit(a[1]))
			a++;
		while (b[0] == '0' && is_digit(b[1]))
			b++;
		while (is_digit(a[na]))
			na++;
		while (is_digit(b[nb]))
			nb++;
		if (na != nb)
			return na < nb ? -1 : 1;
		for (; na > 0; na--, a++, b++)
			if (*a != *b)
				return *a < *b ? -1 : 1;
	}
	if (*a == *b)
		return 0;
	return *a == '\0' ? -1 : 1;
}
