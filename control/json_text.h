/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json_text - texts of others as strings of JSON: RFC 8259, in UTF-8 (RFC 3629).
 *
 * Thread: any; nothing is shared.
 */
#ifndef CONTROL_JSON_TEXT_H
#define CONTROL_JSON_TEXT_H

#include <stddef.h>
#include <stdio.h>

/**
 * Length of the character that begins here.
 * @param size bytes readable at text
 * @return 1 to 4, or 0: it is none (cut off, too long a form, a surrogate, beyond U+10FFFF; RFC 3629 4)
 */
size_t json_utf8_bytes(const char *text, size_t size);

/** Write a text in quotes. Bytes that are no UTF-8 become '?'. */
void json_write_text(FILE *out, const char *text);

#endif
