/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses: which can be an interface's, which networks we are in, and whether they are apart.
 */
#include "config/config_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static uint32_t address_bits(const struct config_ip *ip)
{
	return ip->family == 4 ? 32 : 128;
}

const char *config_format_ip(const struct config_ip *ip, char *buffer, size_t size)
{
	if (inet_ntop(ip->family == 4 ? AF_INET : AF_INET6, ip->bytes, buffer, (socklen_t)size) ==
	    NULL)
		snprintf(buffer, size, "?");
	return buffer;
}

const char *config_format_prefix(const struct config_prefix *prefix, char *buffer, size_t size)
{
	char address[INET6_ADDRSTRLEN];

	snprintf(buffer, size, "%s/%u", config_format_ip(&prefix->ip, address, sizeof(address)),
		 prefix->length);
	return buffer;
}

int config_ip_compare(const struct config_ip *a, const struct config_ip *b)
{
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return memcmp(a->bytes, b->bytes, address_bits(a) / 8);
}

/* The address with every bit after the prefix's set to `ones`. */
static struct config_ip prefix_end(const struct config_prefix *prefix, bool ones)
{
	struct config_ip ip = prefix->ip;
	uint32_t bit;

	for (bit = prefix->length; bit < address_bits(&ip); bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		ip.bytes[bit / 8] =
			(uint8_t)(ones ? ip.bytes[bit / 8] | mask : ip.bytes[bit / 8] & ~mask);
	}
	return ip;
}

struct config_ip config_prefix_network(const struct config_prefix *prefix)
{
	return prefix_end(prefix, false);
}

bool config_prefix_contains(const struct config_prefix *prefix, const struct config_ip *ip)
{
	struct config_prefix other = {.ip = *ip, .length = prefix->length};
	struct config_ip network;
	struct config_ip other_network;

	if (ip->family != prefix->ip.family)
		return false;
	network = config_prefix_network(prefix);
	other_network = config_prefix_network(&other);
	return config_ip_compare(&network, &other_network) == 0;
}

/* Blocks that belong to no single device in a network of ours: RFC 6890, RFC 4291. */
static const struct {
	struct config_prefix block;
	const char *what;
} misfits[] = {
	{{{4, {0}}, 8}, "in 0.0.0.0/8, which means \"this network\""},
	{{{4, {127}}, 8}, "a loopback address"},
	{{{4, {224}}, 4}, "a multicast address"},
	{{{4, {240}}, 4}, "in 240.0.0.0/4, which is reserved"},
	{{{6, {0}}, 128}, "the unspecified address"},
	{{{6, {[15] = 1}}, 128}, "the loopback address"},
	{{{6, {[10] = 0xff, [11] = 0xff}}, 96}, "an IPv4 address in IPv6 clothes: write 10.1.0.1"},
	{{{6, {0xff}}, 8}, "a multicast address"},
	{{{6, {0xfe, 0x80}}, 10}, "a link-local address, which every interface has by itself"},
};

const char *config_prefix_misfit(const struct config_prefix *prefix)
{
	size_t i;

	for (i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
		if (misfits[i].block.length <= prefix->length &&
		    config_prefix_contains(&misfits[i].block, &prefix->ip))
			return misfits[i].what;
	}
	return NULL;
}

const char *config_ip_misfit(const struct config_ip *ip)
{
	struct config_prefix prefix = {.ip = *ip, .length = (uint8_t)address_bits(ip)};

	return config_prefix_misfit(&prefix);
}

const char *config_ip_edge(const struct config_prefix *network, const struct config_ip *ip)
{
	struct config_ip first = prefix_end(network, false);
	struct config_ip last = prefix_end(network, true);

	/* Networks of one or two addresses have no edge: RFC 3021, RFC 6164. */
	if (address_bits(ip) - network->length < 2)
		return NULL;
	if (config_ip_compare(ip, &first) == 0)
		return "the network itself";
	return ip->family == 4 && config_ip_compare(ip, &last) == 0
		       ? "its network's broadcast address"
		       : NULL;
}

const char *connected_name(const struct config *config, const struct connected *connected,
			   char *buffer, size_t size)
{
	if (connected->port != UINT16_MAX)
		snprintf(buffer, size, "port %s", config->ports[connected->port].name);
	else
		snprintf(buffer, size, "VLAN %u", config->vlans[connected->vlan].id);
	return buffer;
}

static struct schema_node *connected_node(const struct schema_document *document,
					  const struct connected *connected)
{
	struct schema_node *list;
	struct schema_node *element;

	if (connected->port != UINT16_MAX)
		list = schema_at(document, "ports[%u].address", connected->port);
	else
		list = schema_at(document, "vlans[%u].address", connected->vlan);
	element = schema_element(list, connected->index);
	return element != NULL ? element : list;
}

