/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every file of bad-config/ is refused, with exactly the messages that its first lines expect:
 *
 *	# expect LINE:COLUMN part of the message
 *
 * Line and column were set by hand where the fault is, not taken from what the loader said. Files
 * plan-*.yaml are right by themselves, and ask more of the buffer than there is.
 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/buffer_plan.h"
#include "config/config.h"

#define DIRECTORY     SOURCE_ROOT "/tests/unit/bad-config"
#define FILES_MIN     200
#define LINE_BYTES    (1 << 16)
/* Of MTU 4200: 5 KiB for the frame. */
#define BUFFER_BYTES  (5120 + CONFIG_BUFFER_OVERHEAD_BYTES)
#define EXPECT_PREFIX "# expect "

struct tally {
	uint32_t files;
	uint32_t wrong;
};

/* @return a message that has the place and the text, or NULL */
static const char *find_message(const struct config_errors *errors, const char *path,
				const char *place, const char *text)
{
	char prefix[LINE_BYTES + 512];
	uint32_t i;

	snprintf(prefix, sizeof(prefix), "%s:%s: ", path, place);
	for (i = 0; i < errors->count; i++) {
		if (strncmp(errors->error[i].text, prefix, strlen(prefix)) == 0 &&
		    strstr(errors->error[i].text + strlen(prefix), text) != NULL)
			return errors->error[i].text;
	}
	return NULL;
}

/* Compare the leading comments with what was said. @return how many expectations there are */
static uint32_t check_expectations(FILE *file, const char *path, const struct config_errors *errors,
				   struct tally *tally)
{
	static char line[LINE_BYTES];
	uint32_t count = 0;

	while (fgets(line, sizeof(line), file) != NULL &&
	       strncmp(line, EXPECT_PREFIX, strlen(EXPECT_PREFIX)) == 0) {
		char *place = line + strlen(EXPECT_PREFIX);
		char *text = strchr(place, ' ');

		count++;
		cr_assert_not_null(text, "%s: an expectation without text", path);
		*text++ = '\0';
		text[strcspn(text, "\n")] = '\0';
		if (find_message(errors, path, place, text) == NULL) {
			tally->wrong++;
			cr_log_error("%s: no message \"%s\" at %s", path, text, place);
			if (errors->count > 0)
				cr_log_error("  but: %s", errors->error[0].text);
		}
	}
	return count;
}

/* An ideal leaf, whose buffers take what the bound on leaf.memory reckons with. */
static int plan(const struct config *config, struct config_errors *errors)
{
	static const struct buffer_machine_port ports[PORT_COUNT_MAX];
	const struct buffer_machine machine = {
		.port = ports,
		.workers = config->leaf.workers,
		.buffers = (uint32_t)(config->leaf.memory_bytes / BUFFER_BYTES),
	};
	struct buffer_plan plan;
	int rc = buffer_plan_create(config, &machine, &plan, errors);

	if (rc == 0)
		buffer_plan_free(&plan);
	return rc;
}

static void check_file(const char *name, struct tally *tally)
{
	static struct config_errors errors;
	struct config *config;
	uint32_t expected;
	char path[512];
	FILE *file;
	uint32_t i;

	snprintf(path, sizeof(path), "%s/%s", DIRECTORY, name);
	file = fopen(path, "r");
	cr_assert_not_null(file, "%s can't be read", path);
	config = config_load(path, &errors);
	tally->files++;
	if (config != NULL && (strncmp(name, "plan-", 5) != 0 || plan(config, &errors) == 0)) {
		tally->wrong++;
		cr_log_error("%s: was taken", path);
	}
	config_free(config);
	expected = check_expectations(file, path, &errors, tally);
	fclose(file);
	if (expected == errors.count && expected > 0)
		return;
	tally->wrong++;
	cr_log_error("%s: %u messages, expected %u", path, errors.count, expected);
	for (i = 0; i < errors.count; i++)
		cr_log_error("  %s", errors.error[i].text);
}

Test(mal_yaml, refuses_every_bad_file_at_the_line_and_column_of_its_fault)
{
	DIR *directory = opendir(DIRECTORY);
	struct tally tally = {0};
	struct dirent *entry;

	cr_assert_not_null(directory);
	while ((entry = readdir(directory)) != NULL) {
		if (strstr(entry->d_name, ".yaml") != NULL)
			check_file(entry->d_name, &tally);
	}
	closedir(directory);
	cr_assert_geq(tally.files, FILES_MIN);
	cr_assert_eq(tally.wrong, 0, "%u expectations of %u files didn't hold", tally.wrong,
		     tally.files);
}
