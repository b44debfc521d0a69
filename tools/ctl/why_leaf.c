/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/why_leaf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FINDINGS_MAX 8
#define OVERHEAD_BYTES \
	24         /* of a frame on the wire: preamble, FCS and gap (IEEE 802.3 3.1.1, 4.4.2) */
#define UPLINKS  1 /* the group of all of them */
/* A worker that is busy for more than this has no time left. */
#define BUSY_PPM 900000u

#define TABLE_(id, name, past) {"/roceleaf/" name, (past)[0] == '\0' ? NULL : "/roceleaf/" past},
static const struct {
	const char *now, *past;
} commands[] = {WHY_LEAF_TABLES(TABLE_)};
#undef TABLE_

void why_look_init(struct why_look *look)
{
	for (int i = 0; i < WHY_LEAF_TABLE_COUNT; i++)
		reply_init(&look->table[i]);
}

void why_look_free(struct why_look *look)
{
	for (int i = 0; i < WHY_LEAF_TABLE_COUNT; i++)
		reply_free(&look->table[i]);
}

/* What a row of `after` counted since `before`; all of it when that doesn't have it or has more. */
static uint64_t grown(const struct why_look *before, const struct why_look *after,
		      enum why_leaf_table table, const char *column, size_t row)
{
	const struct reply *now = &after->table[table], *then = &before->table[table];
	size_t old = reply_row_find(then, now, row);
	uint64_t value = reply_number(now, column, row);
	uint64_t start = old == REPLY_ROW_NONE ? 0 : reply_number(then, column, old);

	return value >= start ? value - start : value;
}

static uint32_t share_ppm(uint64_t part_ns, uint64_t time_ns)
{
	return part_ns >= time_ns ? WHY_PPM
				  : (uint32_t)((unsigned __int128)part_ns * WHY_PPM / time_ns);
}

static struct why_link *find_link(const struct why_leaf *leaf, const char *port)
{
	for (size_t i = 0; i < leaf->facts.link_count; i++)
		if (strcmp(leaf->links[i].name, port) == 0)
			return &leaf->links[i];
	return NULL;
}

static bool is_uplink(const struct why_look *look, const char *port)
{
	const struct reply *balance = &look->table[WHY_LEAF_BALANCE];

	for (size_t row = 0; row < balance->rows; row++)
		if (strcmp(reply_text(balance, "port", row), port) == 0)
			return true;
	return false;
}

static uint32_t use_ppm(const struct why_look *before, const struct why_look *after, size_t row,
			const char *bytes, const char *packets, uint64_t time_ns)
{
	uint64_t rate_bps = reply_number(&after->table[WHY_LEAF_PORTS], "speed_bps", row);
	uint64_t bits = 8 * (grown(before, after, WHY_LEAF_PORTS, bytes, row) +
			     OVERHEAD_BYTES * grown(before, after, WHY_LEAF_PORTS, packets, row));

	return share_ppm((uint64_t)((unsigned __int128)bits * 1000000000u / rate_bps), time_ns);
}

/* Two directions of each port: what the leaf sends, then what it receives. */
static void fill_ports(const struct why_look *before, const struct why_look *after,
		       struct why_leaf *leaf)
{
	const struct reply *ports = &after->table[WHY_LEAF_PORTS];

	for (size_t row = 0; row < ports->rows; row++) {
		struct why_link *out = &leaf->links[leaf->facts.link_count], *in = out + 1;
		const char *port = reply_text(ports, "port", row);

		if (reply_number(ports, "speed_bps", row) == 0) /* the CPU's port has no wire */
			continue;
		out->name = port;
		out->rate_bps = in->rate_bps = reply_number(ports, "speed_bps", row);
		out->to_host = !is_uplink(after, port);
		out->group = out->to_host ? WHY_GROUP_NONE : UPLINKS;
		in->group = WHY_GROUP_NONE;
		/* A host that is away is nobody's way. */
		out->down = !out->to_host && strcmp(reply_text(ports, "state", row), "up") != 0;
		snprintf(leaf->text[leaf->facts.link_count], sizeof(leaf->text[0]),
			 out->to_host ? "the host at %s" : "the switch at %s", port);
		out->to = leaf->text[leaf->facts.link_count];
		snprintf(leaf->text[leaf->facts.link_count + 1], sizeof(leaf->text[0]),
			 "what comes from %s", port);
		in->name = leaf->text[leaf->facts.link_count + 1];
		out->bytes = grown(before, after, WHY_LEAF_PORTS, "tx_bytes", row);
		out->packets = grown(before, after, WHY_LEAF_PORTS, "tx_packets", row);
		out->use_ppm =
			use_ppm(before, after, row, "tx_bytes", "tx_packets", leaf->facts.time_ns);
		in->use_ppm =
			use_ppm(before, after, row, "rx_bytes", "rx_packets", leaf->facts.time_ns);
		leaf->facts.link_count += 2;
	}
}

