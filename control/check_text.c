/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/check_internal.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/units.h"

/* "100G", "2.5G", "200M". */
const char *check_rate_text(uint64_t rate_bps, char *text, size_t size)
{
	if (rate_bps >= 1000000000)
		(void)snprintf(text, size, "%.6gG", (double)rate_bps / 1e9);
	else
		(void)snprintf(text, size, "%.6gM", (double)rate_bps / 1e6);
	return text;
}

/* "12.3 us" with a unit that fits. */
const char *check_time_text(uint64_t time_ps, char *text, size_t size)
{
	static const struct {
		uint64_t unit_ps;
		const char *name;
	} units[] = {{PS_PER_S, "s"}, {PS_PER_MS, "ms"}, {PS_PER_US, "us"}, {PS_PER_NS, "ns"}};
	size_t i = 0;

	while (i + 1 < sizeof(units) / sizeof(units[0]) && time_ps < units[i].unit_ps)
		i++;
	(void)snprintf(text, size, "%.4g %s", (double)time_ps / (double)units[i].unit_ps,
		       units[i].name);
	return text;
}

/* How long bytes take at a rate. */
const char *check_bytes_time_text(uint64_t bytes, uint64_t rate_bps, char *text, size_t size)
{
	return check_time_text((uint64_t)((double)bytes * 8e12 / (double)rate_bps), text, size);
}

/* Length of a name without the digits at its end. */
static size_t stem_length(const char *name)
{
	size_t length = strlen(name);

	while (length > 0 && isdigit((unsigned char)name[length - 1]))
		length--;
	return length;
}

/* Does b come right after a, as h4 after h3? */
static bool names_follow(const char *a, const char *b)
{
	size_t stem = stem_length(a);

	return stem == stem_length(b) && strncmp(a, b, stem) == 0 && a[stem] != '\0' &&
	       b[stem] != '\0' && strlen(a + stem) < 9 && strlen(b + stem) < 9 &&
	       strtoul(b + stem, NULL, 10) == strtoul(a + stem, NULL, 10) + 1;
}

const char *check_names_text(const struct config *config, const uint16_t *group, uint16_t which,
			     char *text, size_t size)
{
	size_t used = 0;
	uint32_t left = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < config->port_count; i++) {
		char one[2 * CONFIG_NAME_BYTES + 8];
		uint32_t last = i;

		if (group[i] != which)
			continue;
		while (last + 1 < config->port_count && group[last + 1] == which &&
		       names_follow(config->ports[last].name, config->ports[last + 1].name))
			last++;
		(void)snprintf(one, sizeof(one), "%s%s%s%s", used > 0 ? ", " : "",
			       config->ports[i].name, last > i ? ".." : "",
			       last > i ? config->ports[last].name : "");
		/* Keep room for the count of the rest. */
		if (left > 0 || used + strlen(one) + sizeof(" and 999 more") > size)
			left += last - i + 1;
		else
			used += (size_t)snprintf(text + used, size - used, "%s", one);
		i = last;
	}
	if (left > 0)
		(void)snprintf(text + used, size - used, " and %u more", left);
	return text;
}
