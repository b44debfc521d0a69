/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of the fabrics that a scenario can ask for: nodes, links, paths, addresses. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lab/allocate.h"
#include "tools/lab/fabric_config.h"
#include "tools/lab/scenario.h"

static struct scenario *load_text(const char *text)
{
	struct config_errors errors = {0};
	struct scenario_options options = {0};
	struct scenario *scenario =
		scenario_load_string("s.yaml", text, strlen(text), &options, &errors);

	cr_assert_not_null(scenario, "%s: %s", text, errors.error[0].text);
	return scenario;
}

static uint32_t node_of(const struct scenario *scenario, const char *name)
{
	uint32_t node = topology_find_node(scenario->topology, name);

	cr_assert_neq(node, TOPOLOGY_NONE, "no node %s", name);
	return node;
}

static const struct topology_link *link_of(const struct scenario *scenario, const char *name)
{
	for (uint32_t i = 0; i < scenario->topology->link_count; i++)
		if (strcmp(scenario->topology->links[i].name, name) == 0)
			return &scenario->topology->links[i];
	cr_assert_fail("no link %s", name);
	return NULL;
}

static uint32_t hops_between(const struct scenario *scenario, const char *from, const char *to)
{
	uint32_t *hops = allocate(scenario->topology->node_count * sizeof(*hops));
	uint32_t between;

	topology_hops(scenario->topology, node_of(scenario, to), hops);
	between = hops[node_of(scenario, from)];
	free(hops);
	return between;
}

/* Next hops of a switch's route to the network of a host; the longest prefix counts. */
static uint32_t paths_to(const struct scenario *scenario, const char *from, const char *host)
{
	const struct topology *topology = scenario->topology;
	const struct topology_node *node = &topology->nodes[node_of(scenario, from)];
	struct config *config = fabric_config_create(scenario, node->index, &scenario->leaf.config);
	uint32_t subnet = topology->nodes[node_of(scenario, host)].subnet;
	uint32_t paths = 0, longest = 0;

	for (uint32_t i = 0; i < config->route_count; i++) {
		const struct config_route *route = &config->routes[i];

		if (route->to.length < longest || route->to.ip.bytes[0] != 10 ||
		    (route->to.length == TOPOLOGY_PREFIX_LENGTH && route->to.ip.bytes[1] != subnet))
			continue;
		longest = route->to.length;
		paths = route->via_count;
	}
	fabric_config_free(config);
	return paths;
}

/* Every address and every MAC is there once. */
static void check_addresses(const struct scenario *scenario)
{
	const struct topology *topology = scenario->topology;

	for (uint32_t i = 0; i < topology->node_count; i++) {
		uint8_t mac[6], other[6];

		topology_mac(topology, i, mac);
		for (uint32_t j = i + 1; j < topology->node_count; j++) {
			topology_mac(topology, j, other);
			cr_expect(memcmp(mac, other, 6) != 0, "%s and %s have one MAC",
				  topology->nodes[i].name, topology->nodes[j].name);
			if (topology->nodes[i].host && topology->nodes[j].host) {
				struct config_ip a = topology_ip(topology, i);
				struct config_ip b = topology_ip(topology, j);

				cr_expect(memcmp(a.bytes, b.bytes, 4) != 0,
					  "%s and %s have one address", topology->nodes[i].name,
					  topology->nodes[j].name);
			}
		}
	}
}

static void check_counts(const struct scenario *scenario, uint32_t switches, uint32_t hosts,
			 uint32_t links)
{
	cr_expect_eq(scenario->topology->switch_count, switches, "%u switches",
		     scenario->topology->switch_count);
	cr_expect_eq(scenario->topology->host_count, hosts, "%u hosts",
		     scenario->topology->host_count);
	cr_expect_eq(scenario->topology->link_count, links, "%u links",
		     scenario->topology->link_count);
}

Test(fabrics, a_single_leaf_has_all_hosts)
{
	struct scenario *scenario =
		load_text("fabric: {single_leaf: {hosts: 5, host_speed: 400G, host_cable: 20m}}\n");

	check_counts(scenario, 1, 5, 5);
	check_addresses(scenario);
	cr_expect_eq(hops_between(scenario, "leaf1.h1", "leaf1.h5"), 2);
	cr_expect_eq(link_of(scenario, "leaf1.h3")->rate_bps, UINT64_C(400000000000));
	cr_expect_eq(link_of(scenario, "leaf1.h3")->delay_ps, 100 * PS_PER_NS);
	scenario_free(scenario);
}

