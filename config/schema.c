/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: a document, a table, a struct. Recursion is as deep as the tables, not as the document.
 */
#include "config/schema_internal.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define WHY_BYTES  256
#define LENGTH_MAX 65536

struct check {
	struct schema_document *document;
	struct schema_memory *memory;
};

static void check_mapping(const struct check *check, const struct schema_table *table,
			  struct schema_node *node, uint8_t *base);
static void check_value(const struct check *check, const struct schema_row *forms,
			uint32_t form_count, struct schema_node *node, uint8_t *base);

/* A table is our own: say at once what is wrong with it. */
static uint32_t count_rows(const struct schema_table *table)
{
	uint32_t count = 0;

	while (table->rows[count].key != NULL) {
		count++;
		assert(count <= SCHEMA_ROWS_MAX);
	}
	return count;
}

/* Rows of the same key stand next to each other. */
static uint32_t count_forms(const struct schema_row *row)
{
	uint32_t count = 1;

	while (row[count].key != NULL && strcmp(row[count].key, row->key) == 0)
		count++;
	return count;
}

static bool is_list(const struct schema_row *row)
{
	return row->shape == SCHEMA_MANY || row->shape == SCHEMA_HEAP;
}

static bool is_null(const struct schema_node *node)
{
	return node->kind == SCHEMA_NODE_SCALAR && node->plain &&
	       (node->text[0] == '\0' || strcmp(node->text, "null") == 0 ||
		strcmp(node->text, "~") == 0);
}

/* Could this form hold what was written, judged by its shape alone? */
static bool shape_fits(const struct schema_row *row, const struct schema_node *node)
{
	switch (node->kind) {
	case SCHEMA_NODE_MAPPING:
		return row->type == SCHEMA_MAP;
	case SCHEMA_NODE_LIST:
		return is_list(row) || row->type == SCHEMA_SET;
	case SCHEMA_NODE_SCALAR:
		break;
	}
	return row->type != SCHEMA_MAP;
}

static const char *shape_written(const struct schema_node *node)
{
	return node->kind == SCHEMA_NODE_MAPPING ? "a mapping"
	       : node->kind == SCHEMA_NODE_LIST  ? "a list"
						 : "a single value";
}

/* "a mapping: {kmin: 64KB, kmax: 64KB}": keys that are needed, or the first one. */
static void describe_mapping(const struct schema_row *row, char *buffer, size_t size)
{
	const struct schema_row *key = row->table->rows;
	bool first = true;
	size_t used;

	if (row->shape == SCHEMA_KEYED) {
		snprintf(buffer, size, "a mapping: {NAME: %s}", schema_type_example(&key[1]));
		return;
	}
	used = (size_t)snprintf(buffer, size, "a mapping: {");
	for (; key->key != NULL && used < size; key++) {
		int n;

		if (!first && (key->flags & SCHEMA_REQUIRED) == 0)
			continue;
		n = snprintf(buffer + used, size - used, "%s%s: %s", first ? "" : ", ", key->key,
			     schema_type_example(key));
		used += n > 0 ? (size_t)n : 0;
		first = false;
	}
	if (used < size)
		snprintf(buffer + used, size - used, "}");
}

static void describe_form(const struct schema_row *row, char *buffer, size_t size)
{
	if (row->type == SCHEMA_MAP && is_list(row))
		snprintf(buffer, size, "a list of mappings, each %s", row->table->name);
	else if (row->type == SCHEMA_MAP)
		describe_mapping(row, buffer, size);
	else
		snprintf(buffer, size, "%s, such as %s%s%s", schema_type_name(row),
			 is_list(row) ? "[" : "", schema_type_example(row),
			 is_list(row) ? "]" : "");
}