static void fill_losses(const struct why_look *before, const struct why_look *after,
			struct why_leaf *leaf)
{
	for (size_t row = 0; row < after->table[WHY_LEAF_BUFFERS].rows; row++)
		leaf->facts.lossless_drops +=
			grown(before, after, WHY_LEAF_BUFFERS, "lost_packets", row);
}

static void add_class(struct why_link *link, bool lossless, const char *class, uint64_t bytes,
		      uint64_t packets)
{
	if (lossless) {
		link->lossless_bytes += bytes;
		return;
	}
	link->lossy_bytes += bytes;
	link->lossy_packets += packets;
	if (link->lossy == NULL || 2 * bytes > link->lossy_bytes)
		link->lossy = class;
}

static void fill_queues(const struct why_look *before, const struct why_look *after,
			struct why_leaf *leaf)
{
	const struct reply *queues = &after->table[WHY_LEAF_QUEUES];

	for (size_t row = 0; row < queues->rows; row++) {
		struct why_link *link = find_link(leaf, reply_text(queues, "port", row));
		const char *class = reply_text(queues, "class", row);
		bool lossless = reply_number(queues, "lossless", row) != 0;

		if (link == NULL)
			continue;
		link->marked += grown(before, after, WHY_LEAF_QUEUES, "ecn_marked", row);
		add_class(&link[0], lossless, class,
			  grown(before, after, WHY_LEAF_QUEUES, "tx_bytes", row),
			  grown(before, after, WHY_LEAF_QUEUES, "tx_packets", row));
		add_class(&link[1], lossless, class,
			  grown(before, after, WHY_LEAF_QUEUES, "rx_bytes", row), 0);
		if (!lossless)
			link->lossy_dropped +=
				grown(before, after, WHY_LEAF_QUEUES, "drop_packets", row);
	}
}

static void fill_pauses(const struct why_look *before, const struct why_look *after,
			struct why_leaf *leaf)
{
	static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
	const struct reply *pfc = &after->table[WHY_LEAF_PFC];

	for (size_t row = 0; row < pfc->rows; row++) {
		struct why_link *link = find_link(leaf, reply_text(pfc, "port", row));
		uint32_t paused_ppm =
			share_ppm(grown(before, after, WHY_LEAF_PFC, "rx_paused_ns", row),
				  leaf->facts.time_ns);

		if (link == NULL)
			continue;
		link->storms += grown(before, after, WHY_LEAF_PFC, "storms", row);
		if (paused_ppm <= link->paused_ppm)
			continue;
		link->paused_ppm = paused_ppm;
		link->pauses = grown(before, after, WHY_LEAF_PFC, "rx_pauses", row);
		link->priority = digits[reply_number(pfc, "priority", row) & 7];
	}
}

static int most_first(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? 1 : left > right ? -1 : 0;
}

/*
 * Nobody counts who sends to whom. But what a port sent came from others, and none of them gave more than it
 * received: so it came from as many at least as the largest of them are needed for.
 */
static void fill_senders(struct why_leaf *leaf, uint64_t *received)
{
	for (size_t i = 0; i < leaf->facts.link_count; i += 2) {
		struct why_link *link = &leaf->links[i];
		uint64_t rest_bytes = link->lossless_bytes;
		uint64_t least_bytes = link->lossless_bytes / 50; /* stood in the queue before */
		size_t others = 0;

		for (size_t j = 0; j < leaf->facts.link_count; j += 2)
			if (j != i)
				received[others++] = leaf->links[j + 1].lossless_bytes;
		qsort(received, others, sizeof(*received), most_first);
		for (size_t j = 0; j < others && rest_bytes > least_bytes; j++) {
			rest_bytes -= received[j] < rest_bytes ? received[j] : rest_bytes;
			link->senders++;
		}
	}
}

/* Did frames wait in receive rings of ports that this worker has? */
static bool has_backlog(const struct why_look *before, const struct why_look *after,
			uint64_t worker)
{
	const struct reply *ports = &after->table[WHY_LEAF_PORTS];

	for (size_t row = 0; row < ports->rows; row++)
		if (reply_number(ports, "worker", row) == worker &&
		    grown(before, after, WHY_LEAF_PORTS, "backlog_marks", row) != 0)
			return true;
	return false;
}

static void fill_workers(const struct why_look *before, const struct why_look *after,
			 struct why_leaf *leaf)
{
	const struct reply *workers = &after->table[WHY_LEAF_WORKERS];

	for (size_t row = 0; row < workers->rows; row++) {
		size_t i = leaf->facts.worker_count++;
		struct why_worker *worker = &leaf->workers[i];
		char *name = leaf->text[2 * after->table[WHY_LEAF_PORTS].rows + i];
		uint64_t id = reply_number(workers, "worker", row);

		snprintf(name, sizeof(leaf->text[0]), "worker %llu", (unsigned long long)id);
		worker->name = name;
		worker->stalls = grown(before, after, WHY_LEAF_WORKERS, "stalls", row);
		worker->late_ppm =
			share_ppm(grown(before, after, WHY_LEAF_WORKERS, "stall_ns", row),
				  leaf->facts.time_ns);
		worker->busy_ppm = share_ppm(grown(before, after, WHY_LEAF_WORKERS, "busy_ns", row),
					     leaf->facts.time_ns);
		if (worker->busy_ppm >= BUSY_PPM && worker->busy_ppm > worker->late_ppm &&
		    has_backlog(before, after, id))
			worker->late_ppm = worker->busy_ppm;
	}
}

