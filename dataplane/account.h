/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account - the bytes that wait in the leaf, by the port and priority through which they came.
 *
 * Every worker has a block of its own, which it alone writes: bytes charged and bytes discharged for
 * each (priority, ingress port), both monotonic; no locked instruction anywhere. A packet is charged
 * before it is handed on and discharged once, by whoever lets it leave; it carries port, priority and
 * cost with it, nobody computes them again from a later snapshot.
 *
 * A reader sums all discharges first (acquire), then all charges. What was discharged had been
 * charged before, so the difference is never negative, and never below the true occupancy at the
 * moment the last discharge was loaded. In the other order it could miss charges.
 *
 * In wire bytes: the frame's length when it was charged. The same pair of counts serves for whatever else
 * comes in at one worker and leaves at another (packets; lossy bytes of all ports).
 *
 * Thread: writes by the block's worker; reads by any.
 */
#ifndef DATAPLANE_ACCOUNT_H
#define DATAPLANE_ACCOUNT_H

#include <stdatomic.h>
#include <stdint.h>

struct account {
	_Atomic uint64_t charged;
	_Atomic uint64_t discharged;
};

/** Hot; once per burst and priority. */
static inline void account_charge(struct account *account, uint64_t amount)
{
	uint64_t before = atomic_load_explicit(&account->charged, memory_order_relaxed);

	atomic_store_explicit(&account->charged, before + amount, memory_order_relaxed);
}

/** Hot. A release: who sees it sees the charge of the same bytes as well. */
static inline void account_discharge(struct account *account, uint64_t amount)
{
	uint64_t before = atomic_load_explicit(&account->discharged, memory_order_relaxed);

	atomic_store_explicit(&account->discharged, before + amount, memory_order_release);
}

/** Begin anew from other accounts. Readers may see half of it. */
static inline void account_set(struct account *account, uint64_t charged, uint64_t discharged)
{
	atomic_store_explicit(&account->charged, charged, memory_order_relaxed);
	atomic_store_explicit(&account->discharged, discharged, memory_order_release);
}

/** Bytes of one worker's block; the sum over workers is what counts. First of all of them. */
static inline uint64_t account_discharged(const struct account *account)
{
	return atomic_load_explicit(&account->discharged, memory_order_acquire);
}

/** After account_discharged() of every worker. */
static inline uint64_t account_charged(const struct account *account)
{
	return atomic_load_explicit(&account->charged, memory_order_relaxed);
}

#endif