/* Links of the core carry anything, a slow one too; those of hosts and all cables stay as they are. */
Test(fabrics, an_ideal_core_is_as_fast_as_can_be)
{
	struct scenario *scenario = load_text(
		"fabric: {leaf_spine: {ideal_core: true, uplink_cable: 200m, links: [{link: leaf1-spine1, "
		"speed: 25G}, {link: leaf1.h1, speed: 50G}]}}\n");

	cr_assert_eq(link_of(scenario, "leaf1-spine1")->rate_bps, UINT64_C(1600000000000));
	cr_assert_eq(link_of(scenario, "leaf2-spine2")->rate_bps, UINT64_C(1600000000000));
	cr_assert_eq(link_of(scenario, "leaf1-spine1")->delay_ps, 1000 * PS_PER_NS);
	cr_assert_eq(link_of(scenario, "leaf1.h1")->rate_bps, UINT64_C(50000000000));
	cr_assert_eq(link_of(scenario, "leaf2.h1")->rate_bps, UINT64_C(100000000000));
	scenario_free(scenario);
}

/* Two queue pairs a host: flows 2 i and 2 i + 1 go from host i to the same other one. */
Test(fabrics, a_permutation_may_have_several_queue_pairs)
{
	struct scenario *scenario =
		load_text("fabric: {leaf_spine: {}}\n"
			  "traffic: [{permutation: {bytes: 1MB, queue_pairs: 2}}]\n");

	cr_assert_eq(scenario->flow_count, 2 * scenario->topology->host_count);
	for (uint32_t i = 0; i < scenario->topology->host_count; i++) {
		const struct scenario_flow *first = &scenario->flows[2 * i], *second = first + 1;

		cr_assert_eq(first->source, i);
		cr_assert_eq(second->source, i);
		cr_assert_eq(first->destination, second->destination);
		cr_assert_neq(first->source_port, second->source_port);
	}
	scenario_free(scenario);
}

/* 8 hosts of 100G over 2 spines with 2 links each at 4:1: 800G / 4 / 4 = 50G an uplink. */
Test(fabrics, oversubscription_sets_the_speed_of_uplinks)
{
	struct scenario *scenario =
		load_text("fabric: {leaf_spine: {uplinks_per_spine: 2, oversubscription: 4}}\n");

	check_counts(scenario, 4, 16, 16 + 2 * 2 * 2);
	cr_expect_eq(link_of(scenario, "leaf1-spine1")->rate_bps, UINT64_C(50000000000));
	cr_expect_eq(link_of(scenario, "leaf2-spine2.2")->rate_bps, UINT64_C(50000000000));
	cr_expect_eq(link_of(scenario, "leaf1.h1")->rate_bps, UINT64_C(100000000000));
	cr_expect_eq(paths_to(scenario, "leaf1", "leaf2.h1"), 4);
	scenario_free(scenario);
}

/* NICs on one rail meet on a leaf, those on different rails over a spine. */
Test(fabrics, a_rail_has_the_same_nic_of_every_server)
{
	struct scenario *scenario = load_text("fabric: {rail_optimised: {units: 2, servers: 3, "
					      "rails: 4, spines: 2}}\n");

	check_counts(scenario, 2 * 4 + 2, 2 * 3 * 4, 2 * 3 * 4 + 2 * 4 * 2);
	check_addresses(scenario);
	cr_expect_eq(hops_between(scenario, "u1.s1.r2", "u1.s3.r2"), 2);
	cr_expect_eq(hops_between(scenario, "u1.s1.r2", "u1.s1.r3"), 4);
	cr_expect_eq(hops_between(scenario, "u1.s1.r2", "u2.s1.r2"), 4);
	cr_expect_eq(hops_between(scenario, "u2.s2.r4", "u2.rail4"), 1);
	cr_expect_eq(paths_to(scenario, "u1.rail1", "u2.s1.r1"), 2);
	scenario_free(scenario);
}

/*
 * 3 pods of 2 leaves and 2 spines, 6 cores in 2 planes of 3: a leaf reaches every other leaf over its 2
 * spines, a spine every other pod over the 3 cores of its plane.
 */
