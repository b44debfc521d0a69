/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http - serves what a leaf tells of itself to whoever may connect.
 *
 *	GET /			the dashboard, for a browser: it asks for the tables below
 *	GET /metrics		openmetrics.h; in the format that the Accept header asks for
 *	GET /v1/events?after=N	events of a higher number than N, oldest first: {"events": [{"sequence", "time"
 *				(RFC 3339), "time_ns", "type", "port", "priority" (null: about none),
 *				"packets", "bytes", "duration_ns", "suppressed", "text"}], "lost": n,
 *				"last": N for the next time}; events.h says what they mean
 *	GET /v1/history?after=N	seconds of a higher number than N, oldest first: {"ports": [names], "seconds":
 *				[{"sequence", "time_ns" (its end), "duration_ns", and for each of history.h's
 *				counters and "drop_packets" an array with its growth by port}], "last": N for
 *				the next time}; of all priorities together, or ?priority=P
 *	POST /v1/marks		the body, one line of UTF-8, is a mark of a job (steps.h). Only with
 *				telemetry.marks, and for those who know the token (RFC 6750): else 403, 401
 *	GET /v1/record		queue depths in time (recording.h): {"ports": [names], "age_ns" of its begin,
 *				"duration_ns", "every_ns", "trigger_ns" or null, "complete", "samples": [[ns since
 *				its begin, port, priority, bytes, flags of recorder.h]]}; the last one that
 *				roceleafctl asked for, or with ?last_ms=N what was recorded lately anyway;
 *				&port=NAME and &priority=P
 *	GET /v1/show/NAME	what `roceleafctl show NAME --json` prints
 * HEAD as well; any other method is answered 405, any other path 404, and a Host header that names another
 * server 421 (http_host.h). http_handler.h has how a path is added.
 *
 * Nobody can hold more than a place: a request has at most HTTP_REQUEST_BYTES, there are
 * HTTP_CLIENTS places, the client that came first loses its own when one more comes, and one that is
 * silent for HTTP_IDLE_S is closed. So thousands of slow clients cost each other their places, and one
 * that asks at once is answered at once.
 *
 * Thread: one of its own, libmicrohttpd's. The control loop never waits for it, but for the microseconds
 * that openmetrics.h holds daemon_lock().
 */
#ifndef CONTROL_HTTP_H
#define CONTROL_HTTP_H

#define HTTP_CLIENTS       16u
#define HTTP_REQUEST_BYTES 8192u
#define HTTP_IDLE_S        10u

struct daemon;
struct http;

/**
 * Listen where the config says. The daemon must stay until http_stop().
 * @return NULL: nowhere, or it can't, and an event says why: a leaf forwards without being watched.
 *         Control, under daemon_lock().
 */
struct http *http_start(struct daemon *daemon);

/** Close all connections. NULL is fine. Don't hold daemon_lock(). Control. */
void http_stop(struct http *http);

#endif