/* None of a key's forms fits: name them all. */
static void fail_forms(const struct check *check, const struct schema_row *forms,
		       uint32_t form_count, struct schema_node *node)
{
	char text[WHY_BYTES] = "";
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < form_count && used < sizeof(text); i++) {
		char form[128];
		int n;

		describe_form(&forms[i], form, sizeof(form));
		n = snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? ", or " : "", form);
		used += n > 0 ? (size_t)n : 0;
	}
	if (node->kind == SCHEMA_NODE_SCALAR)
		schema_fail(check->document, node, "%s \"%s\" doesn't fit: write %s", forms->key,
			    schema_quote(node->text).text, text);
	else
		schema_fail(check->document, node, "%s is %s: write %s", forms->key,
			    shape_written(node), text);
}

/* A text in memory of its own. */
static int parse_heap_text(const struct check *check, const struct schema_row *row,
			   const char *text, void *field, char *why)
{
	struct schema_row sized = *row;
	char *copy = schema_memory_alloc(check->memory, strlen(text) + 1);
	int rc;

	if (copy == NULL) {
		snprintf(why, WHY_BYTES, "is too much: out of memory");
		return -ENOMEM;
	}
	sized.size = (uint32_t)strlen(text) + 1;
	rc = schema_parse_value(&sized, text, copy, why, WHY_BYTES);
	if (rc == 0)
		memcpy(field, &copy, sizeof(copy));
	return rc;
}

static int parse_scalar(const struct check *check, const struct schema_row *row, const char *text,
			void *field, char *why)
{
	if (row->type == SCHEMA_TEXT)
		return parse_heap_text(check, row, text, field, why);
	return schema_parse_value(row, text, field, why, WHY_BYTES);
}

static void fail_scalar(const struct check *check, const char *key, struct schema_node *node,
			const char *why)
{
	schema_fail(check->document, node, "%s \"%s\" %s", key, schema_quote(node->text).text, why);
}

/* Members of a set: one value or a list of them, none twice. */
static void check_set(const struct check *check, const struct schema_row *row,
		      struct schema_node *node, void *field)
{
	struct schema_node *member = node->kind == SCHEMA_NODE_LIST ? node->first : node;
	struct schema_row copy = *row;
	uint64_t bits[4096 / 64]; /* VLANs are the largest set */
	uint32_t size = row->size;
	char why[WHY_BYTES];
	uint8_t *set = field;

	/* A member is parsed into an empty set, so that one that stands twice is seen. */
	for (; member != NULL; member = node->kind == SCHEMA_NODE_LIST ? member->next : NULL) {
		bool twice = false;
		uint32_t i;

		if (member->kind != SCHEMA_NODE_SCALAR) {
			schema_fail(check->document, member,
				    "%s holds %s: write a list of single values, such as [%s]",
				    row->key, shape_written(member), schema_type_example(row));
			continue;
		}
		memset(bits, 0, sizeof(bits));
		assert(size <= sizeof(bits));
		if (schema_parse_value(&copy, member->text, bits, why, sizeof(why)) != 0) {
			fail_scalar(check, row->key, member, why);
			continue;
		}
		for (i = 0; i < size; i++) {
			twice |= (set[i] & ((uint8_t *)bits)[i]) != 0;
			set[i] |= ((uint8_t *)bits)[i];
		}
		if (twice)
			schema_fail(check->document, member, "%s names %s twice", row->key,
				    schema_quote(member->text).text);
	}
}

static uint32_t list_capacity(const struct schema_row *row)
{
	if (row->shape == SCHEMA_MANY)
		return row->size / row->element_size;
	return row->length_max != 0 ? row->length_max : LENGTH_MAX;
}

/* One element as if it were a field: the row of an element of this list. */
static struct schema_row element_row(const struct schema_row *row)
{
	struct schema_row element = *row;

	element.shape = SCHEMA_ONE;
	element.offset = 0;
	element.size = row->element_size;
	element.mark_size = 0;
	element.given_size = 0;
	return element;
}

/* Room for the elements and the count. NULL: a message was left. */
static uint8_t *list_begin(const struct check *check, const struct schema_row *row,
			   struct schema_node *node, uint32_t count, uint8_t *base)
{
	uint8_t *elements = base + row->offset;

