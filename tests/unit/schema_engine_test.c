/* SPDX-License-Identifier: BSD-3-Clause */
/* The schema engine, over a file type of its own that has one of everything. */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"

struct incast {
	uint32_t senders;
	char to[32];
	uint64_t size_bytes;
};

struct flow {
	char from[32];
	bool greedy;
};

enum traffic_kind { TRAFFIC_NONE, TRAFFIC_INCAST, TRAFFIC_FLOW };

struct traffic {
	enum traffic_kind kind;
	union {
		struct incast incast;
		struct flow flow;
	};
	struct config_mark mark;
};

struct alpha {
	char name[16];
	struct schema_ratio alpha;
};

struct scenario {
	uint64_t seed;
	struct traffic *traffic;
	uint32_t traffic_count;
	char **expect;
	uint16_t expect_count;
	struct alpha *alphas;
	uint8_t alpha_count;
	bool gap_auto, gap_given;
	uint64_t gap_ps;
	struct config_mark gap_mark;
	uint16_t numbers[3];
	uint8_t number_count;
	uint32_t hash;
	uint64_t odd;
};

static const struct schema_row incast_rows[] = {
	{"senders", SCHEMA_UINT, SCHEMA_FIELD(struct incast, senders), .min = 1, .max = 1000,
	 .flags = SCHEMA_REQUIRED, .help = "How many send."},
	{"to", SCHEMA_NAME, SCHEMA_FIELD(struct incast, to), .help = "Who receives."},
	{"bytes", SCHEMA_SIZE, SCHEMA_FIELD(struct incast, size_bytes), .min = 1,
	 .max = UINT64_C(1) << 40, .fallback = "10MB", .help = "How much each."},
	{0},
};
static const struct schema_table incast_table = {.name = "an incast", .rows = incast_rows};

static const struct schema_row flow_rows[] = {
	{"from", SCHEMA_NAME, SCHEMA_FIELD(struct flow, from), .help = "Who sends."},
	{"greedy", SCHEMA_BOOL, SCHEMA_FIELD(struct flow, greedy), .fallback = "true",
	 .help = "Without end."},
	{0},
};
static const struct schema_table flow_table = {.name = "a flow", .rows = flow_rows};

static const struct schema_row traffic_rows[] = {
	{"incast", SCHEMA_MAP, SCHEMA_FIELD(struct traffic, incast), .table = &incast_table,
	 .value = TRAFFIC_INCAST, .help = "Many to one."},
	{"flow", SCHEMA_MAP, SCHEMA_FIELD(struct traffic, flow), .table = &flow_table,
	 .value = TRAFFIC_FLOW, .help = "One to one."},
	{0},
};
static const struct schema_table traffic_table = {"traffic", traffic_rows,
						  SCHEMA_MARK(struct traffic, mark),
						  SCHEMA_KIND(struct traffic, kind)};

static const struct schema_row alpha_rows[] = {
	{"name", SCHEMA_NAME, SCHEMA_FIELD(struct alpha, name)},
	{"alpha", SCHEMA_RATIO, SCHEMA_FIELD(struct alpha, alpha), .max = 64000000},
	{0},
};
static const struct schema_table alpha_table = {.name = "an alpha", .rows = alpha_rows};

static const struct schema_word auto_word[] = {{"auto", 1, "chosen by us."}, {0}};
static const struct schema_word hash_words[] = {{"5tuple", 0, NULL}, {"dest_qp", 1, NULL}, {0}};

/* A custom type: odd numbers. */
static int parse_odd(const char *text, void *field, char *why, size_t why_size)
{
	uint64_t value;
	int rc = schema_parse_number(SCHEMA_UINT, text, &value, why, why_size);

	if (rc == 0 && value % 2 == 0) {
		snprintf(why, why_size, "is even: write 1, 3 or 5");
		return -ERANGE;
	}
	if (rc == 0)
		memcpy(field, &value, sizeof(value));
	return rc;
}

