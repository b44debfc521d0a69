/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * schema - one table of rows describes a YAML file: keys, types, units, ranges, defaults and help.
 * The table drives parsing, defaults, messages and the reference page, so these can't disagree.
 *
 * How to use it for another file type
 *
 *	struct flow { char from[32]; uint64_t bytes; struct config_mark mark; };
 *	struct scenario { uint64_t seed; uint64_t duration_ps; struct flow *flows; uint32_t flow_count; };
 *
 *	static const struct schema_row flow_rows[] = {
 *		{"from", SCHEMA_NAME, SCHEMA_FIELD(struct flow, from),
 *		 .flags = SCHEMA_REQUIRED, .help = "The host that sends."},
 *		{"bytes", SCHEMA_SIZE, SCHEMA_FIELD(struct flow, bytes), .min = 1, .max = 1ULL << 40,
 *		 .fallback = "10MB", .help = "How much."},
 *		{0}
 *	};
 *	static const struct schema_table flow_table = {"a flow", flow_rows,
 *		SCHEMA_MARK(struct flow, mark), .struct_size = sizeof(struct flow)};
 *	static const struct schema_row rows[] = {
 *		{"seed", SCHEMA_UINT, SCHEMA_FIELD(struct scenario, seed), .max = UINT32_MAX,
 *		 .fallback = "1", .help = "..."},
 *		{"duration", SCHEMA_TIME, SCHEMA_FIELD(struct scenario, duration_ps), .max = PS_PER_S,
 *		 .fallback = "5ms", .help = "..."},
 *		{"flows", SCHEMA_MAP, SCHEMA_LIST(struct scenario, flows, flow_count),
 *		 .table = &flow_table, .length_max = 1000, .help = "..."},
 *		{0}
 *	};
 *	static const struct schema_table scenario_table = {"a scenario", rows,
 *		.struct_size = sizeof(struct scenario)};
 *
 *	document = schema_read(path, errors);             // NULL: errors says why
 *	schema_set(document, "flows[0].bytes=64KB", errors); // for each --set
 *	schema_check(document, &scenario_table, &scenario, &memory, errors);
 *	... rules between keys: schema_fail(document, schema_at(document, "flows[%u].bytes", i), ...)
 *	schema_free(document);                            // the structs stay, they live in `memory`
 *
 * What is expressible
 * - a scalar of any enum schema_type, in a field of 1, 2, 4 or 8 bytes: SCHEMA_FIELD;
 * - a list of scalars or of mappings, in a fixed array (SCHEMA_ARRAY) or in memory of its own
 *   (SCHEMA_LIST); a single value may stand for a list of one, except where that would be a mapping;
 * - a nested mapping: SCHEMA_MAP with SCHEMA_FIELD of a nested struct, or with SCHEMA_HERE when its
 *   keys are stored in the same struct as the key itself (`vlan: {access: 100}`);
 * - a mapping with keys that the user chooses (`alpha: {roce: 1, bulk: 1/2}`): SCHEMA_DICT; it is
 *   stored like a SCHEMA_LIST of structs; first row of its table: where the key goes (a scalar of
 *   any type), second: where the value goes;
 * - a mapping with exactly one key out of some (`- incast: {...}`): a table with SCHEMA_ONE_OF and
 *   SCHEMA_KIND, the enum field that gets `value` of the row that was chosen;
 * - a key with several forms (`gap: auto` or `gap: 50us`; `classes: sonic` or a list): one row a
 *   form, next to each other, with the same key. The first form that fits is taken, the others keep
 *   their zero. `fallback` stands on one of them.
 *
 * Storage: fields are zero before schema_check() (it clears the struct), then get the fallback or
 * the value written. A fallback text is parsed like a written one; a set's or list's may be comma
 * separated. Where a value was refused the field stays zero, and lists keep its place: index i in the
 * file is index i in the array.
 *
 * Not supported in files, with a message: anchors and aliases, tags, several documents, keys that are
 * not scalars. Limits: SCHEMA_FILE_BYTES_MAX, SCHEMA_NODES_MAX.
 *
 * Thread: any; nothing is shared. Costs nothing that matters: a file of 1000 ports takes milliseconds.
 */
#ifndef CONFIG_SCHEMA_H
#define CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"

#define SCHEMA_FILE_BYTES_MAX (16u << 20)
#define SCHEMA_NODES_MAX      1000000u
#define SCHEMA_ROWS_MAX       64 /* rows of one table */

