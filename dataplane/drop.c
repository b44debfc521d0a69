/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/drop.h"

#include "dataplane/internal.h"

#define DROP_NAME_(id, name, help) [DROP_##id] = (name),
#define DROP_HELP_(id, name, help) [DROP_##id] = (help),

static const char *const names[DROP_COUNT] = {DROP_REASONS(DROP_NAME_)};
static const char *const helps[DROP_COUNT] = {DROP_REASONS(DROP_HELP_)};

const char *drop_name(enum drop_reason reason)
{
	return (unsigned)reason < DROP_COUNT ? names[reason] : "?";
}

const char *drop_help(enum drop_reason reason)
{
	return (unsigned)reason < DROP_COUNT ? helps[reason] : "?";
}

void packet_drop(struct worker *worker, struct rte_mbuf *packet, enum drop_reason reason)
{
	counter_add(&worker->port_counters[packet->port].drop[reason], 1);
	rte_pktmbuf_free(packet);
}
