/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/http.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "control/daemon.h"
#include "control/events.h"
#include "control/http_handler.h"
#include "control/http_host.h"

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

/* --- requests --- */

/* Which handler a path belongs to. With `below`, all paths that go on behind it do. */
static const struct route {
	const char *method;
	const char *path;
	http_handler_fn *handle;
	bool below;
} routes[] = {
	{"GET", "/", http_page, false},
	{"GET", "/metrics", http_metrics, false},
	{"GET", "/v1/events", http_events, false},
	{"GET", "/v1/history", http_history, false},
	{"POST", "/v1/marks", http_marks, false},
	{"GET", "/v1/record", http_record, false},
	{"GET", "/v1/show/", http_show, true},
};

#define ROUTE_COUNT (sizeof(routes) / sizeof(routes[0]))

/* What a client sends behind its headers. */
struct upload {
	size_t size;
	bool too_long;
	char body[HTTP_BODY_BYTES + 1];
};

static bool route_has(const struct route *route, const char *path)
{
	return route->below ? strncmp(path, route->path, strlen(route->path)) == 0
			    : strcmp(path, route->path) == 0;
}

/* The route of a path and method, or NULL; `allowed` are the methods that its path has. */
static const struct route *route_find(const char *path, const char *method, char *allowed,
				      size_t size)
{
	const struct route *found = NULL;
	size_t used = 0;

	allowed[0] = '\0';
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		if (!route_has(&routes[i], path))
			continue;
		used += (size_t)snprintf(allowed + used, size - used, "%s%s%s",
					 used == 0 ? "" : ", ", routes[i].method,
					 strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
		if (strcmp(routes[i].method, method) == 0)
			found = &routes[i];
	}
	return found;
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_argument(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

int http_number(const struct http_request *request, const char *name, uint64_t fallback,
		uint64_t max, uint64_t *number)
{
	const char *text = http_argument(request, name);
	char *end;

	*number = fallback;
	if (text == NULL)
		return 0;
	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return errno != 0 || *end != '\0' || *number > max ? -EINVAL : 0;
}

void http_say(struct http_answer *answer, unsigned status, const char *text)
{
	answer->status = status;
	answer->type = HTTP_TYPE_TEXT;
	answer->text = (char *)(uintptr_t)text;
	answer->size = strlen(text);
	answer->is_static = true;
}

/* @param allowed methods of the path, or NULL */
static enum MHD_Result send_answer(struct MHD_Connection *connection,
				   const struct http_answer *answer, const char *allowed)
{
	struct MHD_Response *response;
	enum MHD_Result result;

	if (answer->status == 0)
		return MHD_NO;
	response = MHD_create_response_from_buffer(answer->size, answer->text,
						   answer->is_static ? MHD_RESPMEM_PERSISTENT
								     : MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		if (!answer->is_static)
			free(answer->text);
		return MHD_NO;
	}
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (answer->policy != NULL)
		(void)MHD_add_response_header(response, "Content-Security-Policy", answer->policy);
	if (allowed != NULL)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
	/* RFC 9110 15.5.2: it must say how to do better. */
	if (answer->status == MHD_HTTP_UNAUTHORIZED)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	result = MHD_queue_response(connection, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static bool is_for_us(const struct http *http, struct MHD_Connection *connection)
{
	const char *host =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	char machine[CONFIG_HOST_BYTES] = "";
	bool ours;

	(void)gethostname(machine, sizeof(machine) - 1);
	daemon_lock(http->daemon);
	ours = http_host_is_ours(host, daemon_config(http->daemon), machine);
	daemon_unlock(http->daemon);
	return ours;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, bool for_us, const char *allowed)
{
	struct http_answer answer = {0};

	if (!for_us)
		http_say(
			&answer, MHD_HTTP_MISDIRECTED_REQUEST,
			"The Host header names another server. Ask by an address, or have the name in "
			"telemetry.hosts.\n");
	else if (allowed[0] != '\0')
		http_say(&answer, MHD_HTTP_METHOD_NOT_ALLOWED, "Not with this method.\n");
	else
		http_say(&answer, MHD_HTTP_NOT_FOUND, "There is nothing here.\n");
	return send_answer(connection, &answer, for_us && allowed[0] != '\0' ? allowed : NULL);
}

static void keep_body(struct upload *upload, const char *body, size_t bytes)
{
	if (bytes > HTTP_BODY_BYTES - upload->size) {
		upload->too_long = true;
		return;
	}
	memcpy(upload->body + upload->size, body, bytes);
	upload->size += bytes;
}

static enum MHD_Result handle(struct http *http, struct MHD_Connection *connection,
			      const struct route *route, const char *path,
			      const struct upload *upload)
{
	const struct http_request request = {
		.daemon = http->daemon,
		.rest = path + strlen(route->path),
		.body = upload->body,
		.body_bytes = upload->size,
		.connection = connection,
	};
	struct http_answer answer = {0};

	if (upload->too_long)
		http_say(&answer, MHD_HTTP_CONTENT_TOO_LARGE, "The body is too long.\n");
	else
		route->handle(&request, &answer);
	return send_answer(connection, &answer, NULL);
}

static enum MHD_Result on_http_request(void *context, struct MHD_Connection *connection,
				       const char *url, const char *method, const char *version,
				       const char *body, size_t *body_bytes, void **state)
{
	char allowed[64];
	const struct route *route = route_find(url, method, allowed, sizeof(allowed));
	struct upload *upload = *state;
	bool for_us = upload != NULL || is_for_us(context, connection);

	(void)version;
	if (route == NULL || !for_us) {
		/* What a client goes on to send isn't kept. */
		*body_bytes = 0;
		return refuse(connection, for_us, allowed);
	}
	/* The first call for a request comes before its body, the last one behind it. */
	if (upload == NULL) {
		*state = calloc(1, sizeof(*upload));
		return *state == NULL ? MHD_NO : MHD_YES;
	}
	if (*body_bytes != 0) {
		keep_body(upload, body, *body_bytes);
		*body_bytes = 0;
		return MHD_YES;
	}
	return handle(context, connection, route, url, upload);
}

static void on_request_end(void *context, struct MHD_Connection *connection, void **state,
			   enum MHD_RequestTerminationCode code)
{
	(void)context;
	(void)connection;
	(void)code;
	free(*state);
	*state = NULL;
}

/* --- the server --- */

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
		on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_request_end, NULL,
		MHD_OPTION_END);
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
