/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic that files ask for: what it resolves to, and what is refused. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lab/scenario.h"

#define RACK "fabric: {single_leaf: {hosts: 6}}\n"

static struct scenario *load_text(const char *text, struct config_errors *errors)
{
	struct scenario_options options = {0};

	memset(errors, 0, sizeof(*errors));
	return scenario_load_string("s.yaml", text, strlen(text), &options, errors);
}

static struct scenario *load_good(const char *text)
{
	struct config_errors errors;
	struct scenario *scenario = load_text(text, &errors);

	cr_assert_not_null(scenario, "%s: %s", text, errors.error[0].text);
	return scenario;
}

/* --- what is refused --- */

static const struct {
	const char *text;
	const char *place;
	const char *words;
} refused[] = {
	/* fabrics */
	{"fabric: {single_leaf: {hosts: 1}}\n", "s.yaml:1:31: ", "hosts"},
	{"fabric: {single_leaf: {leaves: 2}}\n", "s.yaml:1:24: ", "leaves"},
	{"fabric: {leaf_spine: {oversubscription: 2, uplink_speed: 50G}}\n",
	 "s.yaml:1:23: ", "exclude"},
	{"fabric: {leaf_spine: {leaves: 1, spines: 0, oversubscription: 2}}\n",
	 "s.yaml:1:63: ", "without uplinks"},
	{"fabric: {leaf_spine: {host_speed: 800G, hosts_per_leaf: 64, spines: 1, "
	 "oversubscription: 0.01}}\n",
	 "s.yaml:1:90: ", "out of range"},
	{"fabric: {leaf_spine: {links: [{link: leaf1-spine9, speed: 50G}]}}\n",
	 "s.yaml:1:38: ", "none of that name"},
	{"fabric: {leaf_spine: {links: [{link: leaf1-spine1}]}}\n",
	 "s.yaml:1:31: ", "neither speed nor cable"},
	{"fabric: {leaf_spine: {links: [{link: leaf1-spine1, cable: 1m, delay: 1us}]}}\n",
	 "s.yaml:1:63: ", "exclude"},
	{"fabric: {leaf_spine: {links: [{speed: 50G}]}}\n", "s.yaml:1:31: ", "link"},
	{"fabric: {rail_optimised: {units: 20, rails: 20}}\n", "s.yaml:1:45: ", "400 leaves"},
	{"fabric: {rail_optimised: {rails: 2, spines: 0}}\n", "s.yaml:1:45: ", "unconnected"},
	{"fabric: {rail_optimised: {servers: 1, rails: 1, spines: 0}}\n",
	 "s.yaml:1:36: ", "one NIC"},
	{"fabric: {rail_optimised: {units: 64, rails: 2, uplinks_per_spine: 8}}\n",
	 "s.yaml:1:67: ", "1024 ports"},
	{"fabric: {three_tier: {pods: 1}}\n", "s.yaml:1:29: ", "pods"},
	{"fabric: {three_tier: {spines_per_pod: 4, cores: 6}}\n", "s.yaml:1:49: ", "don't divide"},
	{"fabric: {three_tier: {pods: 64, leaves_per_pod: 8}}\n", "s.yaml:1:49: ", "512 leaves"},
	{"fabric: {three_tier: {spines_per_pod: 1, cores: 65}}\n", "s.yaml:1:49: ", "at most 64"},
	{"fabric: {three_tier: {spines_per_pod: 40, cores: 40, uplinks_per_spine: 2}}\n",
	 "s.yaml:1:73: ", "80 uplinks"},
	{"fabric: {ns3: {}}\n", "s.yaml:1:15: ", "file"},
	{"fabric: {ns3: {file: /nonexistent/topology.txt}}\n",
	 "/nonexistent/topology.txt: ", "can't be read"},
	/* collectives */
	{RACK "traffic: [{allreduce: {}}]\n", "s.yaml:2:23: ", "bytes"},
	{RACK "traffic: [{allreduce: {bytes: 5}}]\n", "s.yaml:2:31: ", "6 ranks"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, algorithm: tree}}]\n",
	 "s.yaml:2:47: ", "halving-doubling"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, algorithm: halving-doubling}}]\n",
	 "s.yaml:2:47: ", "power of two"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, ranks: [leaf1.h1]}}]\n",
	 "s.yaml:2:43: ", "needs two"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, ranks: [leaf1.h1, leaf1.h7]}}]\n",
	 "s.yaml:2:54: ", "leaf1.h7"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, ranks: [leaf1.h1, leaf1.h2, leaf1.h1]}}]\n",
	 "s.yaml:2:64: ", "taken"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, ranks: [leaf1, leaf1.h2]}}]\n",
	 "s.yaml:2:44: ", "no such host"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, repeat: 0}}]\n", "s.yaml:2:44: ", "repeat"},
	{RACK "traffic: [{allreduce: {bytes: 1PiB, repeat: 1000000}}]\n", "s.yaml:2:", "1"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, stop: 1ms}}]\n", "s.yaml:2:36: ", "stop"},
	{RACK "traffic: [{allreduce: {bytes: 1MB, compute: fast}}]\n", "s.yaml:2:45: ", "compute"},
	{RACK "traffic: [{alltoall: {bytes: 1MB, concurrent: 0}}]\n",
	 "s.yaml:2:47: ", "concurrent"},
	{RACK "traffic: [{alltoall: {bytes: 1MB, algorithm: ring}}]\n",
	 "s.yaml:2:35: ", "algorithm"},
	{RACK "traffic: [{alltoall: {name: a, bytes: 1MB}}, {allreduce: {name: a, bytes: 1MB}}]\n",
	 "s.yaml:2:65: ", "another collective"},
	{RACK "traffic: [{alltoall: {bytes: 1MB, rate: 200G}}]\n", "s.yaml:2:41: ", "100G"},
	/* poisson */
	{RACK "traffic: [{poisson: {sizes: rpc}}]\n", "s.yaml:2:21: ", "load"},
	{RACK "traffic: [{poisson: {load: 50%}}]\n", "s.yaml:2:21: ", "sizes"},
	{RACK "traffic: [{poisson: {load: 0%, sizes: rpc}}]\n", "s.yaml:2:28: ", "load"},
	{RACK "traffic: [{poisson: {load: 300%, sizes: rpc}}]\n", "s.yaml:2:28: ", "load"},
	{RACK "traffic: [{poisson: {load: 50%, sizes: /nonexistent/cdf}}]\n",
	 "/nonexistent/cdf: ", "can't be read"},
	{RACK "traffic: [{poisson: {load: 50%, sizes: rpc, workload: a}}]\n",
	 "s.yaml:2:45: ", "no file"},
	{RACK "traffic: [{poisson: {load: 50%, sizes: rpc, hosts: [leaf1.h1]}}]\n",
	 "s.yaml:2:52: ", "another host"},
	{RACK "traffic: [{poisson: {load: 50%, sizes: rpc, hosts: [\"leaf2.*\"]}}]\n",
	 "s.yaml:2:53: ", "no such host"},
	{RACK "duration: 3600s\ntraffic: [{poisson: {load: 50%, sizes: rpc}}]\n",
	 "s.yaml:3:21: ", "flows"},
	/* bursts */
	{RACK "traffic: [{checkpoint: {to: leaf1.h1}}]\n", "s.yaml:2:24: ", "bytes"},
	{RACK "traffic: [{checkpoint: {bytes: 1MB}}]\n", "s.yaml:2:24: ", "to"},
	{RACK "traffic: [{checkpoint: {bytes: 1MB, to: leaf1.h1, from: [leaf1.h1]}}]\n",
	 "s.yaml:2:58: ", "taken"},
	{RACK "traffic: [{checkpoint: {bytes: 1MB, to: leaf1.h1, every: 0}}]\n",
	 "s.yaml:2:58: ", "every"},
	{RACK "traffic: [{on_off: {from: leaf1.h1, to: leaf1.h2, on: 1us}}]\n",
	 "s.yaml:2:20: ", "off"},
	{RACK "traffic: [{on_off: {from: leaf1.h1, to: leaf1.h1, on: 1us, off: 1us}}]\n",
	 "s.yaml:2:41: ", "both"},
	{RACK "traffic: [{on_off: {from: leaf1.h1, to: leaf1.h2, on: 1us, off: 1us, "
	      "random: perhaps}}]\n",
	 "s.yaml:2:78: ", "random"},
	/* imports */
	{RACK "traffic: [{ns3: {}}]\n", "s.yaml:2:17: ", "file"},
	{RACK "traffic: [{ns3: {file: /nonexistent/flow.txt}}]\n",
	 "/nonexistent/flow.txt: ", "can't be read"},
};

