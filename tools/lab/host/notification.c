/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/host/notification.h"

#include <assert.h>
#include <string.h>

#include "dataplane/units.h"

void notification_init(struct notification *notification, const struct frame_path *path)
{
	memset(notification, 0, sizeof(*notification));
	frame_template_init(&notification->template, path);
}

/* All windows are equally long: whoever opens one last closes it last. */
static void window_open(struct notifier *notifier, struct notification *notification,
			uint64_t now_ps)
{
	notification->open = true;
	notification->marked = false;
	notification->window_end_ps = now_ps + notifier->interval_ps;
	notification->next_open = NULL;
	if (notifier->open.first == NULL)
		notifier->open.first = notification;
	else
		notifier->open.last->next_open = notification;
	notifier->open.last = notification;
}

static void ask(struct notifier *notifier, struct notification *notification, uint64_t now_ps)
{
	if (notifier->interval_ps != 0)
		window_open(notifier, notification, now_ps);
	if (notification->asked)
		return;
	notification->asked = true;
	notification->next_asked = NULL;
	if (notifier->asked.first == NULL)
		notifier->asked.first = notification;
	else
		notifier->asked.last->next_asked = notification;
	notifier->asked.last = notification;
}

void notification_marked(struct notifier *notifier, struct notification *notification,
			 uint64_t now_ps)
{
	/* A window that ends now is over. */
	notifier_advance(notifier, now_ps);
	if (notification->open)
		notification->marked = true;
	else
		ask(notifier, notification, now_ps);
}

uint64_t notifier_advance(struct notifier *notifier, uint64_t now_ps)
{
	struct notification *notification;

	while ((notification = notifier->open.first) != NULL &&
	       !time_after(notification->window_end_ps, now_ps)) {
		notifier->open.first = notification->next_open;
		notification->open = false;
		if (notification->marked)
			ask(notifier, notification, notification->window_end_ps);
	}
	return notification == NULL ? now_ps + TIME_IDLE_PS : notification->window_end_ps;
}

void notifier_build(struct notifier *notifier, struct rte_mbuf *packet)
{
	struct notification *notification = notifier->asked.first;
	/* The stamp of 0 is what the reserved bytes are. */
	static const struct frame_packet what = {
		.opcode = FRAME_CNP,
		.payload_bytes = NOTIFICATION_RESERVED_BYTES,
	};

	assert(notification != NULL);
	notifier->asked.first = notification->next_asked;
	notification->asked = false;
	notification->sent++;
	frame_build(&notification->template, packet, &what);
}
