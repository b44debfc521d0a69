/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults of scenarios: what each does to traffic is known from the links' rates and times.
 *
 * One leaf, hosts at 100G, frames of 1000 bytes of payload: 1058 bytes, 1082 on the wire with preamble,
 * gap and FCS, 86.56 ns; hosts' cables are 3 m.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/harness.h"
#include "tools/lab/faults.h"

TestSuite(faults, .init = harness_start);

#define US PS_PER_US

#define FABRIC                                                                                \
	"duration: 1ms\n"                                                                     \
	"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, host_speed: 100G}}\n" \
	"hosts: {mtu: 1000, cc: none}\n"

/* Two flows of half the rate each, to hosts of their own, without end. */
#define FLOWS                                                            \
	"traffic:\n"                                                     \
	"  - flow: {name: a, from: leaf1.h1, to: leaf1.h2, rate: 50G}\n" \
	"  - flow: {name: b, from: leaf1.h3, to: leaf1.h4, rate: 50G}\n"

static const char *text_with(const char *more)
{
	static char text[4096];

	snprintf(text, sizeof(text), "%s%s", FABRIC, more);
	return text;
}

static uint64_t received_until(struct simulation *simulation, const char *name, uint64_t time_ps)
{
	harness_run_to(simulation, time_ps);
	return harness_flow(simulation, name)->received_bytes;
}

/* Bytes of a flow in a span of the run. */
static uint64_t received_in(struct simulation *simulation, const char *name, uint64_t from_ps,
			    uint64_t to_ps)
{
	uint64_t before = received_until(simulation, name, from_ps);

	return received_until(simulation, name, to_ps) - before;
}

/* Payload that a rate carries in a time: 1000 of 1082 bytes. */
static uint64_t payload_of(uint64_t mbps, uint64_t time_ps)
{
	return mbps * (time_ps / US) / 8 * 1000 / 1082;
}

static void check_near(uint64_t value, uint64_t wanted, uint64_t tolerance, const char *what)
{
	cr_expect_leq(value, wanted + tolerance, "%s: %llu, should be %llu", what,
		      (unsigned long long)value, (unsigned long long)wanted);
	cr_expect_geq(value + tolerance, wanted, "%s: %llu, should be %llu", what,
		      (unsigned long long)value, (unsigned long long)wanted);
}

Test(faults, a_link_that_is_down_carries_nothing_and_then_all_again)
{
	struct simulation *simulation = harness_begin(
		text_with(FLOWS "faults: [link_down: {link: leaf1.h1, at: 100us, for: 100us}]\n"));

	check_near(received_in(simulation, "a", 0, 100 * US), payload_of(50000, 100 * US), 3000,
		   "before");
	/* What was on its way at 100 us is there 1 us later. */
	cr_expect_eq(received_in(simulation, "a", 101 * US, 200 * US), 0);
	check_near(received_in(simulation, "a", 201 * US, 301 * US), payload_of(50000, 100 * US),
		   3000, "after");
	check_near(harness_flow(simulation, "b")->received_bytes, payload_of(50000, 301 * US), 3000,
		   "the other flow");
	harness_finish(simulation);
}

/* Ideal switches see at once that the wire is free again, or at their next try (EGRESS_RETRY_PS); others at a poll. */
Test(faults, a_stalled_link_takes_nothing_and_loses_nothing)
{
	static const char *const leaves[] = {"", "leaf: {poll: 1us}\n"};

	for (size_t i = 0; i < 2; i++) {
		char text[1024];
		struct simulation *simulation;
		uint64_t busy_ps;

		snprintf(text, sizeof(text),
			 "%s%sfaults: [stall: {link: leaf1.h2, at: 100us, for: 100us}]\n",
			 leaves[i], FLOWS);
		simulation = harness_begin(text_with(text));
		harness_run_to(simulation, 103 * US);
		busy_ps = wire_busy_ps(&simulation->fabric->wires[3]);
		cr_expect_eq(received_in(simulation, "a", 103 * US, 200 * US), 0, "%s", leaves[i]);
		cr_expect_eq(wire_busy_ps(&simulation->fabric->wires[3]), busy_ps);
		check_near(harness_flow(simulation, "b")->received_bytes,
			   payload_of(50000, 200 * US), 20000, "the other flow");
		/* What is late, and 7 us more, is made up for at twice the rate. */
		check_near(received_until(simulation, "a", 320 * US), payload_of(50000, 320 * US),
			   20000, "after");
		cr_expect_eq(harness_drops(simulation), 0);
		harness_finish(simulation);
	}
}