Test(fabrics, three_tiers_have_pods_and_planes)
{
	struct scenario *scenario =
		load_text("fabric: {three_tier: {pods: 3, leaves_per_pod: 2, spines_per_pod: 2, "
			  "cores: 6, hosts_per_leaf: 3, core_speed: 400G, core_cable: 2km}}\n");
	const struct topology *topology = scenario->topology;

	check_counts(scenario, 3 * 2 + 3 * 2 + 6, 3 * 2 * 3, 18 + 3 * 2 * 2 + 3 * 2 * 3);
	check_addresses(scenario);
	cr_expect_eq(hops_between(scenario, "pod1.leaf1.h1", "pod1.leaf1.h3"), 2);
	cr_expect_eq(hops_between(scenario, "pod1.leaf1.h1", "pod1.leaf2.h1"), 4);
	cr_expect_eq(hops_between(scenario, "pod1.leaf1.h1", "pod3.leaf2.h2"), 6);
	/* Every core has one link to each pod, all to the spine of its plane. */
	for (uint32_t core = 1; core <= 6; core++) {
		char name[72];

		snprintf(name, sizeof(name), "core%u", core);
		cr_expect_eq(topology->nodes[node_of(scenario, name)].link_count, 3);
		for (uint32_t pod = 1; pod <= 3; pod++) {
			snprintf(name, sizeof(name), "pod%u.spine%u-core%u", pod,
				 (core - 1) / 3 + 1, core);
			cr_expect_eq(link_of(scenario, name)->rate_bps, UINT64_C(400000000000));
			cr_expect_eq(link_of(scenario, name)->delay_ps, 10 * PS_PER_US);
		}
	}
	cr_expect_eq(paths_to(scenario, "pod1.leaf1", "pod1.leaf2.h1"), 2);
	cr_expect_eq(paths_to(scenario, "pod1.leaf1", "pod2.leaf2.h1"), 2);
	cr_expect_eq(paths_to(scenario, "pod1.spine2", "pod3.leaf1.h1"), 3);
	cr_expect_eq(paths_to(scenario, "pod1.spine2", "pod1.leaf2.h1"), 1);
	cr_expect_eq(paths_to(scenario, "core4", "pod3.leaf1.h1"), 1);
	scenario_free(scenario);
}

/* Names, patterns, and the order in which they count. */
Test(fabrics, unlike_links_differ_by_name_or_pattern)
{
	struct scenario *scenario =
		load_text("fabric:\n"
			  "  leaf_spine:\n"
			  "    links:\n"
			  "      - {link: \"*-spine2\", speed: 50G, cable: 100m}\n"
			  "      - {link: leaf2-spine2, speed: 25G}\n"
			  "      - {link: \"leaf1.h[12]\", delay: 1us}\n");

	cr_expect_eq(link_of(scenario, "leaf1-spine1")->rate_bps, UINT64_C(100000000000));
	cr_expect_eq(link_of(scenario, "leaf1-spine2")->rate_bps, UINT64_C(50000000000));
	cr_expect_eq(link_of(scenario, "leaf1-spine2")->delay_ps, 500 * PS_PER_NS);
	cr_expect_eq(link_of(scenario, "leaf2-spine2")->rate_bps, UINT64_C(25000000000));
	cr_expect_eq(link_of(scenario, "leaf2-spine2")->delay_ps, 500 * PS_PER_NS);
	cr_expect_eq(link_of(scenario, "leaf1.h2")->delay_ps, PS_PER_US);
	cr_expect_eq(link_of(scenario, "leaf1.h3")->delay_ps, 15 * PS_PER_NS);
	scenario_free(scenario);
}

/* 1024 hosts: what the largest fabric in use needs fits all tables. */
Test(fabrics, a_thousand_hosts_fit)
{
	struct scenario *scenario =
		load_text("fabric: {three_tier: {pods: 8, leaves_per_pod: 8, spines_per_pod: 4, "
			  "cores: 32, hosts_per_leaf: 16}}\n");

	check_counts(scenario, 64 + 32 + 32, 1024, 1024 + 64 * 4 + 32 * 8);
	cr_expect_eq(paths_to(scenario, "pod1.leaf1", "pod8.leaf8.h16"), 4);
	cr_expect_eq(paths_to(scenario, "pod1.spine1", "pod8.leaf8.h16"), 8);
	scenario_free(scenario);
}

/* --- topology files --- */

static struct scenario *load_ns3(const char *topology, struct config_errors *errors, char *path)
{
	static const char text[] = "fabric: {ns3: {file: %s}}\n";
	struct scenario_options options = {0};
	struct scenario *scenario;
	char yaml[256];
	int file;

