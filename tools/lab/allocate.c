/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/allocate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void allocate_failed(size_t bytes)
{
	fprintf(stderr, "roceleaf-lab: out of memory (%zu bytes asked for)\n", bytes);
	exit(EXIT_FAILURE);
}

void *allocate(size_t bytes)
{
	size_t rounded = bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
	void *memory = rounded < bytes ? NULL : aligned_alloc(64, rounded);

	if (memory == NULL)
		allocate_failed(bytes);
	memset(memory, 0, rounded);
	return memory;
}

void *allocate_resize(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes == 0 ? 1 : bytes);

	if (memory == NULL)
		allocate_failed(bytes);
	return memory;
}

char *allocate_text(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		allocate_failed(0);
	return text;
}
