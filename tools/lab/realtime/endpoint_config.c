/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/realtime/endpoint_config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema_leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/random.h"

#define QUEUE_PAIR_LAST (FLOW_QUEUE_PAIR + ENDPOINT_QUEUE_PAIRS - 1)

/* Where source ports come from: RFC 6335 section 6, and what RoCE NICs use. */
#define SOURCE_PORT_FIRST 49152
#define SOURCE_PORT_COUNT 16384

static const struct schema_word endpoint_driver_words[] = {
	{"kernel", ENDPOINT_KERNEL, "a kernel interface, by packet_mmap."},
	{"vdev", ENDPOINT_VDEV, "a DPDK virtual device."},
	{0},
};

static const struct schema_word endpoint_idle_words[] = {
	{"adaptive", CONFIG_IDLE_ADAPTIVE, "sleeps until something is due or comes."},
	{"spin", CONFIG_IDLE_SPIN, "polls all the time, for the shortest delay."},
	{0},
};

static const struct schema_row message_rows[] = {
	{"to", SCHEMA_IP, SCHEMA_FIELD(struct endpoint_message, to), .flags = SCHEMA_REQUIRED,
	 .help = "Address of the other host, which serves `qp`."},
	{"qp", SCHEMA_UINT, SCHEMA_FIELD(struct endpoint_message, queue_pair),
	 .min = FLOW_QUEUE_PAIR, .max = QUEUE_PAIR_LAST, .fallback = "16",
	 .help = "Queue pair, the same number at both ends; each has one sender."},
	{"bytes", SCHEMA_SIZE, SCHEMA_FIELD(struct endpoint_message, bytes), .min = 1,
	 .max = UINT64_C(1) << 40, .fallback = "1MB", .help = "Bytes of a message."},
	{"count", SCHEMA_UINT, SCHEMA_FIELD(struct endpoint_message, count), .unit = "messages",
	 .max = UINT32_MAX, .fallback = "0", .help = "Messages; 0: any number."},
	{"for", SCHEMA_TIME, SCHEMA_FIELD(struct endpoint_message, duration_ps),
	 .max = 86400 * PS_PER_S, .fallback = "0",
	 .help = "No message begins later than this after the first; 0: any time."},
	{"depth", SCHEMA_UINT, SCHEMA_FIELD(struct endpoint_message, depth), .unit = "messages",
	 .min = 1, .max = ENDPOINT_DEPTH_MAX, .fallback = "2",
	 .help = "Messages under way at a time. With more than 1 a message's completion time has "
		 "the wait behind others in it."},
	{"class", SCHEMA_NAME, SCHEMA_FIELD(struct endpoint_message, class),
	 SCHEMA_GIVEN(struct endpoint_message, class_given),
	 .fallback_help = "the first lossless one",
	 .help = "Class of its packets: their DSCP, and the priority that pauses stop."},
	{0},
};

static const struct schema_table message_table = {
	"a message",
	message_rows,
	.help = "Messages to a queue pair of another host.",
};

static const struct schema_row endpoint_rows[] = {
	{"device", SCHEMA_STRING, SCHEMA_FIELD(struct endpoint_config, device),
	 .flags = SCHEMA_REQUIRED,
	 .help = "Kernel interface (`eth1`), or DPDK virtual device (`net_tap0,iface=x`). While it "
		 "runs, the kernel doesn't answer ARP there."},
	{"driver", SCHEMA_ENUM, SCHEMA_FIELD(struct endpoint_config, driver),
	 .words = endpoint_driver_words, .fallback = "kernel", .help = "How it is driven."},
	{"address", SCHEMA_ADDRESS, SCHEMA_FIELD(struct endpoint_config, address),
	 .flags = SCHEMA_REQUIRED, .help = "Our IPv4 address and its network: `10.1.0.2/24`."},
	{"gateway", SCHEMA_IP, SCHEMA_FIELD(struct endpoint_config, gateway),
	 .fallback_help = "none", .help = "Router to what isn't in our network."},
	{"speed", SCHEMA_RATE, SCHEMA_FIELD(struct endpoint_config, speed_bps), .min = RATE_BPS_MIN,
	 .max = RATE_BPS_MAX, .fallback_help = "what the device reports",
	 .help = "Line rate that we send at, at most."},
	{"idle", SCHEMA_ENUM, SCHEMA_FIELD(struct endpoint_config, idle),
	 .words = endpoint_idle_words, .fallback = "adaptive",
	 .help = "What to do while nothing is due."},
	CONFIG_CLASSES_ROWS,
	{"hosts", SCHEMA_MAP, SCHEMA_FIELD(struct endpoint_config, hosts),
	 .table = &scenario_hosts_table,
	 .help = "How this host sends and answers; see roceleaf-lab."},
	{"serve", SCHEMA_SET, SCHEMA_FIELD(struct endpoint_config, served), .min = FLOW_QUEUE_PAIR,
	 .max = QUEUE_PAIR_LAST, .fallback_help = "none",
	 .help = "Queue pairs that take messages from anybody: `16`, `16-31` or a list."},
	{"send", SCHEMA_MAP, SCHEMA_LIST(struct endpoint_config, messages, message_count),
	 .table = &message_table, .length_max = ENDPOINT_SENDS_MAX, .fallback_help = "none",
	 .help = "What to send; the program ends when all of it was acknowledged and nothing is "
		 "served."},
	{0},
};

static bool is_served(const struct endpoint_config *config, uint32_t queue_pair)
{
	return (config->served[queue_pair / 64] >> (queue_pair % 64) & 1) != 0;
}