static const struct schema_row scenario_rows[] = {
	{"seed", SCHEMA_UINT, SCHEMA_FIELD(struct scenario, seed), .max = UINT32_MAX,
	 .fallback = "1", .help = "Of all randomness."},
	{"traffic", SCHEMA_MAP, SCHEMA_LIST(struct scenario, traffic, traffic_count),
	 .table = &traffic_table, .length_max = 4, .help = "What is sent."},
	{"expect", SCHEMA_TEXT, SCHEMA_LIST(struct scenario, expect, expect_count),
	 .help = "What must hold."},
	{"alpha", SCHEMA_MAP, SCHEMA_DICT(struct scenario, alphas, alpha_count),
	 .table = &alpha_table, .help = "By class."},
	{"gap", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario, gap_auto), .words = auto_word,
	 .fallback = "auto", .help = "Between flowlets."},
	{"gap", SCHEMA_TIME, SCHEMA_FIELD(struct scenario, gap_ps), .max = UINT64_C(1000000000000),
	 SCHEMA_GIVEN(struct scenario, gap_given), SCHEMA_ROW_MARK(struct scenario, gap_mark)},
	{"numbers", SCHEMA_UINT, SCHEMA_ARRAY(struct scenario, numbers, number_count),
	 .fallback = "4, 5", .help = "Some."},
	{"hash", SCHEMA_SET, SCHEMA_FIELD(struct scenario, hash), .words = hash_words,
	 .fallback = "5tuple, dest_qp", .help = "Fields."},
	{"odd", SCHEMA_CUSTOM, SCHEMA_FIELD(struct scenario, odd), .parse = parse_odd,
	 .fallback = "7", .help = "Odd."},
	{0},
};
static const struct schema_table scenario_table = {"a scenario", scenario_rows,
						   .struct_size = sizeof(struct scenario)};

static struct config_errors errors;
static struct schema_memory memory;
static struct scenario scenario;
static struct schema_document *document;

static void clear(void)
{
	schema_free(document);
	document = NULL;
	schema_memory_free(&memory);
	memset(&errors, 0, sizeof(errors));
}

static int load(const char *text)
{
	clear();
	document = schema_read_string("s.yaml", text, strlen(text), &errors);
	if (document == NULL)
		return -EINVAL;
	return schema_check(document, &scenario_table, &scenario, &memory, &errors);
}

static void expect_only(const char *message)
{
	cr_expect_eq(errors.count, 1, "%u errors", errors.count);
	cr_expect(errors.count >= 1 && strncmp(errors.error[0].text, message, strlen(message)) == 0,
		  "said \"%s\", expected \"%s\"", errors.error[0].text, message);
}

TestSuite(engine, .fini = clear);

Test(engine, fills_in_defaults)
{
	cr_assert_eq(load("{}"), 0, "%s", errors.error[0].text);
	cr_expect_eq(scenario.seed, 1);
	cr_expect(scenario.gap_auto);
	cr_expect_not(scenario.gap_given);
	cr_expect_eq(scenario.gap_mark.line, 0);
	cr_expect_eq(scenario.number_count, 2);
	cr_expect_eq(scenario.numbers[0], 4);
	cr_expect_eq(scenario.numbers[1], 5);
	cr_expect_eq(scenario.hash, 3);
	cr_expect_eq(scenario.odd, 7);
	cr_expect_null(scenario.traffic);
	cr_expect_eq(scenario.traffic_count, 0);
}

Test(engine, takes_what_is_written_in_place_of_defaults)
{
	cr_assert_eq(load("seed: 9\ngap: 50us\nnumbers: 6\nhash: dest_qp\nodd: 3\n"), 0, "%s",
		     errors.error[0].text);
	cr_expect_eq(scenario.seed, 9);
	cr_expect_not(scenario.gap_auto,
		      "the other form's fallback counts although gap is written");
	cr_expect_eq(scenario.gap_ps, 50000000);
	cr_expect_eq(scenario.gap_mark.line, 0, "mark of another form");
	cr_expect_eq(scenario.number_count, 1);
	cr_expect_eq(scenario.numbers[0], 6);
	cr_expect_eq(scenario.hash, 2);
	cr_expect_eq(scenario.odd, 3);
}