/*
 * Types, the C field they need, and how they are written. min and max of a row are in the unit of the
 * field; max 0 means no bound but the field's width. Numbers are exact: no floating point is used,
 * and a value that isn't whole in the field's unit is refused.
 */
enum schema_type {
	SCHEMA_NONE,   /* ends a table */
	SCHEMA_BOOL,   /* bool: true | false */
	SCHEMA_UINT,   /* uint8/16/32/64_t: 4096; `unit` is only printed */
	SCHEMA_RATE,   /* uint64_t bits per second: 100G, 2.5G, 100M, 64K */
	SCHEMA_SIZE,   /* uint32/64_t bytes: 9216, 64KB = 64000, 1MiB = 1048576 */
	SCHEMA_TIME,   /* uint64_t picoseconds: 50us, 200ms, 1s, 5min; 0 needs no unit */
	SCHEMA_LENGTH, /* uint32/64_t millimetres: 3m, 2km, 50cm */
	SCHEMA_SHARE, /* uint32_t parts per million: 20%, 0.1%, at most 100% unless max says more */
	SCHEMA_RATIO, /* struct schema_ratio: 1/2, 2, 0.25; min and max in millionths */
	SCHEMA_NAME,  /* char[n]: letters, digits, `-`, `_`, `.`; begins with a letter or digit */
	SCHEMA_STRING, /* char[n]: any printable text; min, max: bytes without the NUL */
	SCHEMA_TEXT,   /* char *, in memory of its own: the same without a fixed size */
	SCHEMA_ENUM,   /* 4-byte enum, or bool: one of `words` */
	SCHEMA_SET, /* uint8/16/32/64_t or uint64_t[]: bit n for each member. Written as a number, a
			* range `8-15`, one of `words`, or a list of these; min..max are the members */
	SCHEMA_MAC, /* uint8_t[6]; unicast only */
	SCHEMA_IP,  /* struct config_ip, both families */
	SCHEMA_PREFIX, /* struct config_prefix with host bits zero: a network, 10.0.0.0/8 */
	SCHEMA_ADDRESS, /* struct config_prefix, host bits kept: an interface's address 10.1.0.1/24 */
	SCHEMA_CUSTOM, /* anything: the row's `parse` */
	SCHEMA_MAP,    /* a mapping described by `table` */
};

/* In lowest terms; denominator >= 1 once set. */
struct schema_ratio {
	uint32_t numerator, denominator;
};

/* A word of an enum, or of a set (value is then the bit). An array ends with a NULL word. */
struct schema_word {
	const char *word;
	uint32_t value;
	const char *help; /* may be NULL */
};

enum schema_shape {
	SCHEMA_ONE,   /* the value itself */
	SCHEMA_MANY,  /* list in a fixed array of the struct */
	SCHEMA_HEAP,  /* list in an array from `memory` */
	SCHEMA_KEYED, /* mapping with free keys, stored as SCHEMA_HEAP */
};

#define SCHEMA_REQUIRED   (1u << 0) /* absent is an error */
#define SCHEMA_RELOADABLE (1u << 1) /* printed in the reference */
#define SCHEMA_OPTIONAL \
	(1u << 2) /* a mapping that is absent stays zero: its fallbacks don't count */
#define SCHEMA_NONEMPTY (1u << 3) /* a list needs at least one element */
#define SCHEMA_HIDDEN   (1u << 4) /* not in the reference */

struct schema_table;

struct schema_row {
	const char *key; /* NULL ends a table */
	enum schema_type type;
	/* Where it goes: set by SCHEMA_FIELD, SCHEMA_ARRAY, SCHEMA_LIST, SCHEMA_DICT. */
	enum schema_shape shape;
	uint32_t offset, size;             /* of the field, or of the array or pointer to it */
	uint32_t element_size;             /* lists */
	uint32_t count_offset, count_size; /* lists: the number of elements */
	uint32_t mark_offset, mark_size;   /* optional struct config_mark: SCHEMA_ROW_MARK */
	uint32_t given_offset, given_size; /* optional bool: the key was written: SCHEMA_GIVEN */
	uint32_t flags;
	uint64_t min, max;
	uint32_t length_max;              /* SCHEMA_LIST and SCHEMA_DICT: elements; 0: 65536 */
	uint32_t value;                   /* for the kind field of a SCHEMA_ONE_OF table */
	const char *unit;                 /* SCHEMA_UINT: printed, "bytes" */
	const char *fallback;             /* the default, as it would be written */
	const char *fallback_help;        /* the default in words, where it can't be one text */
	const char *help;                 /* one line */
	const struct schema_word *words;  /* SCHEMA_ENUM, SCHEMA_SET */
	const struct schema_table *table; /* SCHEMA_MAP */
	/*
	 * SCHEMA_CUSTOM. @return 0; -EINVAL not of this form; -ERANGE of this form but not acceptable;
	 * on error `why` completes "KEY TEXT ...", as in "is not a host: write leaf1.h2".
	 */
	int (*parse)(const char *text, void *field, char *why, size_t why_size);
};

