/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - a leaf's configuration: YAML in, checked plain structs out.
 *
 * What comes out of config_load() is complete (every default filled in) and consistent (every rule
 * between keys holds), so that nobody downstream checks again. What is wrong comes out as messages
 * `FILE:LINE:COLUMN: what, the value, the bound`, up to CONFIG_ERRORS_MAX of them.
 *
 * The keys, their types, ranges, defaults and help live in one table (schema_leaf.c, read by the
 * engine of schema.h), from which also `roceleaf --reference` is printed; the rules between keys are
 * in config_*.c. Depends on libc and libfyaml alone. The lab, which takes a leaf's classes in its own
 * files, finds their tables in schema_leaf.h.
 *
 * Thread: any; nothing is shared.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dataplane/units.h"

#define CONFIG_ERRORS_MAX    20
#define CONFIG_NAME_BYTES    32 /* names of ports and classes, with the NUL */
#define CONFIG_DEVICE_BYTES  256
#define CONFIG_PATH_BYTES    108 /* a socket must fit: sun_path */
#define CONFIG_ADDRESSES_MAX 8
#define CONFIG_VIAS_MAX      64
#define CONFIG_CORES_MAX     64
#define CONFIG_VLAN_MAX      4094

/* RDMA path MTU of a class that names none: what a layer 3 MTU of 1500 carries. */
#define CONFIG_RDMA_MTU_BYTES 1024

/* An address of either family; IPv4 in the first four bytes. Network byte order. */
struct config_ip {
	uint8_t family; /* 4 or 6; 0: unset */
	uint8_t bytes[16];
};

struct config_prefix {
	struct config_ip ip; /* host bits kept: 10.1.0.1/24 is an interface's address */
	uint8_t length;
};

/* Where something was said, for messages after loading (a device that is missing, ...). */
struct config_mark {
	uint32_t line; /* 1-based; 0: not in the file */
	uint32_t column;
};

enum config_idle { CONFIG_IDLE_AUTO, CONFIG_IDLE_SPIN, CONFIG_IDLE_ADAPTIVE };

enum config_driver {
	CONFIG_DRIVER_AUTO, /* never after loading */
	CONFIG_DRIVER_VFIO,
	CONFIG_DRIVER_KERNEL,
	CONFIG_DRIVER_AF_XDP,
	CONFIG_DRIVER_VHOST,
	CONFIG_DRIVER_VDEV,
};

enum config_trust { CONFIG_TRUST_DSCP, CONFIG_TRUST_PCP, CONFIG_TRUST_NONE };

enum config_pfc {
	CONFIG_PFC_AUTO, /* decided at the start by what the device offers */
	CONFIG_PFC_SOFTWARE,
	CONFIG_PFC_HARDWARE,    /* the device obeys pauses, the leaf sends them; vfio and vdev */
	CONFIG_PFC_HONOUR_ONLY, /* obeys pauses, sends none */
	CONFIG_PFC_OFF,
};

/* How long a peer takes from a pause's arrival to its last bit. */
enum config_response {
	CONFIG_RESPONSE_TIME,     /* peer_response_ps */
	CONFIG_RESPONSE_STANDARD, /* `auto`: the limit of IEEE 802.3 annex 31B (headroom.h) */
	CONFIG_RESPONSE_ROCELEAF, /* another roceleaf, set up as this one is */
};

struct config_leaf {
	char name[CONFIG_NAME_BYTES];     /* default "leaf" */
	uint16_t cores[CONFIG_CORES_MAX]; /* worker cores; core_count 0: `workers` of our choice */
	uint16_t core_count;
	uint16_t workers;      /* default 1; equals core_count when cores are named */
	uint64_t memory_bytes; /* packet buffer memory; default 256MiB */
	enum config_idle idle; /* after loading SPIN or ADAPTIVE (default: all kernel) */
	uint8_t router_mac[6]; /* default: 02 and five bytes hashed from the name */
	char runtime_dir[CONFIG_PATH_BYTES]; /* default /run/roceleaf */
	struct config_mark mark;
};

struct config_port {
	char name[CONFIG_NAME_BYTES];
	char device[CONFIG_DEVICE_BYTES];
	enum config_driver driver;
	uint64_t speed_bps;      /* 0: what the device reports */
	uint32_t mtu_bytes;      /* default 1500; layer 3 bytes, FCS and Ethernet header apart */
	enum config_trust trust; /* default dscp */

	/* For headroom. What a struct made of zeros has is an ideal wire: no length, no delay. */
	uint32_t cable_mm;                  /* default 3m */
	bool nic_delay_auto;                /* default: by the kind of device; else nic_delay_ps */
	uint64_t nic_delay_ps;              /* in the NIC and on the bus, one way */
	enum config_response peer_response; /* default `auto` */
	uint64_t peer_response_ps;
	enum config_pfc pfc; /* default `auto` */

