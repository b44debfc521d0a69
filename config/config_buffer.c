/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules of buffer and watchdog: what is said of classes by name, and defaults that depend on others.
 */
#include "config/schema_leaf.h"

#include <errno.h>
#include <string.h>

#define ALPHA_ONE_Q8 256u

#define WATCHDOG_POLL_PS_MIN (100 * PS_PER_MS)
#define WATCHDOG_POLL_PS_MAX PS_PER_S

static struct config_class *class_by_name(struct config *config, const char *name)
{
	for (uint8_t i = 0; i < config->class_count; i++) {
		if (strcmp(config->classes[i].name, name) == 0)
			return &config->classes[i];
	}
	return NULL;
}

/* @return the class of that name, or NULL: a message was left */
static struct config_class *find_class(struct schema_document *document, struct schema_node *node,
				       struct config *config, const char *key, const char *name)
{
	struct config_class *class = class_by_name(config, name);
	char names[PRIORITY_COUNT * (CONFIG_NAME_BYTES + 2)] = "";
	size_t used = 0;

	if (class != NULL)
		return class;
	for (uint8_t i = 0; i < config->class_count && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 i == 0 ? "" : ", ", config->classes[i].name);
	schema_fail_key(document, node, "%s names class %s, which there isn't: known are %s", key,
			name, names);
	return NULL;
}

static void take_alphas(struct schema_document *document, struct schema_node *node,
			struct config *config)
{
	struct schema_node *child = node->first;

	for (uint16_t i = 0; i < config->buffer.alpha_count && child != NULL; i++) {
		const struct config_class_ratio *alpha = &config->buffer.alphas[i];
		struct config_class *class = NULL;

		if (!child->refused)
			class = find_class(document, child, config, "alpha", alpha->name);
		/* To the nearest; the range keeps it within 1..32768. */
		if (class != NULL)
			class->alpha_q8 =
				(uint32_t)((UINT64_C(512) * alpha->ratio[0] + alpha->ratio[1]) /
					   (UINT64_C(2) * alpha->ratio[1]));
		child = child->next;
	}
}

static void take_reserves(struct schema_document *document, struct schema_node *node,
			  struct config *config)
{
	struct schema_node *child = node->first;

	for (uint16_t i = 0; i < config->buffer.reserve_count && child != NULL; i++) {
		const struct config_class_size *reserved = &config->buffer.reserves[i];
		struct config_class *class = NULL;

		if (!child->refused)
			class = find_class(document, child, config, "reserved", reserved->name);
		if (class != NULL && !class->lossless)
			schema_fail_key(document, child,
					"reserved is for lossless classes and class %s is lossy: "
					"what lossy classes have is lossy_max",
					class->name);
		if (class != NULL) {
			class->reserved_bytes = reserved->bytes;
			class->reserved_given = true;
		}
		child = child->next;
	}
}

static void complete_classes(struct config *config)
{
	for (uint8_t i = 0; i < config->class_count; i++) {
		struct config_class *class = &config->classes[i];

		class->alpha_q8 = ALPHA_ONE_Q8;
		class->wred = class->wred_curve.max_bytes != 0;
		if (!class->ecn_given)
			class->ecn = class->lossless ? CONFIG_ECN_AUTO : CONFIG_ECN_OFF;
		if (class->rdma_mtu_bytes == 0)
			class->rdma_mtu_bytes = CONFIG_RDMA_MTU_BYTES;
	}
}

static void complete_watchdog(struct schema_document *document, struct schema_node *node,
			      struct config_watchdog *watchdog)
{
	char poll[32], bound[32];
	uint64_t shorter_ps;

	if (watchdog->restore_ps == 0)
		watchdog->restore_ps = 2 * watchdog->detect_ps;
	shorter_ps = watchdog->detect_ps < watchdog->restore_ps ? watchdog->detect_ps
								: watchdog->restore_ps;
	if (watchdog->poll_auto) {
		watchdog->poll_ps = shorter_ps / 2;
		if (watchdog->poll_ps < WATCHDOG_POLL_PS_MIN)
			watchdog->poll_ps = WATCHDOG_POLL_PS_MIN;
		if (watchdog->poll_ps > WATCHDOG_POLL_PS_MAX)
			watchdog->poll_ps = WATCHDOG_POLL_PS_MAX;
	} else if (watchdog->poll_ps > shorter_ps) {
		schema_fail(
			document, schema_child(node, "poll"),
			"poll %s is longer than the smaller of detect and restore, %s: a stuck "
			"queue would be seen too late",
			schema_format_number(SCHEMA_TIME, watchdog->poll_ps, poll, sizeof(poll)),
			schema_format_number(SCHEMA_TIME, shorter_ps, bound, sizeof(bound)));
	}
}

int config_buffer_complete(struct schema_document *document, struct schema_node *node,
			   struct config *config)
{
	struct config_errors *errors = schema_errors(document);
	struct schema_node *buffer = schema_find(node, "buffer");
	struct schema_node *watchdog = schema_find(node, "watchdog");
	uint32_t before = errors->count + errors->dropped;

	complete_classes(config);
	if (buffer != NULL && schema_find(buffer, "alpha") != NULL)
		take_alphas(document, schema_find(buffer, "alpha"), config);
	if (buffer != NULL && schema_find(buffer, "reserved") != NULL)
		take_reserves(document, schema_find(buffer, "reserved"), config);
	if (watchdog == NULL || !watchdog->refused)
		complete_watchdog(document, watchdog != NULL ? watchdog : node, &config->watchdog);
	return errors->count + errors->dropped == before ? 0 : -EINVAL;
}
