/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

#define EXAMPLES SOURCE_ROOT "/config/examples"

static struct config_errors errors;

static struct config *load(const char *text)
{
	return config_load_string("leaf.yaml", text, strlen(text), &errors);
}

/* Load what must be right. */
static struct config *load_right(const char *text)
{
	struct config *config = load(text);

	cr_assert_not_null(config, "%s", errors.error[0].text);
	cr_expect_eq(errors.count, 0);
	return config;
}

#define TWO_PORTS "ports: [{name: a, device: eth1}, {name: b, device: eth2}]\n"

Test(config, fills_in_every_default)
{
	struct config *config = load_right(TWO_PORTS);
	const struct config_port *port = &config->ports[0];

	cr_expect_str_eq(config->path, "leaf.yaml");
	cr_expect_str_eq(config->leaf.name, "leaf");
	cr_expect_eq(config->leaf.workers, 1);
	cr_expect_eq(config->leaf.core_count, 0);
	cr_expect_eq(config->leaf.memory_bytes, UINT64_C(256) << 20);
	cr_expect_str_eq(config->leaf.runtime_dir, "/run/roceleaf");
	cr_expect_eq(config->leaf.router_mac[0], 2);
	cr_assert_eq(config->port_count, 2);
	cr_expect_eq(port->driver, CONFIG_DRIVER_KERNEL);
	cr_expect_eq(port->speed_bps, 0);
	cr_expect_eq(port->mtu_bytes, 1500);
	cr_expect_eq(port->trust, CONFIG_TRUST_DSCP);
	cr_expect_eq(port->access_vlan, 1);
	cr_expect_not(port->trunk);
	cr_expect_eq(port->address_count, 0);
	cr_expect_eq(config->vlan_count + config->route_count + config->neighbour_count, 0);
	config_free(config);
}

/* 02 and bytes 1..5 of FNV-1a(64): offset 0xcbf29ce484222325, prime 0x100000001b3. */
Test(config, makes_the_router_mac_from_the_name)
{
	struct config *one = load_right("leaf: {name: a}\n" TWO_PORTS);
	struct config *two = load_right("leaf: {name: b}\n" TWO_PORTS);
	uint64_t hash = (UINT64_C(0xcbf29ce484222325) ^ 'a') * UINT64_C(0x100000001b3);

	cr_expect_eq(one->leaf.router_mac[0], 0x02, "local and unicast (IEEE 802)");
	cr_expect_eq(one->leaf.router_mac[1], hash >> 8 & 0xff);
	cr_expect_eq(one->leaf.router_mac[5], hash >> 40 & 0xff);
	cr_expect(memcmp(one->leaf.router_mac, two->leaf.router_mac, 6) != 0);
	config_free(one);
	config_free(two);
	one = load_right("leaf: {router_mac: 0A:00:00:00:10:fF}\n" TWO_PORTS);
	cr_expect_eq(memcmp(one->leaf.router_mac, "\x0a\0\0\0\x10\xff", 6), 0);
	config_free(one);
}

Test(config, knows_the_driver_by_the_device)
{
	static const struct {
		const char *device, *driver;
		enum config_driver expected;
		const char *kept;
	} rows[] = {
		{"0000:17:00.0", "", CONFIG_DRIVER_VFIO, "0000:17:00.0"},
		{"17:00.1", "", CONFIG_DRIVER_VFIO, "0000:17:00.1"},
		{"0001:AB:1f.7", "", CONFIG_DRIVER_VFIO, "0001:ab:1f.7"},
		{"eth1", "", CONFIG_DRIVER_KERNEL, "eth1"},
		{"enp23s0f0np0", "", CONFIG_DRIVER_KERNEL, "enp23s0f0np0"},
		{"eth1", ", driver: af_xdp", CONFIG_DRIVER_AF_XDP, "eth1"},
		{"/run/vm1.sock", "", CONFIG_DRIVER_VHOST, "/run/vm1.sock"},
		{"net_ring0", "", CONFIG_DRIVER_VDEV, "net_ring0"},
		{"net_tap0,iface=x", "", CONFIG_DRIVER_VDEV, "net_tap0,iface=x"},
		{"virtio_user0,path=/dev/vhost-net", "", CONFIG_DRIVER_VDEV,
		 "virtio_user0,path=/dev/vhost-net"},
		{"ring0", ", driver: vdev", CONFIG_DRIVER_VDEV, "ring0"},
	};
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *config;

		snprintf(text, sizeof(text), "ports: [{name: a, device: \"%s\"%s}]\n",
			 rows[i].device, rows[i].driver);
		config = load_right(text);
		cr_expect_eq(config->ports[0].driver, rows[i].expected, "%s", rows[i].device);
		cr_expect_str_eq(config->ports[0].device, rows[i].kept);
		config_free(config);
	}
}

