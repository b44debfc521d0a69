/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int notify_send(const char *message)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path == NULL ? 0 : strlen(path);
	int fd, error = 0;

	if (length == 0)
		return 0;
	if (length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return -EINVAL;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@') /* the abstract namespace */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
		error = -errno;
	close(fd);
	return error;
}

int notify_reloading(void)
{
	struct timespec now;
	char text[64];

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
		       (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	return notify_send(text);
}
