/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_leaf.h"

/* A socket's name, the longest of which is below, follows the directory. */
#define RUNTIME_DIR_MAX (CONFIG_PATH_BYTES - (uint32_t)sizeof("/dpdk/leaf/dpdk_telemetry.v2"))

static const struct schema_word idle_words[] = {
	{"spin", CONFIG_IDLE_SPIN, "polls all the time, for the shortest delay."},
	{"adaptive", CONFIG_IDLE_ADAPTIVE, "sleeps when nothing comes."},
	{0},
};

static void check_leaf(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct config_leaf *leaf = out;
	uint32_t i;
	uint32_t j;

	for (i = 0; i < leaf->core_count; i++) {
		for (j = 0; j < i; j++) {
			if (leaf->cores[i] == leaf->cores[j])
				schema_fail(document,
					    schema_element(schema_child(node, "cores"), i),
					    "cores names core %u twice: each worker needs its own",
					    leaf->cores[i]);
		}
	}
	if (leaf->core_count > 0 && schema_find(node, "workers") != NULL)
		schema_fail_key(document, schema_child(node, "workers"),
				"workers and cores exclude each other: %u cores give %u workers",
				leaf->core_count, leaf->core_count);
	if (leaf->runtime_dir[0] != '/')
		schema_fail(document, schema_child(node, "runtime_dir"),
			    "runtime_dir \"%s\" must be an absolute path: begin it with /",
			    leaf->runtime_dir);
}

static const struct schema_row leaf_rows[] = {
	{"name", SCHEMA_NAME, SCHEMA_FIELD(struct config_leaf, name), .fallback = "leaf",
	 .help = "Name of this leaf, in metrics and LLDP."},
	{"cores", SCHEMA_UINT, SCHEMA_ARRAY(struct config_leaf, cores, core_count), .max = 1023,
	 .fallback_help = "chosen by `workers`",
	 .help = "CPU cores that forward packets, one worker each. Excludes `workers`."},
	{"workers", SCHEMA_UINT, SCHEMA_FIELD(struct config_leaf, workers), .min = 1,
	 .max = CONFIG_CORES_MAX, .fallback = "1",
	 .help = "How many workers, on cores of our choice. A NIC that spreads by RSS gets a "
		 "receive queue for each."},
	{"memory", SCHEMA_SIZE, SCHEMA_FIELD(struct config_leaf, memory_bytes), .min = 1 << 20,
	 .max = UINT64_C(1) << 40, .fallback = "256MiB",
	 .help = "Packet buffer memory. At least 256 buffers of the largest MTU for each port and "
		 "1024 for all."},
	{"idle", SCHEMA_ENUM, SCHEMA_FIELD(struct config_leaf, idle), .words = idle_words,
	 .fallback_help = "`adaptive` when every port is a kernel interface, else `spin`",
	 .help = "What a worker does when nothing comes."},
	{"router_mac", SCHEMA_MAC, SCHEMA_FIELD(struct config_leaf, router_mac),
	 .fallback_help = "02 and five bytes made from `name`",
	 .help = "MAC address of all routed ports and VLAN interfaces."},
	{"runtime_dir", SCHEMA_STRING, SCHEMA_FIELD(struct config_leaf, runtime_dir),
	 .max = RUNTIME_DIR_MAX, .fallback = "/run/roceleaf",
	 .help = "Directory of the control socket. An absolute path."},
	{0},
};

static const struct schema_table leaf_table = {
	"leaf",
	leaf_rows,
	SCHEMA_MARK(struct config_leaf, mark),
	.help = "The leaf as a whole.",
	.check = check_leaf,
};

static const struct schema_word driver_words[] = {
	{"vfio", CONFIG_DRIVER_VFIO, "a NIC by its PCI address."},
	{"kernel", CONFIG_DRIVER_KERNEL, "a kernel interface, by packet_mmap."},
	{"af_xdp", CONFIG_DRIVER_AF_XDP, "a kernel interface, by AF_XDP."},
	{"vhost", CONFIG_DRIVER_VHOST, "a virtual machine's vhost-user socket."},
	{"vdev", CONFIG_DRIVER_VDEV, "a DPDK virtual device."},
	{0},
};