Test(engine, reads_lists_of_mappings_with_one_key_each)
{
	cr_assert_eq(load("traffic:\n"
			  "  - incast: {senders: 16, to: leaf1.h1}\n"
			  "  - flow:\n"
			  "      from: leaf1.h2\n"),
		     0, "%s", errors.error[0].text);
	cr_assert_eq(scenario.traffic_count, 2);
	cr_expect_eq(scenario.traffic[0].kind, TRAFFIC_INCAST);
	cr_expect_eq(scenario.traffic[0].incast.senders, 16);
	cr_expect_eq(scenario.traffic[0].incast.size_bytes, 10000000);
	cr_expect_str_eq(scenario.traffic[0].incast.to, "leaf1.h1");
	cr_expect_eq(scenario.traffic[0].mark.line, 2);
	cr_expect_eq(scenario.traffic[0].mark.column, 5);
	cr_expect_eq(scenario.traffic[1].kind, TRAFFIC_FLOW);
	cr_expect_str_eq(scenario.traffic[1].flow.from, "leaf1.h2");
	cr_expect(scenario.traffic[1].flow.greedy);
}

Test(engine, wants_exactly_one_key_where_one_is_to_be_chosen)
{
	load("traffic: [{}]");
	expect_only("s.yaml:1:11: traffic needs exactly one of the keys incast, flow; it has 0");
	load("traffic: [{incast: {senders: 1}, flow: {from: a}}]");
	expect_only("s.yaml:1:11: traffic needs exactly one of the keys incast, flow; it has 2");
	load("traffic: [{in-cast: {senders: 1}}]");
	expect_only("s.yaml:1:12: unknown key \"in-cast\" in traffic: did you mean \"incast\"?");
}

Test(engine, reads_mappings_with_free_keys)
{
	cr_assert_eq(load("alpha: {roce: 1, best-effort: 1/2}"), 0, "%s", errors.error[0].text);
	cr_assert_eq(scenario.alpha_count, 2);
	cr_expect_str_eq(scenario.alphas[0].name, "roce");
	cr_expect_eq(scenario.alphas[0].alpha.numerator, 1);
	cr_expect_str_eq(scenario.alphas[1].name, "best-effort");
	cr_expect_eq(scenario.alphas[1].alpha.denominator, 2);
	load("alpha: {roce: 1, roce: 2}");
	expect_only("s.yaml:1:18: key \"roce\" stands twice: first in line 1");
	load("alpha: {ro ce: 1}");
	expect_only("s.yaml:1:9: alpha: key \"ro ce\" is not a name");
}

Test(engine, reads_lists_of_texts)
{
	cr_assert_eq(load("expect:\n  - lossless_drops == 0\n  - pfc.pause_share < 0.1%\n"), 0,
		     "%s", errors.error[0].text);
	cr_assert_eq(scenario.expect_count, 2);
	cr_expect_str_eq(scenario.expect[0], "lossless_drops == 0");
	cr_expect_str_eq(scenario.expect[1], "pfc.pause_share < 0.1%");
}

Test(engine, bounds_lists)
{
	load("numbers: [1, 2, 3, 4]");
	expect_only("s.yaml:1:10: numbers has 4 elements: at most 3 are possible");
	load("traffic: [{flow: {}}, {flow: {}}, {flow: {}}, {flow: {}}, {flow: {}}]");
	expect_only("s.yaml:1:10: traffic has 5 elements: at most 4 are possible");
}

Test(engine, passes_on_what_a_type_of_its_own_says)
{
	load("odd: 8");
	expect_only("s.yaml:1:6: odd \"8\" is even: write 1, 3 or 5");
}

Test(engine, names_all_forms_of_a_key)
{
	load("gap: soon");
	expect_only("s.yaml:1:6: gap \"soon\" doesn't fit: write a word, such as auto, or a time, "
		    "such as 50us");
	load("gap: 2s");
	expect_only("s.yaml:1:6: gap \"2s\" is out of range: must be 0..1s");
}

