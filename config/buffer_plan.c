/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/buffer_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PPM UINT64_C(1000000)

const char *buffer_text(uint64_t bytes, char *buffer, size_t size)
{
	static const struct {
		uint64_t bytes;
		const char *name;
	} units[] = {{UINT64_C(1000000000), "GB"}, {1000000, "MB"}, {1000, "KB"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (bytes < units[i].bytes)
			continue;
		snprintf(buffer, size, "%" PRIu64 ".%" PRIu64 " %s", bytes / units[i].bytes,
			 bytes % units[i].bytes / (units[i].bytes / 10), units[i].name);
		return buffer;
	}
	snprintf(buffer, size, "%" PRIu64 " bytes", bytes);
	return buffer;
}

uint32_t buffer_class_index(const struct config *config, const struct buffer_plan_class *class)
{
	return (uint32_t)(class->class - config->classes);
}

uint64_t buffer_plan_rate_bps(const struct config *config, const struct buffer_machine *machine,
			      uint32_t port)
{
	uint64_t rate_bps = config->ports[port].speed_bps;

	if (rate_bps == 0)
		rate_bps = machine->port[port].rate_bps;
	return rate_bps < RATE_BPS_MIN ? RATE_BPS_MIN : rate_bps;
}

uint32_t buffer_plan_mean_bytes(uint32_t small_frames_ppm, uint32_t full_bytes)
{
	/* Frames per byte are s/60 + (1-s)/F; the mean is one over that. */
	uint64_t small = (uint64_t)small_frames_ppm * full_bytes;
	uint64_t full = (PPM - small_frames_ppm) * FRAME_BYTES_MIN;

	return (uint32_t)(PPM * FRAME_BYTES_MIN * full_bytes / (small + full));
}

static uint32_t port_frame_bytes(const struct config_port *port)
{
	return port->mtu_bytes + FRAME_HEADER_BYTES;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static uint32_t mean_bytes(const struct config *config, const struct config_port *port,
			   uint32_t rdma_mtu_bytes)
{
	uint32_t full_bytes = rdma_mtu_bytes + BUFFER_RDMA_HEADER_BYTES_MIN;

	if (full_bytes > port_frame_bytes(port))
		full_bytes = port_frame_bytes(port);
	return buffer_plan_mean_bytes(config->buffer.small_frames_ppm, full_bytes);
}

uint32_t buffer_plan_port_mean_bytes(const struct config *config, const struct config_port *port)
{
	uint32_t least = port_frame_bytes(port);

	for (uint32_t i = 0; i < config->class_count; i++) {
		uint32_t mean = mean_bytes(config, port, config->classes[i].rdma_mtu_bytes);

		if (config->classes[i].lossless && mean < least)
			least = mean;
	}
	return least;
}

static bool sends_pauses(const struct config_port *port)
{
	return port->pfc != CONFIG_PFC_OFF && port->pfc != CONFIG_PFC_HONOUR_ONLY;
}

/* @return false: a message was left */
static bool plan_pair(const struct config *config, const struct buffer_machine *machine,
		      const struct config_class *class, uint32_t index,
		      struct buffer_plan_pair *pair, struct config_errors *errors)
{
	const struct config_port *port = &config->ports[index];
	const struct headroom_input input = {
		.rate_bps = buffer_plan_rate_bps(config, machine, index),
		.frame_bytes_max = port_frame_bytes(port),
		.cable_mm = port->cable_mm,
		.response = port->peer_response,
		.response_ps = port->peer_response_ps,
		.poll_ps = machine->poll_ps,
		.polls = machine->workers > 1 ? 2 : 1,
		.run_ahead_ps = machine->port[index].run_ahead_ps,
		.nic_delay_ps = port->nic_delay_auto ? machine->port[index].nic_delay_ps
						     : port->nic_delay_ps,
	};
	char text[24];

	pair->lossless = true;
	pair->reserved_bytes =
		class->reserved_given ? class->reserved_bytes : port_frame_bytes(port);
	pair->mean_bytes = mean_bytes(config, port, class->rdma_mtu_bytes);
	headroom_compute(&input, &pair->headroom);
	if (!sends_pauses(port))
		return true;
	if (pair->headroom.total_bytes > UINT32_MAX) {
		config_fail(config, errors, config_mark_of(config, "ports[%u].cable", index),
			    "port %s needs %s of headroom for class %s, at most 4.2 GB can be: a "
			    "shorter cable, or smaller nic_delay and peer_response",
			    port->name, buffer_text(pair->headroom.total_bytes, text, sizeof(text)),
			    class->name);
		return false;
	}
	pair->headroom_bytes = (uint32_t)pair->headroom.total_bytes;
	pair->guard_buffers = (uint32_t)divide_up(pair->headroom_bytes, pair->mean_bytes);
	return true;
}

/* All pairs, and what they add up to. @return false: a message was left */
static bool plan_pairs(const struct config *config, const struct buffer_machine *machine,
		       struct buffer_plan *plan, struct config_errors *errors)
{
	bool right = true;

	plan->mean_bytes = UINT32_MAX;
	for (uint32_t i = 0; i < plan->port_count; i++) {
		const struct config_port *port = &config->ports[i];

		if (port_frame_bytes(port) > plan->frame_bytes_max)
			plan->frame_bytes_max = port_frame_bytes(port);
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			struct buffer_plan_pair *pair = &plan->pair[p * plan->port_count + i];

			if (!plan->class[p].lossless || port->trust == CONFIG_TRUST_NONE)
				continue;
			right &= plan_pair(config, machine, plan->class[p].class, i, pair, errors);
			plan->pair_count++;
			plan->reserved_bytes += pair->reserved_bytes;
			plan->headroom_pairs_bytes += pair->headroom_bytes;
			plan->headroom_buffers += pair->guard_buffers;
			if (pair->mean_bytes < plan->mean_bytes)
				plan->mean_bytes = pair->mean_bytes;
		}
	}
	/* Nothing is promised of lossy frames; they are taken to be alike. */
	for (uint32_t i = 0; i < plan->port_count && plan->pair_count == 0; i++) {
		uint32_t bytes = mean_bytes(config, &config->ports[i], CONFIG_RDMA_MTU_BYTES);

		plan->mean_bytes = bytes < plan->mean_bytes ? bytes : plan->mean_bytes;
	}
	return right;
}

/* The headroom of all in one, when the config says so. */
static void plan_headroom_pool(const struct config *config, struct buffer_plan *plan)
{
	uint32_t largest_bytes = 0;

	plan->headroom_bytes = plan->headroom_pairs_bytes;
	if (config->buffer.oversubscribe == 0)
		return;
	for (uint32_t i = 0; i < PRIORITY_COUNT * (uint32_t)plan->port_count; i++)
		if (plan->pair[i].headroom_bytes > largest_bytes)
			largest_bytes = plan->pair[i].headroom_bytes;
	plan->headroom_bytes = divide_up(plan->headroom_pairs_bytes, config->buffer.oversubscribe);
	if (plan->headroom_bytes < largest_bytes)
		plan->headroom_bytes = largest_bytes;
	plan->headroom_buffers = divide_up(plan->headroom_bytes, plan->mean_bytes);
}

static void fail_guard(const struct config *config, const struct buffer_plan *plan,
		       struct config_errors *errors)
{
	char headroom[24];

	config_fail(config, errors, config_mark_of(config, "leaf.memory"),
		    "headroom of %u pairs (lossless class and port), %s, may take %" PRIu64
		    " buffers in frames of %u bytes on average, and rings and caches hold %u: that "
		    "is all of the %u there are: more memory, fewer lossless classes, shorter "
		    "cables, or fewer small_frames",
		    plan->pair_count, buffer_text(plan->headroom_bytes, headroom, sizeof(headroom)),
		    plan->headroom_buffers, plan->mean_bytes, plan->held_buffers, plan->buffers);
}

static void fail_space(const struct config *config, const struct buffer_plan *plan,
		       struct config_errors *errors)
{
	char headroom[24], reserved[24], overshoot[24], hold[24], lossy[24], pool[24];

	config_fail(
		config, errors, config_mark_of(config, "leaf.memory"),
		"headroom of %u pairs (lossless class and port) %s, reserve %s, bursts %s, what may be "
		"held to restore order %s and the share of lossy classes %s leave nothing of %s (%u buffers of %u bytes on "
		"average, %u in rings and caches): more memory, fewer lossless classes or "
		"shorter cables",
		plan->pair_count, buffer_text(plan->headroom_bytes, headroom, sizeof(headroom)),
		buffer_text(plan->reserved_bytes, reserved, sizeof(reserved)),
		buffer_text(plan->overshoot_bytes, overshoot, sizeof(overshoot)),
		buffer_text(plan->hold_bytes, hold, sizeof(hold)),
		buffer_text(plan->lossy_bytes, lossy, sizeof(lossy)),
		buffer_text(plan->pool_bytes, pool, sizeof(pool)), plan->buffers, plan->mean_bytes,
		plan->held_buffers);
}

/* For in-order spray. */
static void plan_hold(const struct config *config, struct buffer_plan *plan, uint64_t space_bytes)
{
	const struct config_spray *spray = &config->balance.spray;
	uint64_t most = spray->hold_auto ? space_bytes / 4 : space_bytes;

	if (spray->peer_count == 0)
		return;
	plan->hold_max_bytes = spray->hold_auto ? CONFIG_HOLD_MAX_AUTO : spray->hold_max_bytes;
	plan->hold_bytes = plan->hold_max_bytes < most ? plan->hold_max_bytes : most;
	plan->hold_buffers = (uint32_t)(plan->hold_bytes / plan->mean_bytes);
	most = (uint64_t)plan->hold_buffers * plan->frame_bytes_max;
	if (plan->hold_max_bytes > most)
		plan->hold_max_bytes = most;
}

/* From buffers to bytes. @return false: a message was left */
static bool plan_pool(const struct config *config, const struct buffer_machine *machine,
		      struct buffer_plan *plan, struct config_errors *errors)
{
	uint64_t guard, space_bytes, used_bytes;

	plan->buffers = machine->buffers;
	plan->held_buffers = machine->held_buffers;
	plan->overshoot_bytes =
		(uint64_t)machine->workers * BUFFER_BURST_PACKETS * plan->frame_bytes_max;
	guard = plan->headroom_buffers + plan->held_buffers;
	if (guard >= plan->buffers) {
		fail_guard(config, plan, errors);
		return false;
	}
	plan->guard_buffers = (uint32_t)guard;
	space_bytes = (plan->buffers - guard) * plan->mean_bytes;
	plan->pool_bytes = space_bytes + plan->headroom_bytes;
	plan_hold(config, plan, space_bytes);
	space_bytes -= plan->hold_bytes;
	plan->lossy_bytes = headroom_scale(space_bytes, config->buffer.lossy_max_ppm, PPM);
	if (plan->pair_count == 0)
		plan->lossy_bytes = space_bytes > plan->overshoot_bytes
					    ? space_bytes - plan->overshoot_bytes
					    : 0;
	used_bytes = plan->reserved_bytes + plan->overshoot_bytes + plan->lossy_bytes;
	plan->lossy_buffers = (uint32_t)(plan->lossy_bytes / plan->mean_bytes);
	if (plan->lossy_bytes < plan->frame_bytes_max ||
	    (plan->pair_count > 0 && space_bytes < used_bytes + plan->frame_bytes_max)) {
		fail_space(config, plan, errors);
		return false;
	}
	plan->shared_bytes = space_bytes - used_bytes;
	return true;
}

/* Where each class is paused, see the header. */
static void plan_levels(const struct config *config, struct buffer_plan *plan)
{
	uint64_t alphas_q8 = 0, rest_bytes = plan->shared_bytes;

	for (uint32_t i = 0; i < PRIORITY_COUNT * (uint32_t)plan->port_count; i++) {
		uint32_t alpha_q8 = plan->class[i / plan->port_count].alpha_q8;

		if (!plan->pair[i].lossless)
			continue;
		alphas_q8 += alpha_q8;
		rest_bytes = headroom_scale(rest_bytes, BUFFER_ALPHA_ONE_Q8,
					    BUFFER_ALPHA_ONE_Q8 + alpha_q8);
	}
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		struct buffer_plan_class *class = &plan->class[p];
		uint64_t shared = plan->shared_bytes;

		if (!class->lossless)
			continue;
		class->equal_bytes =
			headroom_scale(shared, class->alpha_q8, BUFFER_ALPHA_ONE_Q8 + alphas_q8);
		class->alone_bytes = headroom_scale(shared, class->alpha_q8,
						    BUFFER_ALPHA_ONE_Q8 + class->alpha_q8);
		class->floor_bytes =
			headroom_scale(rest_bytes, class->alpha_q8, BUFFER_ALPHA_ONE_Q8);
		class->xon_offset_bytes =
			config->buffer.xon_offset_auto
				? 2 * (class->class->rdma_mtu_bytes + BUFFER_RDMA_HEADER_BYTES_MAX)
				: config->buffer.xon_offset_bytes;
	}
}

