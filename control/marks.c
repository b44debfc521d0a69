/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * marks - looks at what all queues have counted: once a second for the history, and at marks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/state.h"
#include "control/telemetry_tables.h"

static void look_at_queue(const struct daemon *daemon, uint16_t port, uint8_t priority,
			  uint64_t now_ps, struct history_port *out)
{
	struct queue_rare_totals rare;
	struct queue_totals queue;
	struct pfc_totals pfc;

	leaf_queue_totals(daemon->leaf, port, priority, &queue);
	leaf_queue_rare_totals(daemon->leaf, port, priority, &rare);
	leaf_pfc_totals(daemon->leaf, port, priority, now_ps, &pfc);
	out->queue[priority] = (struct history_counters){
		.rx_bytes = queue.rx_bytes,
		.tx_bytes = queue.tx_bytes,
		.tx_packets = queue.tx_packets,
		.ecn_marked = queue.ecn_marked,
		.rx_pauses = pfc.rx_pauses,
		.tx_pauses = pfc.tx_pauses,
		.rx_paused_ns = pfc.rx_paused_ps / PS_PER_NS,
		.tx_paused_ns = pfc.tx_paused_ps / PS_PER_NS,
	};
	out->fault[priority] = (struct history_faults){
		.drop_packets = queue.drop_packets,
		.storms = pfc.storms,
		.lost_packets = rare.headroom_packets,
	};
}

static void look_at_port(const struct daemon *daemon, uint16_t port, uint64_t now_ps,
			 struct history_port *out)
{
	struct port_totals totals;

	leaf_port_totals(daemon->leaf, port, &totals);
	telemetry_data_only(&totals, false);
#define TOTAL_(field) out->field = totals.field;
	HISTORY_PORT_COUNTERS(TOTAL_)
#undef TOTAL_
	out->drop_packets = 0;
	for (unsigned reason = 0; reason < DROP_COUNT; reason++)
		out->drop_packets += totals.drop[reason];
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		look_at_queue(daemon, port, p, now_ps, out);
}

static void take_look(const struct daemon *daemon, struct history_look *look)
{
	uint64_t now_ps = lcores_now_ps(daemon->lcores);

	look->time_ns = realtime_ns();
	look->monotonic_ns = monotonic_ns();
	for (uint16_t i = 0; i < daemon->port_count; i++)
		look_at_port(daemon, i, now_ps, &look->port[i]);
	for (uint16_t i = 0; i < daemon_worker_count(daemon); i++) {
		struct daemon_worker worker = {0};

		(void)daemon_worker(daemon, i, &worker);
#define WORKER_(field) look->worker[i].field = worker.field;
		HISTORY_WORKER_COUNTERS(WORKER_)
#undef WORKER_
	}
}

static void look_at_ports(const struct daemon *daemon, struct step_port *port)
{
	for (uint16_t i = 0; i < daemon->port_count; i++)
		port[i] = (struct step_port){daemon->snapshot->port[i].rate_bps,
					     daemon->port[i].serves};
}

int marks_create(struct daemon *daemon)
{
	daemon->history = history_create(daemon->port_count,
					 history_looks(daemon->config->telemetry.history_ps));
	daemon->steps = steps_create(daemon->port_count);
	daemon->mark_look = calloc(1, history_bytes(daemon->port_count, 1));
	daemon->mark_port = calloc(daemon->port_count, sizeof(*daemon->mark_port));
	return daemon->history == NULL || daemon->steps == NULL || daemon->mark_look == NULL ||
			       daemon->mark_port == NULL
		       ? -ENOMEM
		       : 0;
}

void marks_free(struct daemon *daemon)
{
	history_free(daemon->history);
	steps_free(daemon->steps);
	free(daemon->mark_look);
	free(daemon->mark_port);
}

void marks_tick(struct daemon *daemon)
{
	take_look(daemon, history_next(daemon->history));
}

bool daemon_mark(struct daemon *daemon, const char *text)
{
	if (!events_add(daemon->events, EVENT_MARK, EVENT_PORT_NONE, "%s", text))
		return false;
	take_look(daemon, daemon->mark_look);
	look_at_ports(daemon, daemon->mark_port);
	steps_mark(daemon->steps, daemon->mark_look, daemon->mark_port, text);
	return true;
}

void marks_note(struct daemon *daemon, const char *text, FILE *reply)
{
	const char *wrong = mark_text_wrong(text, strlen(text));

	if (wrong != NULL)
		(void)fprintf(reply, "error %s\n", wrong);
	else if (daemon_mark(daemon, text))
		(void)fprintf(reply, "ok noted\n");
	else
		(void)fprintf(reply, "error too many marks at once: this one isn't kept\n");
}

uint32_t daemon_steps(struct daemon *daemon, uint64_t after, struct step *out, uint32_t max)
{
	take_look(daemon, daemon->mark_look);
	look_at_ports(daemon, daemon->mark_port);
	return steps_read(daemon->steps, daemon->mark_look, daemon->mark_port, after, out, max);
}

const struct history *daemon_history(const struct daemon *daemon)
{
	return daemon->history;
}