Test(engine, says_where_a_quoted_value_begins)
{
	load("seed: \"x\"");
	expect_only("s.yaml:1:7: ");
	load("seed: 'x'");
	expect_only("s.yaml:1:7: ");
	load("\"sed\": 1");
	expect_only("s.yaml:1:1: ");
}

Test(engine, keeps_twenty_errors_and_counts_the_others)
{
	char text[1024] = "";
	uint32_t i;

	for (i = 0; i < 27; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "wrong%u: 1\n", i);
	cr_expect_eq(load(text), -EINVAL);
	cr_expect_eq(errors.count, CONFIG_ERRORS_MAX);
	cr_expect_eq(errors.dropped, 27 - CONFIG_ERRORS_MAX);
}

Test(engine, sorts_errors_by_place)
{
	load("odd: 2\nseed: x\nbad: 1\n");
	cr_assert_eq(errors.count, 3);
	schema_sort_errors(&errors);
	cr_expect_eq(errors.error[0].mark.line, 1);
	cr_expect_eq(errors.error[1].mark.line, 2);
	cr_expect_eq(errors.error[2].mark.line, 3);
}

/* YAML 1.2, 7.3.2 and 7.3.1: a doubled quote is one; lines are folded alike in both styles. */
Test(engine, reads_quoted_texts_as_yaml_says)
{
	static const struct {
		const char *written, *read;
	} rows[] = {
		{"'a b'", "a b"},
		{"'it''s'", "it's"},
		{"''''''''''''", "'''''"},
		{"'\\n'", "\\n"},
		{"\"\\x41 \\\"b\\\"\"", "A \"b\""},
		{"'a  \n     b'", "a b"},
		{"\"a  \n     b\"", "a b"},
		{"'a\r\n     b'", "a b"},
	};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "expect:\n  - %s\n", rows[i].written);
		cr_assert_eq(load(text), 0, "%s: %s", text, errors.error[0].text);
		cr_expect_str_eq(scenario.expect[0], rows[i].read);
	}
	/* Empty lines stay, so this isn't one line of text. */
	load("expect: ['a\n\n  b']");
	cr_expect_not_null(strstr(errors.error[0].text, "holds a control character"));
}

Test(engine, shortens_and_cleans_what_it_quotes)
{
	char text[4096];

	memset(text, 'x', sizeof(text));
	memcpy(text, "seed: ", 6);
	text[sizeof(text) - 1] = '\0';
	load(text);
	cr_expect_not_null(strstr(errors.error[0].text, "xxx...\" is not a whole number"));
	load("seed: \"a\\e[31m\\nb\"");
	cr_expect_not_null(strstr(errors.error[0].text, "seed \"a?[31m?b\""), "%s",
			   errors.error[0].text);
}

Test(engine, refuses_what_it_would_have_to_guess)
{
	load("");
	expect_only("s.yaml:1:1: the file is empty");
	load("seed: &a 1");
	expect_only("s.yaml:1:10: anchors");
	load("seed: \"1\\0\"");
	expect_only("s.yaml:1:7: a text may not contain a NUL");
	load("seed: 1\n---\nseed: 2\n");
	expect_only("s.yaml:2:1: a second document");
}

/* A document may be as deep and as large as it likes: only its values are looked at. */
Test(engine, stands_deep_and_large_documents)
{
	size_t size = 200000;
	char *text = malloc(size + 8);

	cr_assert_not_null(text);
	clear();
	memcpy(text, "seed: ", 6);
	memset(text + 6, '[', size / 2);
	memset(text + 6 + size / 2, ']', size / 2);
	document = schema_read_string("s.yaml", text, 6 + size / 2 * 2, &errors);
	if (document != NULL)
		cr_expect_eq(schema_check(document, &scenario_table, &scenario, &memory, &errors),
			     -EINVAL);
	cr_expect_eq(errors.count, 1);
	free(text);
}

