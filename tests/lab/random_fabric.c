/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/random_fabric.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/buffer_plan.h"
#include "control/apply.h"
#include "tests/lab/harness.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/fabric_config.h"

#define FRAMES_MAX   50000 /* of all hosts */
#define DRAWS_MAX    400
#define MEMORY_MIN   (UINT64_C(1) << 18)
#define MEMORY_MAX   (UINT64_C(1) << 27)
#define HEADER_BYTES 58u

enum shape { STAR, LEAF_SPINE, CHAIN, SHAPES };

struct draw {
	struct random random;
	char *text;
	size_t used;
	enum shape shape;
	uint32_t mtu;
	bool small; /* frames of any size */
	uint32_t lossless_count;
	uint8_t lossless[PRIORITY_COUNT];
	char host[64][24];
	uint32_t host_count;
	uint32_t victim;
};

static uint32_t below(struct draw *draw, uint32_t bound)
{
	return (uint32_t)random_below(&draw->random, bound);
}

static void __attribute__((format(printf, 2, 3))) say(struct draw *draw, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	draw->used += (size_t)vsnprintf(draw->text + draw->used, RANDOM_TEXT_MAX - draw->used,
					format, arguments);
	va_end(arguments);
	cr_assert_lt(draw->used, RANDOM_TEXT_MAX);
}

static const char *speed(struct draw *draw)
{
	static const char *const speeds[] = {"1G",  "10G",  "25G",  "40G",
					     "50G", "100G", "200G", "400G"};

	return speeds[below(draw, 8)];
}

static const char *cable(struct draw *draw)
{
	static const char *const cables[] = {"1m",   "3m",   "10m", "30m",
					     "100m", "300m", "1km", "2km"};

	return cables[below(draw, 8)];
}

/* --- topology --- */