	/* Bridged: access_vlan, or trunk VLANs with an optional native one. Routed: addresses. */
	uint16_t access_vlan; /* 0: not an access port */
	uint16_t native_vlan; /* trunk: untagged frames; 0: untagged frames are dropped */
	uint64_t trunk_vlans[CONFIG_VLAN_MAX / 64 + 1]; /* bit v: member, tagged; not native */
	bool trunk;
	struct config_prefix address[CONFIG_ADDRESSES_MAX];
	uint16_t address_count;
	struct config_mark mark, device_mark;
};

struct config_vlan {
	uint16_t id;                                        /* 1..4094 */
	struct config_prefix address[CONFIG_ADDRESSES_MAX]; /* of the VLAN interface; may be none */
	uint16_t address_count;
	uint32_t mtu_bytes; /* of the interface: the smallest of the members', no key */
	struct config_mark mark;
};

/* Probability of marking or dropping: none below min, rising to pmax at max, certain above. */
struct config_curve {
	uint32_t min_bytes, max_bytes; /* 1 <= min <= max */
	uint32_t pmax_ppm;             /* 100..1000000 */
};

enum config_ecn {
	CONFIG_ECN_CURVE, /* as ecn_curve says */
	CONFIG_ECN_AUTO,  /* by the egress port's speed (buffer_plan.h) */
	CONFIG_ECN_OFF,
};

/* Over which of a route's next hops packets go. */
enum config_balance_mode {
	CONFIG_BALANCE_DEFAULT, /* of a class: the leaf's; of a route: its packets' classes' */
	CONFIG_BALANCE_ECMP,
	CONFIG_BALANCE_FLOWLET,
	CONFIG_BALANCE_ADAPTIVE,
	CONFIG_BALANCE_SPRAY,
	CONFIG_BALANCE_SPRAY_UNORDERED,
	CONFIG_BALANCE_STATIC,
};

enum config_hash_field { CONFIG_HASH_5TUPLE, CONFIG_HASH_DEST_QP };

#define CONFIG_FLOWS_MAX (1u << 24)

#define CONFIG_PEERS_MAX     1024 /* other leaves */
#define CONFIG_PEER_VIAS_MAX 32   /* next hops towards one */
#define CONFIG_KEY_BYTES     16   /* that leaves share */
#define CONFIG_HOLD_MAX_AUTO (64u << 20)

/* Another leaf that restores the order of what we spray. */
struct config_peer {
	struct config_ip address;       /* its own, routed by the next hops of its prefixes */
	struct config_prefix *prefixes; /* that it alone serves */
	uint16_t prefix_count;          /* >= 1 */
	struct config_mark mark;
};

/* In-order spray. */
struct config_spray {
	struct config_ip
		address; /* ours, as peers name it; family 0: the first one towards hosts */
	struct config_peer *peers;
	uint16_t peer_count;
	char key_file[CONFIG_PATH_BYTES]; /* beside the config; with peers only */
	uint8_t key[CONFIG_KEY_BYTES];    /* what it holds */
	uint32_t promote_bytes;           /* default 64 KB */
	bool hold_auto; /* default: in a quarter of the pool, CONFIG_HOLD_MAX_AUTO at most */
	uint64_t hold_max_bytes;
};

/* Of links that flap; control/damping.h. */
struct config_damping {
	uint32_t
		suppress; /* penalty above which a link is kept out, 1000..most; 0: never; default */
	uint32_t reuse;   /* penalty below which it is let in again, < suppress; default 1000 */
	uint64_t half_life_ps; /* 10 ms..1000 s; default 5 s */
	uint64_t max_ps;       /* for which it is kept out at most, >= half_life_ps; default 20 s */
};

struct config_balance {
	enum config_balance_mode mode; /* never DEFAULT; default ECMP, which keeps order anywhere */
	bool gap_auto;                 /* default: by ECN's thresholds; else gap_ps */
	uint64_t gap_ps;               /* 1 us..1 s */
	enum config_hash_field hash[2]; /* 5TUPLE among them; default both */
	uint8_t hash_count;
	bool seed_auto; /* default: another one for each leaf */
	uint64_t seed;
	uint32_t flows; /* a worker remembers, 64..CONFIG_FLOWS_MAX; default 65536 */
	struct config_spray spray;
	struct config_damping damping;
};

