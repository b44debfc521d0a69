/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client - the two sockets of a running leaf, in its runtime directory.
 *
 * Telemetry (SOCK_SEQPACKET, DPDK's form): "/roceleaf/ports,CURSOR" out, a page of JSON in. The
 * control socket (SOCK_STREAM): a line out, lines in. Nothing waits longer than
 * CLIENT_TIMEOUT_SECONDS for an answer.
 *
 * Thread: any; a client by one at a time.
 */
#ifndef TOOLS_CTL_CLIENT_H
#define TOOLS_CTL_CLIENT_H

#include <stdio.h>

#include "tools/ctl/reply.h"
#include "tools/ctl/text.h"

#define CLIENT_TIMEOUT_SECONDS 5

/* Below the runtime directory. */
#define CLIENT_TELEMETRY_SOCKET "dpdk/leaf/dpdk_telemetry.v2"
#define CLIENT_CONTROL_SOCKET   "control.sock"

struct client {
	const char *runtime_dir; /* for messages */
	int fd;
};

/**
 * Connect to the telemetry of the leaf that has this runtime directory.
 * @return 0; -ENOENT no leaf runs there, -EACCES, -EAGAIN no room for a further client, -EPROTO,
 *         -ENAMETOOLONG; error says what to do
 */
int client_open(struct client *client, const char *runtime_dir, struct ctl_error *error);

/** The same over a socket that is connected already; takes it over. */
int client_open_fd(struct client *client, int fd, const char *runtime_dir, struct ctl_error *error);

void client_close(struct client *client);

/**
 * Fetch a whole table, page by page.
 * @param command "/roceleaf/ports"
 * @param reply   initialised; freed again on failure
 * @return 0; -ETIMEDOUT, -ECONNRESET, -EPROTO, -E2BIG, -ENOMEM
 */
int client_fetch(struct client *client, const char *command, struct reply *reply,
		 struct ctl_error *error);

/** The same from a cursor on: where the table says what that is (events: their number). */
int client_fetch_from(struct client *client, const char *command, uint64_t cursor,
		      struct reply *reply, struct ctl_error *error);

/**
 * Send a line to the control socket and copy what comes back: to `out` what is done, to `refused`
 * what is not.
 * @return 0 when the leaf said that it is done, 1 when it refused; negative as client_open()
 */
int client_control(const char *runtime_dir, const char *line, FILE *out, FILE *refused,
		   struct ctl_error *error);

/**
 * The same where a descriptor comes with the answer.
 * @param fd set to it when the leaf has done it, else to -1
 */
int client_control_fd(const char *runtime_dir, const char *line, FILE *out, FILE *refused, int *fd,
		      struct ctl_error *error);

#endif
