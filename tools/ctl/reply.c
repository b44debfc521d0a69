/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/reply.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void reply_init(struct reply *reply)
{
	*reply = (struct reply){0};
}

static void column_free(struct reply_column *column, size_t rows)
{
	if (column->type == REPLY_TEXT)
		for (size_t r = 0; r < rows; r++)
			free(column->value[r].text);
	free(column->value);
	free(column->name);
	*column = (struct reply_column){0};
}

void reply_free(struct reply *reply)
{
	for (size_t c = 0; c < reply->columns; c++)
		column_free(&reply->column[c], reply->rows);
	reply_init(reply);
}

int reply_column_find(const struct reply *reply, const char *name)
{
	for (size_t c = 0; c < reply->columns; c++)
		if (strcmp(reply->column[c].name, name) == 0)
			return (int)c;
	return -1;
}

const char *reply_text(const struct reply *reply, const char *column, size_t row)
{
	int c = reply_column_find(reply, column);

	if (c < 0 || reply->column[c].type != REPLY_TEXT)
		return "";
	return reply->column[c].value[row].text;
}

uint64_t reply_number(const struct reply *reply, const char *column, size_t row)
{
	int c = reply_column_find(reply, column);

	if (c < 0 || reply->column[c].type != REPLY_NUMBER)
		return 0;
	return reply->column[c].value[row].number;
}

/* --- reading a page --- */

static int page_number(const json_t *page, const char *name, uint64_t *value,
		       struct ctl_error *error)
{
	const json_t *member = json_object_get(page, name);

	if (!json_is_integer(member) || json_integer_value(member) < 0)
		return ctl_fail(error, EPROTO, "reply: '%s' is missing or not a number", name);
	*value = (uint64_t)json_integer_value(member);
	return 0;
}

/* Position of a name in an array of strings, or -1. Anything else in there is passed over. */
static int array_find(const json_t *array, const char *name)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		const char *text = json_string_value(json_array_get(array, i));

		if (text != NULL && strcmp(text, name) == 0)
			return (int)i;
	}
	return -1;
}

static bool is_description(const char *name)
{
	return strcmp(name, "keys") == 0 || strcmp(name, "counters") == 0 ||
	       strcmp(name, "units") == 0 || strcmp(name, "flags") == 0;
}

/* Type of a column's cells; all must have the same. */
static int array_type(const char *name, const json_t *array, enum reply_type *type,
		      struct ctl_error *error)
{
	*type = REPLY_EMPTY;
	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *cell = json_array_get(array, i);
		enum reply_type t;

		if (json_is_string(cell))
			t = REPLY_TEXT;
		else if (json_is_integer(cell) && json_integer_value(cell) >= 0)
			t = REPLY_NUMBER;
		else
			return ctl_fail(error, EPROTO,
					"reply: '%.64s', row %zu is neither a name "
					"nor a count",
					name, i);
		if (i > 0 && t != *type)
			return ctl_fail(error, EPROTO, "reply: '%.64s' mixes names and counts",
					name);
		*type = t;
	}
	return 0;
}

/* The cells of a column, whose type is known. @return NULL without memory */
static union reply_value *cells_read(const json_t *array, size_t rows, enum reply_type type)
{
	union reply_value *cells = calloc(rows, sizeof(*cells));

	for (size_t i = 0; i < rows && cells != NULL; i++) {
		const json_t *cell = json_array_get(array, i);

		if (type == REPLY_NUMBER) {
			cells[i].number = (uint64_t)json_integer_value(cell);
			continue;
		}
		cells[i].text = strdup(json_string_value(cell));
		if (cells[i].text != NULL)
			continue;
		while (i-- > 0)
			free(cells[i].text);
		free(cells);
		return NULL;
	}
	return cells;
}

/* What the page says of a column beside its cells. */
static void column_describe(struct reply_column *column, const json_t *page, const char *name)
{
	const json_t *units = json_object_get(page, "units");
	int counter = array_find(json_object_get(page, "counters"), name);
	const char *unit;

	column->key = array_find(json_object_get(page, "keys"), name) >= 0;
	column->flag = array_find(json_object_get(page, "flags"), name) >= 0;
	column->counter = counter >= 0;
	if (column->counter) {
		unit = json_string_value(json_array_get(units, (size_t)counter));
		strncpy(column->unit, unit == NULL ? "" : unit, sizeof(column->unit) - 1);
	}
}

