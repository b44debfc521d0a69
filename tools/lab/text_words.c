/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/text_words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"
#include "tools/lab/allocate.h"

static int read_all(FILE *file, char **text)
{
	size_t size = 0, room = 1 << 16;
	char *bytes = malloc(room);

	while (bytes != NULL) {
		size_t got = fread(bytes + size, 1, room - size - 1, file);
		char *more;

		size += got;
		if (got == 0)
			break;
		if (size > TEXT_WORDS_FILE_BYTES_MAX) {
			free(bytes);
			return -EFBIG;
		}
		if (room - size > 1)
			continue;
		room *= 2;
		more = realloc(bytes, room);
		if (more == NULL)
			free(bytes);
		bytes = more;
	}
	if (bytes == NULL)
		return -ENOMEM;
	if (ferror(file)) {
		free(bytes);
		return errno != 0 ? -errno : -EIO;
	}
	/* A NUL ends the text, as in a file that was cut. */
	bytes[size] = '\0';
	*text = bytes;
	return 0;
}

int text_words_open(struct text_words *words, const char *path, struct config_errors *errors)
{
	struct config_mark none = {0};
	FILE *file;
	int result;

	memset(words, 0, sizeof(*words));
	words->path = path;
	words->errors = errors;
	errno = 0;
	file = fopen(path, "re");
	result = file != NULL ? read_all(file, &words->text) : -errno;
	if (file != NULL)
		fclose(file);
	if (result != 0) {
		schema_fail_mark(errors, path, none, "can't be read: %s", strerror(-result));
		return -EINVAL;
	}
	words->at = words->text;
	words->next_mark = (struct config_mark){.line = 1, .column = 1};
	words->mark = words->next_mark;
	return 0;
}

void text_words_close(struct text_words *words)
{
	free(words->text);
	words->text = NULL;
}

static bool separates(char c)
{
	return isspace((unsigned char)c) || c == ',';
}

/* To the next word or the end. */
static void skip(struct text_words *words)
{
	bool comment = false;

	for (; *words->at != '\0'; words->at++) {
		if (*words->at == '\n') {
			comment = false;
			words->next_mark.line++;
			words->next_mark.column = 1;
			continue;
		}
		comment |= *words->at == '#';
		if (!comment && !separates(*words->at))
			return;
		words->next_mark.column++;
	}
}

/* A word is ended by a NUL when it is read; what separated it is looked at before. */
bool text_words_next(struct text_words *words)
{
	char *end;

	skip(words);
	words->mark = words->next_mark;
	if (*words->at == '\0')
		return false;
	words->word = words->at;
	for (end = words->at; *end != '\0' && !separates(*end) && *end != '#'; end++)
		words->next_mark.column++;
	words->at = end;
	if (*end == '\0')
		return true;
	/* The rest of a comment is skipped as one: only its sign is overwritten. */
	if (*end == '#') {
		char *line = strchr(end, '\n');

		words->at = line != NULL ? line : end + strlen(end);
		*end = '\0';
		return true;
	}
	if (*end == '\n') {
		words->next_mark.line++;
		words->next_mark.column = 1;
	} else {
		words->next_mark.column++;
	}
	*end = '\0';
	words->at = end + 1;
	return true;
}

bool text_words_line_goes_on(struct text_words *words)
{
	uint32_t line = words->mark.line;

	skip(words);
	return *words->at != '\0' && words->next_mark.line == line;
}

int text_words_fail(struct text_words *words, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	schema_fail_mark(words->errors, words->path, words->mark, "%s", text);
	return -EINVAL;
}

int text_decimal(const char *text, uint32_t decimals, uint64_t max, uint64_t *value,
		 const char **end)
{
	const char *at = text, *point = NULL;
	unsigned __int128 number = 0;
	long exponent = 0, shift;

	for (; isdigit((unsigned char)*at) || (*at == '.' && point == NULL); at++) {
		if (*at == '.')
			point = at;
		else if (number <= (unsigned __int128)UINT64_MAX * 1000000)
			number = number * 10 + (unsigned)(*at - '0');
		else
			return -EINVAL;
	}
	if (at == text || (at == text + 1 && point != NULL))
		return -EINVAL;
	shift = (long)decimals - (point != NULL ? at - point - 1 : 0);
	if ((*at == 'e' || *at == 'E') &&
	    (isdigit((unsigned char)at[1]) ||
	     ((at[1] == '+' || at[1] == '-') && isdigit((unsigned char)at[2])))) {
		char *after;

		exponent = strtol(at + 1, &after, 10);
		at = after;
	}
	if (exponent > 40 || exponent < -40)
		return -EINVAL;
	for (shift += exponent; shift > 0 && number <= max; shift--)
		number *= 10;
	for (; shift < 0; shift++)
		number /= 10;
	if (number > max)
		return -EINVAL;
	*value = (uint64_t)number;
	*end = at;
	return 0;
}

static int take(struct text_words *words, const char *what)
{
	if (text_words_next(words))
		return 0;
	return text_words_fail(words, "the file ends where %s should be", what);
}

int text_words_uint(struct text_words *words, const char *what, uint64_t max, uint64_t *value)
{
	char *end;

	if (take(words, what) != 0)
		return -EINVAL;
	errno = 0;
	*value = strtoull(words->word, &end, 10);
	if (!isdigit((unsigned char)words->word[0]) || *end != '\0' || errno != 0)
		return text_words_fail(words, "%s \"%.40s\" is not a whole number", what,
				       words->word);
	if (*value > max)
		return text_words_fail(words, "%s %.40s is out of range: at most %" PRIu64, what,
				       words->word, max);
	return 0;
}

int text_words_decimal(struct text_words *words, const char *what, uint32_t decimals, uint64_t max,
		       uint64_t *value)
{
	const char *end;

	if (take(words, what) != 0)
		return -EINVAL;
	if (text_decimal(words->word, decimals, max, value, &end) != 0 || *end != '\0')
		return text_words_fail(words, "%s \"%.40s\" is not a number in range", what,
				       words->word);
	return 0;
}
