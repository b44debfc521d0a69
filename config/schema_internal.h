/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema_internal - what the files of the schema engine share; nobody else includes it.
 */
#ifndef CONFIG_SCHEMA_INTERNAL_H
#define CONFIG_SCHEMA_INTERNAL_H

#include "config/schema.h"

struct schema_document {
	char *path;
	struct schema_memory memory; /* nodes and their texts */
	struct schema_node *root;
	uint32_t node_count;
	struct config_errors *errors; /* of the running call */
};

/* A text from outside as it may stand in a message: short, printable. */
struct schema_quoted {
	char text[72];
};
struct schema_quoted schema_quote(const char *text);

/** Make a node the last child of its parent. */
static inline void schema_node_append(struct schema_node *parent, struct schema_node *node)
{
	if (parent->last != NULL)
		parent->last->next = node;
	else
		parent->first = node;
	parent->last = node;
	parent->child_count++;
}

/** @return a copy in memory, or NULL when there is none */
char *schema_memory_copy(struct schema_memory *memory, const char *text, size_t size);

/** Which word of a list of known ones was probably meant; NULL when none is near. */
struct schema_nearest {
	const char *word; /* NULL: none near enough */
	uint32_t distance;
};
/** Take `known` into account. Start with {0}. */
void schema_nearest_offer(struct schema_nearest *nearest, const char *written, const char *known);

/** Write an integer into a field of 1, 2, 4 or 8 bytes. */
void schema_store(void *field, uint32_t size, uint64_t value);

/** What a type is called, with a right example: "a rate, such as 100G or 2.5G". */
const char *schema_type_name(const struct schema_row *row);
const char *schema_type_example(const struct schema_row *row);
/** Range of a row in its own notation, "" when it has none. @return buffer */
const char *schema_format_range(const struct schema_row *row, char *buffer, size_t size);

/** Read YAML into a tree of nodes below the document; origin: see schema_node. */
struct schema_node *schema_build(struct schema_document *document, const char *text, size_t size,
				 const char *origin);

#endif
