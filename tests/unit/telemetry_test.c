/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's telemetry, asked over DPDK's real socket by roceleafctl's client: what one side
 * writes the other must read, whole, however long the table is.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "control/steps.h"
#include "control/telemetry.h"
#include "tests/unit/telemetry_client.h"
#include "tests/unit/telemetry_fake.h"
#include "tools/ctl/client.h"

TestSuite(telemetry, .init = telemetry_client_start, .fini = telemetry_client_stop);

Test(telemetry, ports_have_every_counter_of_the_dataplane)
{
	struct reply reply = ask("/roceleaf/ports");

	cr_assert_eq(reply.rows, 5);
#define EXPECT_(field, unit, help) cr_expect(has_counter(&reply, #field, unit), #field);
	PORT_COUNTERS(EXPECT_)
#undef EXPECT_
	cr_expect_str_eq(reply_text(&reply, "port", 0), "port0");
	cr_expect_str_eq(reply_text(&reply, "port", 4), "cpu");
	cr_expect_eq(reply_number(&reply, "rx_packets", 3), 3);
	cr_expect_eq(reply_number(&reply, "speed_bps", 0), UINT64_C(100000000000));
	cr_expect_str_eq(reply_text(&reply, "state", 0), "up");
	reply_free(&reply);
}

Test(telemetry, long_tables_arrive_whole)
{
	enum { PORTS = PORT_COUNT_MAX - 1 };
	struct reply reply;

	fake_reset(PORTS);
	fake.large = true;
	/* Names and devices as long as they may be, full of what JSON must escape. */
	for (uint16_t p = 0; p < PORTS; p++) {
		snprintf(fake.ports[p].name, sizeof(fake.ports[p].name),
			 "%03u\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\", p);
		memset(fake.ports[p].device, '"', sizeof(fake.ports[p].device) - 1);
	}
	reply = ask("/roceleaf/queues");
	cr_assert_eq(reply.rows, (PORTS + 1) * PRIORITY_COUNT);
	cr_expect_gt(reply.pages, 1);
	for (size_t row = 0; row < reply.rows; row++)
		cr_assert_eq(reply_number(&reply, "tx_packets", row), row);
	for (size_t row = 0; row + PRIORITY_COUNT < reply.rows; row += 97)
		cr_assert_str_eq(reply_text(&reply, "port", row),
				 fake.ports[row / PRIORITY_COUNT].name);
	/* Beyond what JSON's integers hold with a sign: the largest that does. */
	cr_expect_eq(reply_number(&reply, "rx_bytes", 0), (uint64_t)INT64_MAX);
	reply_free(&reply);

	reply = ask("/roceleaf/ports");
	cr_expect_eq(reply.rows, PORTS + 1);
	cr_expect_eq(strlen(reply_text(&reply, "device", 0)), 127);
	reply_free(&reply);
}

Test(telemetry, names_that_are_not_text_become_text)
{
	struct reply reply;

	strcpy(fake.ports[0].name, "a\x01\x7F\xFF\xC0\xAF\xED\xA0\x80z");
	strcpy(fake.ports[1].name, "Z\xC3\xBCrich\xE2\x82\xAC\xF0\x9F\x98\x80");
	reply = ask("/roceleaf/ports");
	/* One mark a character; bytes that only go on one don't count. */
	cr_expect_str_eq(reply_text(&reply, "port", 0), "a"
							"?????"
							"z");
	cr_expect_str_eq(reply_text(&reply, "port", 1), "Z?rich??");
	reply_free(&reply);
}

Test(telemetry, queues_carry_the_names_of_their_classes)
{
	struct reply reply;

	fake.config.class_count = 1;
	fake.config.classes[0].priority = 3;
	fake.config.classes[0].lossless = true;
	strcpy(fake.config.classes[0].name, "roce");
	reply = ask("/roceleaf/queues");
	cr_expect_str_eq(reply_text(&reply, "class", 3), "roce");
	cr_expect_eq(reply_number(&reply, "lossless", 3), 1);
	cr_expect_str_eq(reply_text(&reply, "class", 4), "-");
#define EXPECT_(field, unit, help) cr_expect(has_counter(&reply, #field, unit), #field);
	QUEUE_COUNTERS(EXPECT_)
#undef EXPECT_
	reply_free(&reply);
}

Test(telemetry, classes_list_their_dscps_as_ranges_and_sum_their_queues)
{
	struct reply reply;

	fake.config.class_count = 2;
	fake.config.default_class = 1;
	fake.config.classes[0] =
		(struct config_class){.name = "roce", .priority = 3, .dscp = 1ull << 26};
	fake.config.classes[1] = (struct config_class){
		.name = "rest", .weight = 20, .dscp = ~(1ull << 26), .pcp = 0x83};
	reply = ask("/roceleaf/classes");
	cr_assert_eq(reply.rows, 2);
	cr_expect_str_eq(reply_text(&reply, "dscp", 0), "26");
	cr_expect_str_eq(reply_text(&reply, "dscp", 1), "0-25,27-63");
	cr_expect_str_eq(reply_text(&reply, "pcp", 1), "0-1,7");
	cr_expect_eq(reply_number(&reply, "default", 1), 1);
	/* priority 3 of ports 0..4 (the CPU's is 4): 3 + 11 + 19 + 27 + 35 */
	cr_expect_eq(reply_number(&reply, "tx_packets", 0), 95);
	reply_free(&reply);
}

Test(telemetry, even_the_worst_dscp_list_is_not_cut)
{
	struct reply reply;

	fake.config.class_count = 1;
	fake.config.classes[0] = (struct config_class){.dscp = 0x5555555555555555};
	reply = ask("/roceleaf/classes");
	cr_expect_null(strstr(reply_text(&reply, "dscp", 0), "..."));
	cr_expect_not_null(strstr(reply_text(&reply, "dscp", 0), ",62"));
	reply_free(&reply);
}

Test(telemetry, trunks_of_every_vlan_and_of_every_second_one_have_a_mode)
{
	struct reply reply;

	fake.ports[0].access_vlan = 100;
	fake.ports[1].trunk = true;
	memset(fake.ports[1].trunk_vlans, 0xFF, sizeof(fake.ports[1].trunk_vlans));
	fake.ports[1].native_vlan = 5;
	fake.ports[2].trunk = true;
	memset(fake.ports[2].trunk_vlans, 0x55, sizeof(fake.ports[2].trunk_vlans));
	reply = ask("/roceleaf/ports");
	cr_expect_str_eq(reply_text(&reply, "mode", 0), "vlan 100");
	cr_expect_str_eq(reply_text(&reply, "mode", 1), "trunk 0-4094 native 5");
	cr_expect_eq(strncmp(reply_text(&reply, "mode", 2), "trunk 0,2,4,", 12), 0);
	cr_expect_not_null(strstr(reply_text(&reply, "mode", 2), ",..."));
	cr_expect_str_eq(reply_text(&reply, "mode", 3), "routed");
	reply_free(&reply);
}

Test(telemetry, drops_are_those_that_are_not_zero)
{
	struct reply reply;

	fake.drop_ttl[1] = 5;
	fake.drop_no_route[4] = 2; /* the CPU's port */
	fake.missed[2] = 9;
	fake.hold_expired = 1;
	reply = ask("/roceleaf/drops");
	cr_assert_eq(reply.rows, 4);
	cr_expect_str_eq(reply_text(&reply, "port", 0), "port1");
	cr_expect_str_eq(reply_text(&reply, "reason", 0), "ttl");
	cr_expect_eq(reply_number(&reply, "packets", 0), 5);
	cr_expect_str_eq(reply_text(&reply, "port", 1), "cpu");
	cr_expect_str_eq(reply_text(&reply, "reason", 1), "no_route");
	cr_expect_str_eq(reply_text(&reply, "reason", 2), "rx_missed_packets");
	cr_expect_eq(reply_number(&reply, "packets", 2), 9);
	cr_expect_str_eq(reply_text(&reply, "reason", 3), "hold_expired");
	reply_free(&reply);
}

Test(telemetry, every_drop_of_every_port_arrives)
{
	enum { PORTS = PORT_COUNT_MAX - 1 };
	struct reply reply;
	uint64_t sum = 0;

	fake_reset(PORTS);
	for (uint16_t p = 0; p <= PORTS; p++)
		fake.drop_ttl[p] = fake.drop_no_route[p] = p + 1u;
	reply = ask("/roceleaf/drops");
	cr_expect_eq(reply.rows, 2 * (PORTS + 1));
	for (size_t row = 0; row < reply.rows; row++)
		sum += reply_number(&reply, "packets", row);
	/* twice the sum of 1..512 */
	cr_expect_eq(sum, 512u * 513u);
	reply_free(&reply);
}

Test(telemetry, reasons_are_those_of_the_dataplane_with_their_help)
{
	struct reply reply = ask("/roceleaf/reasons");
	size_t row = 0;

#define EXPECT_(id, name, text)                                    \
	cr_expect_str_eq(reply_text(&reply, "reason", row), name); \
	cr_expect_str_eq(reply_text(&reply, "help", row), text);   \
	row++;
	DROP_REASONS(EXPECT_)
#undef EXPECT_
	cr_expect_gt(reply.rows, row, "and those of devices and of the kernel's side");
	reply_free(&reply);
}

Test(telemetry, the_fdb_arrives_whole_and_old_entries_are_dead)
{
	struct reply reply;

	fake.fdb_slots = 400000;
	fake.fdb_every = 100;
	/* seen slot ms ago; the snapshot's age is 300 s: slots 0..300000 */
	reply = ask("/roceleaf/fdb");
	cr_expect_eq(reply.rows, 3001);
	cr_expect_eq(reply_number(&reply, "age_ns", 1), 100000000);
	cr_expect_str_eq(reply_text(&reply, "mac", 1), "02:00:00:00:00:64");
	cr_expect_eq(reply_number(&reply, "vlan", 3000), 100);
	reply_free(&reply);

	fake.fdb_every = 1000000;
	reply = ask("/roceleaf/fdb");
	cr_expect_eq(reply.rows, 1, "pages may be empty");
	reply_free(&reply);
}

Test(telemetry, neighbours_arrive_whole)
{
	struct reply reply;

	fake.interfaces = 1;
	fake.neighbours = 5000;
	reply = ask("/roceleaf/neighbours");
	cr_expect_eq(reply.rows, 5000);
	cr_expect_str_eq(reply_text(&reply, "address", 4999), "fd00::1387");
	cr_expect_str_eq(reply_text(&reply, "state", 0), "resolved");
	reply_free(&reply);
}

static struct config_ip ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct config_ip){.family = 4, .bytes = {a, b, c, d}};
}