static const struct schema_word trust_words[] = {
	{"dscp", CONFIG_TRUST_DSCP, "the IP header's DSCP gives the class."},
	{"pcp", CONFIG_TRUST_PCP, "the VLAN tag's priority does."},
	{"none", CONFIG_TRUST_NONE, "all goes to the default class."},
	{0},
};

static void check_port_vlan(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct config_port *port = out;

	if (port->access_vlan != 0 && port->trunk)
		schema_fail_key(
			document, schema_child(node, "trunk"),
			"access and trunk exclude each other: an access port is in one VLAN");
	else if (port->access_vlan != 0 && port->native_vlan != 0)
		schema_fail_key(
			document, schema_child(node, "native"),
			"native belongs to trunk: an access port's VLAN is untagged anyway");
	else if (port->access_vlan == 0 && !port->trunk)
		schema_fail(
			document, node,
			"vlan needs access or trunk: write {access: 100} or {trunk: [100, 200]}");
}

static const struct schema_row port_vlan_rows[] = {
	{"access", SCHEMA_UINT, SCHEMA_FIELD(struct config_port, access_vlan), .min = 1,
	 .max = CONFIG_VLAN_MAX, .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "1 when a port has neither `vlan` nor `address`",
	 .help = "The one VLAN of an access port; its frames are untagged."},
	{"trunk", SCHEMA_SET, SCHEMA_FIELD(struct config_port, trunk_vlans),
	 SCHEMA_GIVEN(struct config_port, trunk), .min = 1, .max = CONFIG_VLAN_MAX,
	 .flags = SCHEMA_RELOADABLE, .fallback_help = "none",
	 .help = "VLANs of a trunk port, tagged. Excludes `access`."},
	{"native", SCHEMA_UINT, SCHEMA_FIELD(struct config_port, native_vlan), .min = 1,
	 .max = CONFIG_VLAN_MAX, .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "none: untagged frames are dropped",
	 .help = "VLAN of a trunk port's untagged frames; need not stand under `trunk` too."},
	{0},
};

static const struct schema_table port_vlan_table = {
	"vlan",
	port_vlan_rows,
	.help = "A bridged port: access or trunk. A port with neither `vlan` nor `address` is an "
		"access port of VLAN 1. VLANs need no entry under `vlans` to be bridged.",
	.check = check_port_vlan,
};

static const struct schema_word auto_words[] = {{"auto", true, NULL}, {0}};

static const struct schema_word response_words[] = {
	{"auto", CONFIG_RESPONSE_STANDARD, "the limit that IEEE 802.3 annex 31B sets a NIC."},
	{"roceleaf", CONFIG_RESPONSE_ROCELEAF, "another roceleaf, set up as this one is."},
	{0},
};

static const struct schema_word pfc_words[] = {
	{"auto", CONFIG_PFC_AUTO,
	 "as `hardware` where a NIC keeps MAC control frames to itself and can obey by priority, "
	 "else as `software`; an event at the start says which, and why."},
	{"software", CONFIG_PFC_SOFTWARE,
	 "by the leaf: the NIC has to hand MAC control frames over."},
	{"hardware", CONFIG_PFC_HARDWARE,
	 "sent by the leaf, obeyed by the NIC, which must be able to (DPDK's flow control by queue); "
	 "needs a restart."},
	{"honour-only", CONFIG_PFC_HONOUR_ONLY, "obeys pauses and sends none."},
	{"off", CONFIG_PFC_OFF, "neither."},
	{0},
};

