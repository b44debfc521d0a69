/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http_handler - what answers one path over HTTP; the table of http.c says which path that is.
 *
 * Each handler is in a file of its own. To add one: declare it below, write it, and give it a line in
 * the table. Methods other than those of the table are answered 405, other paths 404, a body longer
 * than HTTP_BODY_BYTES 413; a HEAD is a GET whose text http.c doesn't send.
 *
 * Thread: the server's. A handler takes daemon_lock() for microseconds and never waits.
 */
#ifndef CONTROL_HTTP_HANDLER_H
#define CONTROL_HTTP_HANDLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_BODY_BYTES 4096u

#define HTTP_TYPE_TEXT "text/plain; charset=utf-8"
#define HTTP_TYPE_JSON "application/json"

struct daemon;

struct http_request {
	struct daemon *daemon;
	const char *rest; /* of the path, behind what the table has */
	const char *body; /* of a POST, NUL behind it */
	size_t body_bytes;
	void *connection; /* for the functions below */
};

/** A header's value ("Accept"), or that of an argument (?name=value, decoded); NULL: there is none. */
const char *http_header(const struct http_request *request, const char *name);
const char *http_argument(const struct http_request *request, const char *name);

/**
 * An argument that is a number. @param fallback its value where there is none
 * @return 0, or -EINVAL: no number from 0 to `max`
 */
int http_number(const struct http_request *request, const char *name, uint64_t fallback,
		uint64_t max, uint64_t *number);

struct http_answer {
	unsigned status;    /* 200, ...; 0: no memory, and the connection is closed */
	const char *type;   /* of the text */
	const char *policy; /* Content-Security-Policy, or NULL */
	char *text;
	size_t size;
	bool is_static; /* the text is there for ever; else http.c frees it */
};

/** Answer with a text that is there for ever. */
void http_say(struct http_answer *answer, unsigned status, const char *text);

/** Fill in the answer, which is all zero. */
typedef void http_handler_fn(const struct http_request *request, struct http_answer *answer);

http_handler_fn http_page;    /* GET /: the dashboard, made of tools/web */
http_handler_fn http_metrics; /* GET /metrics: openmetrics.h */
http_handler_fn http_events;  /* GET /v1/events?after=N */
http_handler_fn http_history; /* GET /v1/history?after=N&priority=P */
http_handler_fn http_marks;   /* POST /v1/marks */
http_handler_fn http_record;  /* GET /v1/record?last_ms=N&port=NAME&priority=P */
http_handler_fn http_show;    /* GET /v1/show/NAME: telemetry_show() */

#endif