Test(telemetry, routes_are_connected_networks_then_next_hops_with_their_state)
{
	static struct config_route route;
	struct reply reply;
	uint32_t slot;

	fake.interfaces = 2;
	fake.address_count = 1;
	fake.address[0][0] = (struct config_prefix){ipv4(10, 255, 0, 6), 31};
	fake.address[1][0] = (struct config_prefix){ipv4(10, 1, 7, 9), 20};
	route.to = (struct config_prefix){ipv4(10, 2, 0, 0), 24};
	route.via[0] = ipv4(10, 255, 0, 7);
	route.via[1] = ipv4(10, 1, 15, 255);
	route.via_count = 2;
	fake.config.routes = &route;
	fake.config.route_count = 1;
	slot = neighbour_hash(route.via[0].bytes, 0) & fake.snapshot.neighbour_mask;
	fake.slots[slot] = (struct neighbour){.interface = 0, .family = 4};
	memcpy(fake.slots[slot].address, route.via[0].bytes, 16);
	memcpy(fake.adjacencies[0].destination_mac, "\x02\0\0\0\x20\x01", 6);

	reply = ask("/roceleaf/routes");
	cr_assert_eq(reply.rows, 4);
	cr_expect_str_eq(reply_text(&reply, "to", 0), "10.255.0.6/31");
	cr_expect_str_eq(reply_text(&reply, "kind", 0), "connected");
	cr_expect_str_eq(reply_text(&reply, "to", 1), "10.1.0.0/20", "host bits are gone");
	cr_expect_str_eq(reply_text(&reply, "interface", 1), "if1");
	cr_expect_str_eq(reply_text(&reply, "via", 2), "10.255.0.7");
	cr_expect_str_eq(reply_text(&reply, "state", 2), "resolved");
	cr_expect_str_eq(reply_text(&reply, "mac", 2), "02:00:00:00:20:01");
	cr_expect_str_eq(reply_text(&reply, "interface", 3), "if1");
	cr_expect_str_eq(reply_text(&reply, "state", 3), "unresolved");
	reply_free(&reply);
}

