/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From libfyaml's events to a tree of nodes. Events rather than libfyaml's own document, because they
 * carry a place for everything, let duplicate keys through, and need no recursion whatever the depth.
 */
#include "config/schema_internal.h"

#include <errno.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

struct builder {
	struct schema_document *document;
	const char *origin;
	struct fy_parser *parser;
	struct schema_node *root;
	struct schema_node *open; /* the list or mapping that is being filled, or NULL */
	char *key;                /* of the next value in a mapping; NULL: a key comes next */
	struct config_mark key_mark;
	struct config_mark last; /* of the last event that had a place */
	uint32_t documents;
	const char *text;
	size_t size; /* of the text */
};

/* A place for messages while the tree isn't there yet. */
static struct schema_node builder_place(const struct builder *builder)
{
	return (struct schema_node){.origin = builder->origin, .mark = builder->last};
}

static int builder_fail(struct builder *builder, const char *what)
{
	struct schema_node place = builder_place(builder);

	schema_fail(builder->document, &place, "%s", what);
	return -EINVAL;
}

static int builder_append(struct builder *builder, struct schema_node *node)
{
	struct schema_node *parent = builder->open;

	if (++builder->document->node_count > SCHEMA_NODES_MAX)
		return builder_fail(builder, "too much: more than 1000000 values in one file");
	node->origin = builder->origin;
	node->parent = parent;
	if (parent == NULL) {
		builder->root = node;
		return 0;
	}
	if (parent->kind == SCHEMA_NODE_MAPPING) {
		node->key = builder->key;
		node->key_mark = builder->key_mark;
		builder->key = NULL;
	}
	schema_node_append(parent, node);
	return 0;
}

static bool key_expected(const struct builder *builder)
{
	return builder->open != NULL && builder->open->kind == SCHEMA_NODE_MAPPING &&
	       builder->key == NULL;
}

static int builder_open(struct builder *builder, enum schema_kind kind)
{
	struct schema_memory *memory = &builder->document->memory;
	struct schema_node *node;
	int rc;

	if (key_expected(builder))
		return builder_fail(builder, "a key must be a single word");
	node = schema_memory_alloc(memory, sizeof(*node));
	if (node == NULL)
		return builder_fail(builder, "out of memory");
	node->kind = kind;
	node->text = "";
	node->mark = builder->last;
	rc = builder_append(builder, node);
	builder->open = node;
	return rc;
}

/* libfyaml's mark of a quoted text is behind the quote. */
static void mark_quote(struct builder *builder, enum fy_scalar_style style)
{
	if ((style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) &&
	    builder->last.column > 1)
		builder->last.column--;
}

/*
 * A line break within a quoted text (YAML 1.2 7.3.2): blanks around it go; one is a space, of several
 * all but the first stay. @return how many bytes of raw were used
 */
static size_t fold_lines(const char *raw, size_t size, char *out, size_t *length)
{
	size_t breaks = 0;
	size_t i;

	while (*length > 0 && (out[*length - 1] == ' ' || out[*length - 1] == '\t'))
		--*length;
	for (i = 0; i < size && strchr(" \t\r\n", raw[i]) != NULL; i++) {
		bool pair = raw[i] == '\r' && i + 1 < size && raw[i + 1] == '\n';

		breaks += (raw[i] == '\n' || raw[i] == '\r') && !pair;
	}
	if (breaks == 1)
		out[(*length)++] = ' ';
	for (; breaks > 1; breaks--)
		out[(*length)++] = '\n';
	return i;
}

/*
 * What stands between single quotes, decoded into a copy. Not by fy_token_get_text(), which in
 * libfyaml 0.7.12 loses memory when quotes are doubled. @return NULL: out of memory
 */
static char *single_quoted(const struct builder *builder, struct fy_token *token, size_t *size)
{
	const struct fy_mark *start = fy_token_start_mark(token);
	const struct fy_mark *end = fy_token_end_mark(token);
	const char *raw = builder->text + start->input_pos;
	size_t raw_size = end->input_pos - start->input_pos;
	char *copy = schema_memory_alloc(&builder->document->memory, raw_size + 1);
	size_t i = 0;

	*size = 0;
	while (copy != NULL && i < raw_size) {
		if (raw[i] == '\n' || raw[i] == '\r') {
			i += fold_lines(raw + i, raw_size - i, copy, size);
			continue;
		}
		copy[(*size)++] = raw[i];
		i += raw[i] == '\'' ? 2 : 1;
	}
	return copy;
}

