/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "control/telemetry_tables.h"

/* X(field, name, help): of struct daemon_interface and struct daemon_hold */
#define INTERFACE_LOSSES(X)                                                \
	X(punt_errors, "punt_refused", "for the kernel, which refused it") \
	X(kernel_drops, "kernel_drops", "from the kernel: no buffer, ring full or too long")
#define HOLD_LOSSES(X)                                                \
	X(expired, "hold_expired", "waited too long for a neighbour") \
	X(refused, "hold_refused", "no room to wait for a neighbour") \
	X(unroutable, "hold_unroutable", "waited, and no next hop was left")

/* Where a reason's number stands: in port_totals, port_io_stats, daemon_interface, daemon_hold. */
struct reason {
	const char *name;
	const char *help;
	size_t offset;
};

static const struct reason port_reasons[] = {
#define REASON_(id, name, help) \
	{name, help, offsetof(struct port_totals, drop) + sizeof(uint64_t) * DROP_##id},
	DROP_REASONS(REASON_)
#undef REASON_
};
static const struct reason device_reasons[] = {
#define REASON_(field, unit, help) {#field, help, offsetof(struct port_io_stats, field)},
	DEVICE_LOSSES(REASON_)
#undef REASON_
};
static const struct reason interface_reasons[] = {
#define REASON_(field, name, help) {name, help, offsetof(struct daemon_interface, field)},
	INTERFACE_LOSSES(REASON_)
#undef REASON_
};
static const struct reason hold_reasons[] = {
#define REASON_(field, name, help) {name, help, offsetof(struct daemon_hold, field)},
	HOLD_LOSSES(REASON_)
#undef REASON_
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The four lists, each with the places it applies to; read one place at a time. */
enum loss_list { LOSS_PORT, LOSS_DEVICE, LOSS_INTERFACE, LOSS_HOLD, LOSS_LIST_COUNT };

static const struct {
	const struct reason *reason;
	size_t count;
} lists[LOSS_LIST_COUNT] = {
	[LOSS_PORT] = {port_reasons, COUNT_OF(port_reasons)},
	[LOSS_DEVICE] = {device_reasons, COUNT_OF(device_reasons)},
	[LOSS_INTERFACE] = {interface_reasons, COUNT_OF(interface_reasons)},
	[LOSS_HOLD] = {hold_reasons, COUNT_OF(hold_reasons)},
};

/* One place with its numbers. */
struct place {
	char name[CONFIG_NAME_BYTES];
	union {
		struct port_totals port;
		struct port_io_stats device;
		struct daemon_interface interface;
		struct daemon_hold hold;
	} numbers;
};

static size_t place_count(const struct daemon *daemon, enum loss_list list)
{
	switch (list) {
	case LOSS_PORT:
		return (size_t)daemon_config(daemon)->port_count + 1;
	case LOSS_DEVICE:
		return daemon_config(daemon)->port_count;
	case LOSS_INTERFACE:
		return daemon_interface_count(daemon);
	case LOSS_HOLD:
	case LOSS_LIST_COUNT:
		break;
	}
	return 1;
}

static void place_read(const struct daemon *daemon, enum loss_list list, uint16_t index,
		       struct place *place)
{
	const struct config *config = daemon_config(daemon);
	struct daemon_port state;
	const char *name = "-";

	memset(place, 0, sizeof(*place));
	switch (list) {
	case LOSS_PORT:
		leaf_port_totals(daemon_leaf(daemon), index, &place->numbers.port);
		name = telemetry_port_name(config, index);
		break;
	case LOSS_DEVICE:
		if (daemon_port(daemon, index, &state) == 0)
			place->numbers.device = state.stats;
		name = telemetry_port_name(config, index);
		break;
	case LOSS_INTERFACE:
		if (daemon_interface(daemon, index, &place->numbers.interface) == 0)
			name = place->numbers.interface.name;
		break;
	case LOSS_HOLD:
	case LOSS_LIST_COUNT:
		daemon_hold(daemon, &place->numbers.hold);
		name = "cpu";
		break;
	}
	strncpy(place->name, name, sizeof(place->name) - 1);
}

static uint64_t place_number(const struct place *place, const struct reason *reason)
{
	uint64_t number;

	memcpy(&number, (const char *)&place->numbers + reason->offset, sizeof(number));
	return number;
}

/* Rows of one place, from its reason `first` on. @return the reason that found the page full */
static size_t place_rows(struct telemetry_page *page, const struct place *place,
			 enum loss_list list, size_t first)
{
	for (size_t i = first; i < lists[list].count; i++) {
		const struct reason *reason = &lists[list].reason[i];
		uint64_t number = place_number(place, reason);

		if (number == 0)
			continue;
		if (!telemetry_page_row(page))
			return i;
		telemetry_page_text(page, place->name);
		telemetry_page_text(page, reason->name);
		telemetry_page_number(page, number);
		telemetry_page_text(page, reason->help);
	}
	return lists[list].count;
}

/* The cursor: list, place and reason, so that it grows from page to page. */
#define CURSOR(list, place, reason) ((uint64_t)(list) << 32 | (uint64_t)(place) << 16 | (reason))

uint64_t telemetry_drops(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	size_t first = cursor & UINT16_MAX, index = cursor >> 16 & UINT16_MAX;
	uint64_t next = 0;

	telemetry_page_column(page, "port", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "reason", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_counter(page, "packets", "packets");
	telemetry_page_column(page, "help", TELEMETRY_TEXT);

	daemon_lock(daemon);
	for (uint64_t list = cursor >> 32; list < LOSS_LIST_COUNT && next == 0; list++) {
		size_t places = place_count(daemon, (enum loss_list)list);

		for (; index < places && next == 0; index++) {
			struct place place;
			size_t reached;

			place_read(daemon, (enum loss_list)list, (uint16_t)index, &place);
			reached = place_rows(page, &place, (enum loss_list)list, first);
			first = 0;
			if (reached < lists[list].count)
				next = CURSOR(list, index, reached);
		}
		index = 0;
	}
	daemon_unlock(daemon);
	return next;
}

uint64_t telemetry_reasons(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	uint64_t i = 0, next = 0;

	(void)daemon;
	telemetry_page_column(page, "reason", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "help", TELEMETRY_TEXT);
	for (size_t list = 0; list < LOSS_LIST_COUNT && next == 0; list++)
		for (size_t r = 0; r < lists[list].count && next == 0; r++, i++) {
			if (i < cursor)
				continue;
			if (!telemetry_page_row(page)) {
				next = i;
				break;
			}
			telemetry_page_text(page, lists[list].reason[r].name);
			telemetry_page_text(page, lists[list].reason[r].help);
		}
	return next;
}