static int column_read(struct reply_column *column, const json_t *page, const char *name,
		       const json_t *array, size_t rows, struct ctl_error *error)
{
	int ret = array_type(name, array, &column->type, error);

	if (ret != 0)
		return ret;
	column_describe(column, page, name);
	column->name = strdup(name);
	column->value = rows == 0 ? NULL : cells_read(array, rows, column->type);
	if (column->name != NULL && (rows == 0 || column->value != NULL))
		return 0;
	column_free(column, column->value == NULL ? 0 : rows);
	return ctl_fail(error, ENOMEM, "out of memory");
}

/* Read a page that stands alone into an empty reply; the caller frees it on failure, too. */
static int page_read(struct reply *page_reply, const json_t *page, uint64_t *next,
		     struct ctl_error *error)
{
	const char *name;
	const json_t *array;
	int ret;

	if (!json_is_object(page))
		return ctl_fail(error, EPROTO, "reply: not a table");
	ret = page_number(page, "instance", &page_reply->instance, error);
	if (ret == 0)
		ret = page_number(page, "time_ns", &page_reply->time_ns, error);
	if (ret == 0)
		ret = page_number(page, "next", next, error);
	if (ret != 0)
		return ret;
	page_reply->pages = 1;

	json_object_foreach((json_t *)(uintptr_t)page, name, array)
	{
		struct reply_column column = {0};
		size_t rows = json_array_size(array);

		if (!json_is_array(array) || is_description(name))
			continue;
		if (page_reply->columns == REPLY_COLUMNS_MAX)
			return ctl_fail(error, EPROTO, "reply: more than %d columns",
					REPLY_COLUMNS_MAX);
		if (page_reply->columns > 0 && rows != page_reply->rows)
			return ctl_fail(error, EPROTO, "reply: '%.64s' has %zu rows, others %zu",
					name, rows, page_reply->rows);
		ret = column_read(&column, page, name, array, rows, error);
		if (ret != 0)
			return ret;
		page_reply->column[page_reply->columns++] = column;
		page_reply->rows = rows;
	}
	page_reply->room = page_reply->rows;
	return 0;
}

/* Can the rows of `more` follow those of `reply`? */
static int pages_compatible(const struct reply *reply, const struct reply *more,
			    struct ctl_error *error)
{
	if (more->instance != reply->instance)
		return ctl_fail(error, EAGAIN, "roceleaf was restarted while it was asked");
	if (more->columns != reply->columns)
		return ctl_fail(error, EPROTO, "reply: a page with %zu columns after one with %zu",
				more->columns, reply->columns);
	for (size_t c = 0; c < more->columns; c++) {
		enum reply_type a = reply->column[c].type, b = more->column[c].type;

		assert(reply->column[c].name != NULL && more->column[c].name != NULL);
		if (strcmp(reply->column[c].name, more->column[c].name) != 0 ||
		    (a != b && a != REPLY_EMPTY && b != REPLY_EMPTY))
			return ctl_fail(error, EPROTO, "reply: pages differ in '%.64s'",
					more->column[c].name);
	}
	if (more->rows > REPLY_ROWS_MAX - reply->rows)
		return ctl_fail(error, E2BIG, "reply: more than %d rows", REPLY_ROWS_MAX);
	return 0;
}

static int reply_grow(struct reply *reply, size_t rows)
{
	size_t room = reply->room == 0 ? 64 : reply->room;

	if (rows <= reply->room)
		return 0;
	while (room < rows)
		room *= 2;
	for (size_t c = 0; c < reply->columns; c++) {
		union reply_value *value =
			reallocarray(reply->column[c].value, room, sizeof(*value));

		if (value == NULL)
			return -ENOMEM;
		reply->column[c].value = value;
	}
	reply->room = room;
	return 0;
}

/* Move the rows of `more` behind those of `reply`; `more` keeps none. */
static int reply_append(struct reply *reply, struct reply *more, struct ctl_error *error)
{
	int ret = pages_compatible(reply, more, error);

	if (ret != 0)
		return ret;
	if (reply_grow(reply, reply->rows + more->rows) != 0)
		return ctl_fail(error, ENOMEM, "out of memory");
	for (size_t c = 0; c < more->columns && more->rows > 0; c++) {
		if (more->column[c].value == NULL)
			continue; /* can't be: it has rows */
		memcpy(&reply->column[c].value[reply->rows], more->column[c].value,
		       more->rows * sizeof(union reply_value));
		reply->column[c].type = more->column[c].type;
	}
	reply->rows += more->rows;
	reply->pages++;
	more->rows = 0;
	return 0;
}

