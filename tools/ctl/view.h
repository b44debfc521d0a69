/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view - which columns of a telemetry table people see, under which header, and how.
 *
 * A view has two faces: totals since the start (or since `clear`), and rates for --watch, where a
 * counter becomes its growth per second and bytes become bits. JSON doesn't come through here: it
 * has every column that the daemon sent.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_VIEW_H
#define TOOLS_CTL_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/ctl/reply.h"
#include "tools/ctl/table.h"

#define VIEW_CELL_BYTES 512

/* What is shown: a reply, and for rates the one before it. */
struct view_source {
	const struct reply *reply;
	const struct reply *before; /* NULL: totals */
	bool all;                   /* also what the view would leave out */
};

struct view_cell {
	char text[VIEW_CELL_BYTES];
	enum table_tone tone;
};

enum view_face { VIEW_BOTH, VIEW_TOTALS, VIEW_RATES };

struct view_column;

/** Write the cell of a column in a row of the reply. */
typedef void view_cell_fn(const struct view_source *source, const struct view_column *column,
			  size_t row, struct view_cell *cell);

struct view_column {
	const char *header;
	const char *key; /* column of the reply, or NULL where `write` knows */
	view_cell_fn *write;
	enum table_align align;
	enum view_face face;
};

struct view {
	const char *name;    /* show NAME */
	const char *command; /* "/roceleaf/NAME" */
	const char *help;
	const char *about; /* some lines more, for --help */
	const struct view_column *column;
	size_t columns;
	reply_compare_fn *compare; /* order of rows; NULL: as sent */
	/* Rows left out without --all; NULL: none. `hidden` says what they are. */
	bool (*hides)(const struct reply *reply, size_t row);
	const char *hidden;
	const struct view *beside; /* a second table that goes with it, or NULL */
	bool beside_above;         /* it stands above, else below */
	bool by_port;              /* has a column "port", so that PORT arguments make sense */
	bool counts;               /* has counters: `clear` and rates make sense */
};

/** All views, in the order of the help. */
extern const struct view views[];
extern const size_t view_count;

/** A view by its name, or NULL. */
const struct view *view_find(const char *name);

/**
 * Lay a view out.
 * @param ports   names of the ports to show, or NULL with port_count 0: all
 * @param omitted set to how many rows were left out without --all
 * @return a table, or NULL when out of memory
 */
struct table *view_table(const struct view *view, const struct view_source *source,
			 char *const *ports, size_t port_count, size_t *omitted);

#endif
