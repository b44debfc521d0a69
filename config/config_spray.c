/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In-order spray: peers, the routes that lead to them, our own address, and the key that all share.
 */
#include "config/config_internal.h"

#include <stdlib.h>
#include <string.h>

static bool prefix_equal(const struct config_prefix *a, const struct config_prefix *b)
{
	return a->length == b->length && config_ip_compare(&a->ip, &b->ip) == 0;
}

static bool peer_equal(const struct config_peer *a, const struct config_peer *b)
{
	if (config_ip_compare(&a->address, &b->address) != 0 || a->prefix_count != b->prefix_count)
		return false;
	for (uint32_t i = 0; i < a->prefix_count; i++)
		if (!prefix_equal(&a->prefixes[i], &b->prefixes[i]))
			return false;
	return true;
}

bool config_spray_equal(const struct config_spray *a, const struct config_spray *b)
{
	if (a->peer_count != b->peer_count || config_ip_compare(&a->address, &b->address) != 0 ||
	    memcmp(a->key, b->key, sizeof(a->key)) != 0 || a->promote_bytes != b->promote_bytes ||
	    a->hold_auto != b->hold_auto || a->hold_max_bytes != b->hold_max_bytes)
		return false;
	for (uint32_t i = 0; i < a->peer_count; i++)
		if (!peer_equal(&a->peers[i], &b->peers[i]))
			return false;
	return true;
}

/* --- the key --- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_key(const char *text, size_t size, uint8_t *key)
{
	if (size != (size_t)2 * CONFIG_KEY_BYTES)
		return false;
	for (size_t i = 0; i < CONFIG_KEY_BYTES; i++) {
		int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		key[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static void check_key(struct schema_document *document, struct schema_node *node,
		      const char *config_path, struct config_spray *spray)
{
	struct config_secret secret;

	if (spray->key_file[0] == '\0') {
		schema_fail(document, node,
			    "spray needs the key \"key_file\": leaves prove with it "
			    "who they are");
		return;
	}
	config_secret_read(&secret, config_path, spray->key_file);
	if (secret.why == NULL && !parse_key(secret.text, secret.size, spray->key))
		secret.why = "it must hold 32 hexadecimal digits and nothing else";
	if (secret.why != NULL)
		schema_fail(document, schema_child(node, "key_file"), "key_file %s: %s",
			    secret.path, secret.why);
	config_secret_forget(&secret);
}

/* --- routes --- */

static bool same_next_hops(const struct config_route *a, const struct config_route *b)
{
	if (a->via_count != b->via_count)
		return false;
	for (uint32_t i = 0; i < a->via_count; i++)
		if (config_ip_compare(&a->via[i], &b->via[i]) != 0)
			return false;
	return true;
}

/* A part of the prefix has a route of its own, by other next hops? */
static const struct config_route *inner_route(const struct config *config,
					      const struct config_prefix *prefix,
					      const struct config_route *outer)
{
	for (uint32_t i = 0; i < config->route_count; i++) {
		const struct config_route *route = &config->routes[i];

		if (route->to.length > prefix->length &&
		    config_prefix_contains(prefix, &route->to.ip) && !same_next_hops(route, outer))
			return route;
	}
	return NULL;
}

static void check_prefix(struct schema_document *document, const struct config *config,
			 const struct connected_list *list, struct schema_node *node,
			 const struct config_prefix *prefix, const struct config_route *way)
{
	const struct config_route *route = config_route_of(config, prefix), *inner;
	const struct connected *connected = connected_find(list, &prefix->ip);
	char text[ADDRESS_TEXT_BYTES], other[ADDRESS_TEXT_BYTES];

	config_format_prefix(prefix, text, sizeof(text));
	if (connected != NULL) {
		schema_fail(document, node, "prefix %s is a network of ours: a peer can't serve it",
			    text);
		return;
	}
	if (route == NULL) {
		schema_fail(document, node, "prefix %s has no route", text);
		return;
	}
	if (!same_next_hops(route, way)) {
		schema_fail(document, node,
			    "prefix %s is routed by other next hops than the peer's address", text);
		return;
	}
	inner = inner_route(config, prefix, way);
	if (inner != NULL)
		schema_fail(document, node,
			    "a part of prefix %s, %s, is routed by other next hops than the peer's "
			    "address",
			    text, config_format_prefix(&inner->to, other, sizeof(other)));
}

static void check_peer(struct schema_document *document, const struct config *config,
		       const struct connected_list *list, struct schema_node *node,
		       const struct config_peer *peer)
{
	struct config_prefix host = {.ip = peer->address,
				     .length = peer->address.family == 4 ? 32 : 128};
	const struct config_route *way = config_route_of(config, &host);
	struct schema_node *address = schema_child(node, "address");
	struct schema_node *prefixes = schema_child(node, "prefixes");
	struct schema_node *prefix = schema_element(prefixes, 0);
	char text[ADDRESS_TEXT_BYTES];

	config_format_ip(&peer->address, text, sizeof(text));
	if (connected_find(list, &peer->address) != NULL) {
		schema_fail(document, address,
			    "peer %s is in a network of ours: its address must be behind the next "
			    "hops",
			    text);
		return;
	}
	if (way == NULL) {
		schema_fail(document, address, "peer %s has no route", text);
		return;
	}
	for (uint32_t i = 0; i < way->via_count; i++) {
		const struct connected *connected = connected_find(list, &way->via[i]);

		if (connected != NULL && connected->port == UINT16_MAX) {
			schema_fail(document, address,
				    "peer %s has a next hop in VLAN %u: all must be behind routed "
				    "ports",
				    text, config->vlans[connected->vlan].id);
			return;
		}
	}
	if (way->via_count > CONFIG_PEER_VIAS_MAX) {
		schema_fail(document, address, "peer %s has %u next hops: at most %u can be", text,
			    way->via_count, CONFIG_PEER_VIAS_MAX);
		return;
	}
	for (uint32_t i = 0; i < peer->prefix_count; i++) {
		check_prefix(document, config, list, prefix, &peer->prefixes[i], way);
		prefix = prefixes->kind == SCHEMA_NODE_LIST ? prefix->next : prefix;
	}
}

