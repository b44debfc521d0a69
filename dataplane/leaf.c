/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
#include "dataplane/leaf.h"

#include <stdlib.h>

#include <rte_errno.h>

#include "dataplane/internal.h"

#define FDB_ENTRIES_DEFAULT 16384
#define FDB_ENTRIES_MIN     64
#define FDB_ENTRIES_MAX     4194304

/* Zeroed, on cache lines of its own. */
static void *allocate(size_t size)
{
	void *memory = NULL;

	size = (size + 127) / 128 * 128;
	if (posix_memalign(&memory, 128, size) != 0) {
		rte_errno = ENOMEM;
		return NULL;
	}
	return memset(memory, 0, size);
}

static uint32_t fdb_entries(uint32_t wanted)
{
	uint32_t entries = FDB_ENTRIES_MIN;

	if (wanted == 0)
		wanted = FDB_ENTRIES_DEFAULT;
	while (entries < wanted && entries < FDB_ENTRIES_MAX)
		entries *= 2;
	return entries;
}

static void worker_free(struct leaf *leaf, struct worker *worker)
{
	if (worker == NULL)
		return;
	if (leaf->queue_pools_owned)
		queue_pool_free(worker->queue_pool);
	free(worker->account_row[0]);
	free(worker->queue_row[0]);
	free(worker->port_counters);
	free(worker->queue_counters);
	free(worker->queue_rare);
	free(worker->backlog);
	recorder_free(worker->recorder);
	balance_free(worker);
	free(worker);
}

static struct worker *worker_create(struct leaf *leaf, uint16_t id,
				    const struct leaf_params *params)
{
	struct worker *worker = allocate(sizeof(*worker));

	if (worker == NULL)
		return NULL;
	worker->leaf = leaf;
	worker->id = id;
	worker->alone = leaf->worker_count == 1;
	memset(worker->rx_queue, QUEUE_NONE, sizeof(worker->rx_queue));
	worker->pool = params->pool;
	port_timers_init(&worker->timers);
	worker->port_counters = allocate(leaf->ports * sizeof(*worker->port_counters));
	worker->queue_counters =
		allocate((size_t)leaf->ports * PRIORITY_COUNT * sizeof(*worker->queue_counters));
	worker->queue_rare =
		allocate((size_t)leaf->ports * PRIORITY_COUNT * sizeof(*worker->queue_rare));
	worker->backlog = allocate(leaf->ports * sizeof(*worker->backlog));
	worker->account_row[0] =
		allocate((size_t)leaf->ports * PRIORITY_COUNT * sizeof(struct account));
	worker->queue_row[0] =
		allocate((size_t)leaf->ports * PRIORITY_COUNT * sizeof(struct egress_queue));
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		worker->queue_row[p] = worker->queue_row[0] + (size_t)p * leaf->ports;
		worker->account_row[p] = worker->account_row[0] + (size_t)p * leaf->ports;
	}
	mark_random_seed(&worker->random, params->seed + id);
	worker->queue_pool = params->queue_pool;
	if (worker->queue_pool == NULL)
		worker->queue_pool =
			queue_pool_create(params->packets_max, leaf->ports * PRIORITY_COUNT);
	if (worker->account_row[0] == NULL || worker->queue_row[0] == NULL ||
	    worker->port_counters == NULL || worker->queue_counters == NULL ||
	    worker->queue_rare == NULL || worker->backlog == NULL || worker->queue_pool == NULL) {
		worker_free(leaf, worker);
		rte_errno = ENOMEM;
		return NULL;
	}
	return worker;
}

static int create_qsbr(struct leaf *leaf)
{
	leaf->qsbr = allocate(rte_rcu_qsbr_get_memsize(leaf->worker_count));
	if (leaf->qsbr == NULL || rte_rcu_qsbr_init(leaf->qsbr, leaf->worker_count) != 0)
		return -ENOMEM;
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		if (rte_rcu_qsbr_thread_register(leaf->qsbr, i) != 0)
			return -ENOMEM;
		rte_rcu_qsbr_thread_online(leaf->qsbr, i);
	}
	return 0;
}

struct leaf *leaf_create(const struct leaf_params *params)
{
	struct leaf *leaf;

	if (params->port_count == 0 || params->port_count >= PORT_COUNT_MAX ||
	    params->worker_count == 0 || params->worker_count > WORKER_COUNT_MAX) {
		rte_errno = EINVAL;
		return NULL;
	}
	leaf = allocate(sizeof(*leaf));
	if (leaf == NULL)
		return NULL;
	leaf->port_count = params->port_count;
	leaf->ports = (uint16_t)(params->port_count + 1);
	leaf->worker_count = params->worker_count;
	leaf->pool = params->pool;
	leaf->seed = params->seed;
	leaf->queue_pools_owned = params->queue_pool == NULL;
	leaf->egress = allocate(leaf->ports * sizeof(*leaf->egress));
	leaf->pfc = allocate(leaf->ports * sizeof(*leaf->pfc));
	leaf->state = allocate((size_t)leaf->ports * PRIORITY_COUNT * sizeof(*leaf->state));
	leaf->peaks = allocate((size_t)leaf->ports * PRIORITY_COUNT * sizeof(*leaf->peaks));
	leaf->io = allocate(leaf->ports * sizeof(struct port_io *));
	leaf->owner = allocate(leaf->ports * sizeof(*leaf->owner));
	leaf->fdb = fdb_create(fdb_entries(params->fdb_entries));
	if (leaf->egress == NULL || leaf->pfc == NULL || leaf->state == NULL ||
	    leaf->peaks == NULL || leaf->io == NULL || leaf->owner == NULL || leaf->fdb == NULL ||
	    create_qsbr(leaf) != 0 || handover_create(leaf) != 0)
		goto err_leaf;
	for (uint16_t port = 0; port < leaf->ports; port++)
		egress_init(&leaf->egress[port]);
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		leaf->worker[i] = worker_create(leaf, i, params);
		if (leaf->worker[i] == NULL)
			goto err_leaf;
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			leaf->account[p][i] = leaf->worker[i]->account_row[p];
	}
	return leaf;

