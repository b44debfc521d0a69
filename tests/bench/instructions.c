/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/instructions.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

extern char **environ;

#define ROWS_MAX   100
#define PATH_BYTES 256

bool instructions_countable(void)
{
	return RUNNING_ON_VALGRIND != 0;
}

void instructions_start(void)
{
	CALLGRIND_TOGGLE_COLLECT;
}

void instructions_stop(void)
{
	CALLGRIND_TOGGLE_COLLECT;
}

void instructions_dump(const char *name, uint32_t packet_bytes, uint32_t packets)
{
	char text[128];

	snprintf(text, sizeof(text), "%s %" PRIu32 " %" PRIu32, name, packet_bytes, packets);
	CALLGRIND_DUMP_STATS_AT(text);
}

/* One file: "desc: Trigger: Client Request: NAME BYTES PACKETS" and "summary: INSTRUCTIONS". */
static bool read_dump(const char *path, char name[64], uint32_t *packet_bytes, double *per_packet)
{
	FILE *file = fopen(path, "r");
	uint64_t instructions = 0;
	uint32_t packets = 0;
	char line[512];

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *request = strstr(line, "Client Request: ");

		if (request != NULL)
			(void)sscanf(request, "Client Request: %63s %" SCNu32 " %" SCNu32, name,
				     packet_bytes, &packets);
		(void)sscanf(line, "summary: %" SCNu64, &instructions);
		(void)sscanf(line, "totals: %" SCNu64, &instructions);
	}
	fclose(file);
	if (packets == 0)
		return false;
	*per_packet = (double)instructions / packets;
	return true;
}

static void print_rows(const char *directory, bool json)
{
	const char *separator = "";

	if (json)
		printf("[");
	else
		printf("%-19s %7s %24s\n", "name", "bytes", "instructions per packet");
	for (uint32_t i = 1; i < ROWS_MAX; i++) {
		char path[PATH_BYTES], name[64];
		uint32_t packet_bytes;
		double per_packet;

		snprintf(path, sizeof(path), "%s/out.%" PRIu32, directory, i);
		if (!read_dump(path, name, &packet_bytes, &per_packet))
			break;
		if (json)
			printf("%s\n{\"name\": \"%s\", \"packet_bytes\": %" PRIu32
			       ", \"instructions_per_packet\": %.1f}",
			       separator, name, packet_bytes, per_packet);
		else
			printf("%-19s %7" PRIu32 " %24.1f\n", name, packet_bytes, per_packet);
		separator = ",";
	}
	if (json)
		printf("\n]\n");
}

static int run_valgrind(const char *directory, char **argv)
{
	char program[PATH_BYTES], out[PATH_BYTES + 32], log[PATH_BYTES + 32];
	char *arguments[32] = {(char *)(uintptr_t) "valgrind",
			       (char *)(uintptr_t) "--tool=callgrind",
			       (char *)(uintptr_t) "--collect-atstart=no",
			       out,
			       log,
			       program};
	ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
	uint32_t count = 6;
	pid_t pid;
	int status, rc;

	if (size < 0)
		return -errno;
	program[size] = '\0';
	snprintf(out, sizeof(out), "--callgrind-out-file=%s/out", directory);
	snprintf(log, sizeof(log), "--log-file=%s/log", directory);
	for (uint32_t i = 1; argv[i] != NULL && count < 31; i++)
		arguments[count++] = argv[i];
	arguments[count] = NULL;
	rc = posix_spawnp(&pid, "valgrind", NULL, NULL, arguments, environ);
	if (rc != 0)
		return -rc;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return remove(path);
}

int instructions_run(char **argv, bool json)
{
	char directory[] = "/tmp/roceleaf-bench-XXXXXX";
	int rc;

	if (mkdtemp(directory) == NULL) {
		perror("roceleaf-bench: /tmp");
		return -errno;
	}
	rc = run_valgrind(directory, argv);
	if (rc == 0)
		print_rows(directory, json);
	else if (rc == -ENOENT)
		fprintf(stderr, "roceleaf-bench: --instructions needs valgrind\n");
	else
		fprintf(stderr, "roceleaf-bench: the run under valgrind failed: %s\n",
			strerror(-rc));
	nftw(directory, remove_one, 4, FTW_DEPTH | FTW_PHYS);
	return rc;
}
