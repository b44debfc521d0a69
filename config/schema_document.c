/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct schema_block {
	struct schema_block *previous;
	max_align_t bytes[];
};

void *schema_memory_alloc(struct schema_memory *memory, size_t bytes)
{
	struct schema_block *block;

	if (bytes > SIZE_MAX - sizeof(*block))
		return NULL;
	block = calloc(1, sizeof(*block) + bytes);
	if (block == NULL)
		return NULL;
	block->previous = memory->last;
	memory->last = block;
	return block->bytes;
}

char *schema_memory_copy(struct schema_memory *memory, const char *text, size_t size)
{
	char *copy = schema_memory_alloc(memory, size + 1);

	if (copy != NULL && size > 0)
		memcpy(copy, text, size);
	return copy;
}

void schema_memory_free(struct schema_memory *memory)
{
	while (memory->last != NULL) {
		struct schema_block *block = memory->last;

		memory->last = block->previous;
		free(block);
	}
}

struct schema_quoted schema_quote(const char *text)
{
	struct schema_quoted quoted = {{0}};
	size_t room = sizeof(quoted.text) - 4;
	size_t length = 0;

	for (; *text != '\0' && length < room; text++)
		quoted.text[length++] = isprint((unsigned char)*text) ? *text : '?';
	if (*text != '\0')
		memcpy(&quoted.text[length], "...", 4);
	return quoted;
}

/* A slot for one more error, or NULL when there are as many as are kept. */
static struct config_error *error_slot(struct config_errors *errors)
{
	if (errors->count < CONFIG_ERRORS_MAX)
		return &errors->error[errors->count++];
	errors->dropped++;
	return NULL;
}

__attribute__((format(printf, 5, 0))) static void fail_at(struct config_errors *errors,
							  const char *path, const char *origin,
							  struct config_mark mark,
							  const char *format, va_list arguments)
{
	struct config_error *error = error_slot(errors);
	int length;

	if (error == NULL)
		return;
	error->mark = mark;
	if (origin != NULL)
		length = snprintf(error->text, sizeof(error->text), "%s: ", origin);
	else if (mark.line == 0)
		length = snprintf(error->text, sizeof(error->text), "%s: ", path);
	else
		length = snprintf(error->text, sizeof(error->text), "%s:%u:%u: ", path, mark.line,
				  mark.column);
	if (length >= 0 && (size_t)length < sizeof(error->text))
		vsnprintf(error->text + length, sizeof(error->text) - (size_t)length, format,
			  arguments);
}

void schema_fail_mark(struct config_errors *errors, const char *path, struct config_mark mark,
		      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fail_at(errors, path, NULL, mark, format, arguments);
	va_end(arguments);
}

static int error_compare(const void *left, const void *right)
{
	const struct config_error *a = left;
	const struct config_error *b = right;

	if (a->mark.line != b->mark.line)
		return a->mark.line < b->mark.line ? -1 : 1;
	if (a->mark.column != b->mark.column)
		return a->mark.column < b->mark.column ? -1 : 1;
	return strcmp(a->text, b->text);
}

void schema_sort_errors(struct config_errors *errors)
{
	qsort(errors->error, errors->count, sizeof(errors->error[0]), error_compare);
}

static void refuse(struct schema_node *node)
{
	for (; node != NULL && !node->refused; node = node->parent)
		node->refused = true;
}

void schema_fail(struct schema_document *document, struct schema_node *node, const char *format,
		 ...)
{
	va_list arguments;

	va_start(arguments, format);
	fail_at(document->errors, document->path, node->origin, node->mark, format, arguments);
	va_end(arguments);
	refuse(node);
}

void schema_fail_key(struct schema_document *document, struct schema_node *node, const char *format,
		     ...)
{
	va_list arguments;

	va_start(arguments, format);
	fail_at(document->errors, document->path, node->origin,
		node->key != NULL ? node->key_mark : node->mark, format, arguments);
	va_end(arguments);
	refuse(node);
}

struct config_errors *schema_errors(struct schema_document *document)
{
	return document->errors;
}

struct schema_node *schema_root(const struct schema_document *document)
{
	return document->root;
}

struct schema_node *schema_find(struct schema_node *node, const char *key)
{
	struct schema_node *child;

	if (node->kind != SCHEMA_NODE_MAPPING)
		return NULL;
	for (child = node->first; child != NULL; child = child->next) {
		if (strcmp(child->key, key) == 0)
			return child;
	}
	return NULL;
}

struct schema_node *schema_child(struct schema_node *node, const char *key)
{
	struct schema_node *child = schema_find(node, key);

	return child != NULL ? child : node;
}

struct schema_node *schema_element(struct schema_node *node, uint32_t index)
{
	struct schema_node *child;

	if (node->kind != SCHEMA_NODE_LIST)
		return index == 0 ? node : NULL;
	for (child = node->first; child != NULL && index > 0; child = child->next)
		index--;
	return child;
}

/* The element whose `name` is this one. */
static struct schema_node *find_named(struct schema_node *list, const char *name)
{
	struct schema_node *child;

	if (list->kind != SCHEMA_NODE_LIST)
		return NULL;
	for (child = list->first; child != NULL; child = child->next) {
		struct schema_node *own_name = schema_find(child, "name");

		if (own_name != NULL && strcmp(own_name->text, name) == 0)
			return child;
	}
	return NULL;
}

#define STEP_BYTES 128

