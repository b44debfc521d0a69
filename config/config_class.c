/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classes: presets, what they may not share, and the class that takes the rest.
 */
#include "config/schema_leaf.h"

#include <errno.h>
#include <string.h>

#define BIT(n) (UINT64_C(1) << (n))

static const struct config_class default_classes[] = {
	{.name = "roce", .priority = 3, .dscp = BIT(26), .lossless = true, .weight = 60},
	{.name = "cnp", .priority = 6, .dscp = BIT(48), .strict = true, .max_rate_ppm = 200000},
	{.name = "control", .priority = 7, .dscp = BIT(56), .strict = true},
	{.name = "best-effort", .priority = 0, .weight = 20},
};

/* sonic-buildimage qos_config.j2: DSCP_TO_TC_MAP, DOT1P_TO_TC_MAP, SCHEDULER. */
static const struct config_class sonic_classes[] = {
	{.name = "tc0", .priority = 0, .dscp = BIT(8), .pcp = BIT(1), .weight = 14},
	{.name = "tc1", .priority = 1, .pcp = BIT(0), .weight = 14},
	{.name = "tc2", .priority = 2, .dscp = BIT(5), .pcp = BIT(2), .weight = 14},
	{.name = "tc3",
	 .priority = 3,
	 .dscp = BIT(3),
	 .pcp = BIT(3),
	 .lossless = true,
	 .weight = 15},
	{.name = "tc4",
	 .priority = 4,
	 .dscp = BIT(4),
	 .pcp = BIT(4),
	 .lossless = true,
	 .weight = 15},
	{.name = "tc5", .priority = 5, .dscp = BIT(46), .pcp = BIT(5), .weight = 14},
	{.name = "tc6", .priority = 6, .dscp = BIT(48), .pcp = BIT(6), .weight = 14},
};

static void take_preset(struct config *config, const struct config_class *classes, uint8_t count)
{
	memcpy(config->classes, classes, count * sizeof(*classes));
	config->class_count = count;
}

/* The member of a written set that holds a bit, or the set. */
static struct schema_node *member_node(struct schema_node *set, uint32_t bit)
{
	const struct schema_row row = {"", SCHEMA_SET, .size = sizeof(uint64_t), .max = 63};
	struct schema_node *member;
	char why[8];

	for (member = set->first; member != NULL; member = member->next) {
		uint64_t bits = 0;

		if (schema_parse_value(&row, member->text, &bits, why, sizeof(why)) == 0 &&
		    (bits & BIT(bit)) != 0)
			return member;
	}
	return set;
}

static void check_sets(struct schema_document *document, struct schema_node *node, const char *key,
		       uint64_t bits, uint64_t earlier_bits, const struct config_class *earlier)
{
	uint64_t common = bits & earlier_bits;
	uint32_t bit;

	if (common == 0)
		return;
	bit = (uint32_t)__builtin_ctzll(common);
	schema_fail(document, member_node(schema_child(node, key), bit),
		    "%s %u is in class %s already, in line %u", key, bit, earlier->name,
		    earlier->mark.line);
}

static void check_class_pair(struct schema_document *document, struct schema_node *node,
			     const struct config_class *class, const struct config_class *earlier)
{
	if (strcmp(class->name, earlier->name) == 0)
		schema_fail(document, schema_child(node, "name"),
			    "two classes are called %s: the first in line %u", class->name,
			    earlier->mark.line);
	if (class->priority == earlier->priority)
		schema_fail(document, schema_child(node, "priority"),
			    "priority %u is that of class %s already, in line %u", class->priority,
			    earlier->name, earlier->mark.line);
	check_sets(document, node, "dscp", class->dscp, earlier->dscp, earlier);
	check_sets(document, node, "pcp", class->pcp, earlier->pcp, earlier);
}

/* Classes that are right by themselves may still want the same. */
static void check_pairs(struct schema_document *document, struct schema_node *node,
			const struct config *config)
{
	bool refused[PRIORITY_COUNT];
	uint32_t i;
	uint32_t j;

	for (i = 0; i < config->class_count; i++) {
		struct schema_node *element = schema_element(node, i);

		refused[i] = element->refused;
		for (j = 0; j < i && !element->refused; j++) {
			if (!refused[j])
				check_class_pair(document, element, &config->classes[i],
						 &config->classes[j]);
		}
	}
}

/* The lossy, weighted class of lowest priority that names no DSCP. */
static bool find_default_class(struct config *config)
{
	bool found = false;
	uint8_t i;

	for (i = 0; i < config->class_count; i++) {
		const struct config_class *class = &config->classes[i];

		if (class->lossless || class->strict || class->dscp != 0)
			continue;
		if (!found || class->priority < config->classes[config->default_class].priority)
			config->default_class = i;
		found = true;
	}
	return found;
}

static void fail_no_default(struct schema_document *document, struct schema_node *node,
			    const struct config *config)
{
	uint32_t i;

	for (i = 0; i < config->class_count; i++) {
		const struct config_class *class = &config->classes[i];

		if (class->dscp != 0)
			continue;
		schema_fail(
			document, schema_element(node, i),
			"class %s is %s and names no dscp, so it would have to take what no "
			"class names, which only a class with a weight and losses may: name its "
			"dscp, and add {priority: 0, name: best-effort}",
			class->name, class->lossless ? "lossless" : "strict");
		return;
	}
	schema_fail(document, node,
		    "no class takes the DSCPs that none names: add one without dscp, lossless and "
		    "strict, such as {priority: 0, name: best-effort}");
}

/* What nobody names: a PCP goes to the class of that priority, the rest to the default class. */
static void fill_rest(struct config *config)
{
	struct config_class *fallback = &config->classes[config->default_class];
	uint64_t dscp = 0;
	uint32_t pcp = 0;
	uint32_t i;

	for (i = 0; i < config->class_count; i++) {
		dscp |= config->classes[i].dscp;
		pcp |= config->classes[i].pcp;
	}
	for (i = 0; i < config->class_count; i++) {
		struct config_class *class = &config->classes[i];

		if (class->pcp == 0 && (pcp & BIT(class->priority)) == 0) {
			class->pcp = (uint8_t)BIT(class->priority);
			pcp |= class->pcp;
		}
	}
	fallback->dscp |= ~dscp;
	fallback->pcp |= (uint8_t)(~pcp & 0xff);
}

int config_classes_complete(struct schema_document *document, struct schema_node *node,
			    struct config *config)
{
	struct config_errors *errors = schema_errors(document);
	uint32_t before = errors->count + errors->dropped;
	bool written = node->key != NULL && strcmp(node->key, "classes") == 0;

	if (config->class_preset == CONFIG_CLASSES_SONIC)
		take_preset(config, sonic_classes,
			    sizeof(sonic_classes) / sizeof(sonic_classes[0]));
	else if (!written)
		take_preset(config, default_classes,
			    sizeof(default_classes) / sizeof(default_classes[0]));
	else
		check_pairs(document, node, config);
	if (errors->count + errors->dropped != before || (written && node->refused))
		return -EINVAL;
	if (!find_default_class(config)) {
		fail_no_default(document, node, config);
		return -EINVAL;
	}
	fill_rest(config);
	return 0;
}
