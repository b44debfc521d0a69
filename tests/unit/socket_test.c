/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/socket.h"

static const struct {
	const char *line;
	int result;
	enum socket_command command;
	const char *argument;
} lines[] = {
	{"reload", 0, SOCKET_RELOAD, ""},
	{"ping", 0, SOCKET_PING, ""},
	{"mark epoch 7 begins", 0, SOCKET_MARK, "epoch 7 begins"},
	{"mark   x", 0, SOCKET_MARK, "x"},
	{"clear-peaks user", 0, SOCKET_CLEAR_PEAKS, "user"},
	{"clear-peaks", -EINVAL, 0, NULL},
	{"mark", -EINVAL, 0, NULL},
	{"mark ", -EINVAL, 0, NULL},
	{"reload now", -EINVAL, 0, NULL},
	{"reloa", -EINVAL, 0, NULL},
	{"reloadx", -EINVAL, 0, NULL},
	{"RELOAD", -EINVAL, 0, NULL},
	{" reload", -EINVAL, 0, NULL},
	{"", -EINVAL, 0, NULL},
};

Test(socket, takes_requests_apart)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct socket_request request = {0};
		const char *error = NULL;

		cr_assert_eq(socket_parse(lines[i].line, &request, &error), lines[i].result, "'%s'",
			     lines[i].line);
		if (lines[i].result == 0) {
			cr_assert_eq(request.command, lines[i].command, "'%s'", lines[i].line);
			cr_assert_str_eq(request.argument, lines[i].argument);
		} else {
			cr_assert_not_null(error, "'%s'", lines[i].line);
		}
	}
}

/* --- over a real socket --- */

static char directory[] = "/tmp/socket_test_XXXXXX";
static char path[64];
static struct loop loop;
static struct control_socket *server;
static unsigned handled;

static void handle(void *context, const struct socket_request *request, FILE *reply)
{
	(void)context;
	handled++;
	(void)fprintf(reply, "ok %d %s\n", request->command, request->argument);
}

static void setup(void)
{
	cr_assert_not_null(mkdtemp(directory));
	(void)snprintf(path, sizeof(path), "%s/control.sock", directory);
	cr_assert_eq(loop_open(&loop), 0);
	server = socket_open(path, &loop, handle, NULL);
	cr_assert_not_null(server);
}

static void teardown(void)
{
	socket_close(server);
	loop_close(&loop);
	cr_assert_neq(access(path, F_OK), 0, "the path is removed");
	(void)rmdir(directory);
}

static int client(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = 5};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

static void serve(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		loop_wait(&loop, 100);
		loop_dispatch(&loop);
	}
}

/* All until the server closes. */
static const char *answer(int fd)
{
	static char text[256];
	size_t used = 0;
	ssize_t got;

	while ((got = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)got;
	cr_assert_eq(got, 0, "the server closes");
	text[used] = '\0';
	close(fd);
	return text;
}

TestSuite(socket_server, .init = setup, .fini = teardown);

Test(socket_server, answers_and_closes)
{
	int fd = client();

	cr_assert_eq(write(fd, "mark a b\n", 9), 9);
	serve(2);
	cr_assert_str_eq(answer(fd), "ok 1 a b\n");
	cr_assert_eq(handled, 1);
}

Test(socket_server, waits_for_the_end_of_the_line)
{
	int fd = client();

	cr_assert_eq(write(fd, "rel", 3), 3);
	serve(2);
	cr_assert_eq(handled, 0);
	cr_assert_eq(write(fd, "oad\r\n", 5), 5);
	serve(1);
	cr_assert_str_eq(answer(fd), "ok 0 \n");
}

Test(socket_server, refuses_what_it_does_not_know)
{
	int fd = client();

	cr_assert_eq(write(fd, "shutdown\n", 9), 9);
	serve(2);
	cr_assert_eq(strncmp(answer(fd), "error ", 6), 0);
	cr_assert_eq(handled, 0);
}

Test(socket_server, drops_a_line_without_end)
{
	char line[SOCKET_LINE_BYTES + 10];
	int fd = client();

	memset(line, 'x', sizeof(line));
	cr_assert_eq(write(fd, line, sizeof(line)), (ssize_t)sizeof(line));
	serve(2);
	while (read(fd, line, sizeof(line)) > 0)
		;
	close(fd);
	cr_assert_eq(handled, 0);
}

Test(socket_server, survives_a_client_that_goes_away)
{
	int fd = client();

	cr_assert_eq(write(fd, "ping\n", 5), 5);
	close(fd);
	serve(2);
	fd = client();
	cr_assert_eq(write(fd, "ping\n", 5), 5);
	serve(2);
	cr_assert_str_eq(answer(fd), "ok 2 \n");
}

Test(socket_server, refuses_more_clients_than_it_has_places_for)
{
	int fd[SOCKET_CLIENTS + 1];

	for (unsigned i = 0; i < SOCKET_CLIENTS; i++) {
		fd[i] = client();
		serve(1);
	}
	fd[SOCKET_CLIENTS] = client();
	serve(1);
	cr_assert_eq(strncmp(answer(fd[SOCKET_CLIENTS]), "error ", 6), 0);
	for (unsigned i = 0; i < SOCKET_CLIENTS; i++)
		close(fd[i]);
	serve(SOCKET_CLIENTS);
}

Test(socket_server, is_for_its_owner_only)
{
	struct stat status;

	cr_assert_eq(stat(path, &status), 0);
	cr_assert_eq(status.st_mode & 0777, 0600);
}