Test(scenario_traffic, what_is_wrong_is_named_with_its_place)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct config_errors errors;

		cr_expect_null(load_text(refused[i].text, &errors), "%s", refused[i].text);
		cr_assert_geq(errors.count, 1, "%s", refused[i].text);
		cr_expect(strncmp(errors.error[0].text, refused[i].place,
				  strlen(refused[i].place)) == 0,
			  "%s gives %s, not at %s", refused[i].text, errors.error[0].text,
			  refused[i].place);
		cr_expect_not_null(strstr(errors.error[0].text, refused[i].words),
				   "%s gives %s, without \"%s\"", refused[i].text,
				   errors.error[0].text, refused[i].words);
	}
}

/* --- poisson --- */

/* E[X^2] of a distribution whose share rises in proportion between points: p (a^2 + ab + b^2) / 3. */
static double mean_square(enum size_workload workload)
{
	struct size_distribution sizes = size_distribution_of(workload);
	double sum = 0;

	for (uint32_t i = 1; i < sizes.count; i++) {
		double a = (double)sizes.points[i - 1].bytes, b = (double)sizes.points[i].bytes;

		sum += (sizes.points[i].ppm - sizes.points[i - 1].ppm) * (a * a + a * b + b * b) /
		       3;
	}
	return sum / SIZE_PPM;
}

