/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stand - one real leaf between blasters, which stop for nothing but pauses and have no mercy.
 *
 * Blaster i is the peer of port i: routed ports, 10.0.i.1 and the blaster's 10.0.i.2. It sends the
 * streams that start at it at line rate or paced, obeys pauses just when `response_ps` after their
 * arrival (the frame it has begun goes on), sends pauses of its own, and checks what it gets:
 * order, loss, and that nothing began to leave the leaf while a pause was in force there.
 *
 * What a stream sends has random sizes of two: small and large.
 */
#ifndef TESTS_LAB_STAND_H
#define TESTS_LAB_STAND_H

#include "dataplane/pfc_frame.h"
#include "tests/lab/harness.h"
#include "tools/lab/frame.h"
#include "tools/lab/random.h"

#define STAND_STREAMS_MAX 128
#define STAND_TEXT_MAX    16384

/* Frames of a stream: 58 bytes of headers and a payload of whole words. */
#define STAND_FRAME_MIN 62u

/* One with 1024 bytes of payload. */
#define STAND_FRAME 1082u

/* The ECN field of what a stream sends. */
enum stand_ecn { STAND_ECT0, STAND_ECT1, STAND_NOT_ECT, STAND_CE };

struct stream_params {
	uint16_t from, to;
	enum stand_ecn ecn;
	uint8_t priority;           /* its DSCP is the lowest of the class that has it */
	uint64_t rate_bps;          /* on the wire; 0: line rate */
	uint64_t start_ps, stop_ps; /* since the start; stop 0: never */
	uint32_t large_bytes;       /* rounded down to what there is */
	uint32_t small_bytes;
	uint32_t small_share; /* of frames, in 256ths */
	uint64_t bytes_max;   /* 0: without end */
};

struct stream {
	struct stream_params params;
	struct frame_template template;
	struct wire_rate pace;
	uint64_t due_ps;
	uint32_t id;
	uint64_t sent_frames, sent_bytes;
	uint64_t received_frames, received_bytes;
	uint64_t received_ce_frames; /* "congestion experienced" */
	uint64_t misordered;
	uint64_t latency_max_ps;
	uint32_t psn_expected;
};

/* Times at which a pause of ours was in force at the leaf. */
struct stand_window {
	uint64_t from_ps, until_ps;
};
#define STAND_WINDOWS 8

struct stand_heard {
	uint64_t due_ps;
	struct pfc_frame frame;
};
#define STAND_HEARD 64

/* Pauses that a blaster sends. */
struct stand_storm {
	bool on;
	struct pfc_frame frame;
	uint64_t next_ps, until_ps;
	uint64_t interval_ps;
	bool ends_with_xon;
};

struct blaster {
	struct node node;
	struct stand *stand;
	uint16_t port;
	bool arrived;
	bool down;
	struct wire *tx, *rx;
	uint64_t response_ps;
	struct random random;
	/* Pauses from the leaf. */
	struct stand_heard heard[STAND_HEARD];
	uint32_t heard_head, heard_tail;
	uint8_t paused;
	uint64_t paused_until_ps[PRIORITY_COUNT];
	uint64_t xoffs[PRIORITY_COUNT], xons[PRIORITY_COUNT]; /* frames that said so */
	uint64_t pause_frames, misdrawn_frames; /* of them: not as the standard has it */
	/* Pauses to the leaf. */
	struct stand_storm storm;
	struct stand_window window[PRIORITY_COUNT][STAND_WINDOWS];
	uint32_t windows[PRIORITY_COUNT];
	uint64_t early_frames; /* began while a pause was in force */
	uint64_t sent_frames, received_frames, stray_frames;
	struct stream *streams[STAND_STREAMS_MAX]; /* that start here */
	uint32_t stream_count;
};

struct stand {
	struct rig *rig;
	/* Called for every frame of a stream that arrives; NULL: nobody looks. */
	void (*seen)(struct stand *stand, const struct stream *stream,
		     const struct frame_view *view);
	void *seen_context;
	struct blaster blaster[RIG_PORTS_MAX];
	struct stream stream[STAND_STREAMS_MAX];
	uint32_t stream_count;
};

