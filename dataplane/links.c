/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/links.h"

#include "dataplane/balance/spray.h"
#include "dataplane/internal.h"

void leaf_link_set(struct leaf *leaf, uint16_t port, bool up)
{
	struct links *links = &leaf->links;

	if (atomic_load_explicit(&links->down[port], memory_order_relaxed) == !up)
		return;
	atomic_store_explicit(&links->down[port], !up, memory_order_relaxed);
	/* Rare, and the order between threads counts for nothing. */
	(void)atomic_fetch_add_explicit(&links->changes, 1, memory_order_release);
}

void links_look(struct worker *worker)
{
	const struct leaf *leaf = worker->leaf;
	struct links_seen *seen = &worker->links;

	seen->changes = atomic_load_explicit(&leaf->links.changes, memory_order_acquire);
	for (uint16_t port = 0; port < leaf->port_count; port++) {
		if (worker->snapshot->port[port].link_up &&
		    atomic_load_explicit(&leaf->links.down[port], memory_order_relaxed))
			port_bits_set(&seen->out, port);
		else
			port_bits_clear(&seen->out, port);
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
	for (uint16_t port = 0; port < leaf->port_count; port++)
		if (leaf->io[port] != NULL && leaf->owner[port] == worker->id &&
		    leaf->egress[port].up != worker_link_up(worker, port))
			egress_configure(worker, port, worker->snapshot, now_ps);
}
