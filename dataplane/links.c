/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/links.h"

#include "dataplane/balance/spray.h"
#include "dataplane/internal.h"

/* @return whether it is news. @param writer whose counter of changes it is */
static bool flag_set(struct links *links, _Atomic bool *flag, bool value, uint32_t writer)
{
	if (atomic_load_explicit(flag, memory_order_relaxed) == value)
		return false;
	atomic_store_explicit(flag, value, memory_order_relaxed);
	atomic_store_explicit(&links->changes[writer],
			      atomic_load_explicit(&links->changes[writer], memory_order_relaxed) +
				      1,
			      memory_order_release);
	return true;
}

void leaf_link_set(struct leaf *leaf, uint16_t port, bool up)
{
	(void)flag_set(&leaf->links, &leaf->links.down[port], !up, 0);
}

void links_stall_set(struct worker *worker, uint16_t port, bool stalled)
{
	struct leaf *leaf = worker->leaf;

	if (!flag_set(&leaf->links, &leaf->links.stalled[port], stalled, 1u + worker->id))
		return;
	for (uint16_t i = 0; i < leaf->worker_count; i++)
		worker->wakes |= (uint64_t)(i != worker->id) << i;
}

bool leaf_link_stalled(const struct leaf *leaf, uint16_t port)
{
	return atomic_load_explicit(&leaf->links.stalled[port], memory_order_relaxed);
}

void links_look(struct worker *worker)
{
	const struct links *links = &worker->leaf->links;
	struct links_seen *seen = &worker->links;

	memset(seen, 0, sizeof(*seen));
	seen->changes = links_changes(links, worker->leaf->worker_count);
	for (uint16_t port = 0; port < worker->leaf->port_count; port++) {
		if (!worker->snapshot->port[port].link_up)
			continue;
		if (atomic_load_explicit(&links->down[port], memory_order_relaxed))
			port_bits_set(&seen->down, port);
		else if (!atomic_load_explicit(&links->stalled[port], memory_order_relaxed))
			continue;
		port_bits_set(&seen->out, port);
	}
	seen->any = !port_bits_empty(&seen->out);
}

void links_changed(struct worker *worker, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;

	links_look(worker);
	/* Before queues are emptied, which sends some of it elsewhere. */
	if (worker_spray(worker) != NULL)
		spray_configure(worker, now_ps);
	for (uint16_t port = 0; port < leaf->port_count; port++) {
		if (leaf->io[port] == NULL || leaf->owner[port] != worker->id)
			continue;
		if (leaf->egress[port].up != worker_link_up(worker, port))
			egress_configure(worker, port, worker->snapshot, now_ps);
		if (leaf->egress[port].stalled)
			egress_move_sprayed(worker, port);
	}
}