/* --- what is served once --- */

struct served {
	const struct config_prefix *prefix;
	uint16_t peer;
};

static int served_compare(const void *left, const void *right)
{
	const struct served *a = left, *b = right;
	int order = config_ip_compare(&a->prefix->ip, &b->prefix->ip);

	return order != 0 ? order : (int)a->prefix->length - (int)b->prefix->length;
}

/* Sorted by address, and by length, a prefix that lies in another follows it or one that lies in it. */
static void check_overlaps(struct schema_document *document, struct schema_node *node,
			   const struct config_spray *spray)
{
	struct served *served;
	uint32_t count = 0, outer = 0;

	for (uint32_t i = 0; i < spray->peer_count; i++)
		count += spray->peers[i].prefix_count;
	served = calloc((size_t)count + 1, sizeof(*served));
	if (served == NULL) {
		schema_fail(document, node, "out of memory");
		return;
	}
	count = 0;
	for (uint16_t i = 0; i < spray->peer_count; i++)
		for (uint32_t k = 0; k < spray->peers[i].prefix_count; k++)
			served[count++] = (struct served){&spray->peers[i].prefixes[k], i};
	qsort(served, count, sizeof(*served), served_compare);
	for (uint32_t i = 1; i < count; i++) {
		char text[ADDRESS_TEXT_BYTES], other[ADDRESS_TEXT_BYTES];

		if (!config_prefix_contains(served[outer].prefix, &served[i].prefix->ip)) {
			outer = i;
			continue;
		}
		schema_fail(document, schema_element(schema_child(node, "peers"), served[i].peer),
			    "prefix %s lies in %s: it must have one leaf, or spraying would mix "
			    "their orders",
			    config_format_prefix(served[i].prefix, text, sizeof(text)),
			    config_format_prefix(served[outer].prefix, other, sizeof(other)));
	}
	free(served);
}

/* --- our address --- */

static bool leads_through(const struct config *config, const struct connected_list *list,
			  const struct connected *connected)
{
	for (uint32_t i = 0; i < config->route_count; i++)
		for (uint32_t k = 0; k < config->routes[i].via_count; k++)
			if (connected_find(list, &config->routes[i].via[k]) == connected)
				return true;
	return false;
}

static void check_own_address(struct schema_document *document, const struct config *config,
			      const struct connected_list *list, struct schema_node *node,
			      struct config_spray *spray)
{
	char text[ADDRESS_TEXT_BYTES];

	for (uint32_t i = 0; i < list->count; i++) {
		const struct config_ip *own = &list->entry[i].address.ip;

		if (spray->address.family != 0
			    ? config_ip_compare(own, &spray->address) == 0
			    : own->family == spray->peers[0].address.family &&
				      !leads_through(config, list, &list->entry[i])) {
			spray->address = *own;
			return;
		}
	}
	if (spray->address.family != 0)
		schema_fail(document, schema_child(node, "address"),
			    "%s isn't an address of ours: a port or VLAN must have it",
			    config_format_ip(&spray->address, text, sizeof(text)));
	else
		schema_fail(
			document, node,
			"spray needs the key \"address\": routes go through all interfaces that "
			"have one of the peers' family");
}

/* Where spraying is asked for without anybody to restore the order. */
static void check_unserved_mode(struct schema_document *document, struct schema_node *node,
				enum config_balance_mode mode)
{
	if (mode == CONFIG_BALANCE_SPRAY)
		schema_fail(document, node,
			    "balance spray needs balance.spray.peers, who restore the order");
	if (mode == CONFIG_BALANCE_ADAPTIVE)
		schema_fail(document, node,
			    "balance adaptive needs balance.spray.peers, who tell their loads");
}

static void check_unserved(struct schema_document *document, const struct config *config)
{
	check_unserved_mode(document, schema_at(document, "balance.mode"), config->balance.mode);
	for (uint32_t i = 0; i < config->class_count; i++)
		check_unserved_mode(document, schema_at(document, "classes[%u].balance", i),
				    config->classes[i].balance);
	for (uint32_t i = 0; i < config->route_count; i++)
		check_unserved_mode(document, schema_at(document, "routes[%u].balance", i),
				    config->routes[i].balance);
}

void config_check_spray(struct schema_document *document, struct config *config,
			const struct connected_list *list)
{
	struct schema_node *balance = schema_child(schema_root(document), "balance");
	struct schema_node *node = schema_child(balance, "spray");
	struct schema_node *peer = schema_element(schema_child(node, "peers"), 0);
	struct config_spray *spray = &config->balance.spray;

	if (spray->peer_count == 0) {
		check_unserved(document, config);
		return;
	}
	if (node->refused || schema_child(node, "peers")->refused)
		return;
	for (uint32_t i = 0; i < spray->peer_count; i++) {
		if (!peer->refused)
			check_peer(document, config, list, peer, &spray->peers[i]);
		if (spray->peers[i].address.family != spray->peers[0].address.family)
			schema_fail(document, schema_child(peer, "address"),
				    "addresses of peers must be of one family");
		peer = peer->next != NULL ? peer->next : peer;
	}
	check_overlaps(document, node, spray);
	check_own_address(document, config, list, node, spray);
	check_key(document, node, config->path, spray);
}