Test(faults, a_link_at_a_tenth_of_its_speed_delivers_a_tenth)
{
	struct simulation *simulation = harness_begin(text_with(
		"leaf: {memory: 3MiB}\n" /* less than what comes too fast: 2.25 MB */
		"traffic:\n"
		"  - flow: {name: a, from: leaf1.h1, to: leaf1.h2}\n"
		"faults: [link_speed: {link: leaf1.h2, at: 100us, for: 200us, speed: 10G}]\n"));

	check_near(received_in(simulation, "a", 0, 100 * US), payload_of(100000, 100 * US), 8000,
		   "before");
	check_near(received_in(simulation, "a", 101 * US, 299 * US), payload_of(10000, 198 * US),
		   1000, "slow");
	/* What had to wait comes at line rate, and the sender is let go. */
	check_near(received_in(simulation, "a", 301 * US, 501 * US), payload_of(100000, 200 * US),
		   1000, "after");
	cr_expect_eq(harness_drops(simulation), 0, "pauses do it");
	cr_expect_gt(harness_pauses(simulation, 0, 1u << 3), 0);
	harness_finish(simulation);
}

/* (1 - p)^n of n = 2^k bits, against repeated squaring in long double. */
Test(faults, the_chance_of_a_frame_to_survive_is_that_of_all_its_bits)
{
	const uint64_t rates[] = {1, 1000000, 1000000000, UINT64_C(100000000000000)};

	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t bits = 1; bits <= 1u << 18; bits = bits * 3 + 1) {
			long double wanted = 1, one = 1 - (long double)rates[i] / 1e15L;
			long double got = (long double)wire_survival_q63(rates[i], bits) /
					  9223372036854775808.0L;

			for (uint32_t bit = 0; bit < bits; bit++)
				wanted *= one;
			cr_expect_leq(got, wanted + 1e-12L, "%u bits", bits);
			cr_expect_geq(got, wanted - 1e-12L, "%u bits", bits);
		}
	}
}

/*
 * 1062 bytes with FCS are 8496 bits: at 1e-5 a frame is lost with 1 - (1 - 1e-5)^8496 = 0.081448. Of
 * n frames as many within 4 sigma = 4 sqrt(n 0.0814 0.9186) are lost.
 */
Test(faults, a_corrupting_link_loses_frames_by_its_bit_error_rate)
{
	struct simulation *simulation = harness_begin(
		text_with("traffic: [flow: {name: a, from: leaf1.h1, to: leaf1.h2, rate: 50G}]\n"
			  "faults: [link_errors: {link: leaf1.h1, at: 100us, for: 600us, "
			  "bit_error_rate: 1e-5}]\n"));
	const struct flow *flow = harness_flow(simulation, "a");
	struct fabric_conservation sum;
	uint64_t frames, lost, lost_before;
	double off;

	harness_run_to(simulation, 100 * US);
	cr_expect_eq(faults_corrupted(simulation->fabric), 0);
	frames = simulation->fabric->wires[0].sent_frames;
	harness_run_to(simulation, 700 * US);
	frames = simulation->fabric->wires[0].sent_frames - frames;
	lost = faults_corrupted(simulation->fabric);
	cr_expect_gt(frames, 3000);
	/* 4 sigma, squared: 16 n p q; p q = 0.074814. */
	off = (double)lost - 0.081448 * (double)frames;
	cr_expect_leq(off * off, 16 * 0.074814 * (double)frames, "%llu of %llu",
		      (unsigned long long)lost, (unsigned long long)frames);
	lost_before = lost;
	harness_run_to(simulation, 1000 * US);
	cr_expect_eq(faults_corrupted(simulation->fabric), lost_before, "it is over");
	fabric_conservation(simulation->fabric, &sum);
	cr_expect(fabric_conserved(&sum));
	cr_expect_eq(sum.dropped, lost);
	cr_expect_gt(flow->received_packets, 0);
	harness_finish(simulation);
}

Test(faults, a_pause_storm_holds_what_goes_to_its_host_and_nothing_else)
{
	struct simulation *simulation = harness_begin(text_with(
		FLOWS
		"faults: [pause_storm: {host: leaf1.h2, priority: 3, at: 100us, for: 100us}]\n"));

	harness_run_to(simulation, 100 * US);
	/* A pause needs 60 + 24 bytes' time and the cable; a frame that has begun ends. */
	cr_expect_eq(received_in(simulation, "a", 101 * US, 200 * US), 0);
	check_near(harness_flow(simulation, "b")->received_bytes, payload_of(50000, 200 * US), 3000,
		   "the other flow");
	cr_expect_gt(received_in(simulation, "a", 201 * US, 210 * US), 0);
	cr_expect_eq(harness_drops(simulation), 0);
	harness_finish(simulation);
}

