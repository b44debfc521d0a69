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
#define HEADROOM_BYTES   37500.0 /* of 100G: 3 * 100G * 1 us */

#define LINKS_MAX 64
#define TEXT_MAX  65536

static uint64_t scaled(double bytes)
{
	return (uint64_t)(bytes * REFERENCE_SCALE + 0.5);
}

/* Divide a switch's buffer as the reference does; nobody has looked at it yet. */
static void divide(struct switch_node *node, const struct reference_switch *how,
		   uint64_t buffer_bytes)
{
	struct snapshot *snapshot = (struct snapshot *)(uintptr_t)node->snapshot;
	struct buffer_table *buffer = &snapshot->buffer;
	double shared_bytes = (double)buffer_bytes - node->port_count * RESERVED_BYTES;

	for (uint32_t port = 0; port < node->port_count; port++) {
		double headroom_bytes = HEADROOM_BYTES * (double)snapshot->port[port].rate_bps /
					(100e9 * REFERENCE_SCALE);

		shared_bytes -= headroom_bytes;
		*snapshot_pair(snapshot, port, REFERENCE_PRIORITY) =
			(struct buffer_pair){.headroom_bytes = (uint32_t)scaled(headroom_bytes)};
	}
	/* T' = alpha (S' - used - N R) is T + R. */
	buffer->shared_bytes =
		scaled(shared_bytes + (how->senders + 256.0 / how->alpha_q8) * RESERVED_BYTES);
	buffer->guard_packets = 0;
	buffer->class[REFERENCE_PRIORITY].alpha_q8 = how->alpha_q8;
	buffer->class[REFERENCE_PRIORITY].xon_offset_bytes = (uint32_t)scaled(XON_OFFSET_BYTES);
}

struct scenario *reference_scenario(const struct reference_network *network)
{
	static char text[TEXT_MAX];
	int at = snprintf(text, sizeof(text),
			  "fabric:\n  explicit:\n    framing_overhead: 0\n    nodes: [n0");

	for (uint32_t i = 1; i < network->hosts + network->switch_count; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, ", n%u", i);
	at += snprintf(text + at, sizeof(text) - (size_t)at, "]\n    links:\n");
	for (uint32_t i = 0; i < network->link_count; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at,
			       "      - {ends: [n%u, n%u], speed: %.0fK, delay: 1us}\n",
			       network->links[i].ends[0], network->links[i].ends[1],
			       network->links[i].rate_gbps * 1e6 * REFERENCE_SCALE);
	at += snprintf(text + at, sizeof(text) - (size_t)at, "%s", network->rest);
	cr_assert_lt((size_t)at, sizeof(text));
	return harness_scenario(text);
}

struct simulation *reference_simulation(struct scenario *scenario,
					const struct reference_network *network)
{
	struct fabric_options options = {.start_ps = UINT64_MAX - PS_PER_US};
	struct simulation *simulation = simulation_create(scenario, harness_pool(), &options);

	cr_assert_not_null(simulation);
	for (uint32_t i = 0; i < network->switch_count; i++)
		divide(simulation->fabric->switches[i], &network->switches[i],
		       network->buffer_bytes);
	return simulation;
}

struct simulation *reference_star(uint32_t hosts, uint64_t buffer_bytes, const char *rest)
{
	const struct reference_switch how = {32, hosts - 1};
	struct reference_link links[LINKS_MAX];
	struct reference_network network = {links, hosts, &how, hosts, 1, buffer_bytes, rest};

	cr_assert_leq(hosts, LINKS_MAX);
	for (uint32_t i = 0; i < hosts; i++)
		links[i] = (struct reference_link){{(uint16_t)i, (uint16_t)hosts}, 100};
	return reference_simulation(reference_scenario(&network), &network);
}

/* --- congestion control --- */

const struct reference_cc *reference_cc(const char *name)
{
	static const struct reference_cc all[] = {
		{"hpcc", 1, 4, 300, 1, 20, 200, 400e3, 1600e3, 20},
		{"paper", 50, 50, 55, 1, 20, 200, 400e3, 1600e3, 20},
		{"paper5", 50, 50, 55, 5, 40, 400, 5e3, 200e3, 1},
		/* A mark for every packet above the threshold: the ramp is a byte. */
		{"step", 1, 4, 300, 1, 20, 200, 400e3, 400e3, 100},
		{"step5", 50, 50, 55, 5, 40, 400, 100e3, 100e3, 100},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	cr_assert_fail("no preset %s", name);
	return NULL;
}

int reference_cc_text(const struct reference_cc *cc, char *text, size_t size)
{
	uint64_t kmin = scaled(cc->kmin_bytes), kmax = scaled(cc->kmax_bytes);

	return snprintf(text, size,
			"leaf:\n"
			"  memory: 128MiB\n"
			"  classes:\n"
			"    - {priority: 3, name: roce, dscp: [26], lossless: true, ecn: {kmin: "
			"%" PRIu64 ", kmax: %" PRIu64 ", pmax: %.0f%%}}\n"
			"    - {priority: 0, name: rest}\n"
			"  buffer: {allow_pfc_before_ecn: true}\n"
			"hosts:\n"
			"  cc: dcqcn\n"
			"  mtu: 1024\n"
			"  ack_every: 1\n"
			"  acks: apart\n"
			"  operation: send\n"
			"  cnp: ack\n"
			"  dcqcn: {preset: hpcc, alpha_timer: %uus, cut_window: %uus, "
			"increase_timer: %uus, fast_recovery: %u, additive: %.0fK, "
			"hyper: %.0fK, min_rate: %.0fK}\n",
			kmin, kmax == kmin ? kmin + 1 : kmax, cc->pmax_percent, cc->alpha_us,
			cc->decrease_us, cc->increase_us, cc->fast_recovery,
			cc->additive_mbps * 1000 * REFERENCE_SCALE,
			cc->hyper_mbps * 1000 * REFERENCE_SCALE, 1e6 * REFERENCE_SCALE);
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