struct config_class {
	char name[CONFIG_NAME_BYTES];
	uint8_t priority; /* 0..7, unique */
	uint64_t dscp;    /* bit d: this class; together all 64, the rest is the default's */
	uint8_t pcp;      /* bit p: this class; default: bit `priority` */
	bool lossless;
	bool strict;           /* strict priority; higher number first, above all weights */
	uint8_t weight;        /* 1..100 of DWRR bytes; 0 with strict */
	uint64_t max_rate_bps; /* strict only: shaper; 0: none */
	uint32_t max_rate_ppm; /* the same as a share of the port's speed; 0: none */
	uint32_t
		rdma_mtu_bytes; /* payload of its full RDMA packets; 256, 512, ... 4096; default 1024 */
	enum config_ecn ecn; /* default AUTO for lossless classes, OFF for others */
	bool ecn_given;      /* it was written */
	struct config_curve ecn_curve;
	bool wred; /* lossy only; default off */
	struct config_curve wred_curve;
	uint64_t half_life_ps; /* of the average depth that both go by; 0: by the depth itself */
	enum config_balance_mode balance;
	uint32_t alpha_q8; /* 256 * alpha, 1..32768; default 256 */
	/* What each port has for this class alone. Lossless only; not given: its longest frame. */
	uint32_t reserved_bytes;
	bool reserved_given;
	struct config_mark mark;
};

/* `alpha: {CLASS: 1/2}` and `reserved: {CLASS: 8KB}` as written; the classes have the values. */
struct config_class_ratio {
	char name[CONFIG_NAME_BYTES];
	uint32_t ratio[2]; /* numerator, denominator: struct schema_ratio */
};

struct config_class_size {
	char name[CONFIG_NAME_BYTES];
	uint32_t bytes;
};

struct config_buffer {
	struct config_class_ratio *alphas;
	uint16_t alpha_count;
	struct config_class_size *reserves;
	uint16_t reserve_count;
	uint32_t lossy_max_ppm;    /* of what headroom leaves of the pool; default 30% */
	uint32_t small_frames_ppm; /* promise: share of bytes in frames of 64; default 10% */
	uint32_t oversubscribe;    /* headroom pool: sum of the headrooms over this; 0: off */
	bool xon_offset_auto;      /* default: two RDMA frames; else xon_offset_bytes */
	uint32_t xon_offset_bytes;
	bool allow_pfc_before_ecn;
};

enum config_watchdog_action {
	CONFIG_WATCHDOG_ALERT,
	CONFIG_WATCHDOG_DROP,
	CONFIG_WATCHDOG_FORWARD,
	CONFIG_WATCHDOG_OFF,
};

struct config_watchdog {
	uint64_t detect_ps;  /* 100 ms..5 s; default 200 ms */
	uint64_t restore_ps; /* 100 ms..60 s; default twice detect */
	uint64_t poll_ps;    /* 100 ms..1 s, at most the smaller of the two; default half of that */
	bool poll_auto;
	enum config_watchdog_action action;
};

struct config_route {
	struct config_prefix to; /* host bits are zero */
	struct config_ip via[CONFIG_VIAS_MAX];
	uint16_t via_count; /* >= 1; each in a connected prefix */
	enum config_balance_mode balance;
	struct config_mark mark;
};

struct config_neighbour {
	struct config_ip address; /* in a connected prefix */
	uint8_t mac[6];
	uint16_t port; /* index into config.ports: the routed port, or a member of the VLAN */
	char port_name[CONFIG_NAME_BYTES];
	struct config_mark mark;
};

enum config_class_preset { CONFIG_CLASSES_LISTED, CONFIG_CLASSES_SONIC };

/* Where to listen. */
struct config_listen {
	struct config_ip address;
	uint16_t port; /* 0: nowhere */
};

#define CONFIG_TOKEN_BYTES_MIN 16
#define CONFIG_TOKEN_BYTES_MAX 128

/* Who may put marks on the time line over HTTP. */
struct config_marks {
	char token_file[CONFIG_PATH_BYTES];
	char token[CONFIG_TOKEN_BYTES_MAX + 1]; /* what it holds; "": nobody */
};

#define CONFIG_HOSTS_MAX  8
#define CONFIG_HOST_BYTES 254 /* RFC 1035 2.3.4, without the last dot, and NUL */

struct config_telemetry {
	struct config_listen http; /* default 127.0.0.1:9469 */
	char hosts[CONFIG_HOSTS_MAX][CONFIG_HOST_BYTES];
	uint8_t host_count;
	uint64_t history_ps;    /* default 5 min */
	uint64_t long_pause_ps; /* longer ones are events */
	uint64_t record_ps;     /* interval of the queue depths that are always recorded */
	struct config_marks marks;
};