Test(config, sleeps_by_default_when_every_port_is_a_kernel_interface)
{
	struct config *config = load_right(TWO_PORTS);

	cr_expect_eq(config->leaf.idle, CONFIG_IDLE_ADAPTIVE);
	config_free(config);
	config = load_right("ports: [{name: a, device: eth1}, {name: b, device: net_ring0}]");
	cr_expect_eq(config->leaf.idle, CONFIG_IDLE_SPIN);
	config_free(config);
	config = load_right("leaf: {idle: spin}\n" TWO_PORTS);
	cr_expect_eq(config->leaf.idle, CONFIG_IDLE_SPIN);
	config_free(config);
}

Test(config, one_worker_a_core)
{
	struct config *config = load_right("leaf: {cores: [4, 0, 7]}\n" TWO_PORTS);

	cr_expect_eq(config->leaf.core_count, 3);
	cr_expect_eq(config->leaf.workers, 3);
	cr_expect_eq(config->leaf.cores[2], 7);
	config_free(config);
}

static bool trunk_has(const struct config_port *port, uint16_t vlan)
{
	return port->trunk_vlans[vlan / 64] >> vlan % 64 & 1;
}

Test(config, keeps_the_native_vlan_out_of_the_tagged_ones)
{
	struct config *config =
		load_right("ports:\n"
			   "  - name: a\n"
			   "    device: eth1\n"
			   "    vlan: {trunk: [100, 200-263, 4094], native: 100}\n");
	const struct config_port *port = &config->ports[0];
	uint32_t count = 0;
	size_t i;

	for (i = 0; i < sizeof(port->trunk_vlans) / sizeof(port->trunk_vlans[0]); i++)
		count += (uint32_t)__builtin_popcountll(port->trunk_vlans[i]);
	cr_expect(port->trunk);
	cr_expect_eq(port->native_vlan, 100);
	cr_expect_eq(port->access_vlan, 0);
	cr_expect_not(trunk_has(port, 100));
	cr_expect(trunk_has(port, 200) && trunk_has(port, 263) && trunk_has(port, 4094));
	cr_expect_eq(count, 64 + 1);
	config_free(config);
}

Test(config, gives_a_vlan_the_smallest_mtu_of_its_members)
{
	struct config *config =
		load_right("ports:\n"
			   "  - {name: a, device: eth1, mtu: 9000, vlan: {access: 5}}\n"
			   "  - {name: b, device: eth2, mtu: 4200, vlan: {trunk: [6], native: 5}}\n"
			   "  - {name: c, device: eth3, mtu: 2000, vlan: {trunk: [6]}}\n"
			   "vlans: [{id: 5, address: 10.0.5.1/24}, {id: 6}, {id: 7}]\n");

	cr_expect_eq(config->vlans[0].mtu_bytes, 4200);
	cr_expect_eq(config->vlans[1].mtu_bytes, 2000);
	cr_expect_eq(config->vlans[2].mtu_bytes, 1500, "nobody is in it");
	config_free(config);
}

static const struct config_class *class_of_dscp(const struct config *config, uint32_t dscp)
{
	const struct config_class *found = NULL;
	uint32_t i;

	for (i = 0; i < config->class_count; i++) {
		if ((config->classes[i].dscp >> dscp & 1) == 0)
			continue;
		cr_expect_null(found, "dscp %u is in two classes", dscp);
		found = &config->classes[i];
	}
	cr_assert_not_null(found, "dscp %u is in no class", dscp);
	return found;
}

