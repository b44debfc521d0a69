/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
#include "dataplane/lcore.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>

/* A leaf's time starts here, so that "an hour ago" is no special case in a debugger. */
#define LCORE_START_PS (3600 * PS_PER_S)

/* Timers of a sleeping worker may be late by this, instead of the kernel's usual 50 us. */
#define LCORE_TIMER_SLACK_NS 1000

#define LCORE_EVENTS_MAX 16

/* For how long a worker that stops tries to let its peers go. */
#define LCORE_RELEASE_PS (10 * PS_PER_MS)

struct lcore {
	/* Line 0: what the loop itself uses. */
	alignas(64) struct worker *worker;
	struct lcores *lcores;
	int epoll_fd;
	int wake_fd;
	uint16_t index;
	bool naps; /* a port can't wake us */
	uint32_t idle_polls;
	uint64_t packets; /* received and sent until now */
	unsigned lcore_id;
	bool running;
	/* Line 1: written by the loop, read by anybody. */
	alignas(64) _Atomic uint64_t busy_ps;
	_Atomic uint64_t idle_ps;
	_Atomic uint64_t sleep_ps;
	_Atomic uint64_t sleeps;
	_Atomic uint64_t poll_ps_max;
	_Atomic uint64_t stalls, stall_ps;
	_Atomic uint64_t reactions[LCORE_BUCKETS], polls[LCORE_BUCKETS];
	/* Line 2: written by others. */
	alignas(64) atomic_bool stop;
	atomic_bool sleeping;
	_Atomic uint64_t stall_limit_ps;
};

struct lcores {
	struct leaf *leaf;
	struct lcore_clock clock;
	bool adaptive;
	uint16_t count;
	struct lcore *lcore;
};

struct lcore_clock lcore_clock_of(uint64_t tsc_base, uint64_t tsc_hz, uint64_t start_ps)
{
	struct lcore_clock clock = {.tsc_base = tsc_base, .start_ps = start_ps};
	unsigned __int128 factor = 0;

	for (uint32_t shift = 0; shift < 64; shift++) {
		unsigned __int128 next = ((unsigned __int128)PS_PER_S << shift) / tsc_hz;

		if (next > UINT64_MAX)
			break;
		factor = next;
		clock.shift = shift;
	}
	clock.factor = (uint64_t)factor;
	return clock;
}

uint64_t lcores_now_ps(const struct lcores *lcores)
{
	return lcore_clock_ps(&lcores->clock, rte_rdtsc());
}

