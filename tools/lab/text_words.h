/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text_words - reads a text file word by word, for files that aren't YAML, and says where a word stood.
 *
 * White space and commas separate words; `#` begins a comment that ends with its line.
 *
 * Thread: any.
 */
#ifndef LAB_TEXT_WORDS_H
#define LAB_TEXT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define TEXT_WORDS_FILE_BYTES_MAX (256u << 20)

struct text_words {
	const char *path;
	char *text, *at;              /* the file; what comes next in it */
	char *word;                   /* the word that was read last */
	struct config_mark mark;      /* where it begins */
	struct config_mark next_mark; /* of `at` */
	struct config_errors *errors;
};

/** Read a file. @return 0, or -EINVAL with the reason in errors. text_words_close() in any case. */
int text_words_open(struct text_words *words, const char *path, struct config_errors *errors);
void text_words_close(struct text_words *words);

/** Next word. @return false at the end of the file */
bool text_words_next(struct text_words *words);
/** True when the next word stands in the line of the last one. */
bool text_words_line_goes_on(struct text_words *words);

/** Say what is wrong with the last word. @return -EINVAL */
int text_words_fail(struct text_words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** The next word is a whole number up to max. @param what names it in messages @return 0 or -EINVAL */
int text_words_uint(struct text_words *words, const char *what, uint64_t max, uint64_t *value);

/**
 * The next word is a decimal number, also with an exponent, of which so many decimals count: it must be
 * whole in that unit, or rounding down is allowed. 1.5 with 3 decimals is 1500; 2e+06 with 0 is 2000000.
 * @return 0 or -EINVAL
 */
int text_words_decimal(struct text_words *words, const char *what, uint32_t decimals, uint64_t max,
		       uint64_t *value);

/**
 * A decimal number at the beginning of a text, in units of 10^-decimals, rounded down.
 * @param end gets where it ends
 * @return 0; -EINVAL not a number, or more than max
 */
int text_decimal(const char *text, uint32_t decimals, uint64_t max, uint64_t *value,
		 const char **end);

#endif