static const struct schema_row port_rows[] = {
	{"name", SCHEMA_NAME, SCHEMA_FIELD(struct config_port, name), .flags = SCHEMA_REQUIRED,
	 .help = "Unique; used in every table, metric and message. A routed port's kernel "
		 "interface has this name, so it has at most 15 characters."},
	{"device", SCHEMA_STRING, SCHEMA_FIELD(struct config_port, device),
	 SCHEMA_ROW_MARK(struct config_port, device_mark), .flags = SCHEMA_REQUIRED,
	 .help = "PCI address (`0000:17:00.0`), kernel interface (`eth1`), path of a vhost-user "
		 "socket (`/run/vm.sock`) or DPDK virtual device (`net_tap0,iface=x`)."},
	{"driver", SCHEMA_ENUM, SCHEMA_FIELD(struct config_port, driver), .words = driver_words,
	 .fallback_help = "by the form of `device`", .help = "How the device is driven."},
	{"speed", SCHEMA_RATE, SCHEMA_FIELD(struct config_port, speed_bps), .min = RATE_BPS_MIN,
	 .max = RATE_BPS_MAX, .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "what the device reports",
	 .help = "Rate that the port is paced to. `--check` needs it for a PCI device."},
	{"mtu", SCHEMA_SIZE, SCHEMA_FIELD(struct config_port, mtu_bytes), .min = MTU_BYTES_MIN,
	 .max = MTU_BYTES_MAX, .fallback = "1500",
	 .help = "Largest layer 3 packet, both ways; 1280 at least with an IPv6 address."},
	{"trust", SCHEMA_ENUM, SCHEMA_FIELD(struct config_port, trust), .words = trust_words,
	 .fallback = "dscp", .flags = SCHEMA_RELOADABLE,
	 .help = "What of an arriving packet is believed."},
	/* 40 km is what the longest pluggable optics reach (IEEE 802.3 ER). */
	{"cable", SCHEMA_LENGTH, SCHEMA_FIELD(struct config_port, cable_mm), .min = 10,
	 .max = 40000000, .fallback = "3m", .flags = SCHEMA_RELOADABLE,
	 .help = "Length of the cable, for headroom."},
	{"nic_delay", SCHEMA_ENUM, SCHEMA_FIELD(struct config_port, nic_delay_auto),
	 .words = auto_words, .fallback = "auto", .flags = SCHEMA_RELOADABLE,
	 .help = "Time in the NIC and on the bus, one way, for headroom; `auto`: by the driver."},
	{"nic_delay", SCHEMA_TIME, SCHEMA_FIELD(struct config_port, nic_delay_ps),
	 .max = 10 * PS_PER_MS, .flags = SCHEMA_RELOADABLE},
	{"peer_response", SCHEMA_ENUM, SCHEMA_FIELD(struct config_port, peer_response),
	 .words = response_words, .fallback = "auto", .flags = SCHEMA_RELOADABLE,
	 .help = "Time from a pause's arrival at the peer to its last bit, for headroom."},
	{"peer_response", SCHEMA_TIME, SCHEMA_FIELD(struct config_port, peer_response_ps),
	 .max = 10 * PS_PER_MS, .flags = SCHEMA_RELOADABLE},
	{"pfc", SCHEMA_ENUM, SCHEMA_FIELD(struct config_port, pfc), .words = pfc_words,
	 .fallback = "auto", .flags = SCHEMA_RELOADABLE,
	 .help = "Who sends and obeys pauses (IEEE 802.1Qbb) on this port."},
	{"vlan", SCHEMA_MAP, SCHEMA_HERE, .table = &port_vlan_table,
	 .flags = SCHEMA_RELOADABLE | SCHEMA_OPTIONAL, .fallback_help = "{access: 1}",
	 .help = "A bridged port. Excludes `address`."},
	{"address", SCHEMA_ADDRESS, SCHEMA_ARRAY(struct config_port, address, address_count),
	 .flags = SCHEMA_RELOADABLE | SCHEMA_NONEMPTY, .fallback_help = "none",
	 .help = "A routed port: its addresses, of both families. Excludes `vlan`."},
	{0},
};