static void check_endpoint(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct endpoint_config *config = out;
	const struct scenario_hosts *hosts = &config->hosts;
	bool serves = false;

	for (uint32_t i = 0; i < sizeof(config->served) / sizeof(config->served[0]); i++)
		serves |= config->served[i] != 0;
	if (!serves && config->message_count == 0)
		schema_fail(document, node, "there is nothing to do: give `send` or `serve`");
	if (config->address.ip.family != 4)
		schema_fail(document, schema_child(node, "address"),
			    "address must be IPv4: hosts know no IPv6");
	if (hosts->transport.ack_every == 0)
		schema_fail(
			document, schema_child(schema_child(node, "hosts"), "ack_every"),
			"ack_every 0 leaves no acknowledgements: a message would never be complete");
	if (hosts->receive_buffer_bytes != 0)
		schema_fail(
			document, schema_child(schema_child(node, "hosts"), "receive_buffer"),
			"receive_buffer is roceleaf-lab's only: here everything is taken at once");
}

const struct schema_table endpoint_table = {
	"a host",
	endpoint_rows,
	.struct_size = sizeof(struct endpoint_config),
	.help = "Units: rates `10G`; sizes `4096`, `64KB` = 64000, `1MiB` = 1048576; times `50us`.",
	.check = check_endpoint,
};

/* --- what follows --- */

static void check_send(struct endpoint_config *config, struct schema_document *document,
		       uint32_t index)
{
	const struct endpoint_message *message = &config->messages[index];
	struct schema_node *node = schema_at(document, "send[%u]", index);
	struct endpoint_send *send = &config->sends[index];
	const struct config_class *class =
		scenario_class(&config->config, message->class_given ? message->class : NULL,
			       document, schema_child(node, "class"));
	bool near = config_prefix_contains(&config->address, &message->to);

	if (message->to.family != 4)
		schema_fail(document, schema_child(node, "to"), "to must be an IPv4 address");
	else if (!near && config->gateway.family != 4)
		schema_fail(document, schema_child(node, "to"),
			    "to is in another network than `address`: give `gateway` too");
	if (is_served(config, message->queue_pair))
		schema_fail(document, schema_child(node, "qp"), "qp %" PRIu32 " is served here",
			    message->queue_pair);
	for (uint32_t i = 0; i < index; i++)
		if (config->messages[i].queue_pair == message->queue_pair)
			schema_fail(document, schema_child(node, "qp"),
				    "qp %" PRIu32 " is that of send[%" PRIu32
				    "] already: take another one",
				    message->queue_pair, i);
	if (class == NULL)
		return;
	*send = (struct endpoint_send){
		.queue_pair = message->queue_pair,
		.depth = message->depth,
		.message_bytes = message->bytes,
		.count = message->count,
		.duration_ps = message->duration_ps,
		.dscp = (uint8_t)__builtin_ctzll(class->dscp),
		.priority = class->priority,
	};
	memcpy(send->to, message->to.bytes, 4);
	memcpy(send->next_hop, near ? message->to.bytes : config->gateway.bytes, 4);
}

static int check_all(struct endpoint_config *config, struct schema_document *document,
		     struct config_errors *errors)
{
	int result = schema_check(document, &endpoint_table, config, &config->memory, errors);

	if (result != 0)
		return result;
	if (config->gateway.family != 0 &&
	    !config_prefix_contains(&config->address, &config->gateway))
		schema_fail(document, schema_at(document, "gateway"),
			    "gateway isn't in the network of `address`");
	if (config_classes_complete(document, schema_at(document, "classes"), &config->config) != 0)
		return -EINVAL;
	scenario_complete_hosts(&config->hosts);
	scenario_classify_hosts(&config->hosts, &config->config);
	for (uint32_t i = 0; i < config->message_count; i++)
		check_send(config, document, i);
	return errors->count != 0 ? -EINVAL : 0;
}

static struct endpoint_config *load_endpoint(struct schema_document *document,
					     struct config_errors *errors)
{
	struct endpoint_config *config;
	int result;

	if (document == NULL)
		return NULL;
	config = allocate(sizeof(*config));
	result = check_all(config, document, errors);
	schema_free(document);
	if (result == 0)
		return config;
	endpoint_config_free(config);
	return NULL;
}

struct endpoint_config *endpoint_config_load(const char *path, struct config_errors *errors)
{
	return load_endpoint(schema_read(path, errors), errors);
}

struct endpoint_config *endpoint_config_load_string(const char *path, const char *text,
						    struct config_errors *errors)
{
	return load_endpoint(schema_read_string(path, text, strlen(text), errors), errors);
}

void endpoint_config_free(struct endpoint_config *config)
{
	if (config == NULL)
		return;
	schema_memory_free(&config->memory);
	free(config);
}

void endpoint_config_params(struct endpoint_config *config, uint64_t seed,
			    struct endpoint_params *params)
{
	struct random random = {.state = seed};

	*params = (struct endpoint_params){
		.payload_bytes = config->hosts.mtu_bytes,
		.transport = config->hosts.transport,
		.cc = config->hosts.cc,
		.cnp_dscp = config->hosts.cnp_dscp,
		.sends = config->sends,
		.send_count = config->message_count,
	};
	memcpy(params->ip, config->address.ip.bytes, 4);
	memcpy(params->dscp_priority, config->hosts.dscp_priority, sizeof(params->dscp_priority));
	for (uint32_t qp = FLOW_QUEUE_PAIR; qp <= QUEUE_PAIR_LAST; qp++)
		if (is_served(config, qp))
			params->served[(qp - FLOW_QUEUE_PAIR) / 64] |=
				UINT64_C(1) << ((qp - FLOW_QUEUE_PAIR) % 64);
	for (uint32_t i = 0; i < config->message_count; i++)
		config->sends[i].source_port =
			(uint16_t)(SOURCE_PORT_FIRST + random_below(&random, SOURCE_PORT_COUNT));
}
