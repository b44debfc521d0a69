/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/*
 * lcore - drives workers in real time: the one place from which on, downward, time is an argument.
 *
 * Each worker gets a thread (an EAL lcore) that reads the TSC once per poll, turns it into
 * picoseconds and calls worker_poll(), for ever. With `spin` that is all. With `adaptive` a worker
 * that has found nothing for LCORE_IDLE_POLLS polls sleeps in epoll on its ports' descriptors until
 * its next due time; while it sleeps it is offline to RCU, so that nobody waits for it.
 *
 * Who puts something into a sleeping worker's rings wakes it (lcores_wake(); the loop does so itself
 * for what worker_wakes() reports). No wake-up is lost: the sleeper sets its flag, fences, and polls
 * once more before it sleeps; the waker stores, fences, and then looks at the flag.
 *
 * Thread: control, unless a function says otherwise.
 */
#ifndef DATAPLANE_LCORE_H
#define DATAPLANE_LCORE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/leaf.h"
#include "dataplane/port_io.h"
#include "dataplane/units.h"

/* Polls in a row that found nothing before an adaptive worker sleeps. */
#define LCORE_IDLE_POLLS 32

/* Sleep only when nothing is due sooner than this: falling asleep and waking up cost about as much. */
#define LCORE_SLEEP_MIN_PS (30 * PS_PER_US)

/* A port without a descriptor can't wake anybody: longest sleep of its worker. */
#define LCORE_NAP_PS (200 * PS_PER_US)

/* Any other sleep ends after this at the latest. */
#define LCORE_SLEEP_MAX_PS PS_PER_S

/*
 * TSC to picoseconds: now = start + (tsc - tsc_base) * factor / 2^shift in 128 bits, with the largest
 * shift that lets the factor fit 64 bits. The factor's relative error is below 2^-63 and nothing is
 * added up, so the result stays within 2 ps of the exact quotient until it wraps.
 */
struct lcore_clock {
	uint64_t tsc_base;
	uint64_t start_ps;
	uint64_t factor;
	uint32_t shift;
};

/** @param tsc_hz 1 MHz..2^63 Hz */
struct lcore_clock lcore_clock_of(uint64_t tsc_base, uint64_t tsc_hz, uint64_t start_ps);

/** Hot: one multiplication. */
static inline uint64_t lcore_clock_ps(const struct lcore_clock *clock, uint64_t tsc)
{
	unsigned __int128 product = (unsigned __int128)(tsc - clock->tsc_base) * clock->factor;

	return clock->start_ps + (uint64_t)(product >> clock->shift);
}

struct lcores;

/**
 * @param adaptive let workers sleep
 * @return one loop per worker of the leaf, not yet started; NULL with rte_errno set
 */
struct lcores *lcores_create(struct leaf *leaf, bool adaptive);

/** Threads must have stopped. */
void lcores_free(struct lcores *lcores);

/**
 * Let a port's frames wake the workers that receive from it. It is attached; before the start.
 * @return 0, or -errno of epoll_ctl; a port without a descriptor limits sleeps to LCORE_NAP_PS
 */
int lcores_watch(struct lcores *lcores, struct port_io *io);

/** Start worker i's loop on EAL lcore lcore_id[i]. @return 0, or -errno (-EBUSY: lcore in use) */
int lcores_start(struct lcores *lcores, const unsigned *lcore_id);

/**
 * Stop all loops and wait for them; each lets the peers go that it pauses. Afterwards the workers belong to the
 * caller's thread.
 */
void lcores_stop(struct lcores *lcores);

/** Wake a worker if it sleeps. Any thread. Cost: a fence, a load; a system call if it sleeps. */
void lcores_wake(struct lcores *lcores, uint16_t worker);

/** Wake all. Any thread. */
void lcores_wake_all(struct lcores *lcores);

/*
 * Histograms of times: how often it took less than 1 us, 2 us, 4 us ... 1024 us, and more. Of polls: from one to the
 * next while awake. Of reactions: from the poll that received the packet which crossed xoff to the end of the poll
 * that sent the pause; a poll that sends several counts once, by the longest.
 */
#define LCORE_BUCKETS 12

/**
 * Polls further apart than this are stalls, and so is a sleep that lasts so much longer than was asked for: the
 * worker's receive rings may have overflowed, or the pauses of its peers run out. Any thread; UINT64_MAX at first.
 */
void lcores_set_stall(struct lcores *lcores, uint16_t worker, uint64_t stall_ps);

struct lcore_stats {
	uint64_t busy_ps;          /* polls that moved packets */
	uint64_t idle_ps;          /* polls that did not */
	uint64_t sleep_ps;         /* asleep */
	uint64_t sleeps;           /* how often */
	uint64_t poll_ps_max;      /* longest from one poll to the next while awake */
	uint64_t stalls, stall_ps; /* how many, and together how long */
	uint64_t reactions[LCORE_BUCKETS], polls[LCORE_BUCKETS];
};

/** Any thread. */
void lcores_stats(const struct lcores *lcores, uint16_t worker, struct lcore_stats *stats);

/** The time that workers see now. Any thread. */
uint64_t lcores_now_ps(const struct lcores *lcores);

#endif
