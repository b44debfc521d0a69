/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* DPDK's answers have at most 16 KiB; room for more, so that a longer one is seen as such. */
#define ANSWER_BYTES 65536

/* Pages of one table: rows / (rows of a page); the FDB may send empty ones. */
#define PAGES_MAX 1000000

static int connect_fail(struct ctl_error *error, int number, const char *dir, const char *path)
{
	if (number == ENOENT || number == ECONNREFUSED || number == ENOTDIR)
		return ctl_fail(
			error, ENOENT,
			"no roceleaf runs at %.200s: start it with 'roceleaf -c leaf.yaml', "
			"or name its runtime_dir with --runtime-dir",
			dir);
	if (number == EACCES || number == EPERM)
		return ctl_fail(error, EACCES,
				"%.200s: permission denied: only the user that runs roceleaf, and "
				"root, may ask it",
				path);
	return ctl_fail(error, number, "%.200s: %s", path, strerror(number));
}

static int socket_connect(const char *dir, const char *name, int type, struct ctl_error *error)
{
	const struct timeval timeout = {.tv_sec = CLIENT_TIMEOUT_SECONDS};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t room = sizeof(address.sun_path);
	int fd, ret;

	if ((size_t)snprintf(address.sun_path, room, "%s/%s", dir, name) >= room)
		return ctl_fail(error, ENAMETOOLONG,
				"%.200s/%s is %zu bytes long, a socket's path at most %zu", dir,
				name, strlen(dir) + 1 + strlen(name), room - 1);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return ctl_fail(error, errno, "socket: %s", strerror(errno));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		ret = connect_fail(error, errno, dir, address.sun_path);
		close(fd);
		return ret;
	}
	/* Without the timeout a daemon that hangs would only take us along. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	return fd;
}

static int io_fail(const struct client *client, int number, struct ctl_error *error)
{
	if (number == EAGAIN)
		return ctl_fail(error, ETIMEDOUT, "roceleaf at %.200s did not answer within %d s",
				client->runtime_dir, CLIENT_TIMEOUT_SECONDS);
	return ctl_fail(error, ECONNRESET, "roceleaf at %.200s has gone", client->runtime_dir);
}

/* One message. @return its size, > 0; negative on failure */
static ssize_t receive(const struct client *client, char answer[ANSWER_BYTES],
		       struct ctl_error *error)
{
	ssize_t size;

	do
		size = recv(client->fd, answer, ANSWER_BYTES, MSG_TRUNC);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return io_fail(client, errno, error);
	if (size == 0)
		return io_fail(client, ECONNRESET, error);
	if (size > ANSWER_BYTES)
		return ctl_fail(error, EPROTO, "roceleaf sent %zd bytes at once, at most %d can be",
				size, ANSWER_BYTES);
	return size;
}

int client_open_fd(struct client *client, int fd, const char *runtime_dir, struct ctl_error *error)
{
	char *answer = malloc(ANSWER_BYTES);
	ssize_t size;
	int ret = 0;

	*client = (struct client){.runtime_dir = runtime_dir, .fd = fd};
	if (answer == NULL) {
		client_close(client);
		return ctl_fail(error, ENOMEM, "out of memory");
	}
	/* DPDK says hello first ({"version", "pid", "max_output_len"}), or hangs up when full. */
	size = receive(client, answer, error);
	if (size == -ECONNRESET)
		ret = ctl_fail(
			error, EAGAIN,
			"roceleaf at %.200s has its 10 clients already: end one and try again",
			runtime_dir);
	else if (size < 0)
		ret = (int)size;
	else if (answer[0] != '{')
		ret = ctl_fail(error, EPROTO, "%.200s/%s: not a telemetry socket", runtime_dir,
			       CLIENT_TELEMETRY_SOCKET);
	free(answer);
	if (ret != 0)
		client_close(client);
	return ret;
}

int client_open(struct client *client, const char *runtime_dir, struct ctl_error *error)
{
	int fd = socket_connect(runtime_dir, CLIENT_TELEMETRY_SOCKET, SOCK_SEQPACKET, error);

	client->fd = -1;
	return fd < 0 ? fd : client_open_fd(client, fd, runtime_dir, error);
}

