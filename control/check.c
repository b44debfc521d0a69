/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "config/config.h"
#include "control/apply.h"
#include "control/check_internal.h"
#include "control/history.h"
#include "control/memory.h"
#include "control/ports.h"
#include "dataplane/snapshot.h"

static const char *driver_name(enum config_driver driver)
{
	static const char *const names[] = {
		[CONFIG_DRIVER_AUTO] = "auto",     [CONFIG_DRIVER_VFIO] = "vfio",
		[CONFIG_DRIVER_KERNEL] = "kernel", [CONFIG_DRIVER_AF_XDP] = "af_xdp",
		[CONFIG_DRIVER_VHOST] = "vhost",   [CONFIG_DRIVER_VDEV] = "vdev",
	};

	return names[driver];
}

/* "0-7,26,46", or "-". */
static const char *set_text(uint64_t set, char *text, size_t size)
{
	size_t used = 0;

	(void)snprintf(text, size, "-");
	for (unsigned i = 0; i < 64 && used < size; i++) {
		unsigned first = i;

		if ((set >> i & 1) == 0)
			continue;
		while (i < 63 && (set >> (i + 1) & 1) != 0)
			i++;
		used += (size_t)snprintf(text + used, size - used, "%s%u", used == 0 ? "" : ",",
					 first);
		if (i > first && used < size)
			used += (size_t)snprintf(text + used, size - used, "-%u", i);
	}
	return text;
}

static void print_memory(const struct config *config, const struct memory_plan *plan,
			 uint64_t rate_bps, FILE *out)
{
	char text[32];
	uint64_t bytes = (uint64_t)plan->buffer_count * plan->data_bytes;

	(void)fprintf(out,
		      "packet buffers\n"
		      "  longest frame   %10u bytes    largest MTU, and 18 for Ethernet header and "
		      "one VLAN tag\n"
		      "  one buffer      %10u bytes    mbuf %zu, headroom %u, data %u, pool %u\n"
		      "  leaf.memory     %10llu bytes\n"
		      "  buffers         %10u          leaf.memory / one buffer\n"
		      "  hold at most    %10llu bytes    %s of all ports together at full speed\n"
		      "  history         %10llu bytes    of %llu s (telemetry.history)\n"
		      "  memory in all   %10llu bytes    with tables and DPDK's own\n\n",
		      plan->data_bytes, plan->buffer_bytes, sizeof(struct rte_mbuf),
		      RTE_PKTMBUF_HEADROOM, plan->room_bytes - RTE_PKTMBUF_HEADROOM,
		      plan->buffer_bytes - plan->room_bytes - (uint32_t)sizeof(struct rte_mbuf),
		      (unsigned long long)config->leaf.memory_bytes, plan->buffer_count,
		      (unsigned long long)bytes,
		      check_bytes_time_text(bytes, rate_bps, text, sizeof(text)),
		      (unsigned long long)history_bytes(
			      config->port_count, history_looks(config->telemetry.history_ps)),
		      (unsigned long long)(config->telemetry.history_ps / PS_PER_S),
		      (unsigned long long)plan->eal_bytes + plan->table_bytes);
}

static void print_vlans(const struct config_port *port, FILE *out)
{
	uint64_t member;
	const char *separator = "trunk ";

	if (!port->trunk) {
		(void)fprintf(out, port->access_vlan != 0 ? "access %u" : "off", port->access_vlan);
		return;
	}
	for (unsigned vlan = 1; vlan <= CONFIG_VLAN_MAX; vlan++) {
		member = port->trunk_vlans[vlan / 64] >> vlan % 64 & 1;
		if (member == 0)
			continue;
		(void)fprintf(out, "%s%u", separator, vlan);
		separator = ",";
	}
	if (port->native_vlan != 0)
		(void)fprintf(out, " native %u", port->native_vlan);
}

static void print_addresses(const struct config_prefix *address, uint16_t count, FILE *out)
{
	char text[64];

	for (uint16_t i = 0; i < count; i++)
		(void)fprintf(out, "%s%s", i == 0 ? "" : " ",
			      config_format_prefix(&address[i], text, sizeof(text)));
}

