/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the files of a host: host.c runs it and sends, receive.c takes what comes, pause.c obeys and sends
 * pauses.
 */
#ifndef LAB_HOST_INTERNAL_H
#define LAB_HOST_INTERNAL_H

#include <rte_mbuf.h>

#include "tools/lab/host/host.h"

/* A host that finds the packet pool empty tries again after this time. */
#define POOL_RETRY_PS PS_PER_US

static inline struct rte_mbuf *traffic_alloc(struct traffic *traffic, struct rte_mempool *pool)
{
	if (likely(traffic->spare_count != 0))
		return traffic->spare[--traffic->spare_count];
	return rte_mbuf_raw_alloc(pool);
}

static inline void traffic_release(struct traffic *traffic, struct rte_mbuf *packet)
{
	if (likely(traffic->spare_count != TRAFFIC_SPARES))
		traffic->spare[traffic->spare_count++] = packet;
	else
		rte_mbuf_raw_free(packet);
}

/* host.c: a flow of this host may have more to send than before. */
void host_renew(struct host *host, struct flow *flow, uint64_t now_ps);

/* receive.c: take what has arrived. @return when there will be something to take from the buffer */
uint64_t host_receive(struct host *host, uint64_t now_ps);
/* receive.c: put an acknowledgement on the wire if one waits and may go. @return when to come again */
uint64_t host_reply(struct host *host, uint64_t now_ps);

/* pause.c */
void host_obey(struct host *host, const struct pfc_frame *frame, uint64_t now_ps);
/* Let go what is over. @return when the next pause ends */
uint64_t host_resume(struct host *host, uint64_t now_ps);
/* Pause the leaf, or let it go: the wire is free. */
void host_storm_send(struct host *host, uint64_t now_ps);
/* The same for its receive buffer's sake. @return when to come again */
uint64_t host_pause_send(struct host *host, uint64_t now_ps);

#endif