int reply_add_page_json(struct reply *reply, const json_t *page, uint64_t *next,
			struct ctl_error *error)
{
	struct reply more;
	int ret;

	reply_init(&more);
	ret = page_read(&more, page, next, error);
	if (ret == 0 && reply->pages == 0) {
		*reply = more;
		return 0;
	}
	if (ret == 0)
		ret = reply_append(reply, &more, error);
	reply_free(&more);
	return ret;
}

int reply_add_page(struct reply *reply, const char *command, const char *text, size_t size,
		   uint64_t *next, struct ctl_error *error)
{
	json_error_t at;
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &at);
	const json_t *page = json_object_get(root, command);
	int ret;

	if (root == NULL)
		return ctl_fail(error, EPROTO, "reply to %s is not JSON: %.160s", command, at.text);
	if (page == NULL)
		ret = ctl_fail(error, EPROTO, "reply to %s has no member of that name", command);
	else if (json_is_null(page))
		ret = ctl_fail(error, EPROTO,
			       "roceleaf has no answer to %s: it is starting or stopping", command);
	else
		ret = reply_add_page_json(reply, page, next, error);
	json_decref(root);
	return ret;
}

/* --- rows --- */

static bool cell_equal(const struct reply_column *a, size_t row_a, const struct reply_column *b,
		       size_t row_b)
{
	if (a->type != b->type)
		return false;
	if (a->type == REPLY_TEXT)
		return strcmp(a->value[row_a].text, b->value[row_b].text) == 0;
	return a->value[row_a].number == b->value[row_b].number;
}

static bool keys_equal(const struct reply *a, size_t row_a, const struct reply *b, size_t row_b)
{
	for (size_t c = 0; c < a->columns; c++) {
		int other;

		if (!a->column[c].key)
			continue;
		other = reply_column_find(b, a->column[c].name);
		if (other < 0 || !cell_equal(&a->column[c], row_a, &b->column[other], row_b))
			return false;
	}
	return true;
}

size_t reply_row_find(const struct reply *other, const struct reply *reply, size_t row)
{
	/* Most tables keep their order, so the same place or one before comes first. */
	for (size_t i = 0; i < other->rows; i++) {
		size_t r = (row + other->rows - i % other->rows) % other->rows;

		if (keys_equal(reply, row, other, r))
			return r;
	}
	return REPLY_ROW_NONE;
}

void reply_subtract(struct reply *reply, const struct reply *baseline)
{
	if (reply->instance != baseline->instance)
		return;
	for (size_t r = 0; r < reply->rows; r++) {
		size_t from = reply_row_find(baseline, reply, r);

		if (from == REPLY_ROW_NONE)
			continue;
		for (size_t c = 0; c < reply->columns; c++) {
			struct reply_column *column = &reply->column[c];
			uint64_t base = reply_number(baseline, column->name, from);

			if (column->counter && column->type == REPLY_NUMBER &&
			    column->value[r].number >= base)
				column->value[r].number -= base;
		}
	}
}

double reply_rate(const struct reply *reply, const struct reply *before, const char *column,
		  size_t row)
{
	uint64_t now = reply_number(reply, column, row), then = 0;
	size_t from;

	if (before->instance != reply->instance || before->time_ns >= reply->time_ns)
		return -1;
	from = reply_row_find(before, reply, row);
	if (from != REPLY_ROW_NONE)
		then = reply_number(before, column, from);
	if (now < then)
		return -1;
	return (double)(now - then) * 1e9 / (double)(reply->time_ns - before->time_ns);
}

static int merge_rows(const struct reply *reply, reply_compare_fn *compare, size_t *order,
		      size_t *spare, size_t count)
{
	size_t half = count / 2, a = 0, b = half, n = 0;

	if (count < 2)
		return 0;
	merge_rows(reply, compare, order, spare, half);
	merge_rows(reply, compare, order + half, spare, count - half);
	while (a < half || b < count) {
		bool first = b == count || (a < half && compare(reply, order[a], order[b]) <= 0);

		spare[n++] = first ? order[a++] : order[b++];
	}
	memcpy(order, spare, count * sizeof(*order));
	return 0;
}