Test(faults, a_pause_storm_without_an_end_lasts_until_the_run_ends)
{
	struct simulation *simulation = harness_begin(text_with(
		FLOWS "faults: [pause_storm: {host: leaf1.h2, priority: 3, at: 100us}]\n"));

	harness_run_to(simulation, 100 * US);
	cr_expect_eq(received_in(simulation, "a", 101 * US, 1000 * US), 0);
	harness_finish(simulation);
}

Test(faults, a_silent_host_sends_nothing_and_still_receives)
{
	struct simulation *simulation = harness_begin(
		text_with("traffic:\n"
			  "  - flow: {name: a, from: leaf1.h1, to: leaf1.h2, rate: 50G}\n"
			  "  - flow: {name: b, from: leaf1.h3, to: leaf1.h1, rate: 50G}\n"
			  "faults: [silent_host: {host: leaf1.h1, at: 100us, for: 100us}]\n"));

	harness_run_to(simulation, 100 * US);
	cr_expect_eq(received_in(simulation, "a", 101 * US, 200 * US), 0);
	check_near(harness_flow(simulation, "b")->received_bytes, payload_of(50000, 200 * US), 3000,
		   "to it");
	check_near(received_in(simulation, "a", 201 * US, 301 * US), payload_of(50000, 100 * US),
		   3000, "after");
	harness_finish(simulation);
}

Test(faults, a_stalled_worker_stands_still_and_then_catches_up)
{
	struct simulation *simulation = harness_begin(
		text_with(FLOWS "faults: [worker_stall: {switch: leaf1, at: 100us, for: 10us}]\n"));

	harness_run_to(simulation, 100 * US);
	cr_expect_eq(received_in(simulation, "a", 101 * US, 110 * US), 0);
	/* 10 us at half the rate are made up for in 10 us at all of it. */
	check_near(received_until(simulation, "a", 200 * US), payload_of(50000, 200 * US), 3000,
		   "after");
	harness_finish(simulation);
}

/* 1058 bytes a frame are drained: 10G carry 1000 of 1058 bytes. */
Test(faults, a_slow_receiver_takes_at_its_rate_and_pauses_its_leaf)
{
	struct simulation *simulation = harness_begin(
		"duration: 1ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, host_speed: 100G}}\n"
		"hosts: {mtu: 1000, cc: none, receive_buffer: 100KB}\n"
		"traffic: [flow: {name: a, from: leaf1.h1, to: leaf1.h2, rate: 50G}]\n"
		"faults: [slow_receiver: {host: leaf1.h2, at: 100us, for: 200us, drain_rate: 10G}]\n");

	check_near(received_in(simulation, "a", 0, 100 * US), payload_of(50000, 100 * US), 3000,
		   "before");
	check_near(received_in(simulation, "a", 110 * US, 300 * US),
		   UINT64_C(10000) * 190 / 8 * 1000 / 1058, 2000, "slow");
	cr_expect_gt(simulation->fabric->hosts[1].buffer->xoff_frames, 0);
	check_near(received_until(simulation, "a", 900 * US), payload_of(50000, 900 * US), 3000,
		   "all has come");
	cr_expect_eq(harness_drops(simulation), 0);
	harness_finish(simulation);
}

Test(faults, at_zero_they_are_there_before_the_first_frame)
{
	struct simulation *simulation =
		harness_begin(text_with(FLOWS "faults:\n"
					      "  - link_down: {link: leaf1.h1}\n"
					      "  - silent_host: {host: leaf1.h3}\n"));

	harness_run_to(simulation, 100 * US);
	cr_expect_eq(fabric_packet_hops(simulation->fabric), 0);
	harness_finish(simulation);
}

Test(faults, the_same_seed_corrupts_the_same_frames)
{
	const char *text =
		text_with(FLOWS "faults: [link_errors: {link: leaf1.h1, bit_error_rate: 1e-6}]\n");
	struct simulation *first = harness_simulate(text, 0, false);
	uint64_t digest = fabric_digest(first->fabric);
	struct simulation *second;

	harness_finish(first);
	second = harness_simulate(text, UINT64_MAX - US, false);
	cr_expect_gt(faults_corrupted(second->fabric), 0);
	cr_expect_eq(fabric_digest(second->fabric), digest);
	harness_finish(second);
}

