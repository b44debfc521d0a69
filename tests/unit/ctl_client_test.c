/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/ctl/client.h"

#define HELLO   "{\"version\":\"DPDK 22.11\",\"pid\":1,\"max_output_len\":16384}"
#define COMMAND "/roceleaf/ports"
#define PAGE(next, port)                                                                         \
	"{\"" COMMAND "\":{\"instance\":9,\"time_ns\":1,\"next\":" #next ",\"keys\":[\"port\"]," \
	"\"port\":[\"" port "\"]}}"

/*
 * A leaf that says hello and then answers each request with the next of `answers`; a NULL hangs up.
 * @return our end of the socket
 */
static int fake_leaf(const char *hello, const char *const *answers, pid_t *pid)
{
	int fds[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	*pid = fork();
	cr_assert_geq(*pid, 0);
	if (*pid == 0) {
		char request[256];

		close(fds[0]);
		if (hello != NULL)
			(void)!send(fds[1], hello, strlen(hello), MSG_NOSIGNAL);
		for (; hello != NULL && *answers != NULL; answers++) {
			if (recv(fds[1], request, sizeof(request), 0) <= 0)
				break;
			(void)!send(fds[1], *answers, strlen(*answers), MSG_NOSIGNAL);
		}
		_exit(0);
	}
	close(fds[1]);
	return fds[0];
}

static int fetch(const char *const *answers, struct reply *reply, struct ctl_error *error)
{
	struct client client;
	pid_t pid;
	int fd = fake_leaf(HELLO, answers, &pid), ret;

	reply_init(reply);
	cr_assert_eq(client_open_fd(&client, fd, "/run/x", error), 0, "%s", error->text);
	ret = client_fetch(&client, COMMAND, reply, error);
	client_close(&client);
	waitpid(pid, NULL, 0);
	return ret;
}

Test(ctl_client, asks_page_after_page_until_there_is_no_next)
{
	static const char *const answers[] = {PAGE(4, "h1"), PAGE(5, "h2"), PAGE(0, "h3"), NULL};
	struct ctl_error error;
	struct reply reply;

	cr_assert_eq(fetch(answers, &reply, &error), 0, "%s", error.text);
	cr_expect_eq(reply.rows, 3);
	cr_expect_str_eq(reply_text(&reply, "port", 2), "h3");
	reply_free(&reply);
}

Test(ctl_client, a_leaf_that_goes_in_circles_is_left)
{
	static const char *const answers[] = {PAGE(4, "h1"), PAGE(4, "h1"), PAGE(4, "h1"), NULL};
	struct ctl_error error;
	struct reply reply;

	cr_expect_eq(fetch(answers, &reply, &error), -EPROTO);
	cr_expect_not_null(strstr(error.text, "page 4 after 4"), "%s", error.text);
	cr_expect_eq(reply.rows, 0, "nothing is left behind");
}

Test(ctl_client, a_leaf_that_goes_away_between_pages_is_said_so)
{
	static const char *const answers[] = {PAGE(4, "h1"), NULL};
	struct ctl_error error;
	struct reply reply;

	cr_expect_eq(fetch(answers, &reply, &error), -ECONNRESET);
	cr_expect_not_null(strstr(error.text, "/run/x"), "%s", error.text);
}

Test(ctl_client, an_answer_that_is_no_table_is_refused)
{
	static const char *const answers[] = {"{\"" COMMAND "\":null}", NULL};
	struct ctl_error error;
	struct reply reply;

	cr_expect_eq(fetch(answers, &reply, &error), -EPROTO);
	cr_expect_eq(reply.columns, 0);
}

Test(ctl_client, a_leaf_without_room_for_a_client_is_named)
{
	static const char *const answers[] = {NULL};
	struct ctl_error error;
	struct client client;
	pid_t pid;
	int fd = fake_leaf(NULL, answers, &pid);

	cr_expect_eq(client_open_fd(&client, fd, "/run/x", &error), -EAGAIN);
	cr_expect_not_null(strstr(error.text, "10 clients"), "%s", error.text);
	waitpid(pid, NULL, 0);
}

Test(ctl_client, without_a_leaf_it_says_how_to_start_one)
{
	char dir[] = "/tmp/roceleaf-client-XXXXXX";
	struct ctl_error error;
	struct client client;

	cr_assert_not_null(mkdtemp(dir));
	cr_expect_eq(client_open(&client, dir, &error), -ENOENT);
	cr_expect_not_null(strstr(error.text, dir), "%s", error.text);
	cr_expect_not_null(strstr(error.text, "roceleaf -c"), "%s", error.text);
	rmdir(dir);
}

Test(ctl_client, a_directory_too_long_for_a_socket_is_refused_with_the_bound)
{
	struct ctl_error error;
	struct client client;
	char dir[200];

	memset(dir, 'd', sizeof(dir) - 1);
	dir[0] = '/';
	dir[sizeof(dir) - 1] = '\0';
	cr_expect_eq(client_open(&client, dir, &error), -ENAMETOOLONG);
	cr_expect_not_null(strstr(error.text, "at most 107"), "%s", error.text);
}

/* --- the control socket --- */

static char control_dir[] = "/tmp/roceleaf-control-XXXXXX";

static int control(const char *answer, char *out, char *refused, size_t room)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	FILE *out_file = fmemopen(out, room, "w"), *refused_file = fmemopen(refused, room, "w");
	struct ctl_error error;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), ret;
	pid_t pid;

	out[0] = refused[0] = '\0';
	cr_assert_not_null(mkdtemp(control_dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock", control_dir);
	cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(listener, 1), 0);
	pid = fork();
	if (pid == 0) {
		int fd = accept(listener, NULL, NULL);
		char line[64] = "";

		for (size_t used = 0; used + 1 < sizeof(line) && strchr(line, '\n') == NULL;) {
			ssize_t got = recv(fd, line + used, sizeof(line) - 1 - used, 0);

			if (got <= 0)
				break;
			used += (size_t)got;
		}
		if (strcmp(line, "reload\n") == 0)
			(void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
		_exit(0);
	}
	ret = client_control(control_dir, "reload", out_file, refused_file, &error);
	fclose(out_file);
	fclose(refused_file);
	waitpid(pid, NULL, 0);
	close(listener);
	unlink(address.sun_path);
	rmdir(control_dir);
	strcpy(control_dir + strlen(control_dir) - 6, "XXXXXX");
	return ret;
}

Test(ctl_client, what_the_leaf_says_of_a_reload_is_passed_on)
{
	char out[256], refused[256];

	cr_expect_eq(control("ok reloaded leaf.yaml\n", out, refused, sizeof(out)), 0);
	cr_expect_str_eq(out, "reloaded leaf.yaml\n");
	cr_expect_str_eq(refused, "");
	cr_expect_eq(control("error a.yaml:1:2: no\nerror a.yaml:3:4: never\n", out, refused,
			     sizeof(out)),
		     1);
	cr_expect_str_eq(out, "");
	cr_expect_str_eq(refused, "a.yaml:1:2: no\na.yaml:3:4: never\n");
}

Test(ctl_client, answers_that_are_not_ours_are_no_success)
{
	char out[256], refused[256];

	cr_expect_eq(control("", out, refused, sizeof(out)), -EPROTO);
	cr_expect_eq(control("HTTP/1.1 200 OK\r\n", out, refused, sizeof(out)), -EPROTO);
	cr_expect_eq(control("ok fine\nerror but not quite\n", out, refused, sizeof(out)), 1);
	cr_expect_eq(control("okay fine\n", out, refused, sizeof(out)), -EPROTO);
}
