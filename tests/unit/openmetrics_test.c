/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of the metrics, by the rules of OpenMetrics 1.0 ("Text Format"), over a daemon that isn't one.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "control/openmetrics.h"
#include "tests/unit/telemetry_fake.h"

static char *text;

static char *write_text(bool classic)
{
	size_t size = 0;
	char *written = openmetrics_text((struct daemon *)&fake, classic, &size);

	cr_assert_not_null(written);
	cr_assert_eq(strlen(written), size);
	cr_expect_eq(fake.locked, 0, "each lock was given back");
	return written;
}

static void start(void)
{
	fake_reset(2);
	fake.config.class_count = 1;
	strcpy(fake.config.classes[0].name, "roce");
	fake.config.classes[0].priority = 3;
	fake.snapshot.lossless_mask = 1u << 3;
	fake.pairs[0].headroom_bytes = 0;
	fake.now_ps = 1000000000007; /* also the time paused */
	fake.consumed = 1;
	fake.drop_ttl[1] = 42;
	text = write_text(false);
}

static void stop(void)
{
	free(text);
}

TestSuite(openmetrics, .init = start, .fini = stop);

static void expect_line(const char *line)
{
	char wanted[256];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	cr_expect_not_null(strstr(text, wanted), "%s", line);
}

static void expect_none(const char *part)
{
	cr_expect_null(strstr(text, part), "%s", part);
}

Test(openmetrics, names_counters_with_their_units_and_labels)
{
	expect_line("# TYPE roceleaf_port_rx_packets counter");
	expect_line("# UNIT roceleaf_port_rx_packets packets");
	expect_line("# HELP roceleaf_port_rx_packets frames received");
	/* Port 1 has received 1 frame, which it consumed. */
	expect_line("roceleaf_port_rx_packets_total{port=\"port1\"} 0");
	expect_line("roceleaf_port_consumed_packets_total{port=\"port1\"} 1");
	expect_line(
		"roceleaf_queue_tx_packets_total{port=\"port1\",priority=\"3\",class=\"roce\"} 11");
	expect_line("roceleaf_queue_tx_packets_total{port=\"cpu\",priority=\"2\",class=\"-\"} 18");
	expect_line("roceleaf_drop_packets_total{port=\"port1\",reason=\"ttl\"} 42");
	expect_line("roceleaf_drop_packets_total{port=\"port0\",reason=\"ttl\"} 0");
	expect_line("roceleaf_worker_stalls_total{worker=\"0\"} 2");
	expect_line("# TYPE roceleaf_worker_ring_peak_packets gauge");
	expect_line("# UNIT roceleaf_worker_ring_peak_packets packets");
	expect_line("roceleaf_worker_ring_peak_packets{worker=\"0\"} 96");
	expect_line("roceleaf_balance_flowlets_total 9");
	expect_line("roceleaf_queued_packets 77");
	expect_line("roceleaf_build_info{leaf=\"leaf1\",version=\"0.1\"} 1");
}

Test(openmetrics, events_are_counted_by_type_and_so_are_those_left_out)
{
	expect_line("# TYPE roceleaf_events_suppressed counter");
	expect_line("roceleaf_events_total{type=\"warning\"} 33");
	expect_line("roceleaf_events_suppressed_total{type=\"warning\"} 7");
	expect_line("roceleaf_events_total{type=\"mark\"} 1");
	expect_line("roceleaf_events_suppressed_total{type=\"mark\"} 0");
}

/* Of two uplinks one has three quarters of all bytes and of all weight; the third port is none. */
Test(openmetrics, uplinks_have_shares)
{
	free(text);
	fake_reset(3);
	fake.flows = 4;
	fake.group = (struct group){.kind = GROUP_VIA, .balanced = 2, .members = 0};
	fake.members[0] = (struct adjacency){.egress = 1, .weight = BALANCE_WEIGHT_MAX};
	fake.members[1] = (struct adjacency){.egress = 2, .weight = BALANCE_WEIGHT_MAX / 3 + 1};
	fake.snapshot.group = &fake.group;
	fake.snapshot.group_count = 1;
	fake.snapshot.adjacency = fake.members;
	text = write_text(false);
	expect_line("# UNIT roceleaf_uplink_share_ratio ratio");
	expect_line("roceleaf_uplink_share_ratio{port=\"port1\"} 0.750000");
	expect_line("roceleaf_uplink_share_ratio{port=\"port2\"} 0.250000");
	expect_line("roceleaf_uplink_spread_bytes_total{port=\"port2\"} 2000");
	expect_line("roceleaf_uplink_band{port=\"port1\"} 2");
	expect_none("roceleaf_uplink_band{port=\"port0\"}");
}