Test(telemetry, every_next_hop_of_many_routes_arrives)
{
	enum { ROUTES = 500 };
	struct config_route *routes = calloc(ROUTES, sizeof(*routes));
	struct reply reply;

	for (unsigned r = 0; r < ROUTES; r++) {
		routes[r].to =
			(struct config_prefix){ipv4(10, (uint8_t)(r >> 8), (uint8_t)r, 0), 24};
		routes[r].via_count = 1 + r % CONFIG_VIAS_MAX;
		for (uint16_t v = 0; v < routes[r].via_count; v++)
			routes[r].via[v] = ipv4(192, 168, 0, (uint8_t)v);
	}
	fake.config.routes = routes;
	fake.config.route_count = ROUTES;
	reply = ask("/roceleaf/routes");
	/* 7 whole rounds of 1 + ... + 64 = 2080, and 1 + ... + 52 = 1378 */
	cr_expect_eq(reply.rows, 7 * 2080 + 1378);
	reply_free(&reply);
	free(routes);
}

Test(telemetry, long_texts_of_events_are_whole_once_joined)
{
	struct reply reply;

	fake.events = 1024;
	for (size_t i = 0; i + 1 < sizeof(fake.event_text); i++)
		fake.event_text[i] = "0123456789\"\\"[i % 12];
	reply = ask("/roceleaf/events");
	cr_assert_eq(reply.rows, 1024);
	cr_assert_eq(reply_join(&reply, "text"), 0);
	cr_expect_str_eq(reply_text(&reply, "text", 1023), fake.event_text);
	cr_expect_eq(reply_number(&reply, "sequence", 1023), 1024);
	cr_expect_str_eq(reply_text(&reply, "type", 0), "warning");
	reply_free(&reply);
}

