/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/reference.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/snapshot.h"

#define RESERVED_BYTES   4096.0
#define XON_OFFSET_BYTES 3072.0
#define HEADROOM_BYTES   37500.0 /* 3 * 100G * 1 us */
#define ALPHA_Q8         32u     /* 1/8 */

#define TEXT_MAX 65536

static uint64_t scaled(double bytes)
{
	return (uint64_t)(bytes * REFERENCE_SCALE + 0.5);
}

/* Divide a switch's buffer as the reference does; nobody has looked at it yet. */
static void divide(struct switch_node *node, uint32_t senders, uint64_t buffer_bytes)
{
	struct snapshot *snapshot = (struct snapshot *)(uintptr_t)node->snapshot;
	struct buffer_table *buffer = &snapshot->buffer;
	double shared_bytes =
		(double)buffer_bytes - node->port_count * (RESERVED_BYTES + HEADROOM_BYTES);

	/* T' = alpha (S' - used - N R) is T + R. */
	buffer->shared_bytes = scaled(shared_bytes + (senders + 256.0 / ALPHA_Q8) * RESERVED_BYTES);
	buffer->guard_packets = 0;
	buffer->class[REFERENCE_PRIORITY].alpha_q8 = ALPHA_Q8;
	buffer->class[REFERENCE_PRIORITY].xon_offset_bytes = (uint32_t)scaled(XON_OFFSET_BYTES);
	for (uint32_t port = 0; port < node->port_count; port++)
		*snapshot_pair(snapshot, port, REFERENCE_PRIORITY) =
			(struct buffer_pair){.headroom_bytes = (uint32_t)scaled(HEADROOM_BYTES)};
}

struct simulation *reference_star(uint32_t hosts, uint64_t buffer_bytes, const char *rest)
{
	static char text[TEXT_MAX];
	struct fabric_options options = {.start_ps = UINT64_MAX - PS_PER_US};
	struct scenario *scenario;
	struct simulation *simulation;
	int at;

	at = snprintf(text, sizeof(text),
		      "fabric:\n  explicit:\n    framing_overhead: 0\n"
		      "    nodes: [s");
	for (uint32_t i = 0; i < hosts; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, ", h%u", i);
	at += snprintf(text + at, sizeof(text) - (size_t)at, "]\n    links:\n");
	for (uint32_t i = 0; i < hosts; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at,
			       "      - {ends: [h%u, s], speed: %.0fK, delay: 1us}\n", i,
			       100e6 * REFERENCE_SCALE);
	at += snprintf(text + at, sizeof(text) - (size_t)at, "%s", rest);
	cr_assert_lt((size_t)at, sizeof(text));
	scenario = harness_scenario(text);
	simulation = simulation_create(scenario, harness_pool(), &options);
	cr_assert_not_null(simulation);
	divide(simulation->fabric->switches[0], hosts - 1, buffer_bytes);
	return simulation;
}

/* --- tables --- */

static void split(struct reference_row *row)
{
	char *rest = row->text;

	row->text[strcspn(row->text, "\r\n")] = '\0';
	while (rest != NULL && row->fields < REFERENCE_COLUMNS_MAX)
		row->field[row->fields++] = strsep(&rest, ",");
}

struct reference_table reference_read(const char *name, const char *begin)
{
	struct reference_table table = {0};
	uint32_t size = 0;
	char path[512], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.csv", REFERENCE_DIRECTORY, name);
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s", path);
	while (fgets(line, sizeof(line), file) != NULL) {
		struct reference_row *row;

		if (strncmp(line, begin, strlen(begin)) != 0 || line[strlen(begin)] != ',')
			continue;
		if (table.count == size) {
			size = size == 0 ? 64 : 2 * size;
			table.rows = realloc(table.rows, size * sizeof(*table.rows));
			cr_assert_not_null(table.rows);
		}
		row = &table.rows[table.count++];
		memset(row, 0, sizeof(*row));
		memcpy(row->text, line, sizeof(line));
	}
	fclose(file);
	cr_assert_neq(table.count, 0, "%s has no row that begins with %s", path, begin);
	/* The rows stay where they are from now on. */
	for (uint32_t i = 0; i < table.count; i++)
		split(&table.rows[i]);
	return table;
}

void reference_free(struct reference_table *table)
{
	free(table->rows);
	*table = (struct reference_table){0};
}

double reference_number(const struct reference_row *row, uint32_t field)
{
	cr_assert_lt(field, row->fields);
	return strtod(row->field[field], NULL);
}

void reference_compare(const char *what, double ours, double theirs, double share)
{
	printf("#   %-42s %14.1f %14.1f %+7.2f %%\n", what, ours, theirs,
	       theirs != 0 ? 100 * (ours - theirs) / theirs : 0);
	cr_expect_leq(fabs(ours - theirs), share * theirs,
		      "%s: %.1f, the reference has %.1f, more than %.1f %% apart", what, ours,
		      theirs, 100 * share);
}