static int builder_scalar(struct builder *builder, const struct fy_event_scalar_data *scalar)
{
	enum fy_scalar_style style = fy_token_scalar_style(scalar->value);
	struct schema_memory *memory = &builder->document->memory;
	struct schema_node *node;
	const char *text;
	size_t size = 0;
	char *copy;

	mark_quote(builder, style);
	if (style == FYSS_SINGLE_QUOTED) {
		copy = single_quoted(builder, scalar->value, &size);
	} else {
		text = fy_token_get_text(scalar->value, &size);
		if (text == NULL)
			size = 0;
		if (size > 0 && memchr(text, '\0', size) != NULL)
			return builder_fail(builder, "a text may not contain a NUL");
		copy = schema_memory_copy(memory, text, size);
	}
	if (copy == NULL)
		return builder_fail(builder, "out of memory");
	if (key_expected(builder)) {
		builder->key = copy;
		builder->key_mark = builder->last;
		return 0;
	}
	node = schema_memory_alloc(memory, sizeof(*node));
	if (node == NULL)
		return builder_fail(builder, "out of memory");
	node->kind = SCHEMA_NODE_SCALAR;
	node->text = copy;
	node->plain = style == FYSS_PLAIN;
	node->mark = builder->last;
	return builder_append(builder, node);
}

static int builder_event(struct builder *builder, struct fy_event *event)
{
	const struct fy_mark *mark = fy_event_start_mark(event);

	if (mark != NULL)
		builder->last = (struct config_mark){.line = (uint32_t)mark->line + 1,
						     .column = (uint32_t)mark->column + 1};
	if (event->type == FYET_ALIAS || fy_event_get_anchor_token(event) != NULL)
		return builder_fail(builder, "anchors (&) and aliases (*) are not supported: write "
					     "the value out, or quote it when it is a text");
	if (fy_event_get_tag_token(event) != NULL)
		return builder_fail(builder, "tags (!) are not supported: leave it out, or quote "
					     "the text");
	switch (event->type) {
	case FYET_DOCUMENT_START:
		if (builder->documents++ > 0)
			return builder_fail(builder, "a second document: a file holds one");
		return 0;
	case FYET_MAPPING_START:
		return builder_open(builder, SCHEMA_NODE_MAPPING);
	case FYET_SEQUENCE_START:
		return builder_open(builder, SCHEMA_NODE_LIST);
	case FYET_MAPPING_END:
	case FYET_SEQUENCE_END:
		builder->open = builder->open != NULL ? builder->open->parent : NULL;
		return 0;
	case FYET_STREAM_END:
		/* Never take half a file for a whole one. */
		if (mark != NULL && mark->input_pos < builder->size)
			return builder_fail(builder, "not valid YAML: reading ended here");
		return 0;
	case FYET_SCALAR:
		return builder_scalar(builder, &event->scalar);
	default:
		return 0;
	}
}

/* The first tab in an indentation, which YAML forbids and eyes don't see. */
static bool find_tab(const char *text, size_t size, struct config_mark *mark)
{
	bool indentation = true;
	size_t i;

	*mark = (struct config_mark){1, 1};
	for (i = 0; i < size; i++) {
		if (text[i] == '\n') {
			*mark = (struct config_mark){mark->line + 1, 1};
			indentation = true;
			continue;
		}
		if (indentation && text[i] == '\t')
			return true;
		indentation &= text[i] == ' ';
		mark->column++;
	}
	return false;
}

/* The first thing that libfyaml complained about; it stops there. */
static void report_syntax(struct builder *builder, const char *text, size_t size,
			  struct fy_diag *diag)
{
	struct fy_diag_error *error;
	struct config_mark tab;
	void *iterator = NULL;

	if (find_tab(text, size, &tab)) {
		struct schema_node place = {.origin = builder->origin, .mark = tab};

		schema_fail(builder->document, &place,
			    "not valid YAML: a tab in the indentation, use spaces");
		return;
	}
	while ((error = fy_diag_errors_iterate(diag, &iterator)) != NULL) {
		struct schema_node place = builder_place(builder);

		if (error->type != FYET_ERROR)
			continue;
		if (error->line > 0 && error->column > 0)
			place.mark = (struct config_mark){.line = (uint32_t)error->line,
							  .column = (uint32_t)error->column};
		schema_fail(builder->document, &place, "not valid YAML: %s", error->msg);
		return;
	}
	builder_fail(builder, "not valid YAML");
}