static void add_host(struct draw *draw, const char *format, uint32_t a, uint32_t b)
{
	char *name = draw->host[draw->host_count++];

	/* Formats are ours. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(name, sizeof(draw->host[0]), format, a, b);
#pragma GCC diagnostic pop
}

static void say_leaf_spine(struct draw *draw)
{
	uint32_t leaves = 2 + below(draw, 2), hosts = 2 + below(draw, 3);
	uint32_t spines = 1 + below(draw, 2);
	const char *host_speed = speed(draw), *uplink_speed = speed(draw);
	const char *host_cable = cable(draw), *uplink_cable = cable(draw);

	say(draw,
	    "fabric: {leaf_spine: {leaves: %u, spines: %u, hosts_per_leaf: %u, host_speed: %s, "
	    "uplink_speed: %s, host_cable: %s, uplink_cable: %s}}\n",
	    leaves, spines, hosts, host_speed, uplink_speed, host_cable, uplink_cable);
	for (uint32_t leaf = 1; leaf <= leaves; leaf++)
		for (uint32_t host = 1; host <= hosts; host++)
			add_host(draw, "leaf%u.h%u", leaf, host);
}

/* Switches in a row, each with hosts; one switch is a star. */
static void say_chain(struct draw *draw, uint32_t switches, uint32_t hosts)
{
	const char *separator = "";

	for (uint32_t s = 1; s <= switches; s++)
		for (uint32_t host = 1; host <= hosts; host++)
			add_host(draw, "s%uh%u", s, host);
	say(draw, "fabric: {explicit: {nodes: [");
	for (uint32_t s = 1; s <= switches; s++)
		say(draw, "%ss%u", s == 1 ? "" : ", ", s);
	for (uint32_t i = 0; i < draw->host_count; i++)
		say(draw, ", %s", draw->host[i]);
	say(draw, "], links: [\n");
	for (uint32_t s = 2; s <= switches; s++) {
		const char *fast = speed(draw);

		say(draw, "%s  {ends: [s%u, s%u], speed: %s, cable: %s}", separator, s - 1, s, fast,
		    cable(draw));
		separator = ",\n";
	}
	for (uint32_t i = 0; i < draw->host_count; i++) {
		const char *fast = speed(draw);

		say(draw, "%s  {ends: [%s, s%u], speed: %s, cable: %s}", separator, draw->host[i],
		    1 + i / hosts, fast, cable(draw));
		separator = ",\n";
	}
	say(draw, "]}}\n");
}

static void say_fabric(struct draw *draw)
{
	uint32_t switches;

	draw->shape = (enum shape)below(draw, SHAPES);
	switch (draw->shape) {
	case STAR:
		say_chain(draw, 1, 3 + below(draw, 6));
		break;
	case CHAIN:
		switches = 2 + below(draw, 2);
		say_chain(draw, switches, 2 + below(draw, 2));
		break;
	default:
		say_leaf_spine(draw);
		break;
	}
}

/* --- classes and buffer --- */

static void say_leaf(struct draw *draw)
{
	static const char *const alphas[] = {"1/8", "1/4", "1/2", "1", "2", "4", "8"};
	bool ecn = below(draw, 2) != 0;

	draw->lossless_count = 1 + below(draw, 3);
	for (uint32_t i = 0, p = 1; i < draw->lossless_count; i++, p += 1 + below(draw, 2))
		draw->lossless[i] = (uint8_t)p;
	say(draw, "leaf:\n  classes:\n");
	for (uint32_t i = 0; i < draw->lossless_count; i++) {
		uint32_t p = draw->lossless[i];

		say(draw,
		    "    - {priority: %u, name: c%u, dscp: [%u], lossless: true, weight: %u, "
		    "ecn: %s}\n",
		    p, p, 8 * p, 1 + below(draw, 60), ecn ? "auto" : "off");
	}
	say(draw, "    - {priority: 7, name: control, dscp: [56], strict: true}\n"
		  "    - {priority: 0, name: best-effort, weight: 20}\n");
	say(draw, "  buffer: {alpha: {");
	for (uint32_t i = 0; i < draw->lossless_count; i++)
		say(draw, "c%u: %s, ", draw->lossless[i], alphas[below(draw, 7)]);
	say(draw, "best-effort: %s}, small_frames: %s", alphas[below(draw, 7)],
	    draw->small ? "100%" : "10%");
	say(draw, ", lossy_max: %u%%", 5 + below(draw, 40));
	if (below(draw, 3) == 0)
		say(draw, ", headroom_pool: {oversubscribe: 1}");
	say(draw, "}\n  watchdog: {action: %s}\n", below(draw, 2) != 0 ? "off" : "drop");
}

/* --- traffic --- */

static uint32_t payload(struct draw *draw)
{
	return draw->small ? 16 + 4 * below(draw, (draw->mtu - 16) / 4) : draw->mtu;
}

static void say_traffic(struct draw *draw)
{
	uint32_t others = below(draw, 4), senders = 2 + below(draw, draw->host_count - 2);
	uint32_t class = draw->lossless[below(draw, draw->lossless_count)];

	draw->victim = below(draw, draw->host_count);
	say(draw,
	    "hosts: {mtu: %u}\n"
	    "traffic:\n"
	    "  - incast: {name: incast, senders: %u, to: %s, class: c%u, payload: %u}\n",
	    draw->mtu, senders, draw->host[draw->victim], class, payload(draw));
	for (uint32_t i = 0; i < others; i++) {
		uint32_t from = below(draw, draw->host_count);
		uint32_t to = (from + 1 + below(draw, draw->host_count - 1)) % draw->host_count;
		bool lossless = below(draw, 2) != 0;

		say(draw, "  - flow: {from: %s, to: %s, payload: %u, class: ", draw->host[from],
		    draw->host[to], payload(draw));
		if (lossless)
			say(draw, "c%u}\n", draw->lossless[below(draw, draw->lossless_count)]);
		else
			say(draw, "best-effort}\n");
	}
	if (below(draw, 3) != 0)
		return;
	class = draw->lossless[below(draw, draw->lossless_count)];
	say(draw, "  - permutation: {rate: 500M, payload: %u, class: c%u}\n", payload(draw), class);
}

/* --- memory and time --- */

static bool switch_fits(const struct scenario *scenario, const struct config *classes,
			uint32_t index, uint64_t *pool_bytes)
{
	struct config *config = fabric_config_create(scenario, index, classes);
	struct config_errors *errors = allocate(sizeof(*errors));
	struct apply_port *ports = allocate(config->port_count * sizeof(*ports));
	struct apply_state state = {.port = ports, .packets_max = fabric_switch_packets(scenario)};
	struct buffer_plan plan;
	bool fits;

	for (uint16_t i = 0; i < config->port_count; i++)
		ports[i] = (struct apply_port){.rate_bps = config->ports[i].speed_bps,
					       .link_up = true};
	fits = apply_plan(config, &state, &plan, errors) == 0;
	if (fits) {
		*pool_bytes += plan.pool_bytes;
		buffer_plan_free(&plan);
	}
	free(ports);
	free(errors);
	fabric_config_free(config);
	return fits;
}

/* @return bytes of all pools; 0: it doesn't fit */
static uint64_t fits(const struct scenario *scenario, const struct config *classes)
{
	uint64_t pool_bytes = 0;

	for (uint32_t i = 0; i < scenario->topology->switch_count; i++)
		if (!switch_fits(scenario, classes, i, &pool_bytes))
			return 0;
	return pool_bytes;
}

bool random_fabric_fits(const struct scenario *scenario, const struct config *classes)
{
	return fits(scenario, classes) != 0;
}

static uint64_t host_rate_bps(const struct scenario *scenario, uint32_t host)
{
	const struct topology *topology = scenario->topology;

	return topology->links[topology->nodes[topology->hosts[host]].links[0]].rate_bps;
}

/* Others than the incast: from a hundredth of the line rate to all of it. */
static void set_rates(struct random_fabric *fabric, struct draw *draw)
{
	for (uint32_t i = 0; i < fabric->scenario->flow_count; i++) {
		struct scenario_flow *flow = &fabric->scenario->flows[i];

		if (strncmp(flow->name, "flow", 4) == 0)
			flow->rate_bps = flow->rate_bps / 100 * (1 + below(draw, 100));
	}
}

/* Line rate, less what the host's other flows may take of it. */
static uint64_t incast_rate_bps(const struct scenario *scenario, const struct scenario_flow *incast)
{
	uint64_t others_bps = 0;

	for (uint32_t i = 0; i < scenario->flow_count; i++)
		if (&scenario->flows[i] != incast && scenario->flows[i].source == incast->source)
			others_bps += scenario->flows[i].rate_bps;
	return incast->rate_bps > others_bps ? incast->rate_bps - others_bps : 0;
}

/* So long does the incast need to offer more than the buffer; everything stops then. */
static bool set_times(struct random_fabric *fabric, uint64_t pool_bytes)
{
	struct scenario *scenario = fabric->scenario;
	const struct topology *topology = scenario->topology;
	uint64_t offered_bps = 0, slowest_bps = UINT64_MAX, frames = 0;
	uint64_t egress_bps = 0, hosts_bps = 0;

	for (uint32_t i = 0; i < scenario->flow_count; i++) {
		const struct scenario_flow *flow = &scenario->flows[i];

		if (strncmp(flow->name, "incast", 6) != 0)
			continue;
		offered_bps += incast_rate_bps(scenario, flow);
		egress_bps = host_rate_bps(scenario, flow->destination);
	}
	for (uint32_t i = 0; i < topology->link_count; i++)
		slowest_bps = topology->links[i].rate_bps < slowest_bps
				      ? topology->links[i].rate_bps
				      : slowest_bps;
	if (offered_bps < egress_bps / 4 * 5) {
		/* No congestion that we could count on: a short look. */
		fabric->must_pause = false;
		fabric->stop_ps = 200 * PS_PER_US;
	} else {
		fabric->must_pause = true;
		/* A third more than what it takes. */
		fabric->stop_ps = (uint64_t)((unsigned __int128)pool_bytes * 8 * PS_PER_S * 4 / 3 /
					     (offered_bps - egress_bps)) +
				  20 * PS_PER_US;
	}
	for (uint32_t i = 0; i < scenario->flow_count; i++) {
		struct scenario_flow *flow = &scenario->flows[i];

		flow->stops = true;
		flow->stop_ps = fabric->stop_ps;
		frames += (uint64_t)((unsigned __int128)flow->rate_bps * fabric->stop_ps /
				     PS_PER_S / 8 / (flow->payload_bytes + HEADER_BYTES + 24));
		hosts_bps += flow->rate_bps;
	}
	/* All that can wait anywhere, through the slowest link, one after the other. */
	fabric->drain_ps =
		(uint64_t)((unsigned __int128)pool_bytes * 8 * PS_PER_S / slowest_bps) * 4 +
		20 * PS_PER_MS;
	scenario->duration_ps = fabric->stop_ps + fabric->drain_ps;
	return frames <= FRAMES_MAX && hosts_bps != 0;
}

/* Memory that suffices, and up to as much again. @return the sum of the pools, or 0 */
static uint64_t set_memory(struct random_fabric *fabric, struct draw *draw)
{
	struct config *config = &fabric->scenario->leaf.config;

	for (uint64_t bytes = MEMORY_MIN; bytes <= MEMORY_MAX; bytes += bytes / 4) {
		config->leaf.memory_bytes = bytes;
		if (fits(fabric->scenario, config) == 0)
			continue;
		config->leaf.memory_bytes += random_below(&draw->random, bytes);
		return fits(fabric->scenario, config);
	}
	return 0;
}

/* --- events --- */

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct random_event *)a)->at_ps;
	uint64_t y = ((const struct random_event *)b)->at_ps;

	return (x > y) - (x < y);
}

