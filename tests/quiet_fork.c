/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quiet_fork - part of every Criterion program that is built with AddressSanitizer.
 *
 * Criterion forks for each test, beside a thread of its own that passes messages (nanomsg). The
 * sanitizer of clang 14 doesn't hold its allocator's locks over fork(), as libc does: a child that is
 * born while that thread allocates finds them taken, by nobody, and waits for ever at its first
 * malloc(). So fork() waits here until all other threads sleep; in there they wait for messages.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* 2 s in all, should one never sleep. */
#define LOOKS   20000
#define LOOK_NS 100000

/* State of a thread, as in proc(5): 'S' sleeps. */
static char state_of(const char *thread)
{
	char path[300], line[512], state = 'S'; /* gone: no longer in anybody's way */
	const char *name_end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
	file = fopen(path, "r");
	if (file == NULL)
		return state;
	/* "PID (NAME) STATE ..." */
	if (fgets(line, sizeof(line), file) != NULL && (name_end = strrchr(line, ')')) != NULL)
		state = name_end[2];
	fclose(file);
	return state;
}

static bool others_sleep(void)
{
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *thread;
	bool sleep = true;

	if (threads == NULL)
		return true;
	while (sleep && (thread = readdir(threads)) != NULL)
		if (thread->d_name[0] != '.' && atoi(thread->d_name) != gettid())
			sleep = state_of(thread->d_name) == 'S';
	closedir(threads);
	return sleep;
}

static void wait_for_others(void)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	for (int look = 0; look < LOOKS && !others_sleep(); look++)
		nanosleep(&pause, NULL);
}

static __attribute__((constructor)) void prepare(void)
{
	pthread_atfork(wait_for_others, NULL, NULL);
}