err_leaf:
	leaf_free(leaf);
	rte_errno = ENOMEM;
	return NULL;
}

void leaf_free(struct leaf *leaf)
{
	if (leaf == NULL)
		return;
	if (leaf->worker[leaf->worker_count - 1] != NULL) {
		for (uint16_t i = 0; i < leaf->worker_count; i++)
			worker_flush(leaf->worker[i]);
	}
	for (uint16_t i = 0; i < leaf->worker_count; i++)
		worker_free(leaf, leaf->worker[i]);
	handover_free(leaf);
	free(leaf->record);
	free(leaf->qsbr);
	fdb_free(leaf->fdb);
	free(leaf->owner);
	free(leaf->io);
	free(leaf->peaks);
	free(leaf->state);
	free(leaf->pfc);
	free(leaf->egress);
	free(leaf);
}

int leaf_attach(struct leaf *leaf, uint16_t port, struct port_io *io, uint16_t owner)
{
	if (port >= leaf->ports || owner >= leaf->worker_count || io->port != port ||
	    io->rx_queues > leaf->worker_count)
		return -EINVAL;
	leaf->io[port] = io;
	leaf->owner[port] = owner;
	leaf->egress[port].io = io;
	for (uint16_t queue = 0; queue < io->rx_queues; queue++)
		leaf->worker[leaf_poller(leaf, port, queue)]->rx_queue[port] = (uint8_t)queue;
	return 0;
}

uint16_t leaf_poller(const struct leaf *leaf, uint16_t port, uint16_t queue)
{
	return (uint16_t)((leaf->owner[port] + queue) % leaf->worker_count);
}

const struct snapshot *leaf_publish(struct leaf *leaf, const struct snapshot *snapshot,
				    uint64_t *token)
{
	const struct snapshot *before;

	if (snapshot != NULL)
		(void)balance_prepare(leaf, snapshot);
	before = atomic_exchange_explicit(&leaf->snapshot, snapshot, memory_order_acq_rel);

	*token = rte_rcu_qsbr_start(leaf->qsbr);
	return before;
}

bool leaf_quiet(struct leaf *leaf, uint64_t token)
{
	return rte_rcu_qsbr_check(leaf->qsbr, token, false) == 1;
}

struct worker *leaf_worker(struct leaf *leaf, uint16_t worker)
{
	return worker < leaf->worker_count ? leaf->worker[worker] : NULL;
}

uint16_t leaf_worker_count(const struct leaf *leaf)
{
	return leaf->worker_count;
}

uint16_t leaf_port_count(const struct leaf *leaf)
{
	return leaf->port_count;
}

struct fdb *leaf_fdb(struct leaf *leaf)
{
	return leaf->fdb;
}

void leaf_port_totals(const struct leaf *leaf, uint16_t port, struct port_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct port_counters *counters = &leaf->worker[i]->port_counters[port];

#define ADD_(field, unit, help) totals->field += counter_get(&counters->field);
		PORT_COUNTERS(ADD_)
#undef ADD_
		for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
			totals->drop[reason] += counter_get(&counters->drop[reason]);
	}
}

void leaf_queue_totals(const struct leaf *leaf, uint16_t port, uint8_t priority,
		       struct queue_totals *totals)
{
	const struct egress_queue *queue = leaf_queue(leaf, port, priority);
	struct peak_totals peaks;

	memset(totals, 0, sizeof(*totals));
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct queue_counters *counters =
			worker_queue_counters(leaf->worker[i], port, priority);

#define ADD_(field, unit, help) totals->field += counter_get(&counters->field);
		QUEUE_COUNTERS(ADD_)
#undef ADD_
	}
	totals->depth_packets = queue_depth_packets(queue);
	totals->depth_bytes = queue_depth_bytes(queue);
	/* Noted when a queue is read: one that is paused may be deeper now. */
	leaf_peaks(leaf, port, priority, PEAK_PERSISTENT, &peaks);
	totals->depth_bytes_max = peaks.queue_bytes;
}

void leaf_conservation(const struct leaf *leaf, struct leaf_conservation *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint16_t port = 0; port < leaf->ports; port++) {
		struct port_totals totals;

		leaf_port_totals(leaf, port, &totals);
		sum->generated += counter_get(&leaf->pfc[port].port_count.tx_frames);
		sum->rx_packets += totals.rx_packets;
		sum->copied += totals.copied;
		sum->tx_packets += totals.tx_packets;
		sum->consumed += totals.consumed;
		for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
			sum->dropped += totals.drop[reason];
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			sum->queued += queue_depth_packets(leaf_queue(leaf, port, p));
		sum->queued += egress_staged_packets(&leaf->egress[port]);
	}
	/* On their way from one worker to another. */
	for (uint16_t i = 0; i < leaf->worker_count; i++)
		sum->queued += counter_get(&leaf->worker[i]->given) -
			       counter_get(&leaf->worker[i]->taken) +
			       balance_held_packets(leaf->worker[i]);
}

bool leaf_conserved(const struct leaf *leaf)
{
	struct leaf_conservation sum;

	leaf_conservation(leaf, &sum);
	return sum.rx_packets + sum.copied ==
	       sum.tx_packets + sum.consumed + sum.dropped + sum.queued;
}
