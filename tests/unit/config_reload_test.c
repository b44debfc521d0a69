/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include "config/config.h"

static struct config_errors errors;

static struct config *load_right(const char *text)
{
	struct config *config = config_load_string("leaf.yaml", text, strlen(text), &errors);

	cr_assert_not_null(config, "%s", errors.error[0].text);
	return config;
}

#define RELOAD_BASE                                                 \
	"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n" \
	"ports:\n"                                                  \
	"  - {name: a, device: eth1, mtu: 4200}\n"                  \
	"  - {name: b, device: eth2, address: 10.0.0.1/24}\n"

static const struct {
	const char *text, *message; /* NULL: taken */
} reloads[] = {
	{RELOAD_BASE, NULL},
	/* The same in other words. */
	{"leaf: {name: l, workers: 2, memory: 134217728, idle: spin, runtime_dir: /run/roceleaf}\n"
	 "ports:\n"
	 "  - {name: a, device: eth1, mtu: 4200, driver: kernel, trust: dscp, vlan: {access: 1}}\n"
	 "  - {name: b, device: eth2, mtu: 1500, address: [10.0.0.1/24]}\n",
	 NULL},
	/* All that is reloadable. */
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n"
	 "ports:\n"
	 "  - {name: a, device: eth1, mtu: 4200, speed: 1G, trust: none, vlan: {trunk: [5]}}\n"
	 "  - {name: b, device: eth2, address: 10.0.7.1/24, trust: pcp}\n"
	 "vlans: [{id: 5, address: 10.5.0.1/24}]\n"
	 "classes: sonic\n"
	 "routes: [{to: 10.9.0.0/16, via: 10.5.0.2}]\n"
	 "neighbours: [{address: 10.0.7.2, mac: 02:00:00:00:00:01}]\n"
	 "balance: {mode: flowlet, gap: 50us, hash: 5tuple, seed: 7}\n",
	 NULL},
	{RELOAD_BASE "telemetry: {http: 127.0.0.1:9469}\n", NULL},
	{RELOAD_BASE "telemetry: {http: off}\n", "leaf.yaml:5:19: telemetry.http can't change"},
	{RELOAD_BASE "balance: {flows: 1024}\n",
	 "leaf.yaml:5:18: balance.flows, 1024, was 65536: it can't change"},
	{"leaf: {name: m, workers: 2, memory: 128MiB, idle: spin, router_mac: 02:00:00:00:00:09}\n"
	 "ports: [{name: a, device: eth1, mtu: 4200}, {name: b, device: eth2, address: "
	 "10.0.0.1/24}]\n",
	 "leaf.yaml:1:14: leaf.name can't change"},
	{"leaf: {name: l, cores: [1, 2], memory: 128MiB, idle: spin}\n"
	 "ports: [{name: a, device: eth1, mtu: 4200}, {name: b, device: eth2, address: "
	 "10.0.0.1/24}]\n",
	 "leaf.yaml:1:24: leaf.cores can't change"},
	{"leaf: {name: l, workers: 3, memory: 128MiB, idle: spin}\n"
	 "ports: [{name: a, device: eth1, mtu: 4200}, {name: b, device: eth2, address: "
	 "10.0.0.1/24}]\n",
	 "leaf.yaml:1:26: leaf.workers can't change"},
	{"leaf: {name: l, workers: 2, idle: spin}\n"
	 "ports: [{name: a, device: eth1, mtu: 4200}, {name: b, device: eth2, address: "
	 "10.0.0.1/24}]\n",
	 "leaf.yaml:1:7: leaf.memory can't change"},
	{"leaf: {name: l, workers: 2, memory: 128MiB}\n"
	 "ports: [{name: a, device: eth1, mtu: 4200}, {name: b, device: eth2, address: "
	 "10.0.0.1/24}]\n",
	 "leaf.yaml:1:7: leaf.idle can't change"},
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin, runtime_dir: /tmp}\n"
	 "ports: [{name: a, device: eth1, mtu: 4200}, {name: b, device: eth2, address: "
	 "10.0.0.1/24}]\n",
	 "leaf.yaml:1:70: leaf.runtime_dir can't change"},
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n"
	 "ports: [{name: a, device: eth1, mtu: 4200}]\n",
	 "leaf.yaml:2:8: 1 ports, were 2: the list of ports can't change"},
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n"
	 "ports:\n"
	 "  - {name: a, device: eth1, mtu: 4200}\n"
	 "  - {name: c, device: eth2, address: 10.0.0.1/24}\n",
	 "leaf.yaml:4:12: port 1 is called c, was b"},
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n"
	 "ports:\n"
	 "  - {name: a, device: eth3, mtu: 4200}\n"
	 "  - {name: b, device: eth2, address: 10.0.0.1/24}\n",
	 "leaf.yaml:3:23: device of port a, eth3, was eth1"},
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n"
	 "ports:\n"
	 "  - {name: a, device: eth1, mtu: 4200, driver: af_xdp}\n"
	 "  - {name: b, device: eth2, address: 10.0.0.1/24}\n",
	 "leaf.yaml:3:48: driver of port a can't change"},
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n"
	 "ports:\n"
	 "  - {name: a, device: eth1, mtu: 4201}\n"
	 "  - {name: b, device: eth2, address: 10.0.0.1/24}\n",
	 "leaf.yaml:3:34: mtu of port a, 4201, was 4200"},
	{"leaf: {name: l, workers: 2, memory: 128MiB, idle: spin}\n"
	 "ports:\n"
	 "  - {name: a, device: eth1, mtu: 4200, pfc: software}\n"
	 "  - {name: b, device: eth2, address: 10.0.0.1/24, pfc: off}\n",
	 NULL},
};

/* The device was set up for it, or wasn't. */
Test(config, neither_to_nor_from_pfc_in_hardware)
{
	static const char *const words[] = {"auto", "software", "hardware", "off"};

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 4; j++) {
			char text[2][128];
			struct config *config[2];
			bool refused = (i == 2) != (j == 2);

			for (size_t k = 0; k < 2; k++) {
				(void)snprintf(
					text[k], sizeof(text[k]),
					"ports:\n  - {name: a, device: 0000:17:00.0, speed: 10G, "
					"pfc: %s}\n",
					words[k == 0 ? i : j]);
				config[k] = load_right(text[k]);
			}
			cr_expect_eq(config_check_reload(config[0], config[1], &errors),
				     refused ? -EBUSY : 0, "%s to %s", words[i], words[j]);
			if (refused)
				cr_expect_not_null(strstr(errors.error[0].text,
							  "leaf.yaml:2:54: pfc of port a"),
						   "%s", errors.error[0].text);
			config_free(config[0]);
			config_free(config[1]);
		}
}

Test(config, says_what_cannot_be_reloaded)
{
	struct config *old = load_right(RELOAD_BASE);
	size_t i;

	for (i = 0; i < sizeof(reloads) / sizeof(reloads[0]); i++) {
		struct config *new = load_right(reloads[i].text);
		const char *message = reloads[i].message;
		bool found = message == NULL;
		uint32_t j;

		cr_expect_eq(config_check_reload(old, new, &errors), message != NULL ? -EBUSY : 0,
			     "row %zu: %s", i, errors.error[0].text);
		for (j = 0; j < errors.count; j++)
			found |= message != NULL &&
				 strncmp(errors.error[j].text, message, strlen(message)) == 0;
		cr_expect(found, "row %zu: \"%s\", expected \"%s\"", i, errors.error[0].text,
			  message);
		config_free(new);
	}
	config_free(old);
}