int reply_sort(struct reply *reply, reply_compare_fn *compare)
{
	size_t *order = calloc(2 * reply->rows + 1, sizeof(*order));
	union reply_value *sorted = calloc(reply->rows + 1, sizeof(*sorted));

	if (order == NULL || sorted == NULL) {
		free(order);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t r = 0; r < reply->rows; r++)
		order[r] = r;
	merge_rows(reply, compare, order, order + reply->rows, reply->rows);
	for (size_t c = 0; c < reply->columns && reply->rows > 0; c++) {
		for (size_t r = 0; r < reply->rows; r++)
			sorted[r] = reply->column[c].value[order[r]];
		memcpy(reply->column[c].value, sorted, reply->rows * sizeof(*sorted));
	}
	free(order);
	free(sorted);
	return 0;
}

/* Append the texts of one column to another's, then remove it. */
static int join_column(struct reply *reply, size_t to, size_t from)
{
	for (size_t r = 0; r < reply->rows; r++) {
		char **text = &reply->column[to].value[r].text, *joined;

		if (asprintf(&joined, "%s%s", *text, reply->column[from].value[r].text) < 0)
			return -ENOMEM;
		free(*text);
		*text = joined;
	}
	column_free(&reply->column[from], reply->rows);
	reply->columns--;
	memmove(&reply->column[from], &reply->column[from + 1],
		(reply->columns - from) * sizeof(reply->column[0]));
	return 0;
}

int reply_join(struct reply *reply, const char *name)
{
	int to = reply_column_find(reply, name), ret = 0;

	for (int piece = 2; piece <= REPLY_COLUMNS_MAX && to >= 0 && ret == 0; piece++) {
		char more[64];
		int from;

		snprintf(more, sizeof(more), "%s_%d", name, piece);
		from = reply_column_find(reply, more);
		if (from < to || reply->column[from].type != reply->column[to].type ||
		    reply->column[to].type == REPLY_NUMBER)
			break;
		ret = join_column(reply, (size_t)to, (size_t)from);
	}
	return ret;
}

/* --- writing --- */

static json_t *cell_json(const struct reply_column *column, size_t row, bool plain)
{
	if (column->type == REPLY_TEXT)
		return json_string(column->value[row].text);
	if (column->flag && !plain)
		return json_boolean(column->value[row].number != 0);
	return json_integer((json_int_t)column->value[row].number);
}

json_t *reply_rows_json(const struct reply *reply)
{
	json_t *rows = json_array();

	for (size_t r = 0; r < reply->rows; r++) {
		json_t *object = json_object();

		for (size_t c = 0; c < reply->columns; c++)
			if (json_object_set_new(object, reply->column[c].name,
						cell_json(&reply->column[c], r, false)) != 0)
				goto err;
		if (json_array_append_new(rows, object) != 0)
			goto err_rows;
		continue;
	err:
		json_decref(object);
		goto err_rows;
	}
	return rows;

err_rows:
	json_decref(rows);
	return NULL;
}

static int add_column_json(json_t *page, const struct reply *reply,
			   const struct reply_column *column)
{
	json_t *array = json_array();
	int ret = 0;

	for (size_t r = 0; r < reply->rows; r++)
		ret |= json_array_append_new(array, cell_json(column, r, true));
	if (column->key)
		ret |= json_array_append_new(json_object_get(page, "keys"),
					     json_string(column->name));
	if (column->counter) {
		ret |= json_array_append_new(json_object_get(page, "counters"),
					     json_string(column->name));
		ret |= json_array_append_new(json_object_get(page, "units"),
					     json_string(column->unit));
	}
	if (column->flag)
		ret |= json_array_append_new(json_object_get(page, "flags"),
					     json_string(column->name));
	return ret | json_object_set_new(page, column->name, array);
}

json_t *reply_page_json(const struct reply *reply)
{
	json_t *page = json_pack("{s:I, s:I, s:i, s:[], s:[], s:[], s:[]}", "instance",
				 (json_int_t)reply->instance, "time_ns", (json_int_t)reply->time_ns,
				 "next", 0, "keys", "counters", "units", "flags");
	int ret = page == NULL;

	for (size_t c = 0; c < reply->columns && ret == 0; c++)
		ret |= add_column_json(page, reply, &reply->column[c]);
	if (ret == 0)
		return page;
	json_decref(page);
	return NULL;
}