static void fail_level(const struct config *config, const struct buffer_plan *plan,
		       const struct buffer_plan_class *class, struct config_errors *errors)
{
	char shared[24];

	config_fail(config, errors, config_mark_of(config, "leaf.memory"),
		    "class %s would be paused at %" PRIu64
		    " bytes, less than a frame of %u, with %u "
		    "pairs congested alike (alpha*B/(1+n*alpha), B = %s): more memory, a larger "
		    "alpha, fewer lossless classes or shorter cables",
		    class->class->name, class->equal_bytes, plan->frame_bytes_max, plan->pair_count,
		    buffer_text(plan->shared_bytes, shared, sizeof(shared)));
}

/* Hysteresis: xon below xoff, and within reach. */
static void check_xon(const struct config *config, const struct buffer_plan *plan, uint32_t p,
		      struct config_errors *errors)
{
	const struct buffer_plan_class *class = &plan->class[p];
	struct config_mark mark = config_mark_of(config, "buffer.xon_offset");
	uint64_t offset_bytes = class->xon_offset_bytes;

	for (uint32_t i = 0; i < plan->port_count; i++) {
		const struct buffer_plan_pair *pair = buffer_plan_pair(plan, p, i);
		uint64_t xoff_bytes = pair->reserved_bytes + class->equal_bytes;
		uint64_t alone_bytes = pair->reserved_bytes + class->alone_bytes;

		if (!pair->lossless)
			continue;
		if (offset_bytes == 0 && pair->reserved_bytes == 0) {
			config_fail(config, errors, mark,
				    "class %s on port %s: xon at %" PRIu64 " bytes must be below "
				    "xoff at %" PRIu64 ": write xon_offset: auto, or a size",
				    class->class->name, config->ports[i].name, class->equal_bytes,
				    xoff_bytes);
			return;
		}
		if (offset_bytes >= alone_bytes) {
			config_fail(config, errors, mark,
				    "xon_offset %" PRIu64
				    " bytes is not below what xoff of class %s "
				    "on port %s can be at most, %" PRIu64
				    " bytes: write a smaller one, or auto",
				    offset_bytes, class->class->name, config->ports[i].name,
				    alone_bytes);
			return;
		}
	}
}

