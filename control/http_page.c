/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>

#include "control/http_handler.h"

/* Made of tools/web by tools/web/embed. */
extern const uint8_t dashboard[];
extern const size_t dashboard_bytes;
extern const char dashboard_policy[];

void http_page(const struct http_request *request, struct http_answer *answer)
{
	(void)request;
	*answer = (struct http_answer){
		.status = 200,
		.type = "text/html; charset=utf-8",
		.policy = dashboard_policy,
		.text = (char *)(uintptr_t)dashboard,
		.size = dashboard_bytes,
		.is_static = true,
	};
}