void client_close(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

static int fetch_page(struct client *client, const char *command, uint64_t cursor,
		      struct reply *reply, char *answer, uint64_t *next, struct ctl_error *error)
{
	char request[96];
	int length = snprintf(request, sizeof(request), "%s,%" PRIu64, command, cursor);
	ssize_t size;

	if (send(client->fd, request, (size_t)length, MSG_NOSIGNAL) < 0)
		return io_fail(client, errno, error);
	size = receive(client, answer, error);
	if (size < 0)
		return (int)size;
	return reply_add_page(reply, command, answer, (size_t)size, next, error);
}

int client_fetch_from(struct client *client, const char *command, uint64_t cursor,
		      struct reply *reply, struct ctl_error *error)
{
	char *answer = malloc(ANSWER_BYTES);
	uint64_t next = 0;
	int ret = 0;

	if (answer == NULL)
		return ctl_fail(error, ENOMEM, "out of memory");
	for (int page = 0; page < PAGES_MAX; page++) {
		ret = fetch_page(client, command, cursor, reply, answer, &next, error);
		if (ret != 0 || next == 0)
			break;
		if (next <= cursor) {
			ret = ctl_fail(error, EPROTO,
				       "reply to %s: page %" PRIu64 " after %" PRIu64, command,
				       next, cursor);
			break;
		}
		cursor = next;
	}
	free(answer);
	if (ret == 0 && next != 0)
		ret = ctl_fail(error, E2BIG, "reply to %s: more than %d pages", command, PAGES_MAX);
	if (ret != 0)
		reply_free(reply);
	return ret;
}

int client_fetch(struct client *client, const char *command, struct reply *reply,
		 struct ctl_error *error)
{
	return client_fetch_from(client, command, 0, reply, error);
}

/* Copy the lines of an answer, without the word in front. @return 0 "ok", 1 "error" */
static int copy_answer(const char *dir, FILE *answer, FILE *out, FILE *refused,
		       struct ctl_error *error)
{
	int status = -EPROTO;
	char *line = NULL;
	size_t room = 0;
	ssize_t size;

	while ((size = getline(&line, &room, answer)) > 0) {
		bool ok;

		if (line[size - 1] == '\n')
			line[size - 1] = '\0';
		ok = strncmp(line, "ok ", 3) == 0;
		if (!ok && strncmp(line, "error ", 6) != 0) {
			status = -EPROTO;
			break;
		}
		status = ok && status <= 0 ? 0 : 1;
		text_clean(line);
		fprintf(ok ? out : refused, "%s\n", strchr(line, ' ') + 1);
	}
	free(line);
	if (status < 0)
		return ctl_fail(error, EPROTO, "%.200s/%s: no answer within %d s, or not ours", dir,
				CLIENT_CONTROL_SOCKET, CLIENT_TIMEOUT_SECONDS);
	return status;
}

/* An answer that a descriptor comes with. */
struct short_answer {
	char text[512];
	int fd; /* -1: none */
};

static ssize_t receive_short(int socket_fd, struct short_answer *answer)
{
	char room[CMSG_SPACE(sizeof(answer->fd))];
	struct iovec part = {answer->text, sizeof(answer->text)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};
	ssize_t got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);

	if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(answer->fd)))
		memcpy(&answer->fd, CMSG_DATA(header), sizeof(answer->fd));
	return got;
}

int client_control_fd(const char *runtime_dir, const char *line, FILE *out, FILE *refused, int *fd,
		      struct ctl_error *error)
{
	int socket_fd = socket_connect(runtime_dir, CLIENT_CONTROL_SOCKET, SOCK_STREAM, error);
	struct short_answer received = {.fd = -1};
	char request[256];
	ssize_t size = snprintf(request, sizeof(request), "%s\n", line), got = -1;
	FILE *answer;
	int ret;

	*fd = -1;
	if (socket_fd < 0)
		return socket_fd;
	if (size < (ssize_t)sizeof(request) &&
	    send(socket_fd, request, (size_t)size, MSG_NOSIGNAL) == size)
		got = receive_short(socket_fd, &received);
	close(socket_fd);
	*fd = received.fd;
	if (got <= 0)
		return ctl_fail(error, ECONNRESET, "roceleaf at %.200s has gone", runtime_dir);
	answer = fmemopen(received.text, (size_t)got, "r");
	if (answer == NULL)
		return ctl_fail(error, ENOMEM, "out of memory");
	ret = copy_answer(runtime_dir, answer, out, refused, error);
	fclose(answer);
	if (ret == 0 && *fd < 0)
		return ctl_fail(error, EPROTO, "roceleaf at %.200s sent no descriptor",
				runtime_dir);
	return ret;
}

int client_control(const char *runtime_dir, const char *line, FILE *out, FILE *refused,
		   struct ctl_error *error)
{
	int fd = socket_connect(runtime_dir, CLIENT_CONTROL_SOCKET, SOCK_STREAM, error);
	size_t size = strlen(line);
	FILE *answer;
	int ret;

	if (fd < 0)
		return fd;
	answer = fdopen(fd, "r");
	if (answer == NULL) {
		close(fd);
		return ctl_fail(error, ENOMEM, "out of memory");
	}
	if (send(fd, line, size, MSG_NOSIGNAL) != (ssize_t)size ||
	    send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
		ret = ctl_fail(error, ECONNRESET, "roceleaf at %.200s has gone", runtime_dir);
	else
		ret = copy_answer(runtime_dir, answer, out, refused, error);
	fclose(answer);
	return ret;
}
