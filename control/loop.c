/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

int loop_open(struct loop *loop)
{
	loop->ready_count = 0;
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->fd < 0 ? -errno : 0;
}

void loop_close(struct loop *loop)
{
	if (loop->fd >= 0)
		close(loop->fd);
	loop->fd = -1;
}

int loop_add(struct loop *loop, struct loop_source *source, int fd, void (*ready)(void *context),
	     void *context)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

	*source = (struct loop_source){.fd = fd, .ready = ready, .context = context};
	if (epoll_ctl(loop->fd, EPOLL_CTL_ADD, fd, &event) == 0)
		return 0;
	source->fd = -1;
	return -errno;
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
	if (source->fd >= 0)
		(void)epoll_ctl(loop->fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->fd = -1;
	for (int i = 0; i < loop->ready_count; i++)
		if (loop->ready[i] == source)
			loop->ready[i] = NULL;
}

void loop_wait(struct loop *loop, int timeout_ms)
{
	struct epoll_event event[LOOP_EVENTS_MAX];
	int count = epoll_wait(loop->fd, event, LOOP_EVENTS_MAX, timeout_ms);

	loop->ready_count = count < 0 ? 0 : count;
	for (int i = 0; i < loop->ready_count; i++)
		loop->ready[i] = event[i].data.ptr;
}

void loop_dispatch(struct loop *loop)
{
	for (int i = 0; i < loop->ready_count; i++)
		if (loop->ready[i] != NULL)
			loop->ready[i]->ready(loop->ready[i]->context);
	loop->ready_count = 0;
}
