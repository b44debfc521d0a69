/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * socket - the control socket: one line in, lines out, then the daemon closes.
 *
 *	reload\n      ok TEXT\n  when the file was taken over, else one or more lines `error TEXT\n`
 *	              and nothing has changed
 *	mark TEXT\n   ok TEXT\n  puts a note among the events
 *	clear-peaks KIND\n  ok TEXT\n  forgets the peaks of a kind (leaf.h: user, periodic, persistent)
 *	record WORDS\n   ok TEXT\n  see record.c
 *	capture WORDS\n  ok TEXT\n  see capture.c; a descriptor comes with it (SCM_RIGHTS)
 *	ping\n        ok TEXT\n
 *
 * Anything else answers `error ...`. SOCKET_CLIENTS at a time, lines of at most SOCKET_LINE_BYTES;
 * a client that sends no whole line within SOCKET_IDLE_NS is dropped when its place is needed.
 * Who may connect is decided by the mode of the socket (0600) and of its directory (0700).
 *
 * Thread: control.
 */
#ifndef CONTROL_SOCKET_H
#define CONTROL_SOCKET_H

#include <stdint.h>
#include <stdio.h>

#include "control/loop.h"

#define SOCKET_CLIENTS    8
#define SOCKET_LINE_BYTES 512
#define SOCKET_IDLE_NS    UINT64_C(2000000000)

enum socket_command {
	SOCKET_RELOAD,
	SOCKET_MARK,
	SOCKET_PING,
	SOCKET_CLEAR_PEAKS,
	SOCKET_RECORD,
	SOCKET_CAPTURE,
};

struct socket_request {
	enum socket_command command;
	const char *argument; /* rest of the line; "" when there is none */
	int *fd; /* where a handler puts a descriptor that goes with its answer, and is closed then; -1 */
};

/**
 * Take a request apart.
 * @param line without its newline, ends with NUL; the request points into it
 * @return 0, or -EINVAL with *error a sentence for the client
 */
int socket_parse(const char *line, struct socket_request *request, const char **error);

struct control_socket;

/** Carry out a request: print its answer to `reply`. */
typedef void socket_handler(void *context, const struct socket_request *request, FILE *reply);

/**
 * Listen. A socket of that name that is left over from a daemon before is replaced (the lock on the
 * directory says that nobody uses it).
 * @return the socket, or NULL with errno set
 */
struct control_socket *socket_open(const char *path, struct loop *loop, socket_handler *handler,
				   void *context);

/** Close, and remove the path. NULL is fine. */
void socket_close(struct control_socket *socket);

#endif
