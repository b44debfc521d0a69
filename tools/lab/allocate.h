/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * allocate - memory of the lab. A simulation that runs out of memory has nothing left to do, so
 * these end the process with a message and status 1 rather than return NULL.
 */
#ifndef LAB_ALLOCATE_H
#define LAB_ALLOCATE_H

#include <stddef.h>

/** Zeroed and aligned to a cache line; for free(). 0 bytes are allowed. */
void *allocate(size_t bytes);

/** realloc() of memory that wasn't aligned; new bytes have no value. */
void *allocate_resize(void *old, size_t bytes);

/** A formatted string, for free(). */
char *allocate_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
