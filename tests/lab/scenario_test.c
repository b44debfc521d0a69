/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tools/lab/scenario.h"

#define RACK "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 3}}\n"

static struct scenario *load(const char *text, const char *const *assignments, uint32_t count,
			     struct config_errors *errors)
{
	struct scenario_options options = {.assignments = assignments, .assignment_count = count};

	memset(errors, 0, sizeof(*errors));
	return scenario_load_string("s.yaml", text, strlen(text), &options, errors);
}

/* Each text is refused with a message that begins like this and holds these words. */
static const struct {
	const char *text;
	const char *place;
	const char *words;
} refused[] = {
	{"seed: 1\n", "s.yaml:1:1: ", "fabric"},
	{RACK "speed: 3\n", "s.yaml:2:1: ", "speed"},
	{"fabric: {leaf_spine: {leaves: 2, spines: 0}}\n", "s.yaml:1:42: ", "unconnected"},
	{"fabric: {leaf_spine: {leaves: 500}}\n", "s.yaml:1:31: ", "254"},
	{"fabric: {leaf_spine: {spines: 64, uplinks_per_spine: 2}}\n", "s.yaml:1:54: ", "128"},
	{"fabric: {leaf_spine: {hosts_per_leaf: 510}}\n", "s.yaml:1:39: ", "512"},
	{"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 1}}\n",
	 "s.yaml:1:61: ", "one host"},
	{"fabric:\n  leaf_spine: {}\n  explicit: {nodes: [a, b], links: [{ends: [a, b]}]}\n",
	 "s.yaml:", "explicit"},
	{"fabric: {explicit: {nodes: [a, b, a], links: [{ends: [a, b]}]}}\n",
	 "s.yaml:1:35: ", "twice"},
	{"fabric: {explicit: {nodes: [a, b], links: [{ends: [a, c]}]}}\n",
	 "s.yaml:1:55: ", "c is not one"},
	{"fabric: {explicit: {nodes: [a, b], links: [{ends: [a, a]}]}}\n",
	 "s.yaml:1:51: ", "both ends"},
	{"fabric: {explicit: {nodes: [a, b], links: [{ends: [a, b, a]}]}}\n", "s.yaml:1:", "ends"},
	{"fabric: {explicit: {nodes: [a, b, c], links: [{ends: [a, b]}]}}\n",
	 "s.yaml:1:", "c has no link"},
	{"fabric: {explicit: {nodes: [a, b, c, d], links: [{ends: [a, b]}, {ends: [c, d]}]}}\n",
	 "s.yaml:1:", "no way from node a to node c"},
	{"fabric: {explicit: {nodes: [a, b], links: [{ends: [a, b], cable: 3m, delay: 1us}]}}\n",
	 "s.yaml:1:70: ", "exclude"},
	{RACK "duration: 2h\n", "s.yaml:2:11: ", "duration"},
	{RACK "leaf: {classes: [{priority: 3, name: a, dscp: [3], lossless: true}]}\n",
	 "s.yaml:2:17: ", "class"},
	{RACK "leaf: {modes: [{switch: \"spine*\", mode: ecmp}]}\n",
	 "s.yaml:2:25: ", "none of that name"},
	{RACK "leaf: {modes: [{switch: leaf1, mode: fast}]}\n", "s.yaml:2:38: ", "fast"},
	{RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h9}}]\n",
	 "s.yaml:2:39: ", "no such host"},
	{RACK "traffic: [{flow: {from: leaf1, to: leaf1.h1}}]\n", "s.yaml:2:25: ", "switch"},
	{RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h1}}]\n", "s.yaml:2:39: ", "both"},
	{RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h2, rate: 101G}}]\n",
	 "s.yaml:2:55: ", "100G"},
	{RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h2, class: best}}]\n",
	 "s.yaml:2:56: ", "no such class"},
	{RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h2, class: roce, dscp: 3}}]\n",
	 "s.yaml:2:62: ", "exclude"},
	{RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h2, payload: 5000}}]\n",
	 "s.yaml:2:58: ", "4096"},
	{RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h2, start: 2us, stop: 1us}}]\n",
	 "s.yaml:2:67: ", "not after"},
	{RACK "traffic: [{incast: {senders: 3, to: leaf1.h1}}]\n", "s.yaml:2:30: ", "only 2"},
	{RACK "traffic: [{storm: {}}]\n", "s.yaml:2:", "storm"},
	{RACK "hosts: {ack_every: 0, cnp: ack}\n", "s.yaml:2:20: ", "cnp: ack needs them"},
	{RACK "hosts: {cc: dctcp, ack_every: 0}\n", "s.yaml:2:31: ", "dctcp needs them"},
	{RACK "hosts: {ack_every: 0, window: 9KB}\n", "s.yaml:2:31: ", "9000"},
	{RACK "hosts: {ack_every: 65537}\n", "s.yaml:2:", "65536"},
	{RACK "hosts: {drain_rate: 10G}\n", "s.yaml:2:21: ", "receive_buffer"},
	{RACK "hosts: {receive_buffer: 9KB, receive_headroom: 9KB}\n", "s.yaml:2:48: ", "9000"},
	{RACK "hosts: {receive_buffer: 9KB}\n", "s.yaml:2:", "under way when host leaf1.h1"},
	{RACK "hosts: {operation: read}\n", "s.yaml:2:", "read"},
	{RACK "hosts: {dctcp: {g: 2}}\n", "s.yaml:2:", "g"},
	{RACK "traffic: [{flow: {from: leaf1.h1}}]\n", "s.yaml:2:", "to"},
};