static void check_port(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct config_port *port = out;
	uint32_t i;

	if (port->address_count > 0 && schema_find(node, "vlan") != NULL)
		schema_fail_key(document, schema_child(node, "vlan"),
				"address and vlan exclude each other on port %s: a port is routed "
				"or bridged; give the address to its VLAN under vlans",
				port->name);
	for (i = 0; i < port->address_count; i++) {
		if (port->address[i].ip.family == 6 && port->mtu_bytes < 1280) {
			schema_fail(document, schema_child(node, "mtu"),
				    "mtu %u is too small for port %s: IPv6 needs 1280 (RFC 8200)",
				    port->mtu_bytes, port->name);
			break;
		}
	}
}

static const struct schema_table port_table = {
	"a port",
	port_rows,
	SCHEMA_MARK(struct config_port, mark),
	.help = "Which ports there are, in which order, is fixed while the leaf runs.",
	.check = check_port,
};

static const struct schema_row vlan_rows[] = {
	{"id", SCHEMA_UINT, SCHEMA_FIELD(struct config_vlan, id), .min = 1, .max = CONFIG_VLAN_MAX,
	 .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE, .help = "The VLAN's number."},
	{"address", SCHEMA_ADDRESS, SCHEMA_ARRAY(struct config_vlan, address, address_count),
	 .flags = SCHEMA_RELOADABLE | SCHEMA_NONEMPTY, .fallback_help = "none: bridged only",
	 .help = "Addresses of the VLAN interface, through which the VLAN is routed."},
	{0},
};

static const struct schema_table vlan_table = {
	"a VLAN",
	vlan_rows,
	SCHEMA_MARK(struct config_vlan, mark),
	.help = "VLANs with an interface. A VLAN that ports use needs no entry to be bridged.",
};

const struct schema_word config_class_presets[] = {
	{"sonic", CONFIG_CLASSES_SONIC,
	 "SONiC's map: priorities 0..6, 3 and 4 lossless with weight 15, others 14; DSCP 3 to 3, 4 "
	 "to 4, 8 to 0, 5 to 2, 46 to 5, 48 to 6, all else to 1; PCP 0 to 1, 1 to 0."},
	{0},
};

/* InfiniBand Architecture volume 1, path MTU: the payloads that RDMA packets may have. */
static const struct schema_word rdma_mtu_words[] = {
	{"256", 256, NULL},   {"512", 512, NULL},   {"1024", 1024, NULL},
	{"2048", 2048, NULL}, {"4096", 4096, NULL}, {0},
};

static const struct schema_word ecn_words[] = {
	{"auto", CONFIG_ECN_AUTO,
	 "kmin is 1 KB for each Gb/s of the port, at least three frames; kmax four times that, pmax "
	 "20%; scaled down until marking is complete before a pause."},
	{"off", CONFIG_ECN_OFF, "never marks."},
	{0},
};

static const struct schema_word wred_words[] = {{"off", false, "never drops early."}, {0}};

static const struct schema_row ecn_rows[] = {
	{"kmin", SCHEMA_SIZE, SCHEMA_FIELD(struct config_curve, min_bytes), .min = 1,
	 .max = UINT32_MAX - 1, .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "Queue above which packets begin to be marked."},
	{"kmax", SCHEMA_SIZE, SCHEMA_FIELD(struct config_curve, max_bytes), .min = 1,
	 .max = UINT32_MAX - 1, .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "Queue above which every packet is marked."},
	{"pmax", SCHEMA_SHARE, SCHEMA_FIELD(struct config_curve, pmax_ppm), .min = 100,
	 .max = 1000000, .fallback = "20%", .flags = SCHEMA_RELOADABLE,
	 .help = "Share of packets marked at `kmax`."},
	{0},
};

static void check_ecn(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct config_curve *curve = out;

	if (curve->min_bytes > curve->max_bytes)
		schema_fail(document, schema_child(node, "kmin"),
			    "kmin (%u bytes) is above kmax (%u bytes): marking begins at kmin and "
			    "is complete at kmax",
			    curve->min_bytes, curve->max_bytes);
}

