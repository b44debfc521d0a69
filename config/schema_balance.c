/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of `balance`, which leaf.yaml and lab scenarios share, and the modes that classes and routes name.
 */
#include "config/schema_leaf.h"

const struct schema_word config_balance_words[] = {
	{"ecmp", CONFIG_BALANCE_ECMP, "by a hash of the flow."},
	{"flowlet", CONFIG_BALANCE_FLOWLET,
	 "as `ecmp`, but a flow that has paused for `gap` goes on where there is least load."},
	{"adaptive", CONFIG_BALANCE_ADAPTIVE,
	 "as `flowlet`, but towards `spray.peers` a flow begins on the uplink that has fewest large "
	 "ones, and a large one moves to another when that lowers what flows share, once nothing of "
	 "it is on its way."},
	{"spray", CONFIG_BALANCE_SPRAY,
	 "packet by packet in turn, towards `spray.peers`, which restore the order; elsewhere as "
	 "`ecmp`."},
	{"spray-unordered", CONFIG_BALANCE_SPRAY_UNORDERED,
	 "packet by packet in turn: hosts get them out of order."},
	{"static", CONFIG_BALANCE_STATIC, "by the destination's address alone."},
	{0},
};

static const struct schema_word auto_words[] = {{"auto", true, NULL}, {0}};

static const struct schema_word hash_words[] = {
	{"5tuple", CONFIG_HASH_5TUPLE, "addresses, protocol and ports."},
	{"dest_qp", CONFIG_HASH_DEST_QP,
	 "of RoCEv2 the destination queue pair too: the ports often don't tell queue pairs apart."},
	{0},
};

static const struct schema_word damping_words[] = {
	{"off", 0, "a link that is up is used."},
	{0},
};

static void check_damping(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct config_damping *damping = &((const struct config_balance *)out)->damping;

	if (damping->reuse >= damping->suppress)
		schema_fail(document, schema_child(node, "reuse"),
			    "reuse (%u) must be below suppress (%u)", damping->reuse,
			    damping->suppress);
	if (damping->max_ps < damping->half_life_ps)
		schema_fail(document, schema_child(node, "max"), "max must not be below half_life");
	else if (damping->suppress >= config_damping_most(damping))
		schema_fail(document, schema_child(node, "suppress"),
			    "suppress (%u) must be below %u, the greatest penalty that sinks below "
			    "reuse (%u) within max",
			    damping->suppress, config_damping_most(damping), damping->reuse);
}

static const struct schema_row damping_rows[] = {
	{"half_life", SCHEMA_TIME, SCHEMA_FIELD(struct config_balance, damping.half_life_ps),
	 .min = 10 * PS_PER_MS, .max = 1000 * PS_PER_S, .fallback = "5s",
	 .flags = SCHEMA_RELOADABLE, .help = "In which a penalty halves."},
	{"suppress", SCHEMA_UINT, SCHEMA_FIELD(struct config_balance, damping.suppress),
	 .min = 1000, .max = 20000, .fallback = "2000", .flags = SCHEMA_RELOADABLE,
	 .help = "Penalty above which a link is kept out. It grows by 1000 whenever the link goes down, to what "
		 "sinks below `reuse` within `max` at most; `suppress` must be below that."},
	{"reuse", SCHEMA_UINT, SCHEMA_FIELD(struct config_balance, damping.reuse), .min = 1,
	 .max = 19999, .fallback = "1000", .flags = SCHEMA_RELOADABLE,
	 .help = "Penalty below which it is let in again."},
	{"max", SCHEMA_TIME, SCHEMA_FIELD(struct config_balance, damping.max_ps),
	 .min = 10 * PS_PER_MS, .max = 16000 * PS_PER_S, .fallback = "20s",
	 .flags = SCHEMA_RELOADABLE, .help = "For which a link is kept out at most."},
	{0},
};

static const struct schema_table damping_table = {
	"damping",
	damping_rows,
	.help = "Links that flap are kept out for a while, longer each time. Never the last one of a route.",
	.check = check_damping,
};

static void check_balance(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct config_balance *balance = out;
	bool tuple = false;

	for (uint32_t i = 0; i < balance->hash_count; i++)
		tuple = tuple || balance->hash[i] == CONFIG_HASH_5TUPLE;
	if (!tuple)
		schema_fail(document, schema_child(node, "hash"),
			    "hash needs 5tuple: a queue pair's number alone isn't a flow");
	else if (balance->hash_count == 2 && balance->hash[0] == balance->hash[1])
		schema_fail(document, schema_element(schema_child(node, "hash"), 1),
			    "hash names 5tuple twice");
}

static const struct schema_row peer_rows[] = {
	{"address", SCHEMA_IP, SCHEMA_FIELD(struct config_peer, address), .flags = SCHEMA_REQUIRED,
	 .help = "Its own address, which must be routed by the same next hops as its prefixes."},
	{"prefixes", SCHEMA_PREFIX, SCHEMA_LIST(struct config_peer, prefixes, prefix_count),
	 .length_max = 1024, .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY,
	 .help = "Networks of hosts that no other leaf serves."},
	{0},
};

