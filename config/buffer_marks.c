/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marking curves, and that they lie below the pause.
 */
#include "config/buffer_internal.h"

#include <inttypes.h>

/* The packet that crosses and the one that departs. */
#define MARK_SLACK_FRAMES 2u

/* 1 KB per Gb/s, in bits per second. */
#define BPS_PER_BYTE (UINT64_C(1000000000) / BUFFER_ECN_BYTES_PER_GBPS)

/* How deep a queue of the class may be while one pair fills it, less the slack. */
static uint64_t mark_room_bytes(const struct buffer_plan *plan,
				const struct buffer_plan_class *class)
{
	uint64_t slack_bytes = (uint64_t)MARK_SLACK_FRAMES * plan->frame_bytes_max;

	return class->equal_bytes > slack_bytes ? class->equal_bytes - slack_bytes : 0;
}

static void fail_auto(const struct config *config, const struct buffer_plan *plan,
		      const struct buffer_plan_class *class, uint32_t port, uint64_t least_bytes,
		      struct config_errors *errors)
{
	char least[24], equal[24], kmax[24];

	config_fail(
		config, errors,
		config_mark_of(config, "classes[%u].ecn", buffer_class_index(config, class)),
		"ecn auto of class %s on port %s: kmin of %u frames (%s) makes kmax %s, and with "
		"%u bytes of slack that is above %s, where %u pairs congested alike are "
		"paused: more memory, a larger alpha, fewer lossless classes, shorter cables, or "
		"allow_pfc_before_ecn",
		class->class->name, config->ports[port].name, BUFFER_ECN_FRAMES_MIN,
		buffer_text(least_bytes, least, sizeof(least)),
		buffer_text(4 * least_bytes, kmax, sizeof(kmax)),
		MARK_SLACK_FRAMES * plan->frame_bytes_max,
		buffer_text(class->equal_bytes, equal, sizeof(equal)), plan->pair_count);
}

/* @return false: a message was left */
static bool mark_auto(const struct config *config, uint64_t rate_bps, uint32_t port,
		      const struct buffer_plan *plan, const struct buffer_plan_class *class,
		      struct buffer_plan_queue *queue, struct config_errors *errors)
{
	uint64_t frame_bytes = config->ports[port].mtu_bytes + FRAME_HEADER_BYTES;
	uint64_t least_bytes = BUFFER_ECN_FRAMES_MIN * frame_bytes;
	uint64_t kmin_bytes = rate_bps / BPS_PER_BYTE;
	uint64_t room_bytes = mark_room_bytes(plan, class);

	if (kmin_bytes < least_bytes)
		kmin_bytes = least_bytes;
	if (4 * kmin_bytes > room_bytes) {
		queue->scaled = true;
		kmin_bytes = room_bytes / 4;
	}
	if (kmin_bytes < least_bytes) {
		if (!config->buffer.allow_pfc_before_ecn) {
			fail_auto(config, plan, class, port, least_bytes, errors);
			return false;
		}
		kmin_bytes = least_bytes;
	}
	queue->ecn = true;
	queue->ecn_curve = (struct config_curve){.min_bytes = (uint32_t)kmin_bytes,
						 .max_bytes = (uint32_t)(4 * kmin_bytes),
						 .pmax_ppm = BUFFER_ECN_PMAX_PPM};
	return true;
}

/* A curve of the user's, which is the same on all ports. */
static void check_curve(const struct config *config, const struct buffer_plan *plan,
			const struct buffer_plan_class *class, struct config_errors *errors)
{
	const struct config_curve *curve = &class->class->ecn_curve;
	char kmax[24], equal[24];

	if (class->class->ecn != CONFIG_ECN_CURVE || config->buffer.allow_pfc_before_ecn ||
	    curve->max_bytes <= mark_room_bytes(plan, class))
		return;
	config_fail(
		config, errors,
		config_mark_of(config, "classes[%u].ecn.kmax", buffer_class_index(config, class)),
		"kmax %s of class %s and two frames of %u bytes are above %s, where %u pairs "
		"congested alike are paused (alpha*B/(1+n*alpha)): at most %" PRIu64
		" bytes, or more memory, or allow_pfc_before_ecn: true in buffer",
		buffer_text(curve->max_bytes, kmax, sizeof(kmax)), class->class->name,
		plan->frame_bytes_max, buffer_text(class->equal_bytes, equal, sizeof(equal)),
		plan->pair_count, mark_room_bytes(plan, class));
}

/* However low a curve lies: an average is late. */
static void check_average(const struct config *config, const struct buffer_plan_class *class,
			  struct config_errors *errors)
{
	if (class->class->half_life_ps == 0 || config->buffer.allow_pfc_before_ecn)
		return;
	config_fail(
		config, errors,
		config_mark_of(config, "classes[%u].average", buffer_class_index(config, class)),
		"average of class %s, which is lossless: after a half-life of %" PRIu64
		" ns the average has come only half the way to a new depth, so that a burst "
		"pauses its senders before it marks: remove it, or allow_pfc_before_ecn: true in "
		"buffer",
		class->class->name, class->class->half_life_ps / PS_PER_NS);
}

void buffer_plan_marks(const struct config *config, const struct buffer_machine *machine,
		       struct buffer_plan *plan, struct config_errors *errors)
{
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		const struct buffer_plan_class *class = &plan->class[p];
		bool paused = class->lossless && plan->pair_count > 0;

		if (class->class == NULL)
			continue;
		if (paused) {
			check_average(config, class, errors);
			check_curve(config, plan, class, errors);
		}
		for (uint32_t i = 0; i < plan->port_count; i++) {
			struct buffer_plan_queue *queue = &plan->queue[p * plan->port_count + i];

			queue->half_life_ps = class->class->half_life_ps;
			queue->wred = class->class->wred;
			queue->wred_curve = class->class->wred_curve;
			queue->ecn = class->class->ecn == CONFIG_ECN_CURVE;
			queue->ecn_curve = class->class->ecn_curve;
			/* One complaint a class: the next port's would be the same. */
			if (class->class->ecn == CONFIG_ECN_AUTO && paused &&
			    !mark_auto(config, buffer_plan_rate_bps(config, machine, i), i, plan,
				       class, queue, errors))
				break;
			if (queue->ecn && paused && queue->ecn_curve.min_bytes > 0)
				queue->k = class->equal_bytes / queue->ecn_curve.min_bytes;
		}
	}
}