/*
 * 6 hosts of 100G at 40 % for 0.5 s: L = 6 * 0.4 * 100e9 / 8 * 0.5 bytes of payload in the mean, from n = L / E[X] flows. The
 * sum of a Poisson number of sizes has the variance n E[X^2]; four sigmas leave out one seed in 16,000.
 */
Test(scenario_traffic, poisson_offers_its_load)
{
	for (int workload = SIZE_WEBSEARCH; workload <= SIZE_STORAGE; workload++) {
		static const char *const names[] = {"", "websearch", "hadoop", "storage"};
		double load = 6 * 0.4 * 100e9 / 8 * 0.5, bytes = 0, flows;
		struct size_distribution sizes = size_distribution_of((enum size_workload)workload);
		struct scenario *scenario;
		char text[256];

		snprintf(text, sizeof(text),
			 "duration: 600ms\n" RACK "traffic: [{poisson: {load: 40%%, sizes: %s, "
			 "start: 50ms, stop: 550ms}}]\n",
			 names[workload]);
		scenario = load_good(text);
		flows = load / (double)size_distribution_mean_bytes(&sizes);
		for (uint32_t i = 0; i < scenario->flow_count; i++) {
			const struct scenario_flow *flow = &scenario->flows[i];

			bytes += (double)flow->bytes;
			cr_assert_neq(flow->source, flow->destination);
			cr_assert_geq(flow->start_ps, 50 * PS_PER_MS);
			cr_assert_lt(flow->start_ps, 550 * PS_PER_MS);
			cr_assert(i == 0 || scenario->flows[i - 1].start_ps <= flow->start_ps);
		}
		cr_expect_leq(fabs(bytes - load),
			      4 * sqrt(flows * mean_square((enum size_workload)workload)),
			      "%s: %f of %f", names[workload], bytes, load);
		cr_expect_leq(fabs(scenario->flow_count - flows), 4 * sqrt(flows),
			      "%s: %u flows of %f", names[workload], scenario->flow_count, flows);
		scenario_free(scenario);
	}
}

/*
 * Destinations are uniform among the others: with 30 pairs and n flows each gets n / 30 with a binomial
 * deviation; the chi-square statistic of 29 degrees of freedom is above 72 once in 16,000 seeds.
 */
Test(scenario_traffic, poisson_sends_to_all_others_alike)
{
	struct scenario *scenario = load_good("duration: 20ms\n" RACK
					      "traffic: [{poisson: {load: 40%, sizes: rpc}}]\n");
	uint32_t pairs[6][6] = {{0}};
	double expected = scenario->flow_count / 30.0, chi_square = 0;

	for (uint32_t i = 0; i < scenario->flow_count; i++)
		pairs[scenario->flows[i].source][scenario->flows[i].destination]++;
	cr_assert_gt(expected, 100);
	for (uint32_t i = 0; i < 36; i++) {
		double seen = pairs[i / 6][i % 6];

		if (i / 6 != i % 6)
			chi_square += (seen - expected) * (seen - expected) / expected;
	}
	cr_expect_lt(chi_square, 72, "%f", chi_square);
	scenario_free(scenario);
}

