/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/json_text.h"

#include <stdint.h>
#include <string.h>

/* RFC 3629 section 4: the first byte says how many follow, and what the second may be. */
static const struct {
	uint8_t first, last; /* byte */
	uint8_t bytes;
	uint8_t second_min, second_max;
} forms[] = {
	{0x00, 0x7f, 1, 0x80, 0xbf}, {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
	{0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
	{0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

size_t json_utf8_bytes(const char *text, size_t size)
{
	const uint8_t *byte = (const uint8_t *)text;
	size_t form = 0;

	while (size > 0 && form < sizeof(forms) / sizeof(forms[0]) &&
	       (byte[0] < forms[form].first || byte[0] > forms[form].last))
		form++;
	if (size == 0 || form == sizeof(forms) / sizeof(forms[0]) || forms[form].bytes > size)
		return 0;
	if (forms[form].bytes > 1 &&
	    (byte[1] < forms[form].second_min || byte[1] > forms[form].second_max))
		return 0;
	for (size_t i = 2; i < forms[form].bytes; i++)
		if (byte[i] < 0x80 || byte[i] > 0xbf)
			return 0;
	return forms[form].bytes;
}

void json_write_text(FILE *out, const char *text)
{
	size_t size = strlen(text), bytes;

	(void)fputc('"', out);
	for (; size > 0; text += bytes, size -= bytes) {
		bytes = json_utf8_bytes(text, size);
		if (bytes == 0) {
			(void)fputc('?', out);
			bytes = 1;
		} else if (*text == '"' || *text == '\\') {
			(void)fprintf(out, "\\%c", *text);
		} else if (bytes == 1 && ((uint8_t)*text < 0x20 || *text == 0x7f)) {
			(void)fprintf(out, "\\u%04x", (unsigned)(uint8_t)*text);
		} else {
			(void)fwrite(text, 1, bytes, out);
		}
	}
	(void)fputc('"', out);
}