static json_t *shown(const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_error_t error;
	json_t *root;

	cr_assert_eq(telemetry_show((struct daemon *)&fake, name, out), 0);
	cr_assert_eq(fclose(out), 0);
	root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	cr_assert_not_null(root, "%s: %s at line %d", name, error.text, error.line);
	free(text);
	return root;
}

/* What stands under `name` are the rows that show prints. */
static void expect_rows(const json_t *root, const char *name)
{
	char command[64];
	struct reply reply;
	json_t *rows;

	snprintf(command, sizeof(command), "/roceleaf/%s", name);
	reply = ask(command);
	cr_assert_eq(reply_join(&reply, "text"), 0);
	rows = reply_rows_json(&reply);
	cr_expect(json_equal(json_object_get(root, name), rows), "%s", name);
	cr_expect_eq((uint64_t)json_integer_value(json_object_get(root, "instance")),
		     reply.instance);
	json_decref(rows);
	reply_free(&reply);
}

Test(telemetry, tables_are_written_whole_as_show_prints_them)
{
	/* Without pfc: its times of day are of the moment. */
	static const char *const names[] = {"ports",  "queues",     "buffers", "peaks", "ecn",
					    "flows",  "neighbours", "balance", "drops", "classes",
					    "events", "fdb",        "marks"};

	fake_reset(40);
	fake.large = true;
	fake.fdb_slots = 5000;
	fake.fdb_every = 3;
	fake.neighbours = 700;
	fake.events = 40;
	fake.steps = 100;
	memset(fake.event_text, '\\', sizeof(fake.event_text) - 1);
	memcpy(fake.event_text, "<script>\"\x01\xc3\xa9", 13);
	strcpy(fake.ports[7].name, "\"\\</script>\"");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		json_t *root = shown(names[i]);

		expect_rows(root, names[i]);
		cr_expect_gt(json_integer_value(json_object_get(root, "time_ns")), 0);
		json_decref(root);
	}
}

Test(telemetry, what_show_prints_beside_a_table_is_beside_it)
{
	json_t *root = shown("pfc");

	expect_rows(root, "pfc_ports");
	json_decref(root);
	root = shown("buffers");
	expect_rows(root, "pool");
	json_decref(root);
	root = shown("balance");
	expect_rows(root, "spread");
	json_decref(root);
}

Test(telemetry, tables_that_are_not_there_or_too_large_are_not_written)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	cr_expect_eq(telemetry_show((struct daemon *)&fake, "nothing", out), -ENOENT);
	cr_expect_eq(telemetry_show((struct daemon *)&fake, "", out), -ENOENT);
	fake.fdb_slots = 1000000;
	fake.fdb_every = 1;
	cr_expect_eq(telemetry_show((struct daemon *)&fake, "fdb", out), -E2BIG);
	cr_expect_eq(fclose(out), 0);
	cr_expect_lt(size, TELEMETRY_SHOW_BYTES + (1u << 20));
	free(text);
}

