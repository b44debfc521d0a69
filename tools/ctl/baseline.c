/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than 512 ports of counters need. */
#define BASELINE_BYTES_MAX 16777216

int baseline_create(struct baseline *baseline, uint64_t now_s)
{
	*baseline = (struct baseline){.tables = json_object(), .cleared_s = now_s};
	return baseline->tables == NULL ? -ENOMEM : 0;
}

int baseline_add(struct baseline *baseline, const char *command, const struct reply *reply)
{
	json_t *page = reply_page_json(reply);

	if (page == NULL || json_object_set_new(baseline->tables, command, page) != 0)
		return -ENOMEM;
	baseline->instance = reply->instance;
	return 0;
}

/* FNV-1a, to tell leaves of different directories apart in one file name. */
static uint32_t path_hash(const char *path)
{
	uint32_t hash = 2166136261u;

	for (; *path != '\0'; path++)
		hash = (hash ^ (unsigned char)*path) * 16777619u;
	return hash;
}

/* The file in the runtime directory, or the one to take instead (second). */
static int baseline_path(char path[BASELINE_PATH_BYTES], const char *runtime_dir, bool second)
{
	const char *xdg = getenv("XDG_RUNTIME_DIR");
	int length;

	if (!second)
		length = snprintf(path, BASELINE_PATH_BYTES, "%s/roceleafctl.%u.baseline",
				  runtime_dir, (unsigned)getuid());
	else if (xdg != NULL && xdg[0] == '/')
		length =
			snprintf(path, BASELINE_PATH_BYTES, "%s/roceleafctl.%08" PRIx32 ".baseline",
				 xdg, path_hash(runtime_dir));
	else
		return -ENOENT;
	return length < BASELINE_PATH_BYTES ? 0 : -ENAMETOOLONG;
}

static int write_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t written = write(fd, text, size);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			text += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

static int save_to(const char *path, const char *text, struct ctl_error *error)
{
	char temporary[BASELINE_PATH_BYTES + 8];
	int fd, ret;

	snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return ctl_fail(error, errno, "%.200s: %s", path, strerror(errno));
	ret = write_all(fd, text, strlen(text));
	if (close(fd) != 0 && ret == 0)
		ret = -errno;
	if (ret == 0 && rename(temporary, path) != 0)
		ret = -errno;
	if (ret == 0)
		return 0;
	unlink(temporary);
	return ctl_fail(error, -ret, "%.200s: %s", path, strerror(-ret));
}

int baseline_save(const struct baseline *baseline, const char *runtime_dir, struct ctl_error *error)
{
	char path[BASELINE_PATH_BYTES];
	json_t *root = json_pack("{s:i, s:I, s:I, s:s, s:O}", "version", 1, "cleared_s",
				 (json_int_t)baseline->cleared_s, "instance",
				 (json_int_t)baseline->instance, "runtime_dir", runtime_dir,
				 "tables", baseline->tables);
	char *text = json_dumps(root, JSON_COMPACT);
	int ret = -ENOMEM;

	json_decref(root);
	if (text == NULL)
		return ctl_fail(error, ENOMEM, "out of memory");
	if (baseline_path(path, runtime_dir, false) == 0)
		ret = save_to(path, text, error);
	if (ret != 0 && baseline_path(path, runtime_dir, true) == 0)
		ret = save_to(path, text, error);
	free(text);
	return ret;
}

static json_t *load_from(const char *path)
{
	json_t *root = NULL;
	struct stat status;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return NULL;
	/* Only what we have written ourselves: others could only mislead. */
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    status.st_size <= BASELINE_BYTES_MAX)
		root = json_loadfd(fd, 0, NULL);
	close(fd);
	return root;
}

void baseline_load(struct baseline *baseline, const char *runtime_dir)
{
	char path[BASELINE_PATH_BYTES];

	*baseline = (struct baseline){0};
	for (int second = 0; second < 2; second++) {
		json_t *root = NULL;
		json_int_t version = 0, cleared_s = 0, instance = 0;
		const char *dir = "";

		if (baseline_path(path, runtime_dir, second != 0) == 0)
			root = load_from(path);
		if (json_unpack(root, "{s:I, s:I, s:I, s:s}", "version", &version, "cleared_s",
				&cleared_s, "instance", &instance, "runtime_dir", &dir) == 0 &&
		    version == 1 && instance > 0 && cleared_s > (json_int_t)baseline->cleared_s &&
		    strcmp(dir, runtime_dir) == 0 &&
		    json_is_object(json_object_get(root, "tables"))) {
			json_decref(baseline->tables);
			baseline->tables = json_incref(json_object_get(root, "tables"));
			baseline->cleared_s = (uint64_t)cleared_s;
			baseline->instance = (uint64_t)instance;
		}
		json_decref(root);
	}
}

bool baseline_apply(const struct baseline *baseline, const char *command, struct reply *reply)
{
	const json_t *page = json_object_get(baseline->tables, command);
	struct ctl_error error;
	struct reply base;
	uint64_t next;

	if (baseline->tables == NULL || baseline->instance != reply->instance)
		return false;
	reply_init(&base);
	if (page != NULL && reply_add_page_json(&base, page, &next, &error) == 0)
		reply_subtract(reply, &base);
	reply_free(&base);
	return true;
}

void baseline_free(struct baseline *baseline)
{
	json_decref(baseline->tables);
	*baseline = (struct baseline){0};
}
