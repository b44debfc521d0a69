/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema_leaf - the tables of leaf.yaml, for config.c, and the parts of them that other files take in.
 *
 * A lab scenario has a leaf's classes below `leaf:`. Its table takes the rows in by CONFIG_CLASSES_ROWS,
 * CONFIG_BUFFER_ROWS and CONFIG_BALANCE_ROWS (they store into a struct config), and calls config_classes_complete() and
 * config_buffer_complete() after schema_check():
 *
 *	static const struct schema_row leaf_rows[] = {CONFIG_CLASSES_ROWS, CONFIG_BUFFER_ROWS, {0}};
 *	static const struct schema_table leaf_table = {"a leaf", leaf_rows};
 *	{"leaf", SCHEMA_MAP, SCHEMA_FIELD(struct scenario, config), .table = &leaf_table}
 *	...
 *	config_classes_complete(document, schema_at(document, "leaf.classes"), &scenario.config);
 *	config_buffer_complete(document, schema_at(document, "leaf"), &scenario.config);
 *
 * Thread: any.
 */
#ifndef CONFIG_SCHEMA_LEAF_H
#define CONFIG_SCHEMA_LEAF_H

#include "config/config.h"
#include "config/schema.h"

extern const struct schema_table config_table;       /* all of leaf.yaml, into struct config */
extern const struct schema_table config_class_table; /* one class, into struct config_class */
extern const struct schema_word config_class_presets[];
extern const struct schema_table config_buffer_table;    /* into struct config_buffer */
extern const struct schema_table config_watchdog_table;  /* into struct config_watchdog */
extern const struct schema_table config_telemetry_table; /* into struct config_telemetry */
extern const struct schema_table config_balance_table;   /* into struct config_balance */
extern const struct schema_word config_balance_words[];

#define CONFIG_CLASSES_ROWS                                                                        \
	{"classes",                                                                                \
	 SCHEMA_ENUM,                                                                              \
	 SCHEMA_FIELD(struct config, class_preset),                                                \
	 .words = config_class_presets,                                                            \
	 .flags = SCHEMA_RELOADABLE,                                                               \
	 .fallback_help = "roce, cnp, control, best-effort",                                       \
	 .help = "The traffic classes: a preset, or a list."},                                     \
	{                                                                                          \
		"classes", SCHEMA_MAP, SCHEMA_ARRAY(struct config, classes, class_count),          \
			.table = &config_class_table, .flags = SCHEMA_RELOADABLE | SCHEMA_NONEMPTY \
	}

#define CONFIG_BUFFER_ROWS                                                                   \
	{"buffer",                                                                           \
	 SCHEMA_MAP,                                                                         \
	 SCHEMA_FIELD(struct config, buffer),                                                \
	 .table = &config_buffer_table,                                                      \
	 .flags = SCHEMA_RELOADABLE,                                                         \
	 .help = "How the packet buffer is shared."},                                        \
	{                                                                                    \
		"watchdog", SCHEMA_MAP, SCHEMA_FIELD(struct config, watchdog),               \
			.table = &config_watchdog_table, .flags = SCHEMA_RELOADABLE,         \
			.help = "What happens to a lossless queue that pauses hold for too " \
				"long."                                                      \
	}

#define CONFIG_BALANCE_ROWS                                                                \
	{                                                                                  \
		"balance", SCHEMA_MAP, SCHEMA_FIELD(struct config, balance),               \
			.table = &config_balance_table, .flags = SCHEMA_RELOADABLE,        \
			.help = "How packets are spread over the next hops of a route. A " \
				"class or a route may have its own mode."                  \
	}

/**
 * Fill in the preset or the default classes, the default class and what falls to it, and check what
 * classes have in common. Afterwards config->classes is complete.
 * @param node the value of `classes`, or what should hold it; names the place of messages
 * @return 0, or -EINVAL: messages were left with the document's errors
 */
int config_classes_complete(struct schema_document *document, struct schema_node *node,
			    struct config *config);

/**
 * What `buffer` says of classes goes into the classes; defaults of buffer, marking and watchdog that
 * depend on other keys. After config_classes_complete(). A class whose rdma_mtu_bytes is still 0 gets
 * CONFIG_RDMA_MTU_BYTES.
 * @param node the mapping that holds `classes`, `buffer` and `watchdog`; names the place of messages
 * @return 0, or -EINVAL: messages were left with the document's errors
 */
int config_buffer_complete(struct schema_document *document, struct schema_node *node,
			   struct config *config);

#endif