static void check_levels(const struct config *config, const struct buffer_plan *plan,
			 struct config_errors *errors)
{
	for (uint32_t p = 0; p < PRIORITY_COUNT && plan->pair_count > 0; p++) {
		const struct buffer_plan_class *class = &plan->class[p];

		if (!class->lossless)
			continue;
		if (class->equal_bytes < plan->frame_bytes_max)
			fail_level(config, plan, class, errors);
		else
			check_xon(config, plan, p, errors);
	}
}

static bool check_frames(const struct config *config, const struct buffer_machine *machine,
			 const struct buffer_plan *plan, struct config_errors *errors)
{
	if (machine->data_bytes == 0 || plan->frame_bytes_max <= machine->data_bytes)
		return true;
	config_fail(config, errors, config_mark_of(config, "ports"),
		    "the longest frame has %u bytes, a buffer holds %u", plan->frame_bytes_max,
		    machine->data_bytes);
	return false;
}

int buffer_plan_create(const struct config *config, const struct buffer_machine *machine,
		       struct buffer_plan *plan, struct config_errors *errors)
{
	uint32_t before = errors->count + errors->dropped;
	size_t entries = (size_t)PRIORITY_COUNT * config->port_count;

	*plan = (struct buffer_plan){.port_count = config->port_count};
	plan->pair = calloc(entries, sizeof(*plan->pair));
	plan->queue = calloc(entries, sizeof(*plan->queue));
	if (plan->pair == NULL || plan->queue == NULL) {
		buffer_plan_free(plan);
		return -ENOMEM;
	}
	for (uint8_t i = 0; i < config->class_count; i++) {
		const struct config_class *class = &config->classes[i];

		plan->class[class->priority] = (struct buffer_plan_class){
			.class = class, .lossless = class->lossless, .alpha_q8 = class->alpha_q8};
	}
	if (plan_pairs(config, machine, plan, errors) &&
	    check_frames(config, machine, plan, errors)) {
		plan_headroom_pool(config, plan);
		if (plan_pool(config, machine, plan, errors)) {
			plan_levels(config, plan);
			check_levels(config, plan, errors);
			if (errors->count + errors->dropped == before)
				buffer_plan_marks(config, machine, plan, errors);
		}
	}
	if (errors->count + errors->dropped == before)
		return 0;
	buffer_plan_free(plan);
	return -EINVAL;
}

void buffer_plan_free(struct buffer_plan *plan)
{
	free(plan->pair);
	free(plan->queue);
	*plan = (struct buffer_plan){0};
}