/* One step of a path. */
struct step {
	char text[STEP_BYTES];
	bool element; /* in brackets */
};

/*
 * Take the next step off a path that ends at `end`. @return what is left, at `end` when that was the
 * last step, or NULL when the path is malformed.
 */
static const char *step_next(const char *path, const char *end, struct step *step)
{
	const char *stop;
	size_t length;

	step->element = *path == '[';
	if (step->element) {
		path++;
		stop = memchr(path, ']', (size_t)(end - path));
		if (stop == NULL)
			return NULL;
	} else {
		for (stop = path; stop < end && *stop != '.' && *stop != '['; stop++)
			;
	}
	length = (size_t)(stop - path);
	if (length == 0 || length >= STEP_BYTES)
		return NULL;
	memcpy(step->text, path, length);
	step->text[length] = '\0';
	if (step->element)
		stop++;
	if (stop < end && *stop == '.') {
		stop++;
		return stop < end ? stop : NULL;
	}
	return stop < end && *stop != '[' ? NULL : stop;
}

/* The child that a step leads to, or NULL. */
static struct schema_node *step_child(struct schema_node *node, const struct step *step)
{
	char *end;
	unsigned long index;

	if (!step->element)
		return schema_find(node, step->text);
	if (!isdigit((unsigned char)step->text[0]))
		return find_named(node, step->text);
	index = strtoul(step->text, &end, 10);
	if (*end != '\0' || index >= SCHEMA_NODES_MAX)
		return find_named(node, step->text);
	return schema_element(node, (uint32_t)index);
}

struct schema_node *schema_at(const struct schema_document *document, const char *format, ...)
{
	struct schema_node *node = document->root;
	char path[4 * STEP_BYTES];
	const char *rest = path;
	const char *end;
	va_list arguments;
	struct step step;

	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	end = path + strlen(path);
	while (rest != NULL && rest < end) {
		struct schema_node *child;

		rest = step_next(rest, end, &step);
		child = rest != NULL ? step_child(node, &step) : NULL;
		if (child == NULL)
			break;
		node = child;
	}
	return node;
}

static struct schema_node *append_mapping(struct schema_document *document,
					  struct schema_node *parent, const char *key,
					  const char *origin)
{
	struct schema_node *node = schema_memory_alloc(&document->memory, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->kind = SCHEMA_NODE_MAPPING;
	node->text = "";
	node->key = schema_memory_copy(&document->memory, key, strlen(key));
	node->origin = origin;
	node->parent = parent;
	if (node->key == NULL)
		return NULL;
	schema_node_append(parent, node);
	return node;
}

/* Walk to the node that an override is about; make mappings on the way. NULL: a message was left. */
static struct schema_node *override_target(struct schema_document *document, const char *path,
					   const char *end, const char *origin)
{
	struct schema_node *node = document->root;
	struct step step;

	while (path < end) {
		struct schema_node *child;

		path = step_next(path, end, &step);
		if (path == NULL)
			break;
		child = step_child(node, &step);
		if (child == NULL && step.element) {
			schema_fail_mark(document->errors, origin, (struct config_mark){0},
					 "there is no element [%s]; the list has %u",
					 schema_quote(step.text).text,
					 node->kind == SCHEMA_NODE_LIST ? node->child_count : 0);
			return NULL;
		}
		if (child == NULL && node->kind != SCHEMA_NODE_MAPPING) {
			schema_fail_mark(
				document->errors, origin, (struct config_mark){0},
				"\"%s\" can't be set: what it should stand in is not a mapping",
				schema_quote(step.text).text);
			return NULL;
		}
		if (child == NULL)
			child = append_mapping(document, node, step.text, origin);
		if (child == NULL)
			return NULL;
		node = child;
	}
	if (path == NULL || node == document->root) {
		schema_fail_mark(document->errors, origin, (struct config_mark){0},
				 "not a path: write key.key=value or key[0].key=value");
		return NULL;
	}
	return node;
}

static void adopt_children(struct schema_node *node)
{
	struct schema_node *child;

	for (child = node->first; child != NULL; child = child->next)
		child->parent = node;
}

int schema_set(struct schema_document *document, const char *assignment,
	       struct config_errors *errors)
{
	const char *equals = strchr(assignment, '=');
	char origin[CONFIG_PATH_BYTES];
	struct schema_node *value;
	struct schema_node *node;
	char *kept;

	document->errors = errors;
	snprintf(origin, sizeof(origin), "--set %s", schema_quote(assignment).text);
	kept = schema_memory_copy(&document->memory, origin, strlen(origin));
	if (kept == NULL)
		return -ENOMEM;
	if (equals == NULL || equals == assignment) {
		schema_fail_mark(errors, kept, (struct config_mark){0},
				 "needs the form path=value, such as seed=5");
		return -EINVAL;
	}
	value = schema_build(document, equals + 1, strlen(equals + 1), kept);
	if (value == NULL)
		return -EINVAL;
	node = override_target(document, assignment, equals, kept);
	if (node == NULL)
		return -EINVAL;
	node->kind = value->kind;
	node->plain = value->plain;
	node->text = value->text;
	node->origin = kept;
	node->first = value->first;
	node->last = value->last;
	node->child_count = value->child_count;
	adopt_children(node);
	return 0;
}

void schema_free(struct schema_document *document)
{
	if (document == NULL)
		return;
	schema_memory_free(&document->memory);
	free(document->path);
	free(document);
}