static void print_ports(const struct config *config, const struct snapshot *snapshot, FILE *out)
{
	static const char *const trust[] = {[CONFIG_TRUST_DSCP] = "dscp",
					    [CONFIG_TRUST_PCP] = "pcp",
					    [CONFIG_TRUST_NONE] = "none"};
	char rate[32], ahead[32];

	(void)fprintf(out, "%-16s %-16s %-8s %7s %6s %-5s %11s  %s\n", "PORT", "DEVICE", "DRIVER",
		      "SPEED", "MTU", "TRUST", "RUN-AHEAD", "VLANS OR ADDRESSES");
	for (uint16_t i = 0; i < config->port_count; i++) {
		const struct config_port *port = &config->ports[i];

		(void)fprintf(
			out, "%-16s %-16s %-8s %7s %6u %-5s %11s  ", port->name, port->device,
			driver_name(port->driver),
			port->speed_bps != 0 ? check_rate_text(port->speed_bps, rate, sizeof(rate))
					     : "device",
			port->mtu_bytes, trust[port->trust],
			check_time_text(snapshot->port[i].run_ahead_ps, ahead, sizeof(ahead)));
		if (port->address_count > 0)
			print_addresses(port->address, port->address_count, out);
		else
			print_vlans(port, out);
		(void)fprintf(out, "\n");
	}
	(void)fprintf(out, "\n");
}

static void print_interfaces(const struct config *config, FILE *out)
{
	uint16_t count = apply_interface_count(config);

	if (count == 0)
		return;
	(void)fprintf(out, "%-16s %6s  %s\n", "INTERFACE", "MTU", "ADDRESSES (one TAP each)");
	for (uint16_t i = 0; i < count; i++) {
		struct apply_interface interface;

		apply_interface(config, i, &interface);
		(void)fprintf(out, "%-16s %6u  ", interface.name, interface.mtu_bytes);
		print_addresses(interface.address, interface.address_count, out);
		(void)fprintf(out, "\n");
	}
	(void)fprintf(out, "\n");
}

static void print_schedule(const struct config_class *class, uint32_t weights, FILE *out)
{
	char text[48], rate[32];

	if (!class->strict)
		(void)snprintf(text, sizeof(text), "weight %u of %u", class->weight, weights);
	else if (class->max_rate_bps != 0)
		(void)snprintf(text, sizeof(text), "strict, at most %s",
			       check_rate_text(class->max_rate_bps, rate, sizeof(rate)));
	else if (class->max_rate_ppm != 0)
		(void)snprintf(text, sizeof(text), "strict, at most %.4g%%",
			       class->max_rate_ppm / 1e4);
	else
		(void)snprintf(text, sizeof(text), "strict");
	(void)fprintf(out, "%-24s", text);
}

static void print_classes(const struct config *config, const struct snapshot *snapshot, FILE *out)
{
	uint32_t weights = 0;
	char set[256];

	for (uint8_t i = 0; i < config->class_count; i++)
		weights += config->classes[i].weight;
	(void)fprintf(out, "%4s  %-16s %-9s %-24s%8s  %-10s %s\n", "PRIO", "CLASS", "KIND",
		      "SCHEDULE", "QUANTUM", "PCP", "DSCP");
	for (unsigned p = PRIORITY_COUNT; p-- > 0;) {
		for (uint8_t i = 0; i < config->class_count; i++) {
			const struct config_class *class = &config->classes[i];

			if (class->priority != p)
				continue;
			(void)fprintf(out, "%4u  %-16s %-9s ", p, class->name,
				      class->lossless ? "lossless" : "lossy");
			print_schedule(class, weights, out);
			(void)fprintf(out, "%8u  ", snapshot->class[p].quantum_bytes);
			(void)fprintf(out, "%-10s ", set_text(class->pcp, set, sizeof(set)));
			(void)fprintf(out, "%s\n", set_text(class->dscp, set, sizeof(set)));
		}
	}
	(void)fprintf(out, "QUANTUM in bytes, of the queue that each port has for each class.\n\n");
}

/* Who sprays to whom, whether or not something of ours is sprayed. */
static void print_spray(const struct config *config, const struct snapshot *snapshot, bool used,
			FILE *out)
{
	const struct config_spray *spray = &config->balance.spray;
	char text[64];

	if (spray->peer_count == 0)
		return;
	(void)fprintf(out, "in-order spray: we are %s; ",
		      config_format_ip(&spray->address, text, sizeof(text)));
	if (used)
		(void)fprintf(out, "a flow is sprayed after %u bytes", spray->promote_bytes);
	else
		(void)fprintf(out, "nothing of ours is sprayed, as no class and no route says so");
	(void)fprintf(out, "; held to restore order: at most %llu bytes in %u frames\n",
		      (unsigned long long)snapshot->spray.hold_bytes, snapshot->spray.hold_packets);
	for (uint16_t i = 0; i < spray->peer_count; i++) {
		const struct config_peer *peer = &spray->peers[i];

		(void)fprintf(out, "  peer %-16s over %u uplinks serves ",
			      config_format_ip(&peer->address, text, sizeof(text)),
			      snapshot->spray.peer[i].count);
		print_addresses(peer->prefixes, peer->prefix_count, out);
		(void)fprintf(out, "\n");
	}
	(void)fprintf(out, "\n");
}

