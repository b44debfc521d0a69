/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/io_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int io_fail(struct io_error *error, int code, const char *format, ...)
{
	va_list arguments;
	size_t used;

	va_start(arguments, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	if (code == 0)
		return -EINVAL;
	used = strlen(error->text);
	(void)snprintf(error->text + used, sizeof(error->text) - used, ": %s", strerror(code));
	return -code;
}
