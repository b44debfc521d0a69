/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema_leaf.h"

uint64_t config_hash(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* 02 (locally administered) and five bytes of the name's hash. */
static void router_mac_default(struct config_leaf *leaf)
{
	static const uint8_t unset[6];
	uint64_t hash = config_hash(CONFIG_HASH_START, leaf->name, strlen(leaf->name));

	if (memcmp(leaf->router_mac, unset, sizeof(unset)) != 0)
		return;
	leaf->router_mac[0] = 0x02;
	for (uint32_t i = 1; i < 6; i++)
		leaf->router_mac[i] = (uint8_t)(hash >> 8 * i);
}

uint64_t config_memory_bytes_min(const struct config *config)
{
	uint64_t buffers =
		(uint64_t)config->port_count * CONFIG_BUFFERS_PER_PORT + CONFIG_BUFFERS_SHARED;
	uint32_t frame_bytes = 2048;
	uint32_t i;

	for (i = 0; i < config->port_count; i++) {
		if (config->ports[i].mtu_bytes + FRAME_HEADER_BYTES > frame_bytes)
			frame_bytes = config->ports[i].mtu_bytes + FRAME_HEADER_BYTES;
	}
	frame_bytes = (frame_bytes + 1023) / 1024 * 1024;
	return buffers * (frame_bytes + CONFIG_BUFFER_OVERHEAD_BYTES);
}

static void check_leaf(struct schema_document *document, struct config *config)
{
	struct schema_node *root = schema_root(document);
	struct config_leaf *leaf = &config->leaf;
	uint64_t bytes_min;
	char needed[32];
	char given[32];

	router_mac_default(leaf);
	if (leaf->core_count > 0)
		leaf->workers = leaf->core_count;
	if (schema_child(root, "ports")->refused || schema_child(root, "leaf")->refused)
		return;
	bytes_min = config_memory_bytes_min(config);
	if (leaf->memory_bytes < bytes_min)
		schema_fail(
			document, schema_at(document, "leaf.memory"),
			"memory %s is too small for %u ports of these MTUs: at least %s (%u "
			"buffers a port and %u for all)",
			schema_format_number(SCHEMA_SIZE, leaf->memory_bytes, given, sizeof(given)),
			config->port_count,
			schema_format_number(SCHEMA_SIZE, ((bytes_min >> 20) + 1) << 20, needed,
					     sizeof(needed)),
			CONFIG_BUFFERS_PER_PORT, CONFIG_BUFFERS_SHARED);
}

/* Rules between keys. Those that build on others wait until these were right. */
static void check_rules(struct schema_document *document, struct config *config)
{
	struct schema_node *root = schema_root(document);
	struct connected_list connected = {0};

	config_check_ports(document, config);
	config_check_vlans(document, config);
	config_check_marks(document, config);
	check_leaf(document, config);
	if (config_classes_complete(document, schema_at(document, "classes"), config) == 0)
		config_buffer_complete(document, root, config);
	config_check_addresses(document, config, &connected);
	if (!schema_child(root, "ports")->refused && !schema_child(root, "vlans")->refused) {
		config_check_routes(document, config, &connected);
		config_check_neighbours(document, config, &connected);
		config_check_spray(document, config, &connected);
	}
	free(connected.entry);
}

static struct config *load(const char *path, struct schema_document *document,
			   struct config_errors *errors)
{
	struct schema_memory memory = {0};
	struct config *config;
	int rc;

	if (document == NULL)
		return NULL;
	config = calloc(1, sizeof(*config));
	if (config == NULL) {
		schema_fail_mark(errors, path, (struct config_mark){0}, "out of memory");
		schema_free(document);
		return NULL;
	}
	rc = schema_check(document, &config_table, config, &memory, errors);
	config->document = document;
	config->memory = memory.last;
	config->path = strdup(path);
	if (config->path == NULL) {
		schema_fail_mark(errors, path, (struct config_mark){0}, "out of memory");
		rc = -ENOMEM;
	} else {
		check_rules(document, config);
	}
	if (rc != 0 || errors->count > 0) {
		schema_sort_errors(errors);
		config_free(config);
		return NULL;
	}
	return config;
}

struct config *config_load(const char *path, struct config_errors *errors)
{
	memset(errors, 0, sizeof(*errors));
	return load(path, schema_read(path, errors), errors);
}

struct config *config_load_string(const char *path, const char *text, size_t size,
				  struct config_errors *errors)
{
	memset(errors, 0, sizeof(*errors));
	return load(path, schema_read_string(path, text, size, errors), errors);
}

void config_free(struct config *config)
{
	struct schema_memory memory;

	if (config == NULL)
		return;
	memory.last = config->memory;
	schema_memory_free(&memory);
	schema_free(config->document);
	free(config->path);
	free(config);
}

struct config_mark config_mark_of(const struct config *config, const char *format, ...)
{
	struct schema_node *node;
	char path[256];
	va_list arguments;

	if (config->document == NULL)
		return (struct config_mark){0};
	va_start(arguments, format);
	vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	node = schema_at(config->document, "%s", path);
	return node->mark;
}

void config_fail(const struct config *config, struct config_errors *errors, struct config_mark mark,
		 const char *format, ...)
{
	char text[sizeof(((struct config_error *)0)->text)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	/* A config that the lab has made has no file. */
	schema_fail_mark(errors, config->path != NULL ? config->path : config->leaf.name, mark,
			 "%s", text);
}

int config_check_offline(const struct config *config, struct config_errors *errors)
{
	uint32_t before = errors->count + errors->dropped;
	uint32_t i;

	for (i = 0; i < config->port_count; i++) {
		const struct config_port *port = &config->ports[i];

		if (port->driver == CONFIG_DRIVER_VFIO && port->speed_bps == 0)
			config_fail(config, errors, port->mark,
				    "port %s needs speed: %s is not opened by a check, so what it "
				    "reports isn't known; write speed: 100G",
				    port->name, port->device);
	}
	return errors->count + errors->dropped == before ? 0 : -EINVAL;
}

void config_print_reference(FILE *out)
{
	schema_print_reference(&config_table, "leaf.yaml: every key", true, out);
}

void config_print_errors(const struct config_errors *errors, FILE *out)
{
	uint32_t i;

	for (i = 0; i < errors->count; i++)
		fprintf(out, "%s\n", errors->error[i].text);
	if (errors->dropped > 0)
		fprintf(out, "and %u more\n", errors->dropped);
}
