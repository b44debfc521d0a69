/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/ctl/baseline.h"

#define COMMAND "/roceleaf/ports"

static char dir[] = "/tmp/roceleaf-baseline-XXXXXX";
static char path[128];

static void make_dir(void)
{
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/roceleafctl.%u.baseline", dir, (unsigned)getuid());
	unsetenv("XDG_RUNTIME_DIR");
}

static void remove_dir(void)
{
	unlink(path);
	rmdir(dir);
}

TestSuite(ctl_baseline, .init = make_dir, .fini = remove_dir);

static struct reply ports(unsigned instance, unsigned rx)
{
	char text[256];
	struct ctl_error error;
	struct reply reply;
	uint64_t next;

	snprintf(text, sizeof(text),
		 "{\"" COMMAND "\":{\"instance\":%u,\"time_ns\":5,\"next\":0,\"keys\":[\"port\"],"
		 "\"counters\":[\"rx\"],\"units\":[\"packets\"],\"flags\":[],\"port\":[\"h1\"],"
		 "\"rx\":[%u]}}",
		 instance, rx);
	reply_init(&reply);
	cr_assert_eq(reply_add_page(&reply, COMMAND, text, strlen(text), &next, &error), 0);
	return reply;
}

static void save(unsigned instance, unsigned rx)
{
	struct reply reply = ports(instance, rx);
	struct baseline baseline;
	struct ctl_error error;

	cr_assert_eq(baseline_create(&baseline, 1000), 0);
	cr_assert_eq(baseline_add(&baseline, COMMAND, &reply), 0);
	cr_assert_eq(baseline_save(&baseline, dir, &error), 0, "%s", error.text);
	baseline_free(&baseline);
	reply_free(&reply);
}

/* rx of h1 after the baseline in the file was taken off */
static uint64_t after(unsigned instance, unsigned rx, bool expect_applied)
{
	struct reply reply = ports(instance, rx);
	struct baseline baseline;
	uint64_t left;

	baseline_load(&baseline, dir);
	cr_expect_eq(baseline_apply(&baseline, COMMAND, &reply), expect_applied);
	left = reply_number(&reply, "rx", 0);
	baseline_free(&baseline);
	reply_free(&reply);
	return left;
}

Test(ctl_baseline, counts_go_on_from_the_saved_ones)
{
	save(9, 100);
	cr_expect_eq(after(9, 130, true), 30);
	cr_expect_eq(after(9, 100, true), 0);
}

Test(ctl_baseline, saving_again_replaces_it)
{
	save(9, 100);
	save(9, 120);
	cr_expect_eq(after(9, 130, true), 10);
}

Test(ctl_baseline, means_nothing_after_a_restart)
{
	save(9, 100);
	cr_expect_eq(after(10, 130, false), 130);
}

Test(ctl_baseline, without_a_file_nothing_is_taken_off)
{
	cr_expect_eq(after(9, 130, false), 130);
}

Test(ctl_baseline, is_readable_by_its_user_alone)
{
	struct stat status;

	save(9, 100);
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_eq(status.st_mode & 0777, 0600);
}

Test(ctl_baseline, files_that_are_not_ours_are_passed_over)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"version\":1}",
		"{\"version\":2,\"cleared_s\":5,\"instance\":9,\"runtime_dir\":\"/x\",\"tables\":{}}",
		"{\"version\":1,\"cleared_s\":5,\"instance\":9,\"runtime_dir\":\"/x\",\"tables\":{}}",
		"{\"version\":1,\"cleared_s\":\"5\",\"instance\":9,\"tables\":[]}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		FILE *file = fopen(path, "w");

		cr_assert_not_null(file);
		fputs(texts[i], file);
		fclose(file);
		cr_expect_eq(after(9, 130, false), 130, "%s", texts[i]);
	}
}

Test(ctl_baseline, a_damaged_table_in_it_takes_nothing_off)
{
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fprintf(file,
		"{\"version\":1,\"cleared_s\":5,\"instance\":9,\"runtime_dir\":\"%s\","
		"\"tables\":{\"" COMMAND "\":{\"instance\":9,\"rx\":[-1]}}}",
		dir);
	fclose(file);
	cr_expect_eq(after(9, 130, true), 130);
}

Test(ctl_baseline, a_symbolic_link_is_not_followed)
{
	char other[160];

	save(9, 100);
	snprintf(other, sizeof(other), "%s/other", dir);
	cr_assert_eq(rename(path, other), 0);
	cr_assert_eq(symlink(other, path), 0);
	cr_expect_eq(after(9, 130, false), 130);
	unlink(other);
}

Test(ctl_baseline, goes_to_the_user_s_runtime_directory_where_the_leaf_s_is_not_writable)
{
	struct reply reply = ports(9, 100);
	struct baseline baseline;
	struct ctl_error error;
	char command[256];

	setenv("XDG_RUNTIME_DIR", dir, 1);
	cr_assert_eq(baseline_create(&baseline, 1000), 0);
	cr_assert_eq(baseline_add(&baseline, COMMAND, &reply), 0);
	cr_assert_eq(baseline_save(&baseline, "/proc/none", &error), 0, "%s", error.text);
	baseline_free(&baseline);
	baseline_load(&baseline, "/proc/none");
	cr_expect(baseline_apply(&baseline, COMMAND, &reply));
	cr_expect_eq(reply_number(&reply, "rx", 0), 0);
	baseline_free(&baseline);
	reply_free(&reply);
	snprintf(command, sizeof(command), "rm -f %s/roceleafctl.*", dir);
	cr_expect_eq(system(command), 0);
}
