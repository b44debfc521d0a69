/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "control/apply.h"
#include "tests/unit/apply_ports.h"

static void start_eal(void)
{
	const char *arguments[] = {"test",     "--no-huge",      "-m", "64", "--no-shconf",
				   "--no-pci", "--no-telemetry", "-l", "0"};
	enum { COUNT = sizeof(arguments) / sizeof(arguments[0]) };
	char *argv[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		argv[i] = (char *)(uintptr_t)arguments[i];
	cr_assert_geq(rte_eal_init(COUNT, argv), 0);
}

TestSuite(apply, .init = start_eal);

#define ROUTES                                                          \
	"routes:\n"                                                     \
	"  - {to: 10.0.0.0/8, via: [10.255.0.1, 10.255.0.3]}\n"         \
	"  - {to: \"::/0\", via: [\"fd00:255::1\", \"fd00:255::3\"]}\n" \
	"  - {to: 10.9.0.0/16, via: [10.1.0.77]}\n"
#define NEIGHBOURS                                                \
	"neighbours:\n"                                           \
	"  - {address: 10.255.0.1, mac: \"02:00:00:00:20:01\"}\n" \
	"  - {address: 10.1.0.77, mac: \"02:00:00:00:20:77\", port: h2}\n"

/* In the order that apply.h promises. */
enum { INTERFACE_UP1, INTERFACE_UP2, INTERFACE_VLAN100, INTERFACES };

struct fixture {
	struct config *config;
	struct apply_port port[8];
	struct apply_neighbour neighbour[8];
	struct apply_state state;
	struct fib *fib;
	struct snapshot *snapshot;
};

static void load(struct fixture *f, const char *text)
{
	static struct config_errors errors;

	memset(f, 0, sizeof(*f));
	errors = (struct config_errors){0};
	f->config = config_load_string("test.yaml", text, strlen(text), &errors);
	cr_assert_not_null(f->config, "%s", errors.error[0].text);
	for (size_t i = 0; i < 8; i++)
		f->port[i] = (struct apply_port){.rate_bps = UINT64_C(25000000000),
						 .link_up = true,
						 .run_ahead_ps = 1000 + i,
						 .catch_up_ps = 2000 + i};
	f->state = (struct apply_state){.port = f->port,
					.neighbour = f->neighbour,
					.packets_max = 65536,
					.hash_seed = 4711};
}

static void apply(struct fixture *f)
{
	f->fib = fib_create(FIB_COMPACT, apply_routes_max(f->config));
	cr_assert_not_null(f->fib);
	f->snapshot = apply_snapshot(f->config, &f->state, f->fib, false);
	cr_assert_not_null(f->snapshot, "%s", rte_strerror(rte_errno));
}

static void drop(struct fixture *f)
{
	snapshot_free(f->snapshot);
	fib_free(f->fib);
	config_free(f->config);
}

static struct config_ip ip_of(const char *text)
{
	struct config_ip ip = {.family = strchr(text, ':') != NULL ? 6 : 4};

	cr_assert_eq(inet_pton(ip.family == 6 ? AF_INET6 : AF_INET, text, ip.bytes), 1);
	return ip;
}

static const struct group *group_of(const struct fixture *f, const char *text)
{
	struct config_ip ip = ip_of(text);
	uint64_t group = UINT64_MAX;
	uint32_t host;

	if (ip.family == 4) {
		memcpy(&host, ip.bytes, 4);
		host = ntohl(host);
		group = fib_find4(f->fib, host);
	} else {
		group = fib_find6(f->fib, ip.bytes);
	}
	cr_assert_lt(group, f->snapshot->group_count);
	return &f->snapshot->group[group];
}

static const struct adjacency *neighbour_of(const struct fixture *f, const char *text,
					    uint16_t interface)
{
	struct config_ip ip = ip_of(text);

	return neighbour_find(f->snapshot, ip.bytes, ip.family, interface);
}

/* The same, which is there. */
static struct adjacency found_at(const struct fixture *f, const char *text, uint16_t interface)
{
	const struct adjacency *found = neighbour_of(f, text, interface);

	cr_assert_not_null(found, "%s", text);
	return found != NULL ? *found : (struct adjacency){0};
}

static void add_neighbour(struct fixture *f, const char *text, uint8_t last, uint16_t interface)
{
	f->neighbour[f->state.neighbour_count++] = (struct apply_neighbour){
		.address = ip_of(text), .mac = {2, 0, 0, 0, 0, last}, .interface = interface};
}

/* ---- classes ---- */

Test(apply, default_classes_are_those_of_the_contract)
{
	struct fixture f;

	load(&f, PORTS);
	apply(&f);
	for (uint32_t dscp = 0; dscp < 64; dscp++)
		cr_expect_eq(f.snapshot->by_dscp[dscp], dscp == 26   ? 3
							: dscp == 48 ? 6
							: dscp == 56 ? 7
								     : 0);
	for (uint32_t pcp = 0; pcp < 8; pcp++)
		cr_expect_eq(f.snapshot->by_pcp[pcp], pcp == 3 || pcp == 6 || pcp == 7 ? pcp : 0);
	cr_assert_eq(f.snapshot->lossless_mask, 1u << 3);
	cr_assert_eq(f.snapshot->strict_mask, 1u << 6 | 1u << 7);
	cr_assert_eq(f.snapshot->priority_default, 0);
	cr_assert_eq(f.snapshot->priority_control, 7, "the highest one that isn't lossless");
	cr_assert(f.snapshot->class[3].lossless);
	cr_assert_not(f.snapshot->class[6].lossless);
	cr_assert(f.snapshot->class[6].strict);
	cr_assert_eq(f.snapshot->class[6].max_rate_ppm, 200000);
	cr_assert_eq(f.snapshot->class[6].quantum_bytes, 0);
	/* 60 : 20 */
	cr_assert_eq(f.snapshot->class[3].quantum_bytes, 3 * f.snapshot->class[0].quantum_bytes);
	cr_assert_gt(f.snapshot->class[1].quantum_bytes, 0, "a priority without a class");
	drop(&f);
}

Test(apply, sonic_classes_are_sonics_map)
{
	struct fixture f;

	load(&f, PORTS "classes: sonic\n");
	apply(&f);
	for (uint32_t dscp = 0; dscp < 64; dscp++)
		cr_expect_eq(f.snapshot->by_dscp[dscp], dscp == 3    ? 3
							: dscp == 4  ? 4
							: dscp == 8  ? 0
							: dscp == 5  ? 2
							: dscp == 46 ? 5
							: dscp == 48 ? 6
								     : 1);
	cr_assert_eq(f.snapshot->by_pcp[0], 1);
	cr_assert_eq(f.snapshot->by_pcp[1], 0);
	for (uint32_t pcp = 2; pcp < 7; pcp++)
		cr_expect_eq(f.snapshot->by_pcp[pcp], pcp);
	cr_assert_eq(f.snapshot->lossless_mask, 1u << 3 | 1u << 4);
	cr_assert_eq(f.snapshot->strict_mask, 0);
	cr_assert_eq(f.snapshot->priority_control, 6);
	cr_assert_eq(f.snapshot->priority_default, 1);
	cr_assert_eq(f.snapshot->class[3].quantum_bytes * 14,
		     f.snapshot->class[0].quantum_bytes * 15);
	drop(&f);
}

/* ---- ports and VLANs ---- */

Test(apply, ports_are_what_the_config_says)
{
	struct fixture f;
	const struct port_table *port;

	load(&f, PORTS);
	f.port[1].link_up = false;
	apply(&f);
	port = f.snapshot->port;
	cr_assert_eq(f.snapshot->port_count, 4);
	cr_assert_eq(port[0].mode, PORT_MODE_BRIDGED);
	cr_assert_eq(port[0].native_vlan, 100);
	cr_assert_eq(port[0].interface, INTERFACE_NONE);
	cr_assert_eq(port[0].frame_bytes_max, 4200 + 18);
	cr_assert_eq(port[0].trust, PORT_TRUST_DSCP);
	cr_assert_eq(port[0].run_ahead_ps, 1000);
	cr_assert_eq(port[3].catch_up_ps, 2003);
	cr_assert_eq(port[1].mode, PORT_MODE_BRIDGED);
	cr_assert_eq(port[1].native_vlan, 10);
	cr_assert_eq(port[1].trust, PORT_TRUST_PCP);
	cr_assert_not(port[1].link_up);
	cr_assert(port[0].link_up);
	cr_assert_eq(port[2].mode, PORT_MODE_ROUTED);
	cr_assert_eq(port[2].native_vlan, 0);
	cr_assert_eq(port[2].interface, INTERFACE_UP1);
	cr_assert_eq(port[3].interface, INTERFACE_UP2);
	cr_assert_eq(port[2].trust, PORT_TRUST_NONE);
	cr_assert_eq(port[2].rate_bps, UINT64_C(100000000000));
	cr_assert_eq(port[3].rate_bps, UINT64_C(25000000000), "as the device says");
	cr_assert_eq(port[4].mode, PORT_MODE_CPU);
	cr_assert(port[4].link_up);
	cr_assert_geq(port[4].rate_bps, RATE_BPS_MIN);
	drop(&f);
}

Test(apply, vlans_have_their_members_and_tags)
{
	struct fixture f;
	const struct snapshot *s;
	uint32_t count = 0;

	load(&f, PORTS);
	apply(&f);
	s = f.snapshot;
	for (uint32_t vlan = 0; vlan < VLAN_COUNT; vlan++) {
		const struct vlan_table *table = &s->vlan[s->vlan_index[vlan]];
		bool known = vlan == 10 || vlan == 100 || vlan == 200;

		count += s->vlan_index[vlan] != 0;
		cr_expect_eq(s->vlan_index[vlan] != 0, known);
		cr_expect_eq(port_bits_test(&table->members, 0), vlan == 100);
		cr_expect_eq(port_bits_test(&table->members, 1), known);
		cr_expect_not(port_bits_test(&table->members, 2));
		cr_expect_not(port_bits_test(&table->tagged, 0));
		cr_expect_eq(port_bits_test(&table->tagged, 1), vlan == 100 || vlan == 200);
		cr_expect_eq(table->interface, vlan == 100 ? INTERFACE_VLAN100 : INTERFACE_NONE);
	}
	cr_assert_eq(count, 3);
	cr_assert(port_bits_empty(&s->vlan[0].members));
	drop(&f);
}

Test(apply, interfaces_are_routed_ports_and_then_vlans)
{
	struct fixture f;
	struct apply_interface interface;

	load(&f, PORTS);
	apply(&f);
	cr_assert_eq(apply_interface_count(f.config), INTERFACES);
	apply_interface(f.config, INTERFACE_UP2, &interface);
	cr_assert_str_eq(interface.name, "up2");
	cr_assert_eq(interface.port, 3);
	cr_assert_eq(interface.vlan, 0);
	cr_assert_eq(interface.mtu_bytes, 1500);
	cr_assert_eq(interface.address_count, 2);
	apply_interface(f.config, INTERFACE_VLAN100, &interface);
	cr_assert_str_eq(interface.name, "vlan100");
	cr_assert_eq(interface.port, PORT_NONE);
	cr_assert_eq(interface.vlan, 100);
	cr_assert_eq(interface.mtu_bytes, 1500, "of its smallest member");
	cr_assert_eq(f.snapshot->interface_count, INTERFACES);
	cr_assert_eq(f.snapshot->interface[INTERFACE_UP1].port, 2);
	cr_assert_eq(f.snapshot->interface[INTERFACE_UP1].mtu_bytes, 9000);
	cr_assert_eq(f.snapshot->interface[INTERFACE_VLAN100].port, PORT_NONE);
	cr_assert_eq(f.snapshot->interface[INTERFACE_VLAN100].vlan, 100);
	drop(&f);
}

/* ---- routing ---- */

Test(apply, own_addresses_are_local_and_networks_attached)
{
	static const struct {
		const char *address;
		enum group_kind kind;
		uint16_t interface;
	} rows[] = {
		{"10.1.0.1", GROUP_LOCAL, INTERFACE_VLAN100},
		{"10.1.0.2", GROUP_ATTACHED, INTERFACE_VLAN100},
		{"10.1.0.254", GROUP_ATTACHED, INTERFACE_VLAN100},
		{"10.1.0.0", GROUP_DROP, 0},   /* network */
		{"10.1.0.255", GROUP_DROP, 0}, /* broadcast */
		{"10.1.1.0", GROUP_NO_ROUTE, 0},
		{"10.255.0.0", GROUP_LOCAL, INTERFACE_UP1}, /* a /31 has neither: RFC 3021 */
		{"10.255.0.1", GROUP_ATTACHED, INTERFACE_UP1},
		{"10.255.0.3", GROUP_ATTACHED, INTERFACE_UP2},
		{"fd00:255::", GROUP_LOCAL, INTERFACE_UP1},
		{"fd00:255::1", GROUP_ATTACHED, INTERFACE_UP1},
		{"fd00:1::1", GROUP_LOCAL, INTERFACE_VLAN100},
		{"fd00:1::2", GROUP_ATTACHED, INTERFACE_VLAN100},
		{"fd00:1::", GROUP_LOCAL, INTERFACE_VLAN100}, /* routers' anycast: RFC 4291 */
		{"fd00:1::ffff:ffff:ffff:ffff", GROUP_ATTACHED, INTERFACE_VLAN100},
		{"fd00:1:0:1::", GROUP_NO_ROUTE, 0},
		{"fe80::1", GROUP_DROP, 0}, /* never routed */
		{"febf::1", GROUP_DROP, 0},
		{"fec0::1", GROUP_NO_ROUTE, 0},
	};
	struct fixture f;

	load(&f, PORTS);
	apply(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct group *group = group_of(&f, rows[i].address);

		cr_expect_eq(group->kind, rows[i].kind, "%s: %u", rows[i].address, group->kind);
		if (rows[i].kind == GROUP_LOCAL || rows[i].kind == GROUP_ATTACHED)
			cr_expect_eq(group->interface, rows[i].interface, "%s", rows[i].address);
	}
	drop(&f);
}

Test(apply, resolved_next_hops_make_a_group)
{
	struct fixture f;
	const struct group *group;
	const struct adjacency *adjacency;

	load(&f, PORTS ROUTES NEIGHBOURS);
	f.config->ports[3].speed_bps = f.config->ports[2].speed_bps;
	add_neighbour(&f, "10.255.0.3", 3, INTERFACE_UP2);
	add_neighbour(&f, "fd00:255::3", 6, INTERFACE_UP2);
	apply(&f);

	group = group_of(&f, "10.2.3.4");
	cr_assert_eq(group->kind, GROUP_VIA);
	cr_assert_eq(group->count, 2);
	adjacency = &f.snapshot->adjacency[group->first];
	cr_assert_eq(adjacency[0].egress, 2);
	cr_assert_eq(adjacency[0].vlan, 0);
	cr_assert_eq(adjacency[0].mtu_bytes, 9000);
	cr_assert_eq(adjacency[0].interface, INTERFACE_UP1);
	cr_assert_eq(memcmp(adjacency[0].destination_mac, "\x02\0\0\0\x20\x01", 6), 0);
	cr_assert_eq(memcmp(adjacency[0].source_mac, f.config->leaf.router_mac, 6), 0);
	cr_assert_eq(adjacency[1].egress, 3);
	cr_assert_eq(adjacency[1].mtu_bytes, 1500);
	cr_assert_eq(adjacency[1].destination_mac[5], 3);

	group = group_of(&f, "2001:db8::1");
	cr_assert_eq(group->kind, GROUP_VIA);
	cr_assert_eq(group->count, 1, "the other one isn't resolved");
	cr_assert_eq(f.snapshot->adjacency[group->first].destination_mac[5], 6);

	/* A static neighbour of a VLAN interface names its port. */
	group = group_of(&f, "10.9.1.1");
	cr_assert_eq(group->count, 1);
	cr_assert_eq(f.snapshot->adjacency[group->first].egress, 1);
	cr_assert_eq(f.snapshot->adjacency[group->first].vlan, 100);
	drop(&f);
}

Test(apply, unresolved_next_hops_leave_an_empty_group_that_knows_whom_to_ask)
{
	struct fixture f;
	const struct group *group;

	load(&f, PORTS ROUTES);
	apply(&f);
	group = group_of(&f, "10.2.3.4");
	cr_assert_eq(group->kind, GROUP_VIA);
	cr_assert_eq(group->count, 0);
	cr_assert_eq(group->interface, INTERFACE_UP1);
	group = group_of(&f, "10.9.1.1");
	cr_assert_eq(group->count, 0);
	cr_assert_eq(group->interface, INTERFACE_VLAN100);
	drop(&f);
}

Test(apply, a_new_neighbour_needs_no_new_fib)
{
	struct fixture f;
	struct snapshot *before;

	load(&f, PORTS ROUTES);
	apply(&f);
	before = f.snapshot;
	add_neighbour(&f, "10.255.0.3", 3, INTERFACE_UP2);
	f.snapshot = apply_snapshot(f.config, &f.state, f.fib, true);
	cr_assert_not_null(f.snapshot);
	cr_assert_eq(f.snapshot->group_count, before->group_count);
	cr_assert_eq(f.snapshot->fib[0], f.fib);
	cr_assert_eq(group_of(&f, "10.2.3.4")->count, 1);
	snapshot_free(before);
	drop(&f);
}

Test(apply, dead_links_leave_their_groups_while_another_is_left)
{
	struct fixture f;
	const struct group *group;

	load(&f, PORTS ROUTES NEIGHBOURS);
	f.config->ports[3].speed_bps = f.config->ports[2].speed_bps;
	add_neighbour(&f, "10.255.0.3", 3, INTERFACE_UP2);
	f.port[2].link_up = false;
	apply(&f);
	group = group_of(&f, "10.2.3.4");
	cr_assert_eq(group->count, 1);
	cr_assert_eq(f.snapshot->adjacency[group->first].egress, 3);
	snapshot_free(f.snapshot);

	/* With all dead the packets must be counted as lost to the link, not wait for neighbours. */
	f.port[3].link_up = false;
	f.snapshot = apply_snapshot(f.config, &f.state, f.fib, true);
	group = group_of(&f, "10.2.3.4");
	cr_assert_eq(group->count, 2);
	cr_assert_eq(f.snapshot->adjacency[group->first].weight, BALANCE_WEIGHT_MAX);
	drop(&f);
}

Test(apply, LB_UNEQUAL_members_weigh_what_their_ports_are_worth)
{
	struct fixture f;
	const struct group *group;
	const struct adjacency *member;

	load(&f, PORTS ROUTES NEIGHBOURS);
	add_neighbour(&f, "10.255.0.3", 3, INTERFACE_UP2);
	f.config->ports[2].speed_bps = UINT64_C(100000000000);
	f.config->ports[3].speed_bps = UINT64_C(25000000000);
	apply(&f);
	group = group_of(&f, "10.2.3.4");
	cr_assert_not_null(group);
	cr_assert_eq(group->count, 0);
	cr_assert_eq(group->balanced, 2);
	cr_assert_eq(f.snapshot->adjacency[group->first].plain_bytes_max, 0);
	member = &f.snapshot->adjacency[group->members];
	cr_assert_eq(member[0].weight, BALANCE_WEIGHT_MAX);
	cr_assert_eq(member[1].weight, BALANCE_WEIGHT_MAX / 4);
	drop(&f);
}

Test(apply, neighbours_are_found_by_address_and_interface)
{
	struct fixture f;

	load(&f, PORTS NEIGHBOURS);
	add_neighbour(&f, "10.1.0.5", 5, INTERFACE_VLAN100);
	add_neighbour(&f, "fd00:1::5", 55, INTERFACE_VLAN100);
	add_neighbour(&f, "10.255.0.1", 99, INTERFACE_UP1);
	add_neighbour(&f, "10.1.0.5", 6, INTERFACE_VLAN100);
	/* Not ours to believe. */
	add_neighbour(&f, "10.1.0.9", 9, INTERFACES);
	add_neighbour(&f, "10.1.0.10", 10, INTERFACE_VLAN100);
	f.neighbour[5].mac[0] = 0x01;
	add_neighbour(&f, "10.1.0.11", 0, INTERFACE_VLAN100);
	f.neighbour[6].mac[0] = 0;
	apply(&f);

	cr_assert_eq(found_at(&f, "10.1.0.5", INTERFACE_VLAN100).destination_mac[5], 6,
		     "the later one");
	cr_assert_eq(found_at(&f, "10.1.0.5", INTERFACE_VLAN100).egress, PORT_NONE,
		     "where it is the FDB knows");
	cr_assert_eq(found_at(&f, "10.1.0.5", INTERFACE_VLAN100).vlan, 100);
	cr_assert_eq(found_at(&f, "fd00:1::5", INTERFACE_VLAN100).destination_mac[5], 55);
	cr_assert_eq(found_at(&f, "10.255.0.1", INTERFACE_UP1).destination_mac[4], 0x20,
		     "the config wins");
	cr_assert_eq(found_at(&f, "10.1.0.77", INTERFACE_VLAN100).egress, 1);
	cr_assert_null(neighbour_of(&f, "10.1.0.5", INTERFACE_UP1));
	cr_assert_null(neighbour_of(&f, "10.1.0.6", INTERFACE_VLAN100));
	cr_assert_null(neighbour_of(&f, "10.1.0.9", INTERFACE_VLAN100));
	cr_assert_null(neighbour_of(&f, "10.1.0.10", INTERFACE_VLAN100));
	cr_assert_null(neighbour_of(&f, "10.1.0.11", INTERFACE_VLAN100));
	drop(&f);
}

Test(apply, next_hops_are_listed_once_each)
{
	struct fixture f;
	struct apply_next_hop hops[8];
	struct config_ip ip;

	load(&f, PORTS ROUTES "  - {to: 10.8.0.0/16, via: [10.255.0.3, 10.1.0.77]}\n");
	cr_assert_eq(apply_next_hops(f.config, hops, 8), 5);
	/* By address, IPv4 first. */
	ip = ip_of("10.1.0.77");
	cr_assert_eq(memcmp(hops[0].address.bytes, ip.bytes, 4), 0);
	cr_assert_eq(hops[0].interface, INTERFACE_VLAN100);
	cr_assert_eq(hops[1].interface, INTERFACE_UP1);
	cr_assert_eq(hops[2].interface, INTERFACE_UP2);
	ip = ip_of("fd00:255::3");
	cr_assert_eq(memcmp(hops[4].address.bytes, ip.bytes, 16), 0);
	cr_assert_eq(hops[4].interface, INTERFACE_UP2);
	cr_assert_eq(apply_next_hops(f.config, hops, 2), 5, "counted, though not stored");
	cr_assert_eq(apply_next_hops(f.config, NULL, 0), 5);
	config_free(f.config);
}

Test(apply, destinations_resolve_by_the_longest_prefix)
{
	static const struct {
		const char *destination, *next_hop;
		uint16_t interface;
	} rows[] = {
		{"10.1.0.9", "10.1.0.9", INTERFACE_VLAN100}, /* attached */
		{"10.2.0.1", "10.255.0.1", INTERFACE_UP1},   /* the first of two */
		{"10.9.0.1", "10.1.0.77", INTERFACE_VLAN100},
		{"2001:db8::1", "fd00:255::1", INTERFACE_UP1},
		{"fd00:255::3", "fd00:255::3", INTERFACE_UP2},
		{"10.1.0.1", NULL, 0},   /* ourselves */
		{"10.1.0.255", NULL, 0}, /* broadcast */
		{"10.1.0.0", NULL, 0},
		{"192.0.2.1", NULL, 0}, /* no route */
	};
	struct fixture f;

	load(&f, PORTS ROUTES);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config_ip ip = ip_of(rows[i].destination);
		struct apply_next_hop hop;
		int rc = apply_resolve(f.config, &ip, &hop);

		cr_expect_eq(rc, rows[i].next_hop == NULL ? -ENOENT : 0, "%s", rows[i].destination);
		if (rc != 0 || rows[i].next_hop == NULL)
			continue;
		ip = ip_of(rows[i].next_hop);
		cr_expect_eq(memcmp(hop.address.bytes, ip.bytes, sizeof(ip.bytes)), 0, "%s",
			     rows[i].destination);
		cr_expect_eq(hop.interface, rows[i].interface, "%s", rows[i].destination);
	}
	config_free(f.config);
}

Test(apply, a_fib_too_small_is_an_error_and_leaks_nothing)
{
	struct fixture f;

	load(&f, PORTS ROUTES NEIGHBOURS);
	f.fib = fib_create(FIB_COMPACT, 3);
	f.snapshot = apply_snapshot(f.config, &f.state, f.fib, false);
	cr_assert_null(f.snapshot);
	cr_assert_eq(rte_errno, ENOSPC);
	drop(&f);
	snapshot_free(NULL);
}

Test(apply, the_rest_comes_from_config_and_state)
{
	struct fixture f;

	load(&f, "leaf: {router_mac: \"02:00:00:00:10:01\"}\n" PORTS);
	apply(&f);
	cr_assert_eq(memcmp(f.snapshot->router_mac, "\x02\0\0\0\x10\x01", 6), 0);
	cr_assert_eq(f.snapshot->hash_seed, 4711);
	cr_assert_eq(f.snapshot->fdb_age_ps, 300 * PS_PER_S, "IEEE 802.1Q table 8-6");
	drop(&f);
}