/* An element more changes no other: its randomness is its own. */
Test(scenario_traffic, elements_do_not_depend_on_each_other)
{
	struct scenario *alone =
		load_good("duration: 5ms\n" RACK "traffic: [{poisson: {load: 10%, sizes: rpc}}]\n");
	struct scenario *both = load_good("duration: 5ms\n" RACK "traffic:\n"
					  "  - poisson: {load: 10%, sizes: rpc}\n"
					  "  - poisson: {load: 20%, sizes: storage}\n");

	cr_assert_gt(both->flow_count, alone->flow_count);
	for (uint32_t i = 0; i < alone->flow_count; i++) {
		cr_expect_eq(alone->flows[i].bytes, both->flows[i].bytes);
		cr_expect_eq(alone->flows[i].start_ps, both->flows[i].start_ps);
		cr_expect_eq(alone->flows[i].destination, both->flows[i].destination);
	}
	scenario_free(alone);
	scenario_free(both);
}

/* --- bursts --- */

Test(scenario_traffic, a_checkpoint_is_everybody_else_again_and_again_in_the_lossy_class)
{
	struct scenario *scenario =
		load_good(RACK "traffic: [{checkpoint: {bytes: 2MB, to: leaf1.h6, every: 300us, "
			       "repeat: 3, start: 10us, jitter: 0}}]\n");

	cr_assert_eq(scenario->flow_count, 15);
	for (uint32_t i = 0; i < 15; i++) {
		const struct scenario_flow *flow = &scenario->flows[i];

		cr_expect_eq(flow->source, i % 5);
		cr_expect_eq(flow->destination, 5);
		cr_expect_eq(flow->bytes, 2000000);
		cr_expect_eq(flow->start_ps, (10 + i / 5 * 300) * PS_PER_US);
		cr_expect_eq(flow->priority, 0);
	}
	cr_expect_str_eq(scenario->flows[14].name, "checkpoint1-15");
	scenario_free(scenario);
}

Test(scenario_traffic, on_and_off_take_turns_until_the_end)
{
	struct scenario *scenario = load_good("duration: 100us\n" RACK
					      "traffic: [{on_off: {from: leaf1.h1, to: leaf1.h2, "
					      "on: 10us, off: 20us, start: 5us, stop: 70us}}]\n");

	/* 5..15, 35..45, 65..70 */
	cr_assert_eq(scenario->flow_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		cr_expect_eq(scenario->flows[i].start_ps, (5 + 30 * i) * PS_PER_US);
		cr_expect_eq(scenario->flows[i].stop_ps, (i == 2 ? 70 : 15 + 30 * i) * PS_PER_US);
		cr_expect(scenario->flows[i].stops);
	}
	scenario_free(scenario);
}

/* 1000 turns of 10 us + 30 us in the mean in 40 ms: times on have the mean 10 us and as large a deviation. */
Test(scenario_traffic, random_turns_have_their_means)
{
	struct scenario *scenario = load_good("duration: 40ms\n" RACK
					      "traffic: [{on_off: {from: leaf1.h1, to: leaf1.h2, "
					      "on: 10us, off: 30us, random: true}}]\n");
	double on_ps = 0, mean = 10e6, count = scenario->flow_count;

	/* A turn's variance is 10^2 + 30^2 us^2, its mean 40 us: sigma of the count sqrt(1000 * 1000 / 1600). */
	cr_expect_leq(fabs(count - 1000), 4 * sqrt(1000 * 1000 / 1600.0), "%f", count);
	for (uint32_t i = 0; i < scenario->flow_count; i++)
		on_ps += (double)(scenario->flows[i].stop_ps - scenario->flows[i].start_ps);
	cr_expect_leq(fabs(on_ps / count - mean), 4 * mean / sqrt(count));
	scenario_free(scenario);
}

/* --- imports --- */

static struct scenario *load_flows(const char *flows, const char *fabric,
				   struct config_errors *errors, char *path)
{
	struct scenario *scenario;
	char text[512];
	int file;

	strcpy(path, "/tmp/flows.XXXXXX");
	file = mkstemp(path);
	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, flows, strlen(flows)), (ssize_t)strlen(flows));
	close(file);
	snprintf(text, sizeof(text), "%straffic: [{ns3: {file: %s, start: 3us}}]\n", fabric, path);
	scenario = load_text(text, errors);
	unlink(path);
	return scenario;
}