#define SCHEMA_SIZEOF(type_, field_)         ((uint32_t)sizeof(((type_ *)0)->field_))
#define SCHEMA_SIZEOF_ELEMENT(type_, field_) ((uint32_t)sizeof(*((type_ *)0)->field_))
#define SCHEMA_OFFSET(type_, field_)         ((uint32_t)offsetof(type_, field_))

/* One value. */
#define SCHEMA_FIELD(type_, field_) \
	.offset = SCHEMA_OFFSET(type_, field_), .size = SCHEMA_SIZEOF(type_, field_)
/* A mapping whose table stores into the struct that its key stands in. */
#define SCHEMA_HERE .offset = 0, .size = 0
/* Up to sizeof(field)/sizeof(*field) elements in a fixed array. */
#define SCHEMA_ARRAY(type_, field_, count_)                   \
	.shape = SCHEMA_MANY, SCHEMA_FIELD(type_, field_),    \
	.element_size = SCHEMA_SIZEOF_ELEMENT(type_, field_), \
	.count_offset = SCHEMA_OFFSET(type_, count_), .count_size = SCHEMA_SIZEOF(type_, count_)
/* A pointer to as many elements as there are, at most length_max. */
#define SCHEMA_LIST(type_, field_, count_)                                                      \
	.shape = SCHEMA_HEAP, .offset = SCHEMA_OFFSET(type_, field_),                           \
	.size = (uint32_t)sizeof(void *), .element_size = SCHEMA_SIZEOF_ELEMENT(type_, field_), \
	.count_offset = SCHEMA_OFFSET(type_, count_), .count_size = SCHEMA_SIZEOF(type_, count_)
/* A mapping with free keys; the row's type is SCHEMA_MAP and its table has a key and a value row. */
#define SCHEMA_DICT(type_, field_, count_)                                                      \
	.shape = SCHEMA_KEYED, .offset = SCHEMA_OFFSET(type_, field_),                          \
	.size = (uint32_t)sizeof(void *), .element_size = SCHEMA_SIZEOF_ELEMENT(type_, field_), \
	.count_offset = SCHEMA_OFFSET(type_, count_), .count_size = SCHEMA_SIZEOF(type_, count_)
/* In a row: note where the value stands (struct config_mark), and that it was written (bool). */
#define SCHEMA_ROW_MARK(type_, field_) \
	.mark_offset = SCHEMA_OFFSET(type_, field_), .mark_size = SCHEMA_SIZEOF(type_, field_)
#define SCHEMA_GIVEN(type_, field_) \
	.given_offset = SCHEMA_OFFSET(type_, field_), .given_size = SCHEMA_SIZEOF(type_, field_)

struct schema_document;
struct schema_node;

#define SCHEMA_ONE_OF (1u << 0) /* exactly one of the rows, see above */

struct schema_table {
	const char *name; /* with its article, for messages: "a port" */
	const struct schema_row *rows;
	uint32_t mark_offset, mark_size; /* optional struct config_mark: SCHEMA_MARK */
	uint32_t kind_offset, kind_size; /* SCHEMA_ONE_OF: SCHEMA_KIND */
	uint32_t flags;
	uint32_t struct_size; /* of what schema_check() fills; nested tables need none */
	const char *help;     /* a paragraph for the reference; may be NULL */
	/*
	 * Rules within one mapping; called when all its own values were right and it was written in the
	 * file. Says what is wrong with schema_fail(document, schema_child(node, KEY), ...).
	 */
	void (*check)(struct schema_document *document, struct schema_node *node, void *out);
};

#define SCHEMA_MARK(type_, field_) \
	.mark_offset = SCHEMA_OFFSET(type_, field_), .mark_size = SCHEMA_SIZEOF(type_, field_)
#define SCHEMA_KIND(type_, field_)                                           \
	.flags = SCHEMA_ONE_OF, .kind_offset = SCHEMA_OFFSET(type_, field_), \
	.kind_size = SCHEMA_SIZEOF(type_, field_)

/* What was written, and where. */
enum schema_kind { SCHEMA_NODE_SCALAR, SCHEMA_NODE_LIST, SCHEMA_NODE_MAPPING };