	strcpy(path, "/tmp/topology.XXXXXX");
	file = mkstemp(path);
	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, topology, strlen(topology)), (ssize_t)strlen(topology));
	close(file);
	snprintf(yaml, sizeof(yaml), text, path);
	memset(errors, 0, sizeof(*errors));
	scenario = scenario_load_string("s.yaml", yaml, strlen(yaml), &options, errors);
	unlink(path);
	return scenario;
}

Test(fabrics, a_topology_file_becomes_nodes_of_the_same_numbers)
{
	struct config_errors errors;
	char path[64];
	struct scenario *scenario = load_ns3("5 2 4\n3 4\n"
					     "0 3 100Gbps 0.001ms 0\n"
					     "1 3 25Gbps 1500ns 0.000000\n"
					     "2 4 100Gbps 1us 0\n"
					     "3 4 0.4Tbps 0.000002s 0\n",
					     &errors, path);

	cr_assert_not_null(scenario, "%s", errors.error[0].text);
	check_counts(scenario, 2, 3, 4);
	cr_expect_eq(node_of(scenario, "h2"), 2);
	cr_expect_eq(node_of(scenario, "s4"), 4);
	cr_expect_eq(link_of(scenario, "h0")->rate_bps, UINT64_C(100000000000));
	cr_expect_eq(link_of(scenario, "h0")->delay_ps, PS_PER_US);
	cr_expect_eq(link_of(scenario, "h1")->rate_bps, UINT64_C(25000000000));
	cr_expect_eq(link_of(scenario, "h1")->delay_ps, 1500 * PS_PER_NS);
	cr_expect_eq(link_of(scenario, "s3-s4")->rate_bps, UINT64_C(400000000000));
	cr_expect_eq(link_of(scenario, "s3-s4")->delay_ps, 2 * PS_PER_US);
	scenario_free(scenario);
}

static const struct {
	const char *text, *place, *words;
} refused_topologies[] = {
	{"", ":1:1: ", "number of nodes"},
	{"1 0 1\n", ":1:5: ", "two nodes"},
	{"2 3 1\n", ":1:3: ", "out of range"},
	{"3 1 2\n7\n", ":2:1: ", "out of range"},
	{"3 2 2\n2 2\n", ":2:3: ", "twice"},
	{"3 1 2\n2\n0 2 100Gbps 1us 0\n", ":4:1: ", "the file ends"},
	{"3 1 2\n2\n0 2 100 1us 0\n1 2 1Gbps 1us 0\n", ":3:5: ", "unit"},
	{"3 1 2\n2\n0 2 1bps 1us 0\n1 2 1Gbps 1us 0\n", ":3:5: ", "below"},
	{"3 1 2\n2\n0 2 9Tbps 1us 0\n1 2 1Gbps 1us 0\n", ":3:5: ", "out of range"},
	{"3 1 2\n2\n0 2 1Gbps 1h 0\n1 2 1Gbps 1us 0\n", ":3:11: ", "unit"},
	{"3 1 2\n2\n0 2 1Gbps 1us 0.001\n1 2 1Gbps 1us 0\n", ":3:15: ", "corrupt"},
	{"3 1 2\n2\n0 0 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", ":3:3: ", "both ends"},
	{"3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n1 2\n", ":5:1: ", "behind"},
	{"3 1 2\n2\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", ":5:1: ", "hosts have one"},
};

Test(fabrics, what_is_wrong_in_a_topology_file_is_named_with_its_place)
{
	for (size_t i = 0; i < sizeof(refused_topologies) / sizeof(refused_topologies[0]); i++) {
		struct config_errors errors;
		char path[64], place[128];

		cr_expect_null(load_ns3(refused_topologies[i].text, &errors, path), "%s",
			       refused_topologies[i].text);
		snprintf(place, sizeof(place), "%s%s", path, refused_topologies[i].place);
		cr_assert_geq(errors.count, 1, "%s", refused_topologies[i].text);
		cr_expect(strncmp(errors.error[0].text, place, strlen(place)) == 0, "%s gives %s",
			  refused_topologies[i].text, errors.error[0].text);
		cr_expect_not_null(strstr(errors.error[0].text, refused_topologies[i].words),
				   "%s gives %s", refused_topologies[i].text, errors.error[0].text);
	}
}