/* The first flow of the file begins at `start`. */
Test(scenario_traffic, a_flow_file_keeps_its_times_and_sizes)
{
	struct config_errors errors;
	char path[64];
	struct scenario *scenario = load_flows("3\n"
					       "0 5 3 100 20000 2.000001\n"
					       "4 1 3 100 1e3 2\n"
					       "2 3 0 7 1 2.0000000005\n",
					       RACK, &errors, path);
	const struct scenario_flow *flow;

	cr_assert_not_null(scenario, "%s", errors.error[0].text);
	cr_assert_eq(scenario->flow_count, 3);
	flow = scenario->flows;
	cr_expect_eq(flow[0].source, 0);
	cr_expect_eq(flow[0].destination, 5);
	cr_expect_eq(flow[0].bytes, 20000);
	cr_expect_eq(flow[0].start_ps, 4 * PS_PER_US);
	cr_expect_eq(flow[0].priority, 3);
	cr_expect_eq(flow[1].bytes, 1000);
	cr_expect_eq(flow[1].start_ps, 3 * PS_PER_US);
	cr_expect_eq(flow[2].start_ps, 3 * PS_PER_US + 500);
	cr_expect_eq(flow[2].priority, 0);
	scenario_free(scenario);
}

static const struct {
	const char *text, *place, *words;
} refused_flows[] = {
	{"", ":1:1: ", "number of flows"},
	{"2\n0 1 3 100 1 2\n", ":3:1: ", "the file ends"},
	{"1\n0 9 3 100 1 2\n", ":2:1: ", "no such host"},
	{"1\n0 0 3 100 1 2\n", ":2:1: ", "itself"},
	{"1\n0 1 8 100 1 2\n", ":2:5: ", "out of range"},
	{"1\n0 1 5 100 1 2\n", ":2:1: ", "priority group 5"},
	{"1\n0 1 3 70000 1 2\n", ":2:7: ", "out of range"},
	{"1\n0 1 3 100 0 2\n", ":2:11: ", "a byte"},
	{"1\n0 1 3 100 many 2\n", ":2:11: ", "many"},
	{"1\n0 1 3 100 1 1e9\n", ":2:13: ", "range"},
	{"1\n0 1 3 100 1 2\n5\n", ":3:1: ", "behind"},
	{"99999999999\n", ":1:1: ", "out of range"},
};

Test(scenario_traffic, what_is_wrong_in_a_flow_file_is_named_with_its_place)
{
	for (size_t i = 0; i < sizeof(refused_flows) / sizeof(refused_flows[0]); i++) {
		struct config_errors errors;
		char path[64], place[128];

		cr_expect_null(load_flows(refused_flows[i].text, RACK, &errors, path), "%s",
			       refused_flows[i].text);
		cr_assert_geq(errors.count, 1, "%s", refused_flows[i].text);
		snprintf(place, sizeof(place), "%s%s", path, refused_flows[i].place);
		cr_expect(strncmp(errors.error[0].text, place, strlen(place)) == 0, "%s gives %s",
			  refused_flows[i].text, errors.error[0].text);
		cr_expect_not_null(strstr(errors.error[0].text, refused_flows[i].words),
				   "%s gives %s", refused_flows[i].text, errors.error[0].text);
	}
}

/* --- collectives --- */

Test(scenario_traffic, a_collective_is_called_by_its_kind_until_that_is_taken)
{
	struct scenario *scenario =
		load_good(RACK "traffic:\n"
			       "  - allreduce: {bytes: 1MB}\n"
			       "  - allreduce: {bytes: 1MB, ranks: [\"leaf1.h[2-5]\"],\n"
			       "                algorithm: halving-doubling}\n"
			       "  - alltoall: {bytes: 1MB, repeat: 2}\n");

	cr_assert_eq(scenario->collective_count, 3);
	cr_expect_str_eq(scenario->collectives[0].name, "allreduce");
	cr_expect_str_eq(scenario->collectives[1].name, "allreduce2");
	cr_expect_str_eq(scenario->collectives[2].name, "alltoall");
	cr_expect_eq(scenario->collectives[1].ranks[0], 1);
	cr_expect_eq(scenario->collectives[1].ranks[3], 4);
	/* 6 of a ring, 4 * 2 partners, 6 * 5 peers */
	cr_expect_eq(scenario->flow_count, 6 + 8 + 30);
	cr_expect_eq(scenario->collectives[2].first_flow, 14);
	/* A sixth of 1 MB to each, twice: shares differ by a byte. */
	for (uint32_t i = 14; i < 44; i++)
		cr_expect_leq(llabs((long long)scenario->flows[i].bytes - 2 * 1000000 / 6), 2);
	scenario_free(scenario);
}