	if (count > list_capacity(row)) {
		schema_fail(check->document, node, "%s has %u elements: at most %u are possible",
			    row->key, count, list_capacity(row));
		return NULL;
	}
	if (count == 0 && (row->flags & SCHEMA_NONEMPTY) != 0) {
		schema_fail(check->document, node, "%s is empty: at least one element is needed",
			    row->key);
		return NULL;
	}
	if (row->shape != SCHEMA_MANY && count > 0) {
		elements = schema_memory_alloc(check->memory, (size_t)count * row->element_size);
		if (elements == NULL) {
			schema_fail(check->document, node, "%s: out of memory", row->key);
			return NULL;
		}
		memcpy(base + row->offset, &elements, sizeof(elements));
	}
	schema_store(base + row->count_offset, row->count_size, count);
	return elements;
}

static void check_list(const struct check *check, const struct schema_row *row,
		       struct schema_node *node, uint8_t *base)
{
	struct schema_node *child = node->kind == SCHEMA_NODE_LIST ? node->first : node;
	uint32_t count = node->kind == SCHEMA_NODE_LIST ? node->child_count : 1;
	uint8_t *elements = list_begin(check, row, node, count, base);
	struct schema_row element = element_row(row);

	for (; elements != NULL && child != NULL; elements += row->element_size) {
		if (is_null(child))
			schema_fail(check->document, child, "%s has an element without a value",
				    row->key);
		else
			check_value(check, &element, 1, child, elements);
		child = node->kind == SCHEMA_NODE_LIST ? child->next : NULL;
	}
}

/* A mapping with free keys: the first row of its table takes the key, the second the value. */
static void check_keyed(const struct check *check, const struct schema_row *row,
			struct schema_node *node, uint8_t *base)
{
	uint8_t *elements = list_begin(check, row, node, node->child_count, base);
	const struct schema_row *key_row = &row->table->rows[0];
	const struct schema_row *value_rows = &row->table->rows[1];
	struct schema_node *child = node->first;
	char why[WHY_BYTES];

	for (; elements != NULL && child != NULL; child = child->next) {
		struct schema_node *earlier = schema_find(node, child->key);

		if (earlier != child)
			schema_fail_key(check->document, child,
					"key \"%s\" stands twice: first in line %u",
					schema_quote(child->key).text, earlier->key_mark.line);
		if (parse_scalar(check, key_row, child->key, elements + key_row->offset, why) != 0)
			schema_fail_key(check->document, child, "%s: key \"%s\" %s", row->key,
					schema_quote(child->key).text, why);
		if (is_null(child))
			schema_fail_key(check->document, child, "%s has no value",
					schema_quote(child->key).text);
		else
			check_value(check, value_rows, count_forms(value_rows), child, elements);
		elements += row->element_size;
	}
}

/* A single value that stands for itself, in one of several forms: the first that reads it wins. */
static void check_scalar(const struct check *check, const struct schema_row *forms,
			 uint32_t form_count, struct schema_node *node, uint8_t *base)
{
	const struct schema_row *only = NULL;
	char why[WHY_BYTES] = "";
	uint32_t fitting = 0;
	uint32_t i;

	for (i = 0; i < form_count; i++) {
		const struct schema_row *row = &forms[i];
		int rc;

		if (!shape_fits(row, node))
			continue;
		if (is_list(row) || row->type == SCHEMA_SET) {
			/* A list of one, or a set: these leave their own messages, so they come last. */
			if (is_list(row))
				check_list(check, row, node, base);
			else
				check_set(check, row, node, base + row->offset);
			return;
		}
		rc = parse_scalar(check, row, node->text, base + row->offset, why);
		if (rc == 0)
			return;
		fitting++;
		only = row;
		if (rc != -EINVAL) {
			fail_scalar(check, row->key, node, why);
			return;
		}
	}
	if (fitting == 1 && form_count == 1)
		fail_scalar(check, only->key, node, why);
	else
		fail_forms(check, forms, form_count, node);
}