/* The fake's polls: 5 below 1 us, 4 below 8 us. Its reactions: 7 below 2 us, one beyond all. */
Test(openmetrics, histograms_add_up)
{
	expect_line("# TYPE roceleaf_worker_poll_seconds histogram");
	expect_line("roceleaf_worker_poll_seconds_bucket{worker=\"0\",le=\"0.000001\"} 5");
	expect_line("roceleaf_worker_poll_seconds_bucket{worker=\"0\",le=\"0.000004\"} 5");
	expect_line("roceleaf_worker_poll_seconds_bucket{worker=\"0\",le=\"0.000008\"} 9");
	expect_line("roceleaf_worker_poll_seconds_bucket{worker=\"0\",le=\"+Inf\"} 9");
	expect_line("roceleaf_worker_xoff_reaction_seconds_bucket{worker=\"0\",le=\"0.001024\"} 7");
	expect_line("roceleaf_worker_xoff_reaction_seconds_bucket{worker=\"0\",le=\"+Inf\"} 8");
}

Test(openmetrics, times_are_seconds_to_the_last_digit)
{
	expect_line("# UNIT roceleaf_pfc_rx_paused_seconds seconds");
	expect_line(
		"roceleaf_pfc_rx_paused_seconds_total{port=\"port0\",priority=\"3\",class=\"roce\"} "
		"1.000000000007");
	expect_line("roceleaf_worker_busy_seconds_total{worker=\"0\"} 0.000000004");
	expect_none("_ps");
	expect_none("_ns");
}

Test(openmetrics, peaks_have_a_kind_and_pairs_are_lossless_ones)
{
	expect_line("roceleaf_queue_depth_peak_bytes{port=\"port1\",priority=\"0\",class=\"-\","
		    "kind=\"user\"} 100");
	expect_line("roceleaf_queue_depth_peak_bytes{port=\"port1\",priority=\"0\",class=\"-\","
		    "kind=\"persistent\"} 102");
	expect_line(
		"roceleaf_pair_headroom_peak_bytes{port=\"port1\",priority=\"3\",class=\"roce\","
		"kind=\"periodic\"} 5");
	expect_line(
		"roceleaf_pair_occupancy_bytes{port=\"port1\",priority=\"3\",class=\"roce\"} 1");
	expect_none("roceleaf_pair_occupancy_bytes{port=\"port1\",priority=\"0\"");
	expect_none("roceleaf_pair_occupancy_bytes{port=\"cpu\"");
	expect_none("roceleaf_device_rx_missed_packets_total{port=\"cpu\"");
}

/* Of one family: TYPE, UNIT, HELP, samples, each family once, and the end. */
Test(openmetrics, each_family_is_whole_and_the_text_has_an_end)
{
	size_t size = strlen(text), families = 0;
	char family[128] = "";

	cr_assert_str_eq(text + size - 6, "# EOF\n");
	text[size - 6] = '\0';
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		char kind[8], name[128], rest[128];

		if (sscanf(line, "# %7s %127s %127s", kind, name, rest) == 3) {
			if (strcmp(kind, "TYPE") == 0) {
				strcpy(family, name);
				families++;
			}
			cr_assert_str_eq(name, family, "%s", line);
			if (strcmp(kind, "UNIT") == 0) {
				cr_assert_gt(strlen(name), strlen(rest));
				cr_assert_str_eq(name + strlen(name) - strlen(rest), rest);
			}
			continue;
		}
		cr_assert_eq(strncmp(line, family, strlen(family)), 0, "%s: not of %s", line,
			     family);
	}
	cr_expect_gt(families, 80);
}

Test(openmetrics, the_older_format_has_no_unit_no_end_and_total_in_the_name)
{
	stop();
	text = write_text(true);
	expect_line("# TYPE roceleaf_port_rx_packets_total counter");
	expect_line("# HELP roceleaf_port_rx_packets_total frames received");
	expect_line("roceleaf_port_rx_packets_total{port=\"port1\"} 0");
	cr_expect_eq(strncmp(text, "# TYPE roceleaf_build_info gauge\n", 33), 0);
	expect_none("# UNIT");
	expect_none("# EOF");
}