/* Bytes of the UTF-8 character at text (RFC 3629), 0 when there is none. size >= 1 */
static size_t utf8_size(const uint8_t *text, size_t size)
{
	uint32_t lead = text[0];
	size_t bytes = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	size_t i;

	if (lead > 0xf4 || bytes > size)
		return 0;
	for (i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates, and what is beyond U+10FFFF. */
	if ((lead == 0xe0 && text[1] < 0xa0) || (lead == 0xed && text[1] > 0x9f) ||
	    (lead == 0xf0 && text[1] < 0x90) || (lead == 0xf4 && text[1] > 0x8f))
		return 0;
	return bytes;
}

/*
 * Only text may reach libfyaml: 0.7.12 doesn't end on a directive with a broken character, and
 * takes one elsewhere for the end of the file.
 */
static int check_characters(struct builder *builder, const char *text, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t i = 0;

	while (i < size) {
		size_t length = utf8_size(bytes + i, size - i);
		uint8_t c = bytes[i];

		if (length == 0)
			return builder_fail(builder, "not a text: a character that isn't UTF-8");
		if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f)
			return builder_fail(builder, "not a text: a control character");
		builder->last.column++;
		if (c == '\n')
			builder->last = (struct config_mark){builder->last.line + 1, 1};
		i += length;
	}
	builder->last = (struct config_mark){1, 1};
	return 0;
}

static int build(struct builder *builder, const char *text, size_t size, struct fy_diag *diag)
{
	struct fy_event *event;
	int rc = check_characters(builder, text, size);

	if (rc != 0)
		return rc;
	if (fy_parser_set_string(builder->parser, text, size) != 0)
		return builder_fail(builder, "out of memory");
	while (rc == 0 && (event = fy_parser_parse(builder->parser)) != NULL) {
		rc = builder_event(builder, event);
		fy_parser_event_free(builder->parser, event);
	}
	if (rc == 0 && fy_parser_get_stream_error(builder->parser)) {
		report_syntax(builder, text, size, diag);
		rc = -EINVAL;
	}
	return rc;
}

struct schema_node *schema_build(struct schema_document *document, const char *text, size_t size,
				 const char *origin)
{
	struct builder builder = {
		.document = document, .origin = origin, .last = {1, 1}, .text = text, .size = size};
	struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE};
	struct fy_diag_cfg diag_config;
	struct fy_diag *diag;
	int rc = -ENOMEM;

	fy_diag_cfg_default(&diag_config);
	diag_config.fp = NULL;
	diag = fy_diag_create(&diag_config);
	if (diag != NULL)
		fy_diag_set_collect_errors(diag, true);
	config.diag = diag;
	builder.parser = diag != NULL ? fy_parser_create(&config) : NULL;
	if (builder.parser != NULL)
		rc = build(&builder, text, size, diag);
	else
		builder_fail(&builder, "out of memory");
	fy_parser_destroy(builder.parser);
	fy_diag_destroy(diag);
	if (rc == 0 && builder.root == NULL) {
		builder_fail(&builder,
			     origin != NULL ? "the value is missing" : "the file is empty");
		return NULL;
	}
	return rc == 0 ? builder.root : NULL;
}

struct schema_document *schema_read_string(const char *path, const char *text, size_t size,
					   struct config_errors *errors)
{
	struct schema_document *document = calloc(1, sizeof(*document));

	if (document != NULL)
		document->path = strdup(path);
	if (document == NULL || document->path == NULL) {
		schema_fail_mark(errors, path, (struct config_mark){0}, "out of memory");
		free(document);
		return NULL;
	}
	document->errors = errors;
	document->root = schema_build(document, text, size, NULL);
	if (document->root == NULL) {
		schema_free(document);
		return NULL;
	}
	return document;
}

/* All of a file, at most SCHEMA_FILE_BYTES_MAX. @return its text, or NULL: a message was left */
static char *read_all(const char *path, FILE *file, size_t *size, struct config_errors *errors)
{
	struct config_mark nowhere = {0};
	size_t capacity = 16384;
	char *text = NULL;

	*size = 0;
	for (;;) {
		char *larger = realloc(text, capacity);

		if (larger == NULL) {
			schema_fail_mark(errors, path, nowhere, "out of memory");
			break;
		}
		text = larger;
		*size += fread(text + *size, 1, capacity - *size, file);
		if (ferror(file)) {
			schema_fail_mark(errors, path, nowhere, "%s", strerror(errno));
			break;
		}
		if (*size < capacity)
			return text;
		if (capacity >= SCHEMA_FILE_BYTES_MAX) {
			schema_fail_mark(errors, path, nowhere, "larger than %u bytes",
					 SCHEMA_FILE_BYTES_MAX);
			break;
		}
		capacity *= 2;
	}
	free(text);
	return NULL;
}

struct schema_document *schema_read(const char *path, struct config_errors *errors)
{
	struct schema_document *document = NULL;
	FILE *file = fopen(path, "re");
	size_t size;
	char *text;

	if (file == NULL) {
		schema_fail_mark(errors, path, (struct config_mark){0}, "%s", strerror(errno));
		return NULL;
	}
	text = read_all(path, file, &size, errors);
	if (text != NULL)
		document = schema_read_string(path, text, size, errors);
	free(text);
	fclose(file);
	return document;
}