static const struct schema_table ecn_table = {
	"ecn",
	ecn_rows,
	.help = "Marking of ECN-capable packets by the bytes that wait in their queue.",
	.check = check_ecn,
};

static const struct schema_row wred_rows[] = {
	{"min", SCHEMA_SIZE, SCHEMA_FIELD(struct config_curve, min_bytes), .min = 1,
	 .max = UINT32_MAX - 1, .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "Queue above which packets begin to be dropped."},
	{"max", SCHEMA_SIZE, SCHEMA_FIELD(struct config_curve, max_bytes), .min = 1,
	 .max = UINT32_MAX - 1, .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "Queue above which every packet is dropped."},
	{"pmax", SCHEMA_SHARE, SCHEMA_FIELD(struct config_curve, pmax_ppm), .min = 100,
	 .max = 1000000, .fallback = "10%", .flags = SCHEMA_RELOADABLE,
	 .help = "Share of packets dropped at `max`."},
	{0},
};

static void check_wred(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct config_curve *curve = out;

	if (curve->min_bytes > curve->max_bytes)
		schema_fail(document, schema_child(node, "min"),
			    "min (%u bytes) is above max (%u bytes): dropping begins at min and is "
			    "complete at max",
			    curve->min_bytes, curve->max_bytes);
}

static const struct schema_table wred_table = {
	"wred",
	wred_rows,
	.help = "Early drops of packets that aren't ECN-capable, lossy classes only.",
	.check = check_wred,
};

static void check_class(struct schema_document *document, struct schema_node *node, void *out)
{
	struct config_class *class = out;
	bool weight = schema_find(node, "weight") != NULL;

	if (class->strict && weight)
		schema_fail_key(document, schema_child(node, "weight"),
				"weight and strict exclude each other in class %s: a strict class "
				"goes before all weights; bound it with max_rate",
				class->name);
	if (!class->strict && schema_find(node, "max_rate") != NULL)
		schema_fail_key(
			document, schema_child(node, "max_rate"),
			"max_rate needs strict: true in class %s: other classes are held by "
			"their weights",
			class->name);
	if (class->half_life_ps != 0 && class->wred_curve.max_bytes == 0 &&
	    class->ecn_curve.max_bytes == 0 &&
	    (class->ecn_given ? class->ecn != CONFIG_ECN_AUTO : !class->lossless))
		schema_fail_key(
			document, schema_child(node, "average"),
			"average of class %s has nothing to go by it: the class has neither "
			"ecn nor wred",
			class->name);
	if (class->lossless && class->wred_curve.max_bytes != 0)
		schema_fail_key(document, schema_child(node, "wred"),
				"wred is for lossy classes and class %s is lossless: nothing of it "
				"may be dropped early; use ecn",
				class->name);
	if (!class->lossless && class->ecn_given && class->ecn == CONFIG_ECN_AUTO)
		schema_fail(document, schema_child(node, "ecn"),
			    "ecn auto is derived from when pauses begin, and class %s is lossy: "
			    "write {kmin: 200KB, kmax: 800KB}, or off",
			    class->name);
	if (class->strict)
		class->weight = 0;
}