/* Modes only where not all goes by hash. */
static void print_balance(const struct config *config, const struct snapshot *snapshot, FILE *out)
{
	static const char *const names[BALANCE_MODES] = {
		[BALANCE_ECMP] = "ecmp",
		[BALANCE_FLOWLET] = "flowlet",
		[BALANCE_ADAPTIVE] = "adaptive",
		[BALANCE_SPRAY] = "spray",
		[BALANCE_SPRAY_UNORDERED] = "spray-unordered",
		[BALANCE_STATIC] = "static",
	};
	uint32_t modes = 0;
	char text[32];

	for (uint8_t i = 0; i < config->class_count; i++)
		modes |= 1u << snapshot->class[config->classes[i].priority].balance;
	for (uint32_t i = 0; i < config->route_count; i++)
		if (config->routes[i].balance != CONFIG_BALANCE_DEFAULT)
			modes |= 1u << apply_balance_mode(config, config->routes[i].balance);
	print_spray(config, snapshot, (modes >> BALANCE_SPRAY & 1) != 0, out);
	if (modes == 1u << BALANCE_ECMP)
		return;
	for (uint8_t i = 0; i < config->class_count; i++)
		(void)fprintf(out, "balance of %-16s %s\n", config->classes[i].name,
			      names[snapshot->class[config->classes[i].priority].balance]);
	if ((modes & (1u << BALANCE_FLOWLET | 1u << BALANCE_ADAPTIVE)) != 0)
		(void)fprintf(out, "flowlets: a flow may move after %s of silence%s\n",
			      check_time_text(snapshot->balance.gap_ps, text, sizeof(text)),
			      config->balance.gap_auto ? ", in which two queues of kmax bytes drain"
						       : "");
	(void)fprintf(out, "\n");
}

static void print_leaf(const struct config *config, FILE *out)
{
	(void)fprintf(out,
		      "%s: leaf %s, %u ports, %u VLAN interfaces, %u routes, %u neighbours, %s\n\n",
		      config->path, config->leaf.name, config->port_count, config->vlan_count,
		      config->route_count, config->neighbour_count,
		      config->leaf.idle == CONFIG_IDLE_ADAPTIVE ? "sleeps when idle"
								: "polls all the time");
}

/* @return 0, -ENOMEM, or -EINVAL with a message in errors */
static int print_all(const struct config *config, struct config_errors *errors, FILE *out)
{
	struct apply_port *ports = calloc(config->port_count, sizeof(*ports));
	struct apply_state state = {.port = ports};
	const struct snapshot *snapshot = NULL;
	struct buffer_plan buffer = {0};
	struct memory_plan plan;
	uint64_t rate_bps = 0;
	int rc = -ENOMEM;

	memory_plan(config, &plan);
	state.packets_max = plan.buffer_count;
	ports_describe_all(config, &state);
	if (ports == NULL)
		return rc;
	for (uint16_t i = 0; i < config->port_count; i++) {
		ports_describe(&config->ports[i], NULL, &ports[i]);
		rate_bps += ports[i].rate_bps;
	}
	rc = apply_plan(config, &state, &buffer, errors);
	/* Without a FIB nothing of DPDK's is needed. */
	if (rc == 0)
		snapshot = apply_snapshot(config, &state, NULL, true);
	if (snapshot != NULL) {
		print_leaf(config, out);
		print_memory(config, &plan, rate_bps, out);
		print_ports(config, snapshot, out);
		print_interfaces(config, out);
		print_classes(config, snapshot, out);
		print_balance(config, snapshot, out);
		check_print_buffer(config, &state, &buffer, out);
	} else if (rc == 0) {
		rc = -ENOMEM;
	}
	snapshot_free(snapshot);
	buffer_plan_free(&buffer);
	free(ports);
	return rc;
}

int check_run(const char *path, FILE *out, FILE *errors_out)
{
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct config *config = errors == NULL ? NULL : config_load(path, errors);
	int rc = errors == NULL ? -ENOMEM : -EINVAL;

	if (config != NULL && config_check_offline(config, errors) == 0)
		rc = print_all(config, errors, out);
	if (rc == -EINVAL)
		config_print_errors(errors, errors_out);
	else if (rc != 0)
		(void)fprintf(errors_out, "roceleaf: %s\n", strerror(-rc));
	config_free(config);
	free(errors);
	return rc == 0 ? 0 : 1;
}
