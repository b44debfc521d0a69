/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of `telemetry`.
 */
#include "config/schema_leaf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* An IPv6 address in brackets, ":65535" and NUL. */
#define LISTEN_BYTES (INET6_ADDRSTRLEN + 2 + 6)

static int parse_listen_address(char *host, struct config_ip *address)
{
	size_t length = strlen(host);

	if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		address->family = 6;
		return inet_pton(AF_INET6, host + 1, address->bytes) == 1 ? 0 : -EINVAL;
	}
	address->family = 4;
	return inet_pton(AF_INET, host, address->bytes) == 1 ? 0 : -EINVAL;
}

/* "off", "127.0.0.1:9469" or "[::1]:9469" */
static int parse_listen(const char *text, void *field, char *why, size_t why_size)
{
	struct config_listen *listen = field;
	const char *colon = strrchr(text, ':');
	char host[LISTEN_BYTES];
	uint64_t port;

	*listen = (struct config_listen){0};
	if (strcmp(text, "off") == 0)
		return 0;
	if (colon != NULL && (size_t)(colon - text) < sizeof(host)) {
		(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
		if (schema_parse_number(SCHEMA_UINT, colon + 1, &port, why, why_size) == 0 &&
		    port >= 1 && port <= UINT16_MAX &&
		    parse_listen_address(host, &listen->address) == 0) {
			listen->port = (uint16_t)port;
			return 0;
		}
	}
	*listen = (struct config_listen){0};
	(void)snprintf(why, why_size,
		       "is not an address and port: write 127.0.0.1:9469, \"[::1]:9469\" or off");
	return -EINVAL;
}

static const struct schema_row marks_rows[] = {
	{"token_file", SCHEMA_STRING, SCHEMA_FIELD(struct config_marks, token_file), .min = 1,
	 .max = CONFIG_PATH_BYTES - 1, .fallback_help = "none", .flags = SCHEMA_RELOADABLE,
	 .help = "A token of 16 to 128 characters, readable by the owner alone: who sends it may `POST "
		 "/v1/marks`. A relative path begins at the config's folder. `openssl rand -hex 16` "
		 "draws one."},
	{0},
};

static const struct schema_table marks_table = {
	"marks",
	marks_rows,
	.struct_size = sizeof(struct config_marks),
	.help = "Marks of a job over HTTP.",
};

static const struct schema_row telemetry_rows[] = {
	{"http", SCHEMA_CUSTOM, SCHEMA_FIELD(struct config_telemetry, http), .parse = parse_listen,
	 .fallback = "127.0.0.1:9469",
	 .help = "Address and port of the dashboard, and of metrics at `/metrics`, over HTTP; or `off`. Anybody "
		 "who reaches it may read: there is no password."},
	{"hosts", SCHEMA_STRING, SCHEMA_ARRAY(struct config_telemetry, hosts, host_count), .min = 1,
	 .max = CONFIG_HOST_BYTES - 1, .fallback_help = "none", .flags = SCHEMA_RELOADABLE,
	 .help = "Names by which clients may ask over HTTP, besides addresses, localhost, `leaf.name` and the "
		 "machine's name. Others are refused: a web page could have its own name lead here, and read."},
	{"history", SCHEMA_TIME, SCHEMA_FIELD(struct config_telemetry, history_ps),
	 .min = 10 * PS_PER_S, .max = 3600 * PS_PER_S, .fallback = "5min",
	 .help = "For how long counters of every second are kept, for the dashboard; `--check` prints "
		 "how much memory that takes."},
	{"long_pause", SCHEMA_TIME, SCHEMA_FIELD(struct config_telemetry, long_pause_ps),
	 .min = PS_PER_US, .max = 60 * PS_PER_S, .fallback = "10ms", .flags = SCHEMA_RELOADABLE,
	 .help = "A pause that lasts longer, of a queue here or of a peer, is an event."},
	{"marks", SCHEMA_MAP, SCHEMA_FIELD(struct config_telemetry, marks), .table = &marks_table,
	 .fallback_help = "off", .flags = SCHEMA_RELOADABLE, .help = "Marks of a job over HTTP."},
	{"record", SCHEMA_TIME, SCHEMA_FIELD(struct config_telemetry, record_ps), .min = PS_PER_US,
	 .max = PS_PER_S, .fallback = "100us",
	 .help = "How often depths of queues are recorded all the time, for `roceleafctl record "
		 "--last`. A worker keeps the last 262144 changes, in 4 MiB."},
	{0},
};

const struct schema_table config_telemetry_table = {
	"telemetry",
	telemetry_rows,
	.help = "How the leaf is watched.",
};