static const struct {
	const char *what, *text, *message;
} refused[] = {
	{"no such link", "link_down: {link: nowhere}", "there is no such link"},
	{"no such host", "pause_storm: {host: leaf1.h9}", "there is no such host"},
	{"a switch in place of a host", "silent_host: {host: leaf1}", "is a switch"},
	{"a host in place of a switch", "worker_stall: {switch: leaf1.h1}", "is a host"},
	{"no such switch", "worker_stall: {switch: leaf9}", "there is no such switch"},
	{"no such worker", "worker_stall: {switch: leaf1, worker: 1}", "switches have 1"},
	{"after the end", "link_down: {link: leaf1.h1, at: 1ms}", "behind the end"},
	{"no link to stall", "stall: {link: leaf1-spine9}", "there is no such link"},
	{"no speed", "link_speed: {link: leaf1.h1}", "speed"},
	{"no rate", "link_errors: {link: leaf1.h1}", "bit_error_rate"},
	{"no errors", "link_errors: {link: leaf1.h1, bit_error_rate: 0}", "out of range"},
	{"too many", "link_errors: {link: leaf1.h1, bit_error_rate: 0.2}", "out of range"},
	{"too few", "link_errors: {link: leaf1.h1, bit_error_rate: 1e-16}", "out of range"},
	{"a word", "link_errors: {link: leaf1.h1, bit_error_rate: some}", "not a bit error rate"},
	{"no receive buffer", "slow_receiver: {host: leaf1.h1, drain_rate: 1G}", "receive_buffer"},
	{"an unknown kind", "fire: {host: leaf1.h1}", "fire"},
	{"no time", "link_down: {link: leaf1.h1, for: 0}", "for"},
	{"overlap", "link_down: {link: leaf1.h1, at: 5us}, link_speed: {link: leaf1.h1, speed: 1G}",
	 "exactly one"},
};

Test(faults, what_makes_no_sense_is_refused_with_its_place)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct config_errors errors = {0};
		struct scenario_options options = {0};
		char text[1024];

		snprintf(text, sizeof(text), FABRIC "faults:\n  - {%s}\n", refused[i].text);
		cr_expect_null(
			scenario_load_string("test.yaml", text, strlen(text), &options, &errors),
			"%s", refused[i].what);
		cr_assert_geq(errors.count, 1, "%s", refused[i].what);
		cr_expect_not_null(strstr(errors.error[0].text, refused[i].message), "%s: %s",
				   refused[i].what, errors.error[0].text);
		cr_expect_eq(strncmp(errors.error[0].text, "test.yaml:5:", 12), 0, "%s: %s",
			     refused[i].what, errors.error[0].text);
	}
}

static uint32_t overlaps(const char *first, const char *second)
{
	struct config_errors errors = {0};
	struct scenario_options options = {0};
	struct scenario *scenario;
	char text[1024];

	snprintf(text, sizeof(text), FABRIC "faults:\n  - %s\n  - %s\n", first, second);
	scenario = scenario_load_string("test.yaml", text, strlen(text), &options, &errors);
	scenario_free(scenario);
	return errors.count;
}

Test(faults, one_thing_has_one_fault_at_a_time)
{
	cr_expect_eq(overlaps("link_down: {link: leaf1.h1, at: 5us, for: 5us}",
			      "link_speed: {link: leaf1.h1, at: 9us, speed: 1G}"),
		     1);
	cr_expect_eq(overlaps("link_speed: {link: leaf1.h1, at: 9us, speed: 1G}",
			      "link_down: {link: leaf1.h1, at: 5us, for: 5us}"),
		     1);
	cr_expect_eq(overlaps("link_down: {link: leaf1.h1, at: 5us, for: 90us}",
			      "link_down: {link: leaf1.h1, at: 9us, for: 1us}\n"
			      "  - link_down: {link: leaf1.h1, at: 50us, for: 1us}"),
		     2, "both lie within the first");
	cr_expect_eq(overlaps("silent_host: {host: leaf1.h1}", "pause_storm: {host: leaf1.h1}"), 1);
	cr_expect_eq(overlaps("link_down: {link: leaf1.h1, at: 5us, for: 5us}",
			      "link_speed: {link: leaf1.h1, at: 10us, speed: 1G}"),
		     0, "one after the other");
	cr_expect_eq(overlaps("silent_host: {host: leaf1.h1}", "pause_storm: {host: leaf1.h2}"), 0,
		     "two hosts");
}