static void draw_events(struct random_fabric *fabric, struct draw *draw)
{
	const struct topology *topology = fabric->scenario->topology;

	fabric->event_count = below(draw, RANDOM_EVENTS_MAX + 1);
	for (uint32_t i = 0; i < fabric->event_count; i++) {
		struct random_event *event = &fabric->event[i];
		uint32_t kind = below(draw, 4);

		event->kind = kind < 2 ? EVENT_RELOAD : kind == 2 ? EVENT_STORM : EVENT_FLAP;
		event->at_ps = random_below(&draw->random, fabric->stop_ps);
		event->until_ps =
			event->at_ps + random_below(&draw->random, fabric->stop_ps / 2 + 1);
		event->which = below(draw, event->kind == EVENT_STORM ? topology->host_count
								      : topology->link_count);
		event->priorities =
			(uint8_t)(1u << draw->lossless[below(draw, draw->lossless_count)]);
		event->draw = random_next(&draw->random);
		fabric->flaps |= event->kind == EVENT_FLAP;
	}
	qsort(fabric->event, fabric->event_count, sizeof(fabric->event[0]), by_time);
	/* A link that is down takes a part of the incast away. */
	fabric->must_pause &= !fabric->flaps;
}

struct config random_fabric_reload(const struct scenario *scenario, uint64_t draw)
{
	struct random random = {.state = draw};
	struct config config = scenario->leaf.config;

