/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * units - the units of the dataplane and the arithmetic between them.
 *
 * Time is uint64_t picoseconds (84 bytes at 400 Gb/s last 1.68 ns: nanoseconds would be wrong). It
 * wraps after 213 days, so times are compared with time_after() and friends, never with <, and no
 * stored time may grow older than a day.
 *
 * The one header of the dataplane that config/ may include: plain libc, no DPDK.
 */
#ifndef DATAPLANE_UNITS_H
#define DATAPLANE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define PS_PER_NS UINT64_C(1000)
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define PS_PER_S  UINT64_C(1000000000000)

/* "Nothing to do": so far ahead that it never comes, near enough that comparisons stay right. */
#define TIME_IDLE_PS (UINT64_C(1) << 62)

/* A traffic class is one of eight priorities: ingress priority group, PFC priority and egress queue. */
#define PRIORITY_COUNT 8

/* 16-bit port ids; bitmaps of ports are sized by this. The last one is the CPU's pseudo-port. */
#define PORT_COUNT_MAX 512

/*
 * What a frame needs on the wire beyond the bytes we hold: 7 preamble, 1 start of frame, 4 FCS and
 * 12 gap (IEEE 802.3-2018 3.1.1, 4.4.2).
 */
#define WIRE_OVERHEAD_BYTES 24

/* Ethernet header and one VLAN tag: what a frame may exceed its port's MTU by. */
#define FRAME_HEADER_BYTES 18

/* Smallest and largest frame that we take, without FCS. Largest MTU: 9216. */
#define FRAME_BYTES_MIN 60
#define MTU_BYTES_MIN   68
#define MTU_BYTES_MAX   9216
#define FRAME_BYTES_MAX (MTU_BYTES_MAX + FRAME_HEADER_BYTES)

#define RATE_BPS_MIN UINT64_C(1000000)       /* 1M */
#define RATE_BPS_MAX UINT64_C(1600000000000) /* 1600G */

/* Light in fibre and signals in copper: 5 ns per metre each way (refractive index about 1.5). */
#define CABLE_PS_PER_MM 5

/* Pause times come in quanta of 512 bit times of the port's speed (IEEE 802.3 annex 31B.2). */
#define PAUSE_QUANTUM_BITS 512

/** True when a is later than b; right as long as they are less than 2^63 ps (106 days) apart. */
static inline bool time_after(uint64_t a_ps, uint64_t b_ps)
{
	return (int64_t)(a_ps - b_ps) > 0;
}

/** The later of two times. */
static inline uint64_t time_max(uint64_t a_ps, uint64_t b_ps)
{
	return time_after(a_ps, b_ps) ? a_ps : b_ps;
}

/** The earlier of two times. */
static inline uint64_t time_min(uint64_t a_ps, uint64_t b_ps)
{
	return time_after(a_ps, b_ps) ? b_ps : a_ps;
}

/*
 * How long bytes last at a rate, exactly: 8e12 / rate is whole for 1, 10, 25, 40, 50, 100, 200, 400
 * and 800 Gb/s; at any other rate the remainder is carried from frame to frame, so that the error
 * never reaches one picosecond however many frames pass.
 */
struct wire_rate {
	uint64_t rate_bps;
	uint64_t ps_per_byte; /* whole part of 8e12 / rate_bps */
	uint64_t remainder;   /* 8e12 mod rate_bps */
	uint64_t carry;       /* sum of remainders not yet paid, < rate_bps */
};

/** Set up a rate. @param rate_bps RATE_BPS_MIN..RATE_BPS_MAX */
static inline struct wire_rate wire_rate_of(uint64_t rate_bps)
{
	return (struct wire_rate){
		.rate_bps = rate_bps,
		.ps_per_byte = 8 * PS_PER_S / rate_bps,
		.remainder = 8 * PS_PER_S % rate_bps,
	};
}

/** Time that bytes take, ps. Hot: one multiplication at rates where 8e12 / rate is whole. */
static inline uint64_t wire_rate_time_ps(struct wire_rate *rate, uint32_t bytes)
{
	uint64_t time_ps = bytes * rate->ps_per_byte;

	if (rate->remainder != 0) {
		rate->carry += bytes * rate->remainder;
		time_ps += rate->carry / rate->rate_bps;
		rate->carry %= rate->rate_bps;
	}
	return time_ps;
}

/** Delay of a cable of this length, one way, ps. */
static inline uint64_t cable_delay_ps(uint64_t length_mm)
{
	return length_mm * CABLE_PS_PER_MM;
}

#endif