struct config {
	char *path;
	struct config_leaf leaf;
	struct config_port *ports;
	uint16_t port_count;
	struct config_vlan *vlans;
	uint16_t vlan_count;
	struct config_class classes[PRIORITY_COUNT];
	uint8_t class_count;
	uint8_t default_class; /* index of the lossy class that takes every DSCP not named */
	enum config_class_preset class_preset;
	struct config_buffer buffer;
	struct config_watchdog watchdog;
	struct config_balance balance;
	struct config_telemetry telemetry;
	struct config_route *routes;
	uint32_t route_count;
	struct config_neighbour *neighbours;
	uint32_t neighbour_count;

	/* What was written, for config_mark_of(), and the memory of all lists above. Not for others. */
	struct schema_document *document;
	struct schema_block *memory;
};

struct config_error {
	char text[384]; /* "FILE:LINE:COLUMN: ..." */
	struct config_mark mark;
};

struct config_errors {
	struct config_error error[CONFIG_ERRORS_MAX];
	uint32_t count;   /* kept */
	uint32_t dropped; /* found beyond CONFIG_ERRORS_MAX */
};

/**
 * Read and check a file.
 * @param path   the file; its name stands in every message
 * @param errors filled on failure; may hold warnings never (there are none)
 * @return the config, to be given to config_free(), or NULL with errors->count >= 1
 */
struct config *config_load(const char *path, struct config_errors *errors);

/** The same from memory, under the name `path`. For tests and fuzzing. */
struct config *config_load_string(const char *path, const char *text, size_t size,
				  struct config_errors *errors);

/** Everything goes, lists included. NULL is legal. */
void config_free(struct config *config);

/**
 * Where a value was written, for messages after loading: config_mark_of(config, "ports[%u].speed", i).
 * @return its place, that of the nearest thing around it when it is a default, or line 0
 */
struct config_mark config_mark_of(const struct config *config, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * Add an error `FILE:LINE:COLUMN: text` about a config, for what only shows after loading (a device
 * that is missing, ...).
 */
void config_fail(const struct config *config, struct config_errors *errors, struct config_mark mark,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * What can't be known without opening devices: a PCI port (driver vfio) needs `speed` then. For
 * `--check` and tools.
 * @return 0, or -EINVAL with errors->count >= 1
 */
int config_check_offline(const struct config *config, struct config_errors *errors);

/*
 * Least `leaf.memory`: so many buffers of the largest MTU for each port, and for all. A plain bound,
 * which config_load() has checked. A buffer takes the frame rounded up to whole 1024 bytes, 2048 at
 * least, and CONFIG_BUFFER_OVERHEAD_BYTES: mbuf, headroom and the mempool's header. Kernel ports need
 * a little less.
 */
#define CONFIG_BUFFERS_PER_PORT      256
#define CONFIG_BUFFERS_SHARED        1024
#define CONFIG_BUFFER_OVERHEAD_BYTES 512

/** @return the bound for this config's ports, in bytes */
uint64_t config_memory_bytes_min(const struct config *config);

/**
 * What of `new` can't be taken over from `old` while the leaf runs: each such key is named with its
 * line in the new file, as an error. Not reloadable: all of `leaf`, the list of ports with their
 * order, each port's name, device, driver and mtu, and balance.flows; all else is.
 * @return 0, or -EBUSY with errors->count >= 1
 */
int config_check_reload(const struct config *old, const struct config *new,
			struct config_errors *errors);

/** FNV-1a of some bytes, going on from the hash of those before; the same on every machine. */
#define CONFIG_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t config_hash(uint64_t hash, const void *bytes, size_t size);

/** Text of an address, "10.1.0.1", in buffer (46 bytes hold any). @return buffer */
const char *config_format_ip(const struct config_ip *ip, char *buffer, size_t size);
/** The same with its prefix length, "10.1.0.1/24" (50 bytes hold any). */
const char *config_format_prefix(const struct config_prefix *prefix, char *buffer, size_t size);
/** Is the address in the network of the prefix? */
bool config_prefix_contains(const struct config_prefix *prefix, const struct config_ip *ip);

/** What is left of a penalty: half in each half-life, evenly within it. */
uint32_t config_damping_left(const struct config_damping *damping, uint32_t penalty,
			     uint64_t elapsed_ns);
/** The greatest penalty, by which a link is kept out for no longer than max (RFC 2439, 4.2: the ceiling). */
uint32_t config_damping_most(const struct config_damping *damping);

/** Route that all of a network takes but for parts with longer routes: the longest; NULL: none. */
const struct config_route *config_route_of(const struct config *config,
					   const struct config_prefix *network);

/** Print the reference page of all keys (Markdown, from the schema table). */
void config_print_reference(FILE *out);

/** Print errors, one a line, and how many more there were. */
void config_print_errors(const struct config_errors *errors, FILE *out);

#endif