static const struct config_class *class_of_pcp(const struct config *config, uint32_t pcp)
{
	const struct config_class *found = NULL;
	uint32_t i;

	for (i = 0; i < config->class_count; i++) {
		if ((config->classes[i].pcp >> pcp & 1) == 0)
			continue;
		cr_expect_null(found, "pcp %u is in two classes", pcp);
		found = &config->classes[i];
	}
	cr_assert_not_null(found, "pcp %u is in no class", pcp);
	return found;
}

Test(config, has_four_classes_by_default)
{
	struct config *config = load_right(TWO_PORTS);
	const struct config_class *roce = class_of_dscp(config, 26);
	const struct config_class *cnp = class_of_dscp(config, 48);
	const struct config_class *control = class_of_dscp(config, 56);
	uint32_t i;

	cr_expect_eq(config->class_count, 4);
	cr_expect_str_eq(roce->name, "roce");
	cr_expect(roce->lossless && !roce->strict && roce->priority == 3 && roce->weight == 60);
	cr_expect_str_eq(cnp->name, "cnp");
	cr_expect(cnp->strict && !cnp->lossless && cnp->priority == 6 && cnp->weight == 0);
	cr_expect_eq(cnp->max_rate_ppm, 200000);
	cr_expect_str_eq(control->name, "control");
	cr_expect(control->strict && control->priority == 7 && control->max_rate_ppm == 0);
	for (i = 0; i < 64; i++) {
		if (i != 26 && i != 48 && i != 56)
			cr_expect_eq(class_of_dscp(config, i),
				     &config->classes[config->default_class]);
	}
	cr_expect_str_eq(config->classes[config->default_class].name, "best-effort");
	cr_expect_eq(config->classes[config->default_class].weight, 20);
	for (i = 0; i < 8; i++)
		cr_expect_str_eq(class_of_pcp(config, i)->name, i == 3   ? "roce"
								: i == 6 ? "cnp"
								: i == 7 ? "control"
									 : "best-effort");
	config_free(config);
}

/* sonic-buildimage qos_config.j2: DSCP_TO_TC_MAP "AZURE", DOT1P_TO_TC_MAP, scheduler.0 and .1. */
Test(config, knows_sonics_classes)
{
	static const uint8_t named[][2] = {{3, 3}, {4, 4}, {8, 0}, {5, 2}, {46, 5}, {48, 6}};
	static const uint8_t pcp_priority[8] = {1, 0, 2, 3, 4, 5, 6, 1};
	struct config *config = load_right(TWO_PORTS "classes: sonic\n");
	uint32_t i;
	uint32_t j;

	cr_expect_eq(config->class_count, 7);
	cr_expect_eq(config->classes[config->default_class].priority, 1);
	for (i = 0; i < 64; i++) {
		uint8_t priority = 1;

		for (j = 0; j < 6; j++)
			priority = named[j][0] == i ? named[j][1] : priority;
		cr_expect_eq(class_of_dscp(config, i)->priority, priority, "dscp %u", i);
	}
	for (i = 0; i < 8; i++)
		cr_expect_eq(class_of_pcp(config, i)->priority, pcp_priority[i], "pcp %u", i);
	for (i = 0; i < config->class_count; i++) {
		const struct config_class *class = &config->classes[i];
		bool lossless = class->priority == 3 || class->priority == 4;

		cr_expect_eq(class->lossless, lossless);
		cr_expect_eq(class->weight, lossless ? 15 : 14);
	}
	config_free(config);
}