static const struct schema_table peer_table = {
	"a peer",
	peer_rows,
	SCHEMA_MARK(struct config_peer, mark),
	.struct_size = sizeof(struct config_peer),
	.help = "Leaves that restore the order of what we spray, and we of what they do.",
};

static const struct schema_row spray_rows[] = {
	{"address", SCHEMA_IP, SCHEMA_FIELD(struct config_spray, address),
	 .fallback_help = "the first one of an interface through which no route goes",
	 .help = "Ours, as the peers name it."},
	{"peers", SCHEMA_MAP, SCHEMA_LIST(struct config_spray, peers, peer_count),
	 .table = &peer_table, .length_max = CONFIG_PEERS_MAX, .fallback_help = "none",
	 .help = "The other leaves."},
	{"key_file", SCHEMA_STRING, SCHEMA_FIELD(struct config_spray, key_file), .min = 1,
	 .max = CONFIG_PATH_BYTES - 1, .fallback_help = "none; *required* with `peers`",
	 .help = "32 hexadecimal digits that all leaves share, readable by the owner alone; a relative "
		 "path begins at the config's folder. `openssl rand -hex 16` draws one."},
	{"promote", SCHEMA_SIZE, SCHEMA_FIELD(struct config_spray, promote_bytes), .min = 1000,
	 .max = 1000000000, .fallback = "16KB",
	 .help = "Of a flow that go by its hash, before it is sprayed."},
	{"hold_max", SCHEMA_ENUM, SCHEMA_FIELD(struct config_spray, hold_auto), .words = auto_words,
	 .fallback = "auto",
	 .help = "Bytes that may be held to restore the order. `auto`: what fits in a quarter of the buffers, 64MiB at "
		 "most; with peers only."},
	{"hold_max", SCHEMA_SIZE, SCHEMA_FIELD(struct config_spray, hold_max_bytes), .min = 65536,
	 .max = UINT64_C(1) << 40},
	{0},
};

static const struct schema_table spray_table = {
	"spray",
	spray_rows,
	.struct_size = sizeof(struct config_spray),
	.help = "In-order spray. All leaves name each other, and share a key.",
};

static const struct schema_row balance_rows[] = {
	{"mode", SCHEMA_ENUM, SCHEMA_FIELD(struct config_balance, mode),
	 .words = config_balance_words, .fallback = "ecmp", .flags = SCHEMA_RELOADABLE,
	 .help = "How packets are spread over a route's next hops, where neither the route nor the "
		 "class says."},
	{"gap", SCHEMA_ENUM, SCHEMA_FIELD(struct config_balance, gap_auto), .words = auto_words,
	 .fallback = "auto", .flags = SCHEMA_RELOADABLE,
	 .help = "A flow that has been silent for so long may move. `auto`: twice the time that a port "
		 "takes to send kmax bytes, so that what is on its way has arrived; `--check` prints "
		 "it."},
	{"gap", SCHEMA_TIME, SCHEMA_FIELD(struct config_balance, gap_ps), .min = PS_PER_US,
	 .max = PS_PER_S, .flags = SCHEMA_RELOADABLE},
	{"hash", SCHEMA_ENUM, SCHEMA_ARRAY(struct config_balance, hash, hash_count),
	 .words = hash_words, .fallback = "5tuple, dest_qp",
	 .flags = SCHEMA_RELOADABLE | SCHEMA_NONEMPTY, .help = "What makes a flow."},
	{"seed", SCHEMA_ENUM, SCHEMA_FIELD(struct config_balance, seed_auto), .words = auto_words,
	 .fallback = "auto", .flags = SCHEMA_RELOADABLE,
	 .help = "Of the hash. `auto`: another one for each leaf, so that two tiers don't choose "
		 "alike."},
	{"seed", SCHEMA_UINT, SCHEMA_FIELD(struct config_balance, seed),
	 .flags = SCHEMA_RELOADABLE},
	{"flows", SCHEMA_UINT, SCHEMA_FIELD(struct config_balance, flows), .min = 64,
	 .max = CONFIG_FLOWS_MAX, .fallback = "65536",
	 .help = "Flows that each worker keeps in mind for `flowlet`, 16 bytes each, and for `spray`, 64, rounded up to a "
		 "power of two. A flow that finds no room goes by its hash."},
	{"damping", SCHEMA_ENUM, SCHEMA_FIELD(struct config_balance, damping.suppress),
	 .words = damping_words, .fallback = "off", .flags = SCHEMA_RELOADABLE,
	 .help = "What becomes of links that flap; `{}` takes the defaults."},
	{"damping", SCHEMA_MAP, SCHEMA_HERE, .table = &damping_table,
	 .flags = SCHEMA_RELOADABLE | SCHEMA_OPTIONAL},
	{"spray", SCHEMA_MAP, SCHEMA_FIELD(struct config_balance, spray), .table = &spray_table,
	 .help = "In-order spray."},
	{0},
};

const struct schema_table config_balance_table = {
	"balance",
	balance_rows,
	.help = "Over which of a route's next hops packets go. All modes but `spray-unordered` and, after "
		"a gap that is too short, `flowlet` keep the order of a flow.",
	.check = check_balance,
};