int why_leaf_facts(const struct why_look *before, const struct why_look *after,
		   struct why_leaf *leaf)
{
	const struct reply *ports = &after->table[WHY_LEAF_PORTS];
	const struct reply *old = &before->table[WHY_LEAF_PORTS];
	size_t workers = after->table[WHY_LEAF_WORKERS].rows;
	uint64_t *received;

	memset(leaf, 0, sizeof(*leaf));
	if (ports->instance != old->instance || ports->time_ns <= old->time_ns)
		return -EPROTO;
	leaf->links = calloc(2 * ports->rows + 1, sizeof(*leaf->links));
	leaf->workers = calloc(workers + 1, sizeof(*leaf->workers));
	leaf->text = calloc(2 * ports->rows + workers + 1, sizeof(*leaf->text));
	received = calloc(ports->rows + 1, sizeof(*received));
	if (leaf->links == NULL || leaf->workers == NULL || leaf->text == NULL ||
	    received == NULL) {
		free(received);
		why_leaf_free(leaf);
		return -ENOMEM;
	}
	leaf->facts.time_ns = ports->time_ns - old->time_ns;
	leaf->facts.links = leaf->links;
	leaf->facts.workers = leaf->workers;
	fill_ports(before, after, leaf);
	fill_queues(before, after, leaf);
	fill_pauses(before, after, leaf);
	fill_senders(leaf, received);
	fill_losses(before, after, leaf);
	fill_workers(before, after, leaf);
	free(received);
	return 0;
}

void why_leaf_free(struct why_leaf *leaf)
{
	free(leaf->links);
	free(leaf->workers);
	free(leaf->text);
	memset(leaf, 0, sizeof(*leaf));
}

static int take_look(struct client *client, struct why_look *look, struct ctl_error *error)
{
	for (int i = 0; i < WHY_LEAF_TABLE_COUNT; i++) {
		int ret = client_fetch(client, commands[i].now, &look->table[i], error);

		if (ret != 0)
			return ret;
	}
	return 0;
}

/* What the leaf remembers of so many seconds ago; all tables of the same moment. */
static int take_past(struct client *client, uint64_t seconds, struct why_look *look,
		     struct ctl_error *error)
{
	uint64_t cursor = seconds;

	for (int i = 0; i < WHY_LEAF_TABLE_COUNT; i++) {
		struct reply *table = &look->table[i];
		int ret = 0;

		if (commands[i].past != NULL)
			ret = client_fetch_from(client, commands[i].past, cursor, table, error);
		if (ret != 0)
			return ret;
		if (table->rows == 0)
			continue;
		cursor = reply_number(table, "look", 0) << 32;
		table->time_ns = reply_number(table, "looked_ns", 0);
	}
	return look->table[WHY_LEAF_PORTS].rows != 0
		       ? 0
		       : ctl_fail(
				 error, EAGAIN,
				 "the leaf has just started and remembers nothing: ask in a second");
}

static void wait_seconds(double seconds)
{
	struct timespec rest = {.tv_sec = (time_t)seconds,
				.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
		continue;
}

static int look_twice(const char *runtime_dir, double seconds, bool next, struct why_look look[2],
		      struct ctl_error *error)
{
	struct client client;
	int ret = client_open(&client, runtime_dir, error);

	if (ret != 0)
		return ret;
	ret = next ? take_look(&client, &look[0], error)
		   : take_past(&client, (uint64_t)ceil(seconds), &look[0], error);
	if (ret == 0 && next)
		wait_seconds(seconds);
	if (ret == 0)
		ret = take_look(&client, &look[1], error);
	client_close(&client);
	return ret;
}

int why_leaf_run(const char *runtime_dir, double seconds, bool next, bool as_json)
{
	struct why_finding findings[FINDINGS_MAX];
	struct why_look look[2];
	struct ctl_error error = {.text = ""};
	struct why_leaf leaf;
	size_t count;
	int ret;

	why_look_init(&look[0]);
	why_look_init(&look[1]);
	ret = look_twice(runtime_dir, seconds, next, look, &error);
	if (ret == 0) {
		ret = why_leaf_facts(&look[0], &look[1], &leaf);
		if (ret != 0)
			(void)ctl_fail(&error, -ret,
				       ret == -ENOMEM ? "out of memory"
						      : "the leaf was restarted meanwhile");
	}
	if (ret == 0) {
		count = why_rank(&leaf.facts, findings, FINDINGS_MAX);
		why_write(&leaf.facts, findings, count, as_json, stdout);
		why_leaf_free(&leaf);
	} else {
		fprintf(stderr, "roceleafctl: %s\n", error.text);
	}
	why_look_free(&look[0]);
	why_look_free(&look[1]);
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
