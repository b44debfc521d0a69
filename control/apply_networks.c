/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interfaces that a config has, and the networks that they are in.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/apply.h"
#include "control/apply_internal.h"

/* ---- interfaces ---- */

uint16_t apply_interface_count(const struct config *config)
{
	uint16_t count = 0;

	for (uint16_t i = 0; i < config->port_count; i++)
		if (config->ports[i].address_count != 0)
			count++;
	for (uint16_t i = 0; i < config->vlan_count; i++)
		if (config->vlans[i].address_count != 0)
			count++;
	return count;
}

static void interface_of_port(const struct config *config, uint16_t port,
			      struct apply_interface *out)
{
	const struct config_port *source = &config->ports[port];

	snprintf(out->name, sizeof(out->name), "%.15s", source->name);
	out->port = port;
	out->mtu_bytes = source->mtu_bytes;
	out->address = source->address;
	out->address_count = source->address_count;
}

static void interface_of_vlan(const struct config_vlan *vlan, struct apply_interface *out)
{
	snprintf(out->name, sizeof(out->name), "vlan%u", vlan->id);
	out->port = PORT_NONE;
	out->vlan = vlan->id;
	out->mtu_bytes = vlan->mtu_bytes;
	out->address = vlan->address;
	out->address_count = vlan->address_count;
}

void apply_interface(const struct config *config, uint16_t index, struct apply_interface *out)
{
	*out = (struct apply_interface){.port = PORT_NONE};
	for (uint16_t i = 0; i < config->port_count; i++) {
		if (config->ports[i].address_count != 0 && index-- == 0) {
			interface_of_port(config, i, out);
			return;
		}
	}
	for (uint16_t i = 0; i < config->vlan_count; i++) {
		if (config->vlans[i].address_count != 0 && index-- == 0) {
			interface_of_vlan(&config->vlans[i], out);
			return;
		}
	}
	assert(false && "no such interface");
}

/* ---- networks ---- */

int ip_compare(const struct config_ip *a, const struct config_ip *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, ip_size(a));
}

static int network_compare(const void *a, const void *b)
{
	const struct network *left = a, *right = b;

	return ip_compare(&left->address.ip, &right->address.ip);
}

/* Counts the interface when it is one: when it has addresses. */
static void networks_add(struct networks *networks, const struct config_prefix *address,
			 uint16_t count, uint16_t *interface)
{
	if (count == 0)
		return;
	for (uint16_t i = 0; i < count; i++)
		networks->entry[networks->count++] =
			(struct network){.address = address[i], .interface = *interface};
	(*interface)++;
}

int networks_create(struct networks *networks, const struct config *config)
{
	size_t max = 1;
	uint16_t interface = 0;

	for (uint16_t i = 0; i < config->port_count; i++)
		max += config->ports[i].address_count;
	for (uint16_t i = 0; i < config->vlan_count; i++)
		max += config->vlans[i].address_count;
	networks->count = 0;
	networks->entry = calloc(max, sizeof(*networks->entry));
	if (networks->entry == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; i < config->port_count; i++)
		networks_add(networks, config->ports[i].address, config->ports[i].address_count,
			     &interface);
	for (uint16_t i = 0; i < config->vlan_count; i++)
		networks_add(networks, config->vlans[i].address, config->vlans[i].address_count,
			     &interface);
	qsort(networks->entry, networks->count, sizeof(*networks->entry), network_compare);
	return 0;
}

void networks_free(struct networks *networks)
{
	free(networks->entry);
}

uint16_t networks_find(const struct networks *networks, const struct config_ip *ip)
{
	uint32_t low = 0, high = networks->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ip_compare(&networks->entry[middle].address.ip, ip) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	/* Our address in the network lies on either side of `ip`; networks are disjoint. */
	if (low > 0 && config_prefix_contains(&networks->entry[low - 1].address, ip))
		return networks->entry[low - 1].interface;
	if (low < networks->count && config_prefix_contains(&networks->entry[low].address, ip))
		return networks->entry[low].interface;
	return INTERFACE_NONE;
}