struct schema_node {
	enum schema_kind kind;
	bool plain;                  /* a scalar without quotes */
	bool refused;                /* it, or something in it, was wrong */
	const char *text;            /* scalar, NUL-terminated; "" otherwise */
	const char *key;             /* a child of a mapping: its key; else NULL */
	const char *origin;          /* "--set path=value" when it came from there, else NULL */
	struct config_mark mark;     /* of the value */
	struct config_mark key_mark; /* of the key */
	struct schema_node *parent, *next, *first, *last;
	uint32_t child_count;
};

/* Memory of lists and texts; zero to begin with. */
struct schema_memory {
	struct schema_block *last;
};

/** Zeroed bytes that live until schema_memory_free(); NULL when there are none. */
void *schema_memory_alloc(struct schema_memory *memory, size_t bytes);
void schema_memory_free(struct schema_memory *memory);

/**
 * Read a file. Its syntax is checked, nothing else.
 * @return the document, or NULL with the reason in errors
 */
struct schema_document *schema_read(const char *path, struct config_errors *errors);
/** The same from memory under the name `path`; text needs no NUL and isn't kept. */
struct schema_document *schema_read_string(const char *path, const char *text, size_t size,
					   struct config_errors *errors);
void schema_free(struct schema_document *document);

/**
 * Override one value, as `--set path=value` does: `a.b=5`, `traffic[0].incast.senders=8`,
 * `ports[up1].mtu=9000` (the element of that name), `hosts=[h1, h2]` (the value is YAML). Mappings on
 * the way are made; elements of lists must exist.
 * @return 0, or -EINVAL with the reason in errors
 */
int schema_set(struct schema_document *document, const char *assignment,
	       struct config_errors *errors);

/**
 * Check the document against a table and fill a struct (cleared first; table->struct_size bytes).
 * @return 0, or -EINVAL with everything that was wrong in errors
 */
int schema_check(struct schema_document *document, const struct schema_table *table, void *out,
		 struct schema_memory *memory, struct config_errors *errors);

/** The errors that schema_fail() adds to: those of the running schema_read() or schema_check(). */
struct config_errors *schema_errors(struct schema_document *document);

/** Root of the document. */
struct schema_node *schema_root(const struct schema_document *document);
/** Child of a mapping, or the node itself when it has no such key (so that a message has a place). */
struct schema_node *schema_child(struct schema_node *node, const char *key);
/** The same, or NULL. */
struct schema_node *schema_find(struct schema_node *node, const char *key);
/** Element of a list, counted from 0; a value in place of a list is its element 0. NULL: none. */
struct schema_node *schema_element(struct schema_node *node, uint32_t index);
/** By path as in schema_set(); as much of it as exists, at least the root. Never NULL. */
struct schema_node *schema_at(const struct schema_document *document, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Add an error at a node's value: `FILE:LINE:COLUMN: text`. */
void schema_fail(struct schema_document *document, struct schema_node *node, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));
/** The same at the node's key (what is wrong is that it is there). */
void schema_fail_key(struct schema_document *document, struct schema_node *node, const char *format,
		     ...) __attribute__((format(printf, 3, 4)));
/** Add an error at a place that was noted before; line 0: only the file is named. */
void schema_fail_mark(struct config_errors *errors, const char *path, struct config_mark mark,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Sort errors by where they are in the file, for people. */
void schema_sort_errors(struct config_errors *errors);

/**
 * Parse one scalar by type, for programs' arguments (`--for 10ms`) and scenario expressions.
 * @param row   type, min, max, unit, words and size of the field count
 * @param field gets the value; unchanged on error
 * @param why   on error completes "KEY TEXT ...": "is not a time: ..."
 * @return 0; -EINVAL not of this type; -ERANGE out of the row's range
 */
int schema_parse_value(const struct schema_row *row, const char *text, void *field, char *why,
		       size_t why_size);
/** The same for SCHEMA_UINT, RATE, SIZE, TIME, LENGTH and SHARE, without a range. */
int schema_parse_number(enum schema_type type, const char *text, uint64_t *value, char *why,
			size_t why_size);
/** A number as a user would write it: 2500000000 bits/s as 2.5G. @return buffer */
const char *schema_format_number(enum schema_type type, uint64_t value, char *buffer, size_t size);

/** Print the reference page of a table: Markdown, one section a mapping. */
void schema_print_reference(const struct schema_table *table, const char *title, bool reload_column,
			    FILE *out);

#endif
