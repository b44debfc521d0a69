/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of `buffer` and `watchdog`, which leaf.yaml and lab scenarios share.
 */
#include "config/schema_leaf.h"

static const struct schema_row alpha_rows[] = {
	{"class", SCHEMA_NAME, SCHEMA_FIELD(struct config_class_ratio, name)},
	/* 1/256 is 3906.25 millionths: the range admits it, and nothing finer. */
	{"alpha", SCHEMA_RATIO, SCHEMA_FIELD(struct config_class_ratio, ratio), .min = 3906,
	 .max = 128000000, .fallback = "1/2"},
	{0},
};

static const struct schema_table alpha_table = {.name = "alpha", .rows = alpha_rows};

static const struct schema_row reserved_rows[] = {
	{"class", SCHEMA_NAME, SCHEMA_FIELD(struct config_class_size, name)},
	{"reserved", SCHEMA_SIZE, SCHEMA_FIELD(struct config_class_size, bytes), .max = 1 << 30,
	 .fallback = "8KB"},
	{0},
};

static const struct schema_table reserved_table = {.name = "reserved", .rows = reserved_rows};

static const struct schema_word pool_words[] = {
	{"off", 0, "each port and class has its own headroom."},
	{0},
};

static const struct schema_row headroom_pool_rows[] = {
	{"oversubscribe", SCHEMA_UINT, SCHEMA_FIELD(struct config_buffer, oversubscribe), .min = 1,
	 .max = 64, .flags = SCHEMA_REQUIRED | SCHEMA_RELOADABLE,
	 .help = "The pool is the sum of all headrooms divided by this. Beyond 1 it can run out when "
		 "many ports are paused at once."},
	{0},
};

static const struct schema_table headroom_pool_table = {
	"headroom_pool",
	headroom_pool_rows,
	.help = "One headroom for all ports and lossless classes.",
};

static const struct schema_word auto_words[] = {{"auto", true, NULL}, {0}};

static const struct schema_row buffer_rows[] = {
	{"alpha", SCHEMA_MAP, SCHEMA_DICT(struct config_buffer, alphas, alpha_count),
	 .table = &alpha_table, .length_max = PRIORITY_COUNT, .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "1 for each class",
	 .help = "Dynamic threshold: a port may hold `alpha` times what is free, of the shared space "
		 "for a lossless class, of the lossy share for a queue of a lossy one. 1/256 to "
		 "128."},
	{"reserved", SCHEMA_MAP, SCHEMA_DICT(struct config_buffer, reserves, reserve_count),
	 .table = &reserved_table, .length_max = PRIORITY_COUNT, .flags = SCHEMA_RELOADABLE,
	 .fallback_help = "the port's longest frame",
	 .help = "What each port has for a lossless class before it takes shared space."},
	{"lossy_max", SCHEMA_SHARE, SCHEMA_FIELD(struct config_buffer, lossy_max_ppm), .min = 10000,
	 .max = 900000, .fallback = "30%", .flags = SCHEMA_RELOADABLE,
	 .help = "What lossy classes may take together, of what headroom leaves of the pool. Without "
		 "lossless classes they have all of it."},
	{"small_frames", SCHEMA_SHARE, SCHEMA_FIELD(struct config_buffer, small_frames_ppm),
	 .max = 1000000, .fallback = "10%", .flags = SCHEMA_RELOADABLE,
	 .help = "A promise: at most this share of the bytes comes in frames of 64, the rest in full "
		 "RDMA packets. What breaks it is paused or dropped earlier, never lost."},
	{"headroom_pool", SCHEMA_ENUM, SCHEMA_FIELD(struct config_buffer, oversubscribe),
	 .words = pool_words, .fallback = "off", .flags = SCHEMA_RELOADABLE,
	 .help = "Whether headroom is shared."},
	{"headroom_pool", SCHEMA_MAP, SCHEMA_HERE, .table = &headroom_pool_table,
	 .flags = SCHEMA_RELOADABLE | SCHEMA_OPTIONAL},
	{"xon_offset", SCHEMA_ENUM, SCHEMA_FIELD(struct config_buffer, xon_offset_auto),
	 .words = auto_words, .fallback = "auto", .flags = SCHEMA_RELOADABLE,
	 .help = "How far below the threshold a port must sink before its peer may go on; `auto`: two "
		 "full RDMA packets."},
	{"xon_offset", SCHEMA_SIZE, SCHEMA_FIELD(struct config_buffer, xon_offset_bytes),
	 .max = UINT32_MAX, .flags = SCHEMA_RELOADABLE},
	{"allow_pfc_before_ecn", SCHEMA_BOOL,
	 SCHEMA_FIELD(struct config_buffer, allow_pfc_before_ecn), .fallback = "false",
	 .flags = SCHEMA_RELOADABLE,
	 .help = "Accept a class that may pause its senders before all of its packets are marked."},
	{0},
};

const struct schema_table config_buffer_table = {
	"buffer",
	buffer_rows,
	.help = "`roceleaf --check` prints what these keys amount to in bytes and in time.",
};

static const struct schema_word action_words[] = {
	{"alert", CONFIG_WATCHDOG_ALERT, "an event."},
	{"drop", CONFIG_WATCHDOG_DROP, "the queue is emptied, and what comes for it dropped."},
	{"forward", CONFIG_WATCHDOG_FORWARD, "its pauses are ignored."},
	{"off", CONFIG_WATCHDOG_OFF, "no watchdog."},
	{0},
};

/* Ranges as in SONiC's pfcwdorch.h. */
static const struct schema_row watchdog_rows[] = {
	{"detect", SCHEMA_TIME, SCHEMA_FIELD(struct config_watchdog, detect_ps),
	 .min = 100 * PS_PER_MS, .max = 5 * PS_PER_S, .fallback = "200ms",
	 .flags = SCHEMA_RELOADABLE,
	 .help = "A queue that has packets and couldn't send for so long is stuck."},
	{"restore", SCHEMA_TIME, SCHEMA_FIELD(struct config_watchdog, restore_ps),
	 .min = 100 * PS_PER_MS, .max = 60 * PS_PER_S, .fallback_help = "twice `detect`",
	 .flags = SCHEMA_RELOADABLE, .help = "So long without a pause, and it is no longer."},
	{"poll", SCHEMA_ENUM, SCHEMA_FIELD(struct config_watchdog, poll_auto), .words = auto_words,
	 .flags = SCHEMA_RELOADABLE, .fallback = "auto",
	 .help = "How often queues are looked at, at most the smaller of `detect` and `restore`; "
		 "`auto`: half of that, 1s at most."},
	{"poll", SCHEMA_TIME, SCHEMA_FIELD(struct config_watchdog, poll_ps), .min = 100 * PS_PER_MS,
	 .max = PS_PER_S, .flags = SCHEMA_RELOADABLE},
	{"action", SCHEMA_ENUM, SCHEMA_FIELD(struct config_watchdog, action), .words = action_words,
	 .fallback = "alert", .flags = SCHEMA_RELOADABLE, .help = "What happens to a stuck queue."},
	{0},
};

const struct schema_table config_watchdog_table = {
	"watchdog",
	watchdog_rows,
	.help = "A host that sends pauses for ever stops all who send to it. The watchdog bounds that.",
};
