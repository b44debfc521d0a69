/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/http.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "control/daemon.h"
#include "control/events.h"
#include "control/openmetrics.h"

/* Beyond the places: those whose clients were told to go, until the library has noticed. */
#define CONNECTIONS_MAX (2 * HTTP_CLIENTS)

/* Clients that wait to be accepted. */
#define BACKLOG 1024

struct http {
	struct daemon *daemon;
	struct MHD_Daemon *server;
	/* Sockets of the clients, the one that came first first. Of the server's thread. */
	int client[HTTP_CLIENTS];
	uint32_t clients;
};

static void forget_client(struct http *http, uint32_t index)
{
	http->clients--;
	memmove(&http->client[index], &http->client[index + 1],
		(http->clients - index) * sizeof(http->client[0]));
}

static int socket_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* A client comes or goes. Its socket is still open when it goes. */
static void on_connection(void *context, struct MHD_Connection *connection, void **unused,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = context;
	int fd = socket_of(connection);

	(void)unused;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		if (http->clients == HTTP_CLIENTS) {
			(void)shutdown(http->client[0], SHUT_RDWR);
			forget_client(http, 0);
		}
		http->client[http->clients++] = fd;
		return;
	}
	for (uint32_t i = 0; i < http->clients; i++) {
		if (http->client[i] == fd) {
			forget_client(http, i);
			return;
		}
	}
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
			      struct MHD_Response *response)
{
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, char *text)
{
	return answer(connection, status, "text/plain; charset=utf-8",
		      MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result answer_metrics(const struct http *http, struct MHD_Connection *connection)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	bool classic = accept == NULL || strstr(accept, "application/openmetrics-text") == NULL;
	size_t size;
	char *text = openmetrics_text(http->daemon, classic, &size);

	if (text == NULL)
		return MHD_NO;
	return answer(connection, MHD_HTTP_OK, classic ? OPENMETRICS_TYPE_TEXT : OPENMETRICS_TYPE,
		      MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result on_http_request(void *context, struct MHD_Connection *connection,
				       const char *url, const char *method, const char *version,
				       const char *body, size_t *body_bytes, void **request)
{
	static char missing[] = "There is /metrics.\n", refused[] = "Only GET and HEAD.\n";
	static char index[] = "roceleaf: metrics are at /metrics\n";
	static int seen;

	(void)version;
	(void)body;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		/* What a client goes on to send isn't kept. */
		*body_bytes = 0;
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, refused);
	}
	/* The first call for a request comes before its body; a body of a GET is passed over. */
	if (*request == NULL || *body_bytes != 0) {
		*request = &seen;
		*body_bytes = 0;
		return MHD_YES;
	}
	if (strcmp(url, "/metrics") == 0)
		return answer_metrics(context, connection);
	if (strcmp(url, "/") == 0)
		return answer_text(connection, MHD_HTTP_OK, index);
	return answer_text(connection, MHD_HTTP_NOT_FOUND, missing);
}

static int listen_at(const struct config_listen *at)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(at->port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(at->port)};
	bool is_v6 = at->address.family == 6;
	int fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, error;

	if (fd < 0)
		return -1;
	memcpy(&v4.sin_addr, at->address.bytes, sizeof(v4.sin_addr));
	memcpy(&v6.sin6_addr, at->address.bytes, sizeof(v6.sin6_addr));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
		 is_v6 ? sizeof(v6) : sizeof(v4)) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* @return NULL with errno set */
static struct http *serve(struct daemon *daemon, const struct config_listen *at)
{
	struct http *http = calloc(1, sizeof(*http));
	int fd;

	if (http == NULL)
		return NULL;
	http->daemon = daemon;
	fd = listen_at(at);
	if (fd < 0)
		goto err_free;
	http->server = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL, 0, NULL, NULL, on_http_request,
		http, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_S, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, http, MHD_OPTION_END);
	if (http->server != NULL)
		return http;
	close(fd);
	errno = ENOMEM;
err_free:
	free(http);
	return NULL;
}

struct http *http_start(struct daemon *daemon)
{
	const struct config_listen *at = &daemon_config(daemon)->telemetry.http;
	struct http *http;

	if (at->port == 0)
		return NULL;
	http = serve(daemon, at);
	if (http == NULL)
		events_add(daemon_events(daemon), EVENT_WARNING, EVENT_PORT_NONE,
			   "metrics can't be served at port %u (telemetry.http): %s", at->port,
			   strerror(errno));
	return http;
}

void http_stop(struct http *http)
{
	if (http == NULL)
		return;
	MHD_stop_daemon(http->server); /* closes the socket, too */
	free(http);
}