/* One address by itself: could a device have it, and is it in the middle of its network? */
static void check_address(struct schema_document *document, const struct connected *connected)
{
	const struct config_prefix *address = &connected->address;
	const char *edge = config_ip_edge(address, &address->ip);
	const char *misfit = config_ip_misfit(&address->ip);
	char text[ADDRESS_TEXT_BYTES];

	config_format_prefix(address, text, sizeof(text));
	if (misfit != NULL)
		schema_fail(document, connected_node(document, connected),
			    "address %s can't be an interface's: it is %s", text, misfit);
	else if (address->length == 0)
		schema_fail(document, connected_node(document, connected),
			    "address %s has the whole world as its network: use a longer prefix, "
			    "such as /%u",
			    text, address->ip.family == 4 ? 24 : 64);
	else if (edge != NULL)
		schema_fail(document, connected_node(document, connected),
			    "address %s is %s: choose one within it", text, edge);
}

static void collect(struct connected_list *list, const struct config_prefix *address,
		    uint16_t count, struct connected of)
{
	for (of.index = 0; of.index < count; of.index++) {
		of.address = address[of.index];
		if (of.address.ip.family != 0)
			list->entry[list->count++] = of;
	}
}

/* By the first address of the network, larger networks first; then as in the file. */
static int connected_compare(const void *left, const void *right)
{
	const struct connected *a = left;
	const struct connected *b = right;
	struct config_ip a_network = config_prefix_network(&a->address);
	struct config_ip b_network = config_prefix_network(&b->address);
	int order = config_ip_compare(&a_network, &b_network);

	if (order != 0)
		return order;
	if (a->address.length != b->address.length)
		return a->address.length < b->address.length ? -1 : 1;
	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	if (a->vlan != b->vlan)
		return a->vlan < b->vlan ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static void fail_overlap(struct schema_document *document, const struct config *config,
			 const struct connected *outer, const struct connected *inner)
{
	char inner_text[ADDRESS_TEXT_BYTES];
	char outer_text[ADDRESS_TEXT_BYTES];
	char name[CONFIG_NAME_BYTES + 8];
	struct schema_node *node = connected_node(document, inner);
	struct schema_node *other = connected_node(document, outer);

	/* Complain where the later one stands. */
	if (other->mark.line > node->mark.line ||
	    (other->mark.line == node->mark.line && other->mark.column > node->mark.column)) {
		const struct connected *swap = inner;

		inner = outer;
		outer = swap;
		node = other;
	}
	schema_fail(document, node,
		    "address %s overlaps %s of %s: interfaces need networks of their own",
		    config_format_prefix(&inner->address, inner_text, sizeof(inner_text)),
		    config_format_prefix(&outer->address, outer_text, sizeof(outer_text)),
		    connected_name(config, outer, name, sizeof(name)));
}

void config_check_addresses(struct schema_document *document, const struct config *config,
			    struct connected_list *list)
{
	const struct connected *outer = NULL;
	size_t capacity = 0;
	uint32_t i;

	capacity = ((size_t)config->port_count + config->vlan_count) * CONFIG_ADDRESSES_MAX;
	list->entry = calloc(capacity + 1, sizeof(*list->entry));
	if (list->entry == NULL) {
		schema_fail(document, schema_root(document), "out of memory");
		return;
	}
	for (i = 0; i < config->port_count; i++)
		collect(list, config->ports[i].address, config->ports[i].address_count,
			(struct connected){.port = (uint16_t)i});
	for (i = 0; i < config->vlan_count; i++)
		collect(list, config->vlans[i].address, config->vlans[i].address_count,
			(struct connected){.port = UINT16_MAX, .vlan = (uint16_t)i});
	for (i = 0; i < list->count; i++)
		check_address(document, &list->entry[i]);
	qsort(list->entry, list->count, sizeof(*list->entry), connected_compare);
	/* Networks are nested or apart, so the last that wasn't inside another is the only candidate. */
	for (i = 0; i < list->count; i++) {
		const struct connected *entry = &list->entry[i];

		if (outer != NULL && config_prefix_contains(&outer->address, &entry->address.ip))
			fail_overlap(document, config, outer, entry);
		else
			outer = entry;
	}
}

const struct connected *connected_find(const struct connected_list *list,
				       const struct config_ip *ip)
{
	uint32_t low = 0;
	uint32_t high = list->count;

	/* The last network that begins at or before the address. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct config_ip network = config_prefix_network(&list->entry[middle].address);

		if (config_ip_compare(&network, ip) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !config_prefix_contains(&list->entry[low - 1].address, ip))
		return NULL;
	return &list->entry[low - 1];
}
