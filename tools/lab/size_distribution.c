/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/size_distribution.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/scenario_limits.h"
#include "tools/lab/text_words.h"

#define POINTS_MAX     100000
#define WORKLOAD_BYTES 64

/* A share is drawn with this many bits below a millionth. */
#define DRAW_SHIFT 32

/* --- files --- */

struct size_reader {
	struct text_words words;
	const char *wanted;         /* "": the only one */
	char found[WORKLOAD_BYTES]; /* the workload that is being read */
	struct size_point *points;
	uint32_t count, size;
};

static int add_point(struct size_reader *reader, uint64_t bytes, uint64_t ppm)
{
	struct size_point *before = reader->count == 0 ? NULL : &reader->points[reader->count - 1];

	if (before != NULL && (bytes < before->bytes || ppm < before->ppm))
		return text_words_fail(&reader->words,
				       "%" PRIu64 " bytes up to %" PRIu64 ".%04" PRIu64
				       " %% is less than the point before: sizes and shares rise",
				       bytes, ppm / 10000, ppm % 10000);
	if (reader->count == POINTS_MAX)
		return text_words_fail(&reader->words, "more than %d points", POINTS_MAX);
	if (reader->points == NULL || reader->count == reader->size) {
		reader->size = reader->size == 0 ? 32 : 2 * reader->size;
		reader->points =
			allocate_resize(reader->points, reader->size * sizeof(*reader->points));
	}
	reader->points[reader->count++] = (struct size_point){.bytes = bytes, .ppm = (uint32_t)ppm};
	return 0;
}

static int skip_line(struct size_reader *reader)
{
	while (text_words_line_goes_on(&reader->words))
		text_words_next(&reader->words);
	return 0;
}

/* The first word of a line is no number. @return 1: its point counts, 0: it doesn't, -EINVAL */
static int take_name(struct size_reader *reader)
{
	const char *word = reader->words.word;

	if (reader->wanted[0] != '\0')
		return strcmp(word, reader->wanted) == 0;
	if (strlen(word) >= sizeof(reader->found))
		return text_words_fail(&reader->words, "workload %.40s... has too long a name",
				       word);
	if (reader->found[0] == '\0')
		memcpy(reader->found, word, strlen(word) + 1);
	if (strcmp(word, reader->found) == 0)
		return 1;
	return text_words_fail(
		&reader->words,
		"the file holds %.40s and %.40s: the key `workload` says which one counts",
		reader->found, word);
}

/* The line of the word that was read last. */
static int read_line(struct size_reader *reader)
{
	struct text_words *words = &reader->words;
	uint64_t bytes, ppm;
	const char *end;
	int taken;

	if (strcmp(words->word, "workload") == 0)
		return skip_line(reader);
	if (text_decimal(words->word, 0, SCENARIO_BYTES_MAX, &bytes, &end) != 0 || *end != '\0') {
		if (isdigit((unsigned char)words->word[0]))
			return text_words_fail(words, "size \"%.40s\" is not a number in range",
					       words->word);
		taken = take_name(reader);
		if (taken <= 0)
			return taken == 0 ? skip_line(reader) : taken;
		if (text_words_decimal(words, "size", 0, SCENARIO_BYTES_MAX, &bytes) != 0)
			return -EINVAL;
	} else if (reader->wanted[0] != '\0') {
		return text_words_fail(words, "the point names no workload, but %.40s is asked for",
				       reader->wanted);
	}
	if (text_words_decimal(words, "percentage", 4, SIZE_PPM, &ppm) != 0)
		return -EINVAL;
	if (add_point(reader, bytes, ppm) != 0)
		return -EINVAL;
	if (!text_words_line_goes_on(words))
		return 0;
	text_words_next(words);
	return text_words_fail(words, "\"%.40s\" stands behind the point", words->word);
}

static int check_points(struct size_reader *reader)
{
	if (reader->count == 0 && reader->wanted[0] != '\0')
		return text_words_fail(&reader->words, "the file holds no workload %.40s",
				       reader->wanted);
	if (reader->count < 2)
		return text_words_fail(&reader->words, "a distribution has two points at least");
	if (reader->points[reader->count - 1].ppm != SIZE_PPM)
		return text_words_fail(&reader->words, "the last point is not at 100 %%");
	if (reader->points[reader->count - 1].bytes == 0)
		return text_words_fail(&reader->words, "no flow would have a byte");
	return 0;
}

int size_distribution_read(const char *path, const char *workload,
			   struct size_distribution *distribution, struct config_errors *errors)
{
	struct size_reader reader = {.wanted = workload};
	int result = text_words_open(&reader.words, path, errors);

	while (result == 0 && text_words_next(&reader.words))
		result = read_line(&reader);
	if (result == 0)
		result = check_points(&reader);
	text_words_close(&reader.words);
	if (result != 0) {
		free(reader.points);
		return result;
	}
	*distribution = (struct size_distribution){
		.points = reader.points,
		.count = reader.count,
		.own = reader.points,
	};
	return 0;
}

void size_distribution_fini(struct size_distribution *distribution)
{
	free(distribution->own);
	*distribution = (struct size_distribution){0};
}

/* --- numbers --- */

uint64_t size_distribution_draw(const struct size_distribution *distribution, struct random *random)
{
	uint64_t share = random_below(random, (uint64_t)SIZE_PPM << DRAW_SHIFT);
	const struct size_point *points = distribution->points;
	uint32_t low = 0, high = distribution->count - 1;
	uint64_t from, to, bytes;

	/* The first point above the share: the last one is, as it stands at 100 %. */
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if ((uint64_t)points[middle].ppm << DRAW_SHIFT > share)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0)
		return points[0].bytes != 0 ? points[0].bytes : 1;
	from = (uint64_t)points[low - 1].ppm << DRAW_SHIFT;
	to = (uint64_t)points[low].ppm << DRAW_SHIFT;
	/* Rounded up: the share of flows with at most so many whole bytes stays what it is. */
	bytes = points[low - 1].bytes +
		(uint64_t)(((unsigned __int128)(points[low].bytes - points[low - 1].bytes) *
				    (share - from) +
			    (to - from - 1)) /
			   (to - from));
	return bytes != 0 ? bytes : 1;
}

uint64_t size_distribution_mean_bytes(const struct size_distribution *distribution)
{
	const struct size_point *points = distribution->points;
	/* In half bytes and millionths. */
	unsigned __int128 sum = (unsigned __int128)points[0].ppm * points[0].bytes * 2;
	uint64_t mean;

	for (uint32_t i = 1; i < distribution->count; i++)
		sum += (unsigned __int128)(points[i].ppm - points[i - 1].ppm) *
		       (points[i].bytes + points[i - 1].bytes);
	mean = (uint64_t)(sum / SIZE_PPM / 2);
	return mean != 0 ? mean : 1;
}