Test(config, gives_the_rest_to_the_lowest_lossy_class_without_dscp)
{
	struct config *config = load_right(
		TWO_PORTS "classes:\n"
			  "  - {priority: 5, name: bulk}\n"
			  "  - {priority: 1, name: rest, pcp: [1, 6-7]}\n"
			  "  - {priority: 0, name: scavenger, dscp: 8-15, weight: 1}\n"
			  "  - {priority: 3, name: roce, lossless: true, dscp: [26, 24]}\n"
			  "  - {priority: 7, name: hot, dscp: 46, strict: true, max_rate: 5G}\n");

	cr_expect_str_eq(config->classes[config->default_class].name, "rest");
	cr_expect_str_eq(class_of_dscp(config, 0)->name, "rest");
	cr_expect_str_eq(class_of_dscp(config, 15)->name, "scavenger");
	cr_expect_str_eq(class_of_dscp(config, 16)->name, "rest");
	cr_expect_str_eq(class_of_dscp(config, 24)->name, "roce");
	/* bulk names no DSCP and isn't the default: only its PCP leads there. */
	cr_expect_eq(config->classes[0].dscp, 0);
	cr_expect_str_eq(class_of_pcp(config, 5)->name, "bulk");
	cr_expect_str_eq(class_of_pcp(config, 0)->name, "scavenger");
	cr_expect_str_eq(class_of_pcp(config, 3)->name, "roce");
	/* PCP 7 is named by another, so `hot` has none; 2 and 4 are nobody's. */
	cr_expect_str_eq(class_of_pcp(config, 7)->name, "rest");
	cr_expect_eq(config->classes[4].pcp, 0);
	cr_expect_str_eq(class_of_pcp(config, 2)->name, "rest");
	cr_expect_eq(config->classes[4].max_rate_bps, UINT64_C(5000000000));
	cr_expect_eq(config->classes[4].max_rate_ppm, 0);
	config_free(config);
}

#define ROUTED                                                                          \
	"ports:\n"                                                                      \
	"  - {name: up1, device: eth1, address: [10.255.0.0/31, \"fd00:255::/127\"]}\n" \
	"  - {name: h1, device: eth2, vlan: {access: 100}}\n"                           \
	"  - {name: h2, device: eth3, vlan: {trunk: [100]}}\n"                          \
	"vlans: [{id: 100, address: [10.1.0.1/24, \"fd00:1::1/64\"]}]\n"

Test(config, reads_routes_of_both_families)
{
	struct config *config =
		load_right(ROUTED "routes:\n"
				  "  - {to: 0.0.0.0/0, via: [10.255.0.1, 10.1.0.9]}\n"
				  "  - {to: \"::/0\", via: \"fd00:255::1\"}\n"
				  "  - {to: 10.1.0.128/25, via: 10.255.0.1}\n");
	char text[64];

	cr_assert_eq(config->route_count, 3);
	cr_expect_eq(config->routes[0].to.ip.family, 4);
	cr_expect_eq(config->routes[0].to.length, 0);
	cr_expect_eq(config->routes[0].via_count, 2);
	cr_expect_str_eq(config_format_ip(&config->routes[0].via[1], text, sizeof(text)),
			 "10.1.0.9");
	cr_expect_eq(config->routes[1].to.ip.family, 6);
	cr_expect_str_eq(config_format_ip(&config->routes[1].via[0], text, sizeof(text)),
			 "fd00:255::1");
	cr_expect_str_eq(config_format_prefix(&config->routes[2].to, text, sizeof(text)),
			 "10.1.0.128/25");
	config_free(config);
}

Test(config, finds_the_port_of_a_static_neighbour)
{
	struct config *config = load_right(
		ROUTED "neighbours:\n"
		       "  - {address: 10.255.0.1, mac: 02:00:00:00:00:01}\n"
		       "  - {address: 10.1.0.7, mac: 02:00:00:00:00:02, port: h2}\n"
		       "  - {address: \"fd00:255::1\", mac: 02:00:00:00:00:01, port: up1}\n");

	cr_assert_eq(config->neighbour_count, 3);
	cr_expect_eq(config->neighbours[0].port, 0);
	cr_expect_str_eq(config->neighbours[0].port_name, "up1");
	cr_expect_eq(config->neighbours[1].port, 2);
	cr_expect_eq(config->neighbours[1].mac[5], 2);
	cr_expect_eq(config->neighbours[2].port, 0);
	config_free(config);
}

