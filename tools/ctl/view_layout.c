/* SPDX-License-Identifier: BSD-3-Clause */
/* view_layout - from a reply to the table of a view (view.h). */
#include <string.h>

#include "tools/ctl/view.h"

static bool is_wanted(const struct reply *reply, size_t row, char *const *ports, size_t port_count)
{
	for (size_t i = 0; i < port_count; i++)
		if (strcmp(reply_text(reply, "port", row), ports[i]) == 0)
			return true;
	return port_count == 0;
}

static bool is_shown(const struct view_column *column, const struct view_source *source)
{
	return column->face == VIEW_BOTH ||
	       column->face == (source->before == NULL ? VIEW_TOTALS : VIEW_RATES);
}

struct table *view_table(const struct view *view, const struct view_source *source,
			 char *const *ports, size_t port_count, size_t *omitted)
{
	struct table *table = table_create();

	*omitted = 0;
	if (table == NULL)
		return NULL;
	for (size_t c = 0; c < view->columns; c++)
		if (is_shown(&view->column[c], source))
			table_column(table, view->column[c].header, view->column[c].align);
	for (size_t row = 0; row < source->reply->rows; row++) {
		if (!is_wanted(source->reply, row, ports, port_count))
			continue;
		if (!source->all && view->hides != NULL && view->hides(source->reply, row)) {
			(*omitted)++;
			continue;
		}
		for (size_t c = 0; c < view->columns; c++) {
			struct view_cell cell = {.text = ""};

			if (!is_shown(&view->column[c], source))
				continue;
			view->column[c].write(source, &view->column[c], row, &cell);
			table_cell(table, cell.text, cell.tone);
		}
	}
	return table;
}
