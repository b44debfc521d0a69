/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

struct socket_client {
	struct loop_source source;
	struct control_socket *owner;
	uint64_t since_ns;
	uint32_t size;
	char line[SOCKET_LINE_BYTES];
};

struct control_socket {
	struct loop *loop;
	struct loop_source source;
	socket_handler *handler;
	void *context;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	struct socket_client client[SOCKET_CLIENTS];
};

int socket_parse(const char *line, struct socket_request *request, const char **error)
{
	static const struct {
		const char *word;
		enum socket_command command;
		bool argument;
	} commands[] = {
		{"reload", SOCKET_RELOAD, false},          {"mark", SOCKET_MARK, true},
		{"clear-peaks", SOCKET_CLEAR_PEAKS, true}, {"record", SOCKET_RECORD, true},
		{"capture", SOCKET_CAPTURE, true},         {"ping", SOCKET_PING, false},
	};
	size_t length = strcspn(line, " ");
	const char *rest = line + length + strspn(line + length, " ");

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strlen(commands[i].word) != length ||
		    memcmp(commands[i].word, line, length) != 0)
			continue;
		if (commands[i].argument != (rest[0] != '\0')) {
			*error = commands[i].argument ? "this command needs an argument"
						      : "this command takes no argument";
			return -EINVAL;
		}
		*request = (struct socket_request){commands[i].command, rest, NULL};
		return 0;
	}
	*error =
		"unknown command; there are reload, mark TEXT, clear-peaks KIND, record WORDS, capture WORDS and ping";
	return -EINVAL;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void client_close(struct socket_client *client)
{
	int fd = client->source.fd;

	loop_remove(client->owner->loop, &client->source);
	if (fd >= 0)
		close(fd);
}

static void send_answer_to(int client_fd, const char *text, size_t size, int fd)
{
	char room[CMSG_SPACE(sizeof(fd))] = {0};
	struct iovec part = {(void *)(uintptr_t)text, size};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *header;

	if (fd >= 0) {
		message.msg_control = room;
		message.msg_controllen = sizeof(room);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	(void)!sendmsg(client_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (fd >= 0)
		close(fd);
}

/* The whole answer fits the socket's buffer, or the client gets a part: nobody waits for it. */
static void client_answer(struct socket_client *client)
{
	struct control_socket *socket = client->owner;
	struct socket_request request;
	const char *wrong;
	char *text = NULL;
	size_t size = 0;
	FILE *reply = open_memstream(&text, &size);
	int fd = -1;

	if (reply == NULL)
		return;
	if (socket_parse(client->line, &request, &wrong) == 0) {
		request.fd = &fd;
		socket->handler(socket->context, &request, reply);
	} else {
		(void)fprintf(reply, "error %s\n", wrong);
	}
	if (fclose(reply) == 0 && client->source.fd >= 0)
		send_answer_to(client->source.fd, text, size, fd);
	else if (fd >= 0)
		close(fd);
	free(text);
}

static void client_ready(void *context)
{
	struct socket_client *client = context;
	ssize_t got = recv(client->source.fd, client->line + client->size,
			   sizeof(client->line) - 1 - client->size, MSG_DONTWAIT);
	char *end;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0) {
		client->size += (uint32_t)got;
		client->line[client->size] = '\0';
		end = memchr(client->line, '\n', client->size);
		if (end == NULL && client->size < sizeof(client->line) - 1)
			return;
		if (end != NULL) {
			*end = '\0';
			if (end > client->line && end[-1] == '\r')
				end[-1] = '\0';
			client_answer(client);
		}
	}
	client_close(client);
}

/* A place for a client: a free one, or that of the one who has been silent for too long. */
static struct socket_client *client_place(struct control_socket *socket, uint64_t now_ns)
{
	struct socket_client *oldest = &socket->client[0];

	for (unsigned i = 0; i < SOCKET_CLIENTS; i++) {
		struct socket_client *client = &socket->client[i];

		if (client->source.fd < 0)
			return client;
		if (client->since_ns < oldest->since_ns)
			oldest = client;
	}
	if (now_ns - oldest->since_ns < SOCKET_IDLE_NS)
		return NULL;
	client_close(oldest);
	return oldest;
}

static void socket_ready(void *context)
{
	struct control_socket *socket = context;
	int fd = accept4(socket->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	uint64_t now_ns = monotonic_ns();
	struct socket_client *client;

	if (fd < 0)
		return;
	client = client_place(socket, now_ns);
	if (client == NULL) {
		static const char busy[] = "error too many clients at once\n";

		(void)!send(fd, busy, sizeof(busy) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		close(fd);
		return;
	}
	client->size = 0;
	client->since_ns = now_ns;
	if (loop_add(socket->loop, &client->source, fd, client_ready, client) != 0)
		close(fd);
}

struct control_socket *socket_open(const char *path, struct loop *loop, socket_handler *handler,
				   void *context)
{
	struct control_socket *control = calloc(1, sizeof(*control));
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = -1, error;

	if (control == NULL || strlen(path) >= sizeof(address.sun_path)) {
		error = control == NULL ? ENOMEM : ENAMETOOLONG;
		goto err_free;
	}
	control->loop = loop;
	control->handler = handler;
	control->context = context;
	memcpy(control->path, path, strlen(path) + 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	for (unsigned i = 0; i < SOCKET_CLIENTS; i++) {
		control->client[i].owner = control;
		control->client[i].source.fd = -1;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		goto err_errno;
	if (unlink(path) != 0 && errno != ENOENT)
		goto err_errno;
	/* The directory is closed to others, so nobody connects before chmod(). */
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || chmod(path, 0600) != 0 ||
	    listen(fd, SOCKET_CLIENTS) != 0)
		goto err_errno;
	error = -loop_add(loop, &control->source, fd, socket_ready, control);
	if (error != 0)
		goto err_free;
	return control;

err_errno:
	error = errno;
err_free:
	if (fd >= 0)
		close(fd);
	free(control);
	errno = error;
	return NULL;
}

void socket_close(struct control_socket *socket)
{
	int fd;

	if (socket == NULL)
		return;
	for (unsigned i = 0; i < SOCKET_CLIENTS; i++)
		client_close(&socket->client[i]);
	fd = socket->source.fd;
	loop_remove(socket->loop, &socket->source);
	if (fd >= 0)
		close(fd);
	(void)unlink(socket->path);
	free(socket);
}