/* RFC 3021 and 6164: links of two addresses use both; one address alone is no network at all. */
Test(config, takes_every_address_of_small_networks)
{
	static const char *const addresses[] = {
		"10.0.0.0/31", "10.0.0.1/31", "10.0.0.1/32", "10.0.0.1/30", "10.0.0.2/30",
		"fd00::/127",  "fd00::1/127", "fd00::/128",  "fd00::3/126",
	};
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		snprintf(text, sizeof(text), "ports: [{name: a, device: eth1, address: \"%s\"}]",
			 addresses[i]);
		config_free(load_right(text));
	}
}

Test(config, tells_which_addresses_are_in_a_network)
{
	struct config_prefix prefix = {.ip = {4, {10, 1, 2, 3}}, .length = 23};
	struct config_ip inside = {4, {10, 1, 3, 255}};
	struct config_ip outside = {4, {10, 1, 4, 0}};
	struct config_ip other = {6, {10, 1, 2, 3}};

	cr_expect(config_prefix_contains(&prefix, &inside));
	cr_expect_not(config_prefix_contains(&prefix, &outside));
	cr_expect_not(config_prefix_contains(&prefix, &other));
}

/* 511 ports is the most: the last of PORT_COUNT_MAX ids is the CPU's. */
Test(config, takes_511_ports_when_the_memory_is_enough)
{
	char *text = malloc(100000);
	struct config *config;
	uint64_t bytes_min;
	size_t length;
	uint32_t i;

	cr_assert_not_null(text);
	length = (size_t)sprintf(text, "leaf: {memory: 1GiB}\nports:\n");
	for (i = 0; i < PORT_COUNT_MAX - 1; i++)
		length += (size_t)sprintf(text + length, "  - {name: p%u, device: eth%u}\n", i, i);
	config = load_right(text);
	cr_expect_eq(config->port_count, 511);
	bytes_min = config_memory_bytes_min(config);
	cr_expect_eq(bytes_min, (UINT64_C(511) * 256 + 1024) * (2048 + 512));
	config_free(config);
	/* Just enough, and one byte less. */
	for (i = 0; i < 2; i++) {
		length = (size_t)sprintf(text, "leaf: {memory: %" PRIu64 "}\nports:\n",
					 bytes_min - i);
		for (uint32_t j = 0; j < PORT_COUNT_MAX - 1; j++)
			length += (size_t)sprintf(text + length, "  - {name: p%u, device: eth%u}\n",
						  j, j);
		config = load(text);
		cr_expect_eq(config != NULL, i == 0);
		config_free(config);
	}
	free(text);
}

Test(config, loads_every_example_without_opening_a_device)
{
	DIR *directory = opendir(EXAMPLES);
	struct dirent *entry;
	uint32_t count = 0;

	cr_assert_not_null(directory);
	while ((entry = readdir(directory)) != NULL) {
		struct config *config;
		char path[512];

		if (strstr(entry->d_name, ".yaml") == NULL)
			continue;
		snprintf(path, sizeof(path), "%s/%s", EXAMPLES, entry->d_name);
		config = config_load(path, &errors);
		cr_assert_not_null(config, "%s", errors.error[0].text);
		cr_expect_eq(config_check_offline(config, &errors), 0, "%s", errors.error[0].text);
		config_free(config);
		count++;
	}
	closedir(directory);
	cr_expect_geq(count, 5);
}

Test(config, wants_a_speed_for_a_pci_port_when_no_device_is_opened)
{
	struct config *config = load_right("ports:\n"
					   "  - {name: a, device: eth1}\n"
					   "  - {name: b, device: \"0000:17:00.0\", speed: 1G}\n"
					   "  - {name: c, device: \"0000:17:00.1\"}\n");

	cr_expect_eq(config_check_offline(config, &errors), -EINVAL);
	cr_assert_eq(errors.count, 1);
	cr_expect_eq(strncmp(errors.error[0].text, "leaf.yaml:4:5: port c needs speed", 33), 0,
		     "%s", errors.error[0].text);
	config_free(config);
}

