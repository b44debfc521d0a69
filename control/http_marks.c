/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>
#include <strings.h>

#include "control/daemon.h"
#include "control/http_handler.h"
#include "control/steps.h"

/* RFC 6750 2.1 */
#define SCHEME       "Bearer "
#define SCHEME_BYTES (sizeof(SCHEME) - 1)

/* In a time that doesn't depend on where they differ, or on how long either is. */
static bool same_token(const char *given, const char *token)
{
	char padded[2][CONFIG_TOKEN_BYTES_MAX + 1] = {""};
	volatile uint8_t differs = strlen(given) > CONFIG_TOKEN_BYTES_MAX;

	memcpy(padded[0], given, strnlen(given, CONFIG_TOKEN_BYTES_MAX));
	memcpy(padded[1], token, strnlen(token, CONFIG_TOKEN_BYTES_MAX));
	for (size_t i = 0; i < sizeof(padded[0]); i++)
		differs |= (uint8_t)(padded[0][i] ^ padded[1][i]);
	return differs == 0;
}

/* @return 0, or the status to refuse with */
static unsigned authorise(const struct http_request *request)
{
	const char *given = http_header(request, "Authorization");
	char token[CONFIG_TOKEN_BYTES_MAX + 1];
	bool same;

	daemon_lock(request->daemon);
	memcpy(token, daemon_config(request->daemon)->telemetry.marks.token, sizeof(token));
	daemon_unlock(request->daemon);
	if (token[0] == '\0')
		return 403;
	same = given != NULL && strncasecmp(given, SCHEME, SCHEME_BYTES) == 0 &&
	       same_token(given + SCHEME_BYTES, token);
	explicit_bzero(token, sizeof(token));
	return same ? 0 : 401;
}

void http_marks(const struct http_request *request, struct http_answer *answer)
{
	unsigned refused = authorise(request);
	char text[MARK_TEXT_BYTES + 1];
	size_t size = request->body_bytes;
	const char *wrong;
	bool taken;

	if (refused == 403) {
		http_say(answer, 403, "Marks over HTTP are off: see telemetry.marks.token_file.\n");
		return;
	}
	if (refused != 0) {
		http_say(answer, refused, "Send Authorization: Bearer TOKEN.\n");
		return;
	}
	if (http_header(request, "Content-Length") == NULL &&
	    http_header(request, "Transfer-Encoding") == NULL) {
		http_say(answer, 411, "A mark has a body with a length.\n");
		return;
	}
	if (size > 0 && request->body[size - 1] == '\n')
		size--;
	if (size > MARK_TEXT_BYTES) {
		http_say(answer, 413, "A mark has at most 256 bytes.\n");
		return;
	}
	wrong = mark_text_wrong(request->body, size);
	if (wrong != NULL) {
		http_say(answer, 400,
			 "A mark is 1 to 256 bytes of UTF-8 in one line, without "
			 "control characters.\n");
		return;
	}
	memcpy(text, request->body, size);
	text[size] = '\0';
	daemon_lock(request->daemon);
	taken = daemon_mark(request->daemon, text);
	daemon_unlock(request->daemon);
	if (taken)
		http_say(answer, 200, "noted\n");
	else
		http_say(answer, 429, "Too many marks at once: this one isn't kept.\n");
}