/* Watch a descriptor; the event carries it. */
static int lcore_watch(struct lcore *lcore, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(lcore->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

static int lcore_open(struct lcore *lcore)
{
	lcore->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	lcore->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lcore->epoll_fd < 0 || lcore->wake_fd < 0)
		return -errno;
	return lcore_watch(lcore, lcore->wake_fd);
}

struct lcores *lcores_create(struct leaf *leaf, bool adaptive)
{
	struct lcores *lcores = calloc(1, sizeof(*lcores));
	int error = 0;

	if (lcores == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	lcores->leaf = leaf;
	lcores->adaptive = adaptive;
	lcores->clock = lcore_clock_of(rte_rdtsc(), rte_get_tsc_hz(), LCORE_START_PS);
	lcores->count = leaf_worker_count(leaf);
	lcores->lcore = aligned_alloc(64, lcores->count * sizeof(*lcores->lcore));
	if (lcores->lcore == NULL) {
		free(lcores);
		rte_errno = ENOMEM;
		return NULL;
	}
	for (uint16_t i = 0; i < lcores->count; i++) {
		struct lcore *lcore = &lcores->lcore[i];

		*lcore = (struct lcore){.worker = leaf_worker(leaf, i), .lcores = lcores};
		lcore->index = i;
		lcore->epoll_fd = lcore->wake_fd = -1;
		lcore->stall_limit_ps = UINT64_MAX;
	}
	for (uint16_t i = 0; i < lcores->count && error == 0; i++)
		error = lcore_open(&lcores->lcore[i]);
	if (error != 0) {
		lcores_free(lcores);
		rte_errno = -error;
		return NULL;
	}
	return lcores;
}

void lcores_free(struct lcores *lcores)
{
	if (lcores == NULL)
		return;
	for (uint16_t i = 0; i < lcores->count; i++) {
		if (lcores->lcore[i].epoll_fd >= 0)
			close(lcores->lcore[i].epoll_fd);
		if (lcores->lcore[i].wake_fd >= 0)
			close(lcores->lcore[i].wake_fd);
	}
	free(lcores->lcore);
	free(lcores);
}

int lcores_watch(struct lcores *lcores, struct port_io *io)
{
	for (uint16_t queue = 0; queue < io->rx_queues; queue++) {
		struct lcore *lcore = &lcores->lcore[leaf_poller(lcores->leaf, io->port, queue)];
		int fd = io->ops->descriptor != NULL ? io->ops->descriptor(io, queue) : -ENOTSUP;
		int error = fd < 0 ? 0 : lcore_watch(lcore, fd);

		if (fd < 0)
			lcore->naps = true;
		if (error != 0)
			return error;
	}
	return 0;
}

void lcores_wake(struct lcores *lcores, uint16_t worker)
{
	struct lcore *lcore = &lcores->lcore[worker];
	uint64_t one = 1;

	/* After what the caller stored, before the flag is looked at; see lcore_sleep(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&lcore->sleeping, memory_order_relaxed) ||
	    !atomic_exchange(&lcore->sleeping, false))
		return;
	/* Can't fail: the counter is read at every wake-up, and the flag lets one writer through. */
	(void)!write(lcore->wake_fd, &one, sizeof(one));
}

void lcores_wake_all(struct lcores *lcores)
{
	for (uint16_t i = 0; i < lcores->count; i++)
		lcores_wake(lcores, i);
}

/* One poll. Returns when the next is due; *moved tells whether packets came or went. */
static uint64_t lcore_poll(struct lcore *lcore, uint64_t now_ps, bool *moved)
{
	uint64_t due_ps = worker_poll(lcore->worker, now_ps);
	uint64_t wakes = worker_wakes(lcore->worker);
	struct worker_activity activity;

	/* Who never sleeps needs no fence. */
	for (; wakes != 0 && lcore->lcores->adaptive; wakes &= wakes - 1)
		lcores_wake(lcore->lcores, (uint16_t)__builtin_ctzll(wakes));
	worker_activity(lcore->worker, &activity);
	*moved = activity.rx_packets + activity.tx_packets != lcore->packets;
	lcore->packets = activity.rx_packets + activity.tx_packets;
	return due_ps;
}

/* A descriptor with an error would wake us for ever: take the error off it, or leave it alone. */
static void lcore_clear_error(struct lcore *lcore, int fd, uint32_t events)
{
	int error;
	socklen_t size = sizeof(error);

	if ((events & EPOLLHUP) == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0)
		return;
	(void)epoll_ctl(lcore->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void lcore_wait(struct lcore *lcore, uint64_t timeout_ps)
{
	struct epoll_event event[LCORE_EVENTS_MAX];
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ps / PS_PER_S),
		.tv_nsec = (long)(timeout_ps % PS_PER_S / PS_PER_NS),
	};
	int count = epoll_pwait2(lcore->epoll_fd, event, LCORE_EVENTS_MAX, &timeout, NULL);

	for (int i = 0; i < count; i++) {
		uint64_t value;

		if (event[i].data.fd == lcore->wake_fd)
			(void)!read(lcore->wake_fd, &value, sizeof(value));
		else if ((event[i].events & (EPOLLERR | EPOLLHUP)) != 0)
			lcore_clear_error(lcore, event[i].data.fd, event[i].events);
	}
}

static void lcore_account_gap(struct lcore *lcore, uint64_t gap_ps)
{
	if (gap_ps <= counter_get(&lcore->stall_limit_ps))
		return;
	counter_add(&lcore->stall_ps, gap_ps);
	counter_add(&lcore->stalls, 1);
}

/*
 * Sleep until something comes or is due. Returns the time at which to poll next; lcore->idle_polls
 * is kept, so that a poll that finds nothing after a wake-up sleeps again at once.
 */
static uint64_t lcore_sleep(struct lcore *lcore, uint64_t now_ps)
{
	const struct lcores *lcores = lcore->lcores;
	uint64_t due_ps, wait_ps, woken_ps;
	bool moved;

	/* Who stores into our rings after this sees the flag; what was stored before, the poll sees. */
	atomic_store(&lcore->sleeping, true);
	atomic_thread_fence(memory_order_seq_cst);
	due_ps = lcore_poll(lcore, now_ps, &moved);
	now_ps = time_max(now_ps, lcores_now_ps(lcores));
	if (moved || atomic_load_explicit(&lcore->stop, memory_order_relaxed) ||
	    !time_after(due_ps, now_ps + LCORE_SLEEP_MIN_PS)) {
		atomic_store_explicit(&lcore->sleeping, false, memory_order_relaxed);
		if (moved)
			lcore->idle_polls = 0;
		return now_ps;
	}
	worker_offline(lcore->worker);
	wait_ps = lcore->naps ? LCORE_NAP_PS : LCORE_SLEEP_MAX_PS;
	if (!time_after(due_ps, now_ps + wait_ps))
		wait_ps = due_ps - now_ps;
	lcore_wait(lcore, wait_ps);
	worker_online(lcore->worker);
	atomic_store_explicit(&lcore->sleeping, false, memory_order_relaxed);
	woken_ps = time_max(now_ps, lcores_now_ps(lcores));
	counter_add(&lcore->sleep_ps, woken_ps - now_ps);
	counter_add(&lcore->sleeps, 1);
	if (time_after(woken_ps, now_ps + wait_ps))
		lcore_account_gap(lcore, woken_ps - now_ps - wait_ps);
	return woken_ps;
}

/* 0: less than 1 us; n: less than 2^n us; the last one: more. */
static uint32_t bucket_of(uint64_t time_ps)
{
	uint64_t us = time_ps / PS_PER_US;
	uint32_t bucket = us == 0 ? 0 : 64u - (uint32_t)__builtin_clzll(us);

	return bucket < LCORE_BUCKETS - 1 ? bucket : LCORE_BUCKETS - 1;
}

/* The poll that began at now_ps is over at next_ps. */
static void lcore_account_reaction(struct lcore *lcore, uint64_t next_ps)
{
	uint64_t since_ps;

	if (worker_reacted(lcore->worker, &since_ps))
		counter_add(&lcore->reactions[bucket_of(
				    time_after(next_ps, since_ps) ? next_ps - since_ps : 0)],
			    1);
}

static void lcore_account(struct lcore *lcore, bool moved, uint64_t spent_ps)
{
	counter_add(moved ? &lcore->busy_ps : &lcore->idle_ps, spent_ps);
	counter_add(&lcore->polls[bucket_of(spent_ps)], 1);
	if (spent_ps > counter_get(&lcore->poll_ps_max))
		atomic_store_explicit(&lcore->poll_ps_max, spent_ps, memory_order_relaxed);
	lcore_account_gap(lcore, spent_ps);
}

/* The last thing a worker does; a device that takes nothing is given up. */
static void lcore_release_peers(const struct lcore *lcore, uint64_t now_ps)
{
	uint64_t end_ps = now_ps + LCORE_RELEASE_PS;

	while (!worker_release_peers(lcore->worker, now_ps) && time_after(end_ps, now_ps))
		now_ps = time_max(now_ps, lcores_now_ps(lcore->lcores));
}

/* The loop of one worker; an EAL lcore's function. */
static int lcore_main(void *argument)
{
	struct lcore *lcore = argument;
	const struct lcores *lcores = lcore->lcores;
	uint64_t now_ps = lcores_now_ps(lcores);

	(void)prctl(PR_SET_TIMERSLACK, LCORE_TIMER_SLACK_NS);
	worker_online(lcore->worker);
	while (!atomic_load_explicit(&lcore->stop, memory_order_acquire)) {
		bool moved;
		uint64_t due_ps = lcore_poll(lcore, now_ps, &moved);
		/* Never back: the TSCs of two packages may differ, and threads may move. */
		uint64_t next_ps = time_max(now_ps, lcores_now_ps(lcores));

		lcore_account(lcore, moved, next_ps - now_ps);
		lcore_account_reaction(lcore, next_ps);
		now_ps = next_ps;
		if (!lcores->adaptive)
			continue;
		if (moved || !time_after(due_ps, now_ps + LCORE_SLEEP_MIN_PS))
			lcore->idle_polls = 0;
		else if (++lcore->idle_polls >= LCORE_IDLE_POLLS)
			now_ps = lcore_sleep(lcore, now_ps);
	}
	lcore_release_peers(lcore, now_ps);
	worker_offline(lcore->worker);
	return 0;
}

int lcores_start(struct lcores *lcores, const unsigned *lcore_id)
{
	for (uint16_t i = 0; i < lcores->count; i++) {
		struct lcore *lcore = &lcores->lcore[i];
		int error = rte_eal_remote_launch(lcore_main, lcore, lcore_id[i]);

		if (error != 0) {
			lcores_stop(lcores);
			return error;
		}
		lcore->lcore_id = lcore_id[i];
		lcore->running = true;
	}
	return 0;
}

void lcores_stop(struct lcores *lcores)
{
	for (uint16_t i = 0; i < lcores->count; i++)
		atomic_store_explicit(&lcores->lcore[i].stop, true, memory_order_release);
	lcores_wake_all(lcores);
	for (uint16_t i = 0; i < lcores->count; i++) {
		if (lcores->lcore[i].running)
			(void)rte_eal_wait_lcore(lcores->lcore[i].lcore_id);
		lcores->lcore[i].running = false;
	}
}

void lcores_stats(const struct lcores *lcores, uint16_t worker, struct lcore_stats *stats)
{
	const struct lcore *lcore = &lcores->lcore[worker];

	*stats = (struct lcore_stats){
		.stalls = counter_get(&lcore->stalls),
		.stall_ps = counter_get(&lcore->stall_ps),
		.busy_ps = counter_get(&lcore->busy_ps),
		.idle_ps = counter_get(&lcore->idle_ps),
		.sleep_ps = counter_get(&lcore->sleep_ps),
		.sleeps = counter_get(&lcore->sleeps),
		.poll_ps_max = counter_get(&lcore->poll_ps_max),
	};
	for (uint32_t i = 0; i < LCORE_BUCKETS; i++) {
		stats->reactions[i] = counter_get(&lcore->reactions[i]);
		stats->polls[i] = counter_get(&lcore->polls[i]);
	}
}

void lcores_set_stall(struct lcores *lcores, uint16_t worker, uint64_t stall_ps)
{
	atomic_store_explicit(&lcores->lcore[worker].stall_limit_ps, stall_ps,
			      memory_order_relaxed);
}