Test(config, says_what_is_wrong_with_a_file_that_cannot_be_read)
{
	cr_expect_null(config_load("/nonexistent/leaf.yaml", &errors));
	cr_assert_eq(errors.count, 1);
	cr_expect_str_eq(errors.error[0].text, "/nonexistent/leaf.yaml: No such file or directory");
	cr_expect_null(config_load("/", &errors));
	cr_assert_eq(errors.count, 1);
	cr_expect_null(config_load("/dev/zero", &errors), "it has no end");
	cr_assert_eq(errors.count, 1);
	cr_expect_str_eq(errors.error[0].text, "/dev/zero: larger than 16777216 bytes");
}

Test(config, knows_where_each_value_was_written)
{
	struct config *config = load_right("ports:\n"
					   "  - name: a\n"
					   "    device: eth1\n"
					   "    mtu:   9000\n");
	struct config_mark mark = config_mark_of(config, "ports[%u].mtu", 0);

	cr_expect_eq(mark.line, 4);
	cr_expect_eq(mark.column, 12);
	cr_expect_eq(config->ports[0].mark.line, 2);
	cr_expect_eq(config->ports[0].device_mark.line, 3);
	cr_expect_eq(config->ports[0].device_mark.column, 13);
	/* A default: the nearest thing around it. */
	mark = config_mark_of(config, "ports[0].speed");
	cr_expect_eq(mark.line, 2);
	config_fail(config, &errors, config_mark_of(config, "ports[0].device"), "no such %s",
		    "device");
	cr_expect_str_eq(errors.error[0].text, "leaf.yaml:3:13: no such device");
	config_free(config);
}

/* ---- errors and the reference ---- */

Test(config, reports_all_errors_of_meaning_in_one_go)
{
	char text[4096] = "ports:\n";
	uint32_t i;

	for (i = 0; i < 30; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "  - {name: p%u, device: eth%u, mtu: 1}\n", i, i);
	cr_expect_null(load(text));
	cr_expect_eq(errors.count, 20);
	cr_expect_eq(errors.dropped, 10);
	for (i = 0; i < 20; i++)
		cr_expect_eq(errors.error[i].mark.line, i + 2);
}

Test(config, prints_errors_one_a_line)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	cr_assert_not_null(out);
	cr_expect_null(load("ports: []\nx: 1\n"));
	errors.dropped = 3;
	config_print_errors(&errors, out);
	fclose(out);
	cr_expect_eq(strncmp(text, "leaf.yaml:1:8: ports is empty", 29), 0, "%s", text);
	cr_expect_not_null(strstr(text, "\nleaf.yaml:2:1: unknown key \"x\""));
	cr_expect_not_null(strstr(text, "\nand 3 more\n"));
	free(text);
}

Test(config, mentions_every_key_in_the_reference)
{
	/* CONTRACT: keys that work now. */
	static const char *const keys[] = {
		"leaf",       "ports",     "vlans",    "classes",      "routes",
		"neighbours", "name",      "cores",    "workers",      "memory",
		"idle",       "spin",      "adaptive", "router_mac",   "device",
		"driver",     "vfio",      "kernel",   "af_xdp",       "vhost",
		"vdev",       "speed",     "mtu",      "trust",        "dscp",
		"pcp",        "none",      "vlan",     "access",       "trunk",
		"native",     "address",   "id",       "priority",     "lossless",
		"weight",     "strict",    "max_rate", "sonic",        "to",
		"via",        "mac",       "port",     "ports[]",      "ports[].vlan",
		"vlans[]",    "classes[]", "routes[]", "neighbours[]", "runtime_dir",
	};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	char quoted[40];
	size_t i;

	cr_assert_not_null(out);
	config_print_reference(out);
	fclose(out);
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(quoted, sizeof(quoted), "`%s`", keys[i]);
		cr_expect_not_null(strstr(text, quoted), "no %s", quoted);
	}
	cr_expect_not_null(strstr(text, "| `mtu` | a size | bytes, KB, MB, GB, KiB, MiB, GiB | "
					"68..9216 bytes | `1500` | no | "));
	cr_expect_not_null(strstr(text,
				  "| `speed` | a rate | K, M, G, T (bits/s) | 1M..1.6T | what "
				  "the device reports | yes | "));
	free(text);
}

Test(config, frees_nothing_without_complaint)
{
	config_free(NULL);
}
