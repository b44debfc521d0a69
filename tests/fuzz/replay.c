/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target over the files of a directory: the corpus as a test, with any compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *directory, const char *name)
{
	char path[4096];
	uint8_t *data;
	size_t size;
	long end;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0) {
		perror(path);
		return -1;
	}
	rewind(file);
	data = malloc((size_t)end + 1);
	size = data == NULL ? 0 : fread(data, 1, (size_t)end, file);
	fclose(file);
	if (size != (size_t)end) {
		free(data);
		return -1;
	}
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *entry;
	int count = 0;

	if (directory == NULL) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(directory)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay_file(argv[1], entry->d_name) != 0)
			return 1;
		count++;
	}
	closedir(directory);
	printf("%d inputs\n", count);
	return count > 0 ? 0 : 1;
}
