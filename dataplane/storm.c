/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/storm.h"

#include "dataplane/internal.h"

static bool queued(const struct worker *worker, uint16_t port, uint32_t priority)
{
	const struct egress_port *egress = &worker->leaf->egress[port];

	return ((egress->active | egress->staged) >> priority & 1) != 0;
}

static struct pfc_watchdog_input input_of(const struct worker *worker, uint16_t port,
					  uint32_t priority, uint64_t now_ps)
{
	const struct pfc_port *pfc = &worker->leaf->pfc[port];
	bool paused = (pfc_paused(pfc) >> priority & 1) != 0;
	uint64_t now_paused_ps = paused ? now_ps - counter_get(&pfc->rx_since_ps[priority]) : 0;

	return (struct pfc_watchdog_input){
		.sent_packets =
			counter_get(&worker_queue_counters(worker, port, priority)->tx_packets),
		.paused_ps = counter_get(&pfc->count[priority].rx_paused_ps) + now_paused_ps,
		.paused = paused,
		.queued = queued(worker, port, priority),
	};
}

void storm_watch(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	const struct watchdog_table *table = &worker->snapshot->watchdog;
	struct pfc_port *pfc = &worker->leaf->pfc[port];

	if (table->action == WATCHDOG_OFF || port_bits_test(&worker->watched, port))
		return;
	if (port_bits_empty(&worker->watched))
		worker->storm_ps = now_ps + table->poll_ps;
	port_bits_set(&worker->watched, port);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		struct pfc_watchdog_input input = input_of(worker, port, p, now_ps);

		pfc_watchdog_init(&pfc->watchdog[p], now_ps, &input);
	}
}

static void begin(struct worker *worker, uint16_t port, uint32_t priority)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	uint8_t bit = (uint8_t)(1u << priority);

	counter_add(&worker->leaf->pfc[port].count[priority].storms, 1);
	switch (worker->snapshot->watchdog.action) {
	case WATCHDOG_DROP:
		egress->dropping |= bit;
		worker->queue_row[priority][port].bytes_max = 0; /* see enqueue_closer() */
		egress_flush_queue(worker, port, priority, DROP_WATCHDOG);
		break;
	case WATCHDOG_FORWARD:
		egress->ignoring |= bit;
		pfc_obeyed(worker, port);
		break;
	default:
		break;
	}
}

static void end(struct worker *worker, uint16_t port, uint32_t priority)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	uint8_t bit = (uint8_t)(1u << priority);

	counter_add(&worker->leaf->pfc[port].count[priority].restored, 1);
	if ((egress->dropping & bit) != 0) {
		egress->dropping &= (uint8_t)~bit;
		egress_admit_queue(worker, port, priority);
	}
	egress->ignoring &= (uint8_t)~bit;
	pfc_obeyed(worker, port);
}

/* @return false: no queue of the port is paused or stormed any more */
static bool look(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	const struct watchdog_table *table = &worker->snapshot->watchdog;
	const struct pfc_watchdog_rule rule = {table->detect_ps, table->restore_ps};
	struct pfc_port *pfc = &worker->leaf->pfc[port];
	bool going_on = pfc_paused(pfc) != 0;

	for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);
		struct pfc_watchdog_input input = input_of(worker, port, p, now_ps);

		switch (pfc_watchdog_evaluate(&pfc->watchdog[p], &rule, now_ps, &input)) {
		case PFC_WATCHDOG_DETECTED:
			begin(worker, port, p);
			break;
		case PFC_WATCHDOG_RESTORED:
			end(worker, port, p);
			break;
		case PFC_WATCHDOG_NONE:
			break;
		}
		going_on |= pfc->watchdog[p].stormed;
	}
	return going_on;
}

void storm_sweep(struct worker *worker, uint64_t now_ps)
{
	uint16_t port;

	PORT_BITS_FOREACH(&worker->watched, port)
	{
		/* A pause that has run out since the port's last run. */
		pfc_release(worker, port, now_ps);
		if (!look(worker, port, now_ps))
			port_bits_clear(&worker->watched, port);
	}
	worker->storm_ps =
		now_ps + (port_bits_empty(&worker->watched) ? STORM_IDLE_PS
							    : worker->snapshot->watchdog.poll_ps);
}

void storm_forget(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if (worker->leaf->pfc[port].watchdog[p].stormed)
			end(worker, port, p);
	memset(worker->leaf->pfc[port].watchdog, 0, sizeof(worker->leaf->pfc[port].watchdog));
	egress->dropping = 0;
	egress->ignoring = 0;
	port_bits_clear(&worker->watched, port);
	if (pfc_paused(&worker->leaf->pfc[port]) != 0)
		storm_watch(worker, port, now_ps);
}