static void check_value(const struct check *check, const struct schema_row *forms,
			uint32_t form_count, struct schema_node *node, uint8_t *base)
{
	uint32_t i;

	if (node->kind == SCHEMA_NODE_SCALAR) {
		check_scalar(check, forms, form_count, node, base);
		return;
	}
	for (i = 0; i < form_count; i++) {
		const struct schema_row *row = &forms[i];

		/* A mapping in place of a list of mappings is more likely a forgotten dash. */
		if (!shape_fits(row, node) || (node->kind == SCHEMA_NODE_MAPPING && is_list(row)))
			continue;
		if (row->shape == SCHEMA_KEYED)
			check_keyed(check, row, node, base);
		else if (is_list(row))
			check_list(check, row, node, base);
		else if (row->type == SCHEMA_SET)
			check_set(check, row, node, base + row->offset);
		else
			check_mapping(check, row->table, node, base + row->offset);
		return;
	}
	fail_forms(check, forms, form_count, node);
}

/* Known keys of a table, for the message about one that isn't. */
static void list_keys(const struct schema_table *table, char *buffer, size_t size)
{
	const struct schema_row *row;
	size_t used = 0;

	buffer[0] = '\0';
	for (row = table->rows; row->key != NULL && used < size; row += count_forms(row)) {
		int n = snprintf(buffer + used, size - used, "%s%s", used > 0 ? ", " : "",
				 row->key);

		used += n > 0 ? (size_t)n : 0;
	}
}

static void fail_unknown(const struct check *check, const struct schema_table *table,
			 struct schema_node *node)
{
	struct schema_nearest nearest = {0};
	const struct schema_row *row;
	char keys[200];

	for (row = table->rows; row->key != NULL; row++)
		schema_nearest_offer(&nearest, node->key, row->key);
	list_keys(table, keys, sizeof(keys));
	if (nearest.word != NULL)
		schema_fail_key(check->document, node,
				"unknown key \"%s\" in %s: did you mean \"%s\"?",
				schema_quote(node->key).text, table->name, nearest.word);
	else
		schema_fail_key(check->document, node, "unknown key \"%s\" in %s: known are %s",
				schema_quote(node->key).text, table->name, keys);
}

/* A list or set as the comma separated text of a fallback. */
static void apply_fallback_list(const struct check *check, const struct schema_row *row,
				uint8_t *base)
{
	struct schema_row element = is_list(row) ? element_row(row) : *row;
	uint8_t *field = base + row->offset;
	const char *text = row->fallback;
	char why[WHY_BYTES];
	uint32_t count = 0;

	assert((row->shape != SCHEMA_HEAP) && "a list in memory of its own has no fallback");
	while (*text != '\0') {
		size_t length = strcspn(text, ",");
		char one[64];
		int rc;

		assert(length < sizeof(one));
		memcpy(one, text, length);
		one[length] = '\0';
		rc = parse_scalar(check, &element, one, field, why);
		assert(rc == 0 && "a fallback is a right value");
		(void)rc;
		count++;
		field += is_list(row) ? row->element_size : 0;
		text += length + (text[length] == ',' ? 1 : 0);
		text += strspn(text, " ");
	}
	if (is_list(row))
		schema_store(base + row->count_offset, row->count_size, count);
}

/* A key that wasn't written: its default. */
static void apply_fallback(const struct check *check, const struct schema_row *row, uint8_t *base)
{
	char why[WHY_BYTES];
	int rc;

	if (row->type == SCHEMA_MAP) {
		if (row->shape == SCHEMA_ONE && (row->flags & SCHEMA_OPTIONAL) == 0 &&
		    (row->table->flags & SCHEMA_ONE_OF) == 0)
			check_mapping(check, row->table, NULL, base + row->offset);
		return;
	}
	if (row->fallback == NULL)
		return;
	if (is_list(row) || row->type == SCHEMA_SET) {
		apply_fallback_list(check, row, base);
		return;
	}
	rc = parse_scalar(check, row, row->fallback, base + row->offset, why);
	assert(rc == 0 && "a fallback is a right value");
	(void)rc;
}