Test(engine, overrides_values_by_path)
{
	static const char text[] = "seed: 1\n"
				   "traffic:\n"
				   "  - incast: {senders: 16, to: leaf1.h1}\n";

	load(text);
	cr_expect_eq(schema_set(document, "seed=5", &errors), 0);
	cr_expect_eq(schema_set(document, "traffic[0].incast.senders=8", &errors), 0);
	cr_expect_eq(schema_set(document, "traffic[0].incast.bytes=64KB", &errors), 0);
	cr_expect_eq(schema_set(document, "numbers=[7, 8]", &errors), 0);
	cr_expect_eq(schema_set(document, "alpha.roce=1/4", &errors), 0);
	cr_assert_eq(schema_check(document, &scenario_table, &scenario, &memory, &errors), 0, "%s",
		     errors.error[0].text);
	cr_expect_eq(scenario.seed, 5);
	cr_expect_eq(scenario.traffic[0].incast.senders, 8);
	cr_expect_eq(scenario.traffic[0].incast.size_bytes, 64000);
	cr_expect_eq(scenario.numbers[1], 8);
	cr_expect_eq(scenario.alphas[0].alpha.denominator, 4);
}

Test(engine, says_which_override_is_wrong)
{
	static const struct {
		const char *assignment, *message;
	} rows[] = {
		{"seed", "--set seed: needs the form path=value"},
		{"=5", "--set =5: needs the form path=value"},
		{"seed=", "--set seed=: the value is missing"},
		{"traffic[3].incast=1", "--set traffic[3].incast=1: there is no element [3]"},
		{"traffic[x].incast=1", "--set traffic[x].incast=1: there is no element [x]"},
		{"seed.low=1", "--set seed.low=1: \"low\" can't be set"},
		{"a..b=1", "--set a..b=1: not a path"},
		{"traffic[0=1", "--set traffic[0=1: not a path"},
		{"seed=[1", "--set seed=[1: not valid YAML"},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		load("seed: 1\ntraffic: [{flow: {}}]\n");
		cr_expect_neq(schema_set(document, rows[i].assignment, &errors), 0);
		expect_only(rows[i].message);
	}
	load("seed: 1\n");
	cr_expect_eq(schema_set(document, "seed=x", &errors), 0);
	cr_expect_neq(schema_check(document, &scenario_table, &scenario, &memory, &errors), 0);
	expect_only("--set seed=x: seed \"x\" is not a whole number");
}

Test(engine, finds_nodes_by_path)
{
	struct schema_node *node;

	load("traffic:\n  - flow: {from: a}\nnumbers: 5\nalpha: {roce: 1}\n");
	node = schema_at(document, "traffic[%u].flow.%s", 0, "from");
	cr_expect_str_eq(node->text, "a");
	cr_expect_eq(node->mark.line, 2);
	cr_expect_eq(node->mark.column, 18);
	/* As much as there is. */
	node = schema_at(document, "traffic[0].flow.greedy");
	cr_expect_str_eq(node->key, "flow");
	node = schema_at(document, "traffic[7].flow");
	cr_expect_str_eq(node->key, "traffic");
	cr_expect_eq(schema_at(document, "nothing"), schema_root(document));
	/* A value in place of a list is its only element. */
	cr_expect_eq(schema_at(document, "numbers[0]"), schema_at(document, "numbers"));
}

Test(engine, prints_every_key_in_its_reference)
{
	static const char *const parts[] = {
		"# Scenario files",
		"| `seed` | a number |  | 0..4294967295 | `1` | Of all randomness. |",
		"`auto`, or a time",
		"## `traffic[]`",
		"Exactly one of these keys",
		"## `traffic[].incast`",
		"| `senders` | a number |  | 1..1000 | *required* | How many send. |",
		"`10MB`",
	};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	size_t i;

	cr_assert_not_null(out);
	schema_print_reference(&scenario_table, "Scenario files", false, out);
	fclose(out);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		cr_expect_not_null(strstr(text, parts[i]), "no \"%s\" in\n%s", parts[i], text);
	free(text);
}