Test(telemetry, workers_and_the_leaf_itself_answer)
{
	struct reply reply = ask("/roceleaf/workers");

	cr_assert_eq(reply.rows, 1);
	cr_expect_str_eq(reply_text(&reply, "cpu", 0), "3");
	cr_expect_eq(reply_number(&reply, "ports", 0), 4);
	cr_expect(has_counter(&reply, "busy_ns", "ns"));
	cr_expect_eq(reply_number(&reply, "ring_packets_max", 0), 96);
	reply_free(&reply);
	reply = ask("/roceleaf/info");
	cr_assert_eq(reply.rows, 1);
	cr_expect_str_eq(reply_text(&reply, "name", 0), "leaf1");
	reply_free(&reply);
}

Test(telemetry, interfaces_show_as_many_addresses_as_fit)
{
	struct reply reply;

	fake.interfaces = 1;
	fake.address_count = CONFIG_ADDRESSES_MAX;
	for (unsigned a = 0; a < CONFIG_ADDRESSES_MAX; a++) {
		fake.address[0][a].ip.family = 6;
		memset(fake.address[0][a].ip.bytes, 0xAB, 16);
		fake.address[0][a].length = 128;
	}
	reply = ask("/roceleaf/interfaces");
	cr_assert_eq(reply.rows, 1);
	cr_expect_not_null(strstr(reply_text(&reply, "addresses", 0), " ..."));
	reply_free(&reply);
}

Test(telemetry, cursors_that_nobody_gave_are_harmless)
{
	static const char *const cursors[] = {"18446744073709551615", "4294967295",
					      "281474976710656",      "281474976710911",
					      "12884901888",          "65535"};
	static const char *const commands[] = {
		"ports", "queues",    "classes", "fdb",    "routes",    "neighbours", "interfaces",
		"drops", "reasons",   "workers", "events", "info",      "buffers",    "pool",
		"pfc",   "pfc_ports", "ecn",     "record", "recording", "marks"};

	fake.interfaces = 1;
	fake.fdb_slots = 10;
	fake.fdb_every = 1;
	for (size_t c = 0; c < sizeof(commands) / sizeof(commands[0]); c++)
		for (size_t i = 0; i < sizeof(cursors) / sizeof(cursors[0]); i++) {
			char command[96];
			struct client client;
			struct ctl_error error;
			struct reply reply;

			/* The client appends ",0": no cursor of ours, so it must be refused. */
			snprintf(command, sizeof(command), "/roceleaf/%s,%s", commands[c],
				 cursors[i]);
			reply_init(&reply);
			cr_assert_eq(client_open(&client, telemetry_client_dir, &error), 0, "%s",
				     error.text);
			cr_expect_lt(client_fetch(&client, command, &reply, &error), 0);
			/* And the plain number, past the end. */
			cr_assert_eq(write(client.fd, command, strlen(command)),
				     (ssize_t)strlen(command));
			cr_expect_gt(read(client.fd, command, sizeof(command)), 0);
			client_close(&client);
		}
}

Test(telemetry, answers_nothing_once_stopped)
{
	struct ctl_error error;
	struct client client;
	struct reply reply;

	reply_init(&reply);
	telemetry_stop();
	cr_assert_eq(client_open(&client, telemetry_client_dir, &error), 0);
	cr_expect_eq(client_fetch(&client, "/roceleaf/ports", &reply, &error), -EPROTO);
	cr_expect_not_null(strstr(error.text, "starting or stopping"), "%s", error.text);
	client_close(&client);
	cr_assert_eq(telemetry_start((struct daemon *)&fake), 0);
}

Test(telemetry, steps_are_all_there_and_the_last_one_runs)
{
	struct reply reply;

	fake_reset(2);
	fake.steps = 40;
	reply = ask("/roceleaf/marks");
	cr_assert_eq(reply_join(&reply, "text"), 0);
	cr_assert_eq(reply.rows, 40);
	for (size_t row = 0; row < reply.rows; row++) {
		cr_expect_eq(reply_number(&reply, "sequence", row), row + 1);
		cr_expect_eq(reply_number(&reply, "tx_bytes", row), row + 1);
		cr_expect_eq(reply_number(&reply, "running", row), row == 39);
		cr_expect_eq(strlen(reply_text(&reply, "text", row)), MARK_TEXT_BYTES);
		cr_expect_str_eq(reply_text(&reply, "hottest", row), "port0");
		cr_expect_str_eq(reply_text(&reply, "straggler", row), "-");
	}
	cr_assert_gt(reply.pages, 1, "more than a page holds");
	reply_free(&reply);
}
