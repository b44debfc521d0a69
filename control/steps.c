/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/json_text.h"

#define STEP_NS_PER_S UINT64_C(1000000000)
#define STEP_PPM      1000000u

struct steps {
	uint16_t port_count;
	uint64_t begun;                 /* steps; the last one runs */
	char text[MARK_TEXT_BYTES + 1]; /* its name */
	struct history_look *begin;     /* the counters when it began */
	struct step kept[STEPS_KEPT]; /* those that have ended: number s in place s % STEPS_KEPT */
};

const char *mark_text_wrong(const char *text, size_t size)
{
	size_t bytes;

	if (size == 0)
		return "a mark needs a text";
	if (size > MARK_TEXT_BYTES)
		return "a mark has at most 256 bytes";
	for (; size > 0; text += bytes, size -= bytes) {
		const uint8_t *byte = (const uint8_t *)text;

		bytes = json_utf8_bytes(text, size);
		if (bytes == 0)
			return "a mark must be UTF-8";
		if (byte[0] < 0x20 || byte[0] == 0x7f || (byte[0] == 0xc2 && byte[1] < 0xa0))
			return "a mark has no control characters, and one line";
	}
	return NULL;
}

struct steps *steps_create(uint16_t port_count)
{
	struct steps *steps = calloc(1, sizeof(*steps));

	if (steps == NULL)
		return NULL;
	steps->port_count = port_count;
	steps->begin = calloc(1, history_bytes(port_count, 1));
	if (steps->begin == NULL) {
		free(steps);
		return NULL;
	}
	return steps;
}

void steps_free(struct steps *steps)
{
	if (steps != NULL)
		free(steps->begin);
	free(steps);
}

/* Share of a port's wire time that it sent in: bytes are without preamble, gap and FCS. */
static uint32_t busy_ppm(const struct history_counters *sum, uint64_t rate_bps,
			 uint64_t duration_ns)
{
	unsigned __int128 bits = 8 * ((unsigned __int128)sum->tx_bytes +
				      (unsigned __int128)sum->tx_packets * WIRE_OVERHEAD_BYTES);

	if (rate_bps == 0 || duration_ns == 0)
		return 0;
	bits = bits * STEP_NS_PER_S / duration_ns * STEP_PPM / rate_bps;
	return bits > UINT32_MAX ? UINT32_MAX : (uint32_t)bits;
}

static void add_port(struct step *step, const struct history_counters *sum, uint16_t port,
		     uint32_t ppm)
{
#define SUM_(field) step->sum.field += sum->field;
	HISTORY_COUNTERS(SUM_)
#undef SUM_
	if (ppm > step->hottest_ppm) {
		step->hottest = port;
		step->hottest_ppm = ppm;
	}
	if (sum->rx_paused_ns > step->straggler_paused_ns) {
		step->straggler = port;
		step->straggler_paused_ns = sum->rx_paused_ns;
	}
}

/* The step that runs, up to a look. */
static void sum_up(const struct steps *steps, const struct history_look *look,
		   const struct step_port *port, struct step *step)
{
	bool uplinks = false;

	*step = (struct step){
		.sequence = steps->begun,
		.begin_ns = steps->begin->time_ns,
		.duration_ns = look->monotonic_ns - steps->begin->monotonic_ns,
		.running = true,
		.hottest = STEP_PORT_NONE,
		.straggler = STEP_PORT_NONE,
	};
	memcpy(step->text, steps->text, sizeof(step->text));
	for (uint16_t i = 0; i < steps->port_count; i++)
		uplinks = uplinks || port[i].uplink;
	for (uint16_t i = 0; i < steps->port_count; i++) {
		const struct history_port *before = &steps->begin->port[i], *after = &look->port[i];
		struct history_counters sum = {0};

		history_add_growth(&sum, before, after, PRIORITY_COUNT);
		add_port(step, &sum, i,
			 !uplinks || port[i].uplink
				 ? busy_ppm(&sum, port[i].rate_bps, step->duration_ns)
				 : 0);
		step->drop_packets += after->drop_packets - before->drop_packets;
	}
}

void steps_mark(struct steps *steps, const struct history_look *look, const struct step_port *port,
		const char *text)
{
	if (steps->begun > 0) {
		struct step *ended = &steps->kept[steps->begun % STEPS_KEPT];

		sum_up(steps, look, port, ended);
		ended->running = false;
	}
	steps->begun++;
	(void)snprintf(steps->text, sizeof(steps->text), "%s", text);
	memcpy(steps->begin, look, history_bytes(steps->port_count, 1));
}

uint32_t steps_read(const struct steps *steps, const struct history_look *look,
		    const struct step_port *port, uint64_t after, struct step *out, uint32_t max)
{
	uint64_t oldest = steps->begun > STEPS_KEPT ? steps->begun - STEPS_KEPT : 1;
	uint64_t number = after + 1 > oldest ? after + 1 : oldest;
	uint32_t count = 0;

	for (; number < steps->begun && count < max; number++)
		out[count++] = steps->kept[number % STEPS_KEPT];
	if (number == steps->begun && count < max && number > after)
		sum_up(steps, look, port, &out[count++]);
	return count;
}
