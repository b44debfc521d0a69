/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request - carries out what users ask for over the control socket.
 */
#include "control/state.h"

void request_run(void *context, const struct socket_request *request, FILE *reply)
{
	struct daemon *daemon = context;

	switch (request->command) {
	case SOCKET_RELOAD:
		(void)reload_run(daemon, reply);
		break;
	case SOCKET_MARK:
		marks_note(daemon, request->argument, reply);
		break;
	case SOCKET_CLEAR_PEAKS:
		watch_clear_peaks(daemon, request->argument, reply);
		break;
	case SOCKET_RECORD:
		record_command(daemon, request->argument, reply);
		break;
	case SOCKET_CAPTURE:
		capture_command(daemon, request->argument, reply, request->fd);
		break;
	case SOCKET_PING:
		(void)fprintf(reply, "ok roceleaf %s, leaf %s\n", ROCELEAF_VERSION,
			      daemon->config->leaf.name);
		break;
	}
}
