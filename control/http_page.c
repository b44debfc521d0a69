/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/http_handler.h"

void http_index(const struct http_request *request, struct http_answer *answer)
{
	(void)request;
	http_say(answer, 200, "roceleaf: metrics are at /metrics, tables at /v1/show/NAME\n");
}