static void note_given(const struct schema_row *row, const struct schema_node *node, uint8_t *base)
{
	if (row->mark_size != 0)
		memcpy(base + row->mark_offset, &node->mark, sizeof(node->mark));
	if (row->given_size != 0)
		memcpy(base + row->given_offset, &(bool){true}, sizeof(bool));
}

/* The row of a key, or NULL. */
static const struct schema_row *find_row(const struct schema_table *table, const char *key)
{
	const struct schema_row *row;

	for (row = table->rows; row->key != NULL; row++) {
		if (strcmp(row->key, key) == 0)
			return row;
	}
	return NULL;
}

/* Every key that was written; notes by row index which were. */
static void check_written(const struct check *check, const struct schema_table *table,
			  struct schema_node *node, uint8_t *base,
			  struct schema_node *written[SCHEMA_ROWS_MAX])
{
	struct schema_node *child;

	for (child = node->first; child != NULL; child = child->next) {
		const struct schema_row *row = find_row(table, child->key);
		struct schema_node **slot;

		if (row == NULL) {
			fail_unknown(check, table, child);
			continue;
		}
		slot = &written[row - table->rows];
		if (*slot != NULL) {
			schema_fail_key(check->document, child,
					"key \"%s\" stands twice: first in line %u", row->key,
					(*slot)->key_mark.line);
			continue;
		}
		*slot = child;
		if (is_null(child)) {
			schema_fail_key(check->document, child, "%s has no value", row->key);
			continue;
		}
		note_given(row, child, base);
		check_value(check, row, count_forms(row), child, base);
	}
}

/* A table of which exactly one key may be written: note which. */
static void check_one_of(const struct check *check, const struct schema_table *table,
			 struct schema_node *node, uint8_t *base,
			 struct schema_node *written[SCHEMA_ROWS_MAX])
{
	uint32_t count = count_rows(table);
	uint32_t chosen = 0;
	char keys[200];
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (written[i] == NULL)
			continue;
		chosen++;
		schema_store(base + table->kind_offset, table->kind_size, table->rows[i].value);
	}
	/* An unknown key has had its message. */
	if (chosen == 1 || node->refused)
		return;
	list_keys(table, keys, sizeof(keys));
	schema_fail(check->document, node, "%s needs exactly one of the keys %s; it has %u",
		    table->name, keys, chosen);
}

/* node NULL: nothing was written, only defaults count. */
static void check_mapping(const struct check *check, const struct schema_table *table,
			  struct schema_node *node, uint8_t *base)
{
	struct schema_node *written[SCHEMA_ROWS_MAX] = {0};
	const struct schema_row *row;

	if (node != NULL) {
		if (table->mark_size != 0)
			memcpy(base + table->mark_offset, &node->mark, sizeof(node->mark));
		check_written(check, table, node, base, written);
	}
	if ((table->flags & SCHEMA_ONE_OF) != 0) {
		if (node != NULL)
			check_one_of(check, table, node, base, written);
	} else {
		for (row = table->rows; row->key != NULL; row += count_forms(row)) {
			uint32_t i;

			if (written[row - table->rows] != NULL)
				continue;
			if (node != NULL && (row->flags & SCHEMA_REQUIRED) != 0)
				schema_fail(check->document, node, "%s needs the key \"%s\"",
					    table->name, row->key);
			for (i = 0; i < count_forms(row); i++)
				apply_fallback(check, &row[i], base);
		}
	}
	if (node != NULL && table->check != NULL && !node->refused)
		table->check(check->document, node, base);
}

int schema_check(struct schema_document *document, const struct schema_table *table, void *out,
		 struct schema_memory *memory, struct config_errors *errors)
{
	struct check check = {.document = document, .memory = memory};
	uint32_t before = errors->count + errors->dropped;

	assert(table->struct_size > 0);
	document->errors = errors;
	memset(out, 0, table->struct_size);
	if (document->root->kind != SCHEMA_NODE_MAPPING)
		schema_fail(document, document->root, "%s is a mapping, not %s: write key: value",
			    table->name, shape_written(document->root));
	else
		check_mapping(&check, table, document->root, out);
	return errors->count + errors->dropped == before ? 0 : -EINVAL;
}