	for (uint8_t i = 0; i < config.class_count; i++) {
		struct config_class *class = &config.classes[i];

		class->alpha_q8 = 32u << random_below(&random, 7);
		if (!class->strict)
			class->weight = (uint8_t)(1 + random_below(&random, 100));
	}
	return config;
}

/* --- all of it --- */

static bool draw_once(struct random_fabric *fabric, struct draw *draw)
{
	static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
	bool incast = below(draw, 8) != 0;
	uint64_t pool_bytes;

	draw->text = fabric->text;
	draw->mtu = mtus[below(draw, 5)];
	draw->small = below(draw, 5) == 0;
	say(draw, "seed: %u\n", 1 + below(draw, 1000000));
	say_fabric(draw);
	say_leaf(draw);
	say_traffic(draw);
	fabric->scenario = harness_scenario(fabric->text);
	/* Their ports dealt out to one to four workers, in an order of steps that is random, too. */
	fabric->scenario->leaf.config.leaf.workers = (uint16_t)(1 + fabric->seed % 4);
	set_rates(fabric, draw);
	pool_bytes = set_memory(fabric, draw);
	if (pool_bytes != 0 && set_times(fabric, pool_bytes) && (fabric->must_pause || !incast)) {
		for (uint32_t i = 0; i < draw->lossless_count; i++)
			fabric->lossless |= (uint8_t)(1u << draw->lossless[i]);
		fabric->multipath = draw->shape == LEAF_SPINE;
		draw_events(fabric, draw);
		return true;
	}
	scenario_free(fabric->scenario);
	return false;
}

void random_fabric_draw(struct random_fabric *fabric, uint64_t seed, uint32_t packets_max)
{
	for (uint32_t i = 0; i < DRAWS_MAX; i++) {
		struct draw draw = {.random = random_of(seed, RANDOM_PATTERN, i)};

		memset(fabric, 0, sizeof(*fabric));
		fabric->seed = seed;
		if (!draw_once(fabric, &draw))
			continue;
		if (fabric_packets(fabric->scenario) <= packets_max)
			return;
		scenario_free(fabric->scenario);
	}
	cr_assert_fail("seed %llu: nothing that is small enough", (unsigned long long)seed);
}

void random_fabric_fini(struct random_fabric *fabric)
{
	scenario_free(fabric->scenario);
}