Test(scenario, what_is_wrong_is_named_with_its_place)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct config_errors errors;

		cr_expect_null(load(refused[i].text, NULL, 0, &errors), "%s", refused[i].text);
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

Test(scenario, several_errors_come_out_together)
{
	struct config_errors errors;

	cr_expect_null(load(RACK "traffic:\n"
				 "  - flow: {from: x, to: leaf1.h1}\n"
				 "  - incast: {senders: 7, to: leaf1.h1}\n"
				 "  - permutation: {class: none}\n",
			    NULL, 0, &errors));
	cr_expect_eq(errors.count, 3);
}

Test(scenario, set_overrides_a_key)
{
	static const char *const assignments[] = {"fabric.leaf_spine.hosts_per_leaf=5",
						  "traffic[0].flow.bytes=12KB", "seed=77"};
	struct config_errors errors;
	struct scenario *scenario =
		load(RACK "traffic: [{flow: {from: leaf1.h1, to: leaf1.h2, bytes: 1MB}}]\n",
		     assignments, 3, &errors);

	cr_assert_not_null(scenario, "%s", errors.error[0].text);
	cr_expect_eq(scenario->topology->host_count, 5);
	cr_expect_eq(scenario->flows[0].bytes, 12000);
	cr_expect_eq(scenario->seed, 77);
	cr_expect_str_eq(scenario->name, "s");
	scenario_free(scenario);
}

Test(scenario, a_permutation_is_one_and_sends_nobody_to_itself)
{
	struct config_errors errors;

	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct scenario *scenario;
		bool receives[24] = {false};
		char text[256];

		snprintf(
			text, sizeof(text),
			"seed: %u\nfabric: {leaf_spine: {leaves: 3}}\ntraffic: [{permutation: {}}]\n",
			seed);
		scenario = load(text, NULL, 0, &errors);
		cr_assert_not_null(scenario, "%s", errors.error[0].text);
		cr_assert_eq(scenario->flow_count, 24);
		for (uint32_t i = 0; i < 24; i++) {
			const struct scenario_flow *flow = &scenario->flows[i];

			cr_expect_eq(flow->source, i);
			cr_expect_neq(flow->destination, i);
			cr_expect_not(receives[flow->destination]);
			receives[flow->destination] = true;
		}
		scenario_free(scenario);
	}
}

Test(scenario, an_incast_has_that_many_different_senders)
{
	struct config_errors errors;
	struct scenario *scenario = load("fabric: {leaf_spine: {leaves: 2}}\n"
					 "traffic: [{incast: {senders: 15, to: leaf2.h3}}]\n",
					 NULL, 0, &errors);
	bool sends[16] = {false};

	cr_assert_not_null(scenario, "%s", errors.error[0].text);
	cr_assert_eq(scenario->flow_count, 15);
	for (uint32_t i = 0; i < 15; i++) {
		cr_expect_eq(scenario->flows[i].destination, 10);
		cr_expect_neq(scenario->flows[i].source, 10);
		cr_expect_not(sends[scenario->flows[i].source]);
		sends[scenario->flows[i].source] = true;
		/* One packet's time at most: (4096 + 100) * 8 / 100G. */
		cr_expect_lt(scenario->flows[i].start_ps, 4196 * 80);
	}
	cr_expect_str_eq(scenario->flows[14].name, "incast1-15");
	scenario_free(scenario);
}

Test(scenario, links_are_called_after_their_host_or_their_switches)
{
	struct config_errors errors;
	struct scenario *scenario =
		load("fabric: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1,\n"
		     "                      uplinks_per_spine: 2}}\n",
		     NULL, 0, &errors);
	static const char *const names[] = {"leaf1.h1", "leaf1-spine1", "leaf1-spine1.2",
					    "leaf2.h1", "leaf2-spine1", "leaf2-spine1.2"};

	cr_assert_not_null(scenario, "%s", errors.error[0].text);
	cr_assert_eq(scenario->topology->link_count, 6);
	for (uint32_t i = 0; i < 6; i++)
		cr_expect_str_eq(scenario->topology->links[i].name, names[i]);
	scenario_free(scenario);
}

/*
 * Over one hop of rate R and delay d a train of n frames takes n * F * 8 / R + d; over two, the last
 * frame is stored once more: + F * 8 / R2 + d2 at the faster link.
 */
Test(scenario, the_ideal_time_is_that_of_an_empty_network)
{
	struct config_errors errors;
	struct scenario *scenario = load(
		"fabric: {explicit: {nodes: [a, s, b], links: [\n"
		"  {ends: [a, s], speed: 100G, delay: 1us}, {ends: [s, b], speed: 10G, delay: 2us}]}}\n",
		NULL, 0, &errors);
	struct topology_train train = {.count = 100, .frame_bytes = 1000, .last_bytes = 1000};

	cr_assert_not_null(scenario, "%s", errors.error[0].text);
	/* 80 ns for the first to be there, 100 * 800 ns at 10G, 3 us of cable. */
	cr_expect_eq(topology_ideal_ps(scenario->topology, 0, 2, &train),
		     80000 + 100 * 800000 + 3 * PS_PER_US);
	/* The other way the slow link comes first. */
	cr_expect_eq(topology_ideal_ps(scenario->topology, 2, 0, &train),
		     100 * 800000 + 80000 + 3 * PS_PER_US);
	train.last_bytes = 100;
	cr_expect_eq(topology_ideal_ps(scenario->topology, 2, 0, &train),
		     99 * 800000 + 80000 + 8000 + 3 * PS_PER_US);
	train.count = 1;
	cr_expect_eq(topology_ideal_ps(scenario->topology, 0, 2, &train),
		     8000 + 80000 + 3 * PS_PER_US);
	scenario_free(scenario);
}