static const struct schema_row class_rows[] = {
	{"priority", SCHEMA_UINT, SCHEMA_FIELD(struct config_class, priority),
	 .max = PRIORITY_COUNT - 1, .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "Its number: ingress priority group, PFC priority and egress queue. Unique."},
	{"name", SCHEMA_NAME, SCHEMA_FIELD(struct config_class, name),
	 .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE, .help = "Unique."},
	{"dscp", SCHEMA_SET, SCHEMA_FIELD(struct config_class, dscp), .max = 63,
	 .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "none; the default class: all that none names",
	 .help = "DSCPs of this class: numbers and ranges, `[26, 8-15]`."},
	{"pcp", SCHEMA_SET, SCHEMA_FIELD(struct config_class, pcp), .max = 7,
	 .flags = SCHEMA_RELOADABLE, .fallback_help = "the same as `priority`",
	 .help = "VLAN priorities of this class. What none names falls to the default class."},
	{"lossless", SCHEMA_BOOL, SCHEMA_FIELD(struct config_class, lossless), .fallback = "false",
	 .flags = SCHEMA_RELOADABLE, .help = "Senders are paused rather than packets dropped."},
	{"weight", SCHEMA_UINT, SCHEMA_FIELD(struct config_class, weight), .min = 1, .max = 100,
	 .flags = SCHEMA_RELOADABLE, .fallback = "10",
	 .help = "Share of what strict classes leave, relative to the other weights, in bytes."},
	{"strict", SCHEMA_BOOL, SCHEMA_FIELD(struct config_class, strict), .fallback = "false",
	 .flags = SCHEMA_RELOADABLE,
	 .help = "Goes before all weights; among strict classes the higher priority first."},
	{"max_rate", SCHEMA_SHARE, SCHEMA_FIELD(struct config_class, max_rate_ppm), .min = 1000,
	 .max = 1000000, .flags = SCHEMA_RELOADABLE, .fallback_help = "none",
	 .help = "Bound of a strict class, as a share of the port's speed or as a rate."},
	{"max_rate", SCHEMA_RATE, SCHEMA_FIELD(struct config_class, max_rate_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .flags = SCHEMA_RELOADABLE},
	{"rdma_mtu", SCHEMA_ENUM, SCHEMA_FIELD(struct config_class, rdma_mtu_bytes),
	 .words = rdma_mtu_words, .fallback_help = "1024", .flags = SCHEMA_RELOADABLE,
	 .help = "Payload of a full RDMA packet: a promise from which the number of packets in the "
		 "buffer is reckoned."},
	{"ecn", SCHEMA_ENUM, SCHEMA_FIELD(struct config_class, ecn),
	 SCHEMA_GIVEN(struct config_class, ecn_given), .words = ecn_words,
	 .fallback_help = "`auto` for lossless classes, `off` for others",
	 .flags = SCHEMA_RELOADABLE, .help = "When packets are marked."},
	{"ecn", SCHEMA_MAP, SCHEMA_FIELD(struct config_class, ecn_curve), .table = &ecn_table,
	 .flags = SCHEMA_RELOADABLE | SCHEMA_OPTIONAL},
	{"wred", SCHEMA_ENUM, SCHEMA_FIELD(struct config_class, wred), .words = wred_words,
	 .fallback = "off", .flags = SCHEMA_RELOADABLE,
	 .help = "When packets of a lossy class are dropped early."},
	{"wred", SCHEMA_MAP, SCHEMA_FIELD(struct config_class, wred_curve), .table = &wred_table,
	 .flags = SCHEMA_RELOADABLE | SCHEMA_OPTIONAL},
	{"average", SCHEMA_TIME, SCHEMA_FIELD(struct config_class, half_life_ps), .min = PS_PER_US,
	 .max = 500 * PS_PER_MS, .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "none: by the bytes of this moment",
	 .help = "For studies of RED: ecn and wred of this class go by an exponentially weighted average "
		 "of the bytes in a queue, of this half-life. A lossless class needs "
		 "allow_pfc_before_ecn with it."},
	{"balance", SCHEMA_ENUM, SCHEMA_FIELD(struct config_class, balance),
	 .words = config_balance_words, .fallback_help = "`balance.mode`",
	 .flags = SCHEMA_RELOADABLE,
	 .help = "How its packets are spread over the next hops of routes that don't say."},
	{0},
};

const struct schema_table config_class_table = {
	"a class",
	class_rows,
	SCHEMA_MARK(struct config_class, mark),
	.help = "At most eight. The default class, which takes every DSCP that none names, is the "
		"one of lowest priority that is neither lossless nor strict and names no DSCP. "
		"Without `classes`: roce (3, DSCP 26, lossless, weight 60), cnp (6, DSCP 48, strict, "
		"max_rate 20%), control (7, DSCP 56, strict), best-effort (0, weight 20).",
	.check = check_class,
};

static const struct schema_row route_rows[] = {
	{"to", SCHEMA_PREFIX, SCHEMA_FIELD(struct config_route, to),
	 .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "The destination, `0.0.0.0/0` for all."},
	{"via", SCHEMA_IP, SCHEMA_ARRAY(struct config_route, via, via_count),
	 .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE | SCHEMA_NONEMPTY,
	 .help = "Next hops, each in the network of a routed port or VLAN interface. Traffic is "
		 "spread over them."},
	{"balance", SCHEMA_ENUM, SCHEMA_FIELD(struct config_route, balance),
	 .words = config_balance_words, .fallback_help = "as the packet's class says",
	 .flags = SCHEMA_RELOADABLE, .help = "How, for all classes."},
	{0},
};

static const struct schema_table route_table = {
	"a route",
	route_rows,
	SCHEMA_MARK(struct config_route, mark),
	.help = "Static routes; the networks of ports and VLAN interfaces need none.",
};

static const struct schema_row neighbour_rows[] = {
	{"address", SCHEMA_IP, SCHEMA_FIELD(struct config_neighbour, address),
	 .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "Its IP address, in the network of a routed port or VLAN interface."},
	{"mac", SCHEMA_MAC, SCHEMA_FIELD(struct config_neighbour, mac),
	 .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE, .help = "Its MAC address."},
	{"port", SCHEMA_NAME, SCHEMA_FIELD(struct config_neighbour, port_name),
	 .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "the routed port of that network; *required* on a VLAN",
	 .help = "The port it is behind."},
	{0},
};

static const struct schema_table neighbour_table = {
	"a neighbour",
	neighbour_rows,
	SCHEMA_MARK(struct config_neighbour, mark),
	.help = "Static neighbours; the kernel finds the others.",
};

static const struct schema_row config_rows[] = {
	{"leaf", SCHEMA_MAP, SCHEMA_FIELD(struct config, leaf), .table = &leaf_table,
	 .help = "The leaf as a whole."},
	/* The last of PORT_COUNT_MAX is the CPU's. */
	{"ports", SCHEMA_MAP, SCHEMA_LIST(struct config, ports, port_count), .table = &port_table,
	 .length_max = PORT_COUNT_MAX - 1, .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY,
	 .help = "1 to 511 ports."},
	{"vlans", SCHEMA_MAP, SCHEMA_LIST(struct config, vlans, vlan_count), .table = &vlan_table,
	 .length_max = CONFIG_VLAN_MAX, .flags = SCHEMA_RELOADABLE, .fallback_help = "none",
	 .help = "VLAN interfaces."},
	CONFIG_CLASSES_ROWS,
	CONFIG_BUFFER_ROWS,
	CONFIG_BALANCE_ROWS,
	{"telemetry", SCHEMA_MAP, SCHEMA_FIELD(struct config, telemetry),
	 .table = &config_telemetry_table, .help = "How the leaf is watched."},
	{"routes", SCHEMA_MAP, SCHEMA_LIST(struct config, routes, route_count),
	 .table = &route_table, .flags = SCHEMA_RELOADABLE, .fallback_help = "none",
	 .help = "Static routes."},
	{"neighbours", SCHEMA_MAP, SCHEMA_LIST(struct config, neighbours, neighbour_count),
	 .table = &neighbour_table, .flags = SCHEMA_RELOADABLE, .fallback_help = "none",
	 .help = "Static neighbours."},
	{0},
};

const struct schema_table config_table = {
	"the file",
	config_rows,
	.struct_size = sizeof(struct config),
	.help = "Units: rates `100G`, `2.5G`, `100M` (bits/s); sizes `9216`, `64KB` = 64000, "
		"`1MiB` = 1048576; times `50us`, `200ms`; lengths `3m`, `2km`; shares `20%`. Where "
		"a list is asked one value may stand alone. IPv6 addresses in a list in brackets "
		"need quotes. A reload (SIGHUP or `roceleafctl reload`) takes over the keys marked "
		"reloadable and is refused as a whole when another one has changed.",
};