struct stand_params {
	uint16_t ports;
	const char *speed[RIG_PORTS_MAX]; /* NULL: that of port 0 */
	const char *cable[RIG_PORTS_MAX]; /* NULL: that of port 0, and there 3m */
	const char *response;             /* of all peers; NULL: at once */
	uint32_t mtu;                     /* 0: 4200 */
	const char *rest;                 /* classes, buffer, watchdog, ... */
	uint32_t packets;                 /* buffers of the leaf; 0: half of the pool */
};

/* The leaf.yaml of it. */
void stand_yaml(const struct stand_params *params, char text[STAND_TEXT_MAX]);

/** Can its buffer be divided? With all that `roceleaf --check` refuses. @param packets of the leaf */
bool stand_accepts(const struct stand_params *params, uint32_t packets);

/** Fewest buffers, to within a tenth, with which its buffer can be divided. */
uint32_t stand_packets_min(const struct stand_params *params);

struct stand *stand_create(const struct stand_params *params);
/** Also checks that every packet is back, and conservation after every step. */
void stand_free(struct stand *stand);

/** Reload with other params; ports and mtu must stay. @return as rig_reload() */
int stand_reload(struct stand *stand, const struct stand_params *params);

/**
 * Take the link of a port down or up, by a reload as control does; what is on the wire still
 * arrives. A storm that goes on says so for the first time a quarter of a pause after that.
 */
void stand_link(struct stand *stand, uint16_t port, bool up);

struct stream *stand_stream(struct stand *stand, const struct stream_params *params);
/** A stream of frames of STAND_FRAME bytes without end, from now on. @param mbps on the wire; 0: line rate */
struct stream *stand_flow(struct stand *stand, uint16_t from, uint16_t to, uint8_t priority,
			  uint32_t mbps);

/** No more of a stream from now on, or again. */
void stand_stop(struct stand *stand, struct stream *stream);
void stand_restart(struct stand *stand, struct stream *stream);
void stand_stop_all(struct stand *stand);

/** Until a time from the start. */
void stand_run(struct stand *stand, uint64_t until_ps);
/** So much longer. */
void stand_run_for(struct stand *stand, uint64_t time_ps);
uint64_t stand_now_ps(const struct stand *stand);

/**
 * A peer pauses priorities without a break from now until a time from the start, and lets them go
 * then (xon) or just falls silent.
 */
void stand_storm(struct stand *stand, uint16_t port, uint8_t priorities, uint64_t until_ps,
		 bool ends_with_xon);
/** One frame, now. */
void stand_pause(struct stand *stand, uint16_t port, const struct pfc_frame *frame);

/* --- what the leaf says --- */

const struct snapshot *stand_snapshot(const struct stand *stand);
struct pfc_totals stand_pfc(const struct stand *stand, uint16_t port, uint8_t priority);
struct queue_totals stand_queue(const struct stand *stand, uint16_t port, uint8_t priority);
struct buffer_totals stand_buffer(const struct stand *stand, uint16_t port, uint8_t priority);
/** Of all ports. */
uint64_t stand_drops(const struct stand *stand, enum drop_reason reason);
uint64_t stand_all_drops(const struct stand *stand);
/** Pauses that the leaf began, in these priorities of all ports. */
uint64_t stand_pauses(const struct stand *stand, uint8_t priorities);
/** Frames of all streams of a priority that are neither here nor there: lost or under way. */
uint64_t stand_missing(const struct stand *stand, uint8_t priorities);

/** What all pairs and lossy traffic may hold together. */
uint64_t stand_pool_bytes(const struct stand *stand);
/** The most of its headroom that any pair has used, in thousandths of what it has. */
uint32_t stand_headroom_permille(const struct stand *stand);

/** Traffic is over: nothing waits, nobody is paused, nothing came out of order or while paused. */
void stand_check_quiet(const struct stand *stand);
/** The same, and every frame of these priorities has come. */
void stand_check_lossless(const struct stand *stand, uint8_t priorities);

#endif
