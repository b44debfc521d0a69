/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lab/allocate.h"

static int output_failed(const char *path, int error)
{
	fprintf(stderr, "%s: can't write %s: %s\n", program_invocation_short_name, path,
		strerror(error));
	return -error;
}

static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static int output_opened(struct output *output, const char *name)
{
	int error = errno;

	if (output->file != NULL)
		return 0;
	output_failed(name, error);
	free(output->path);
	free(output->temporary);
	*output = (struct output){0};
	return -error;
}

int output_open(struct output *output, const char *path)
{
	if (strcmp(path, "-") == 0) {
		*output = (struct output){.file = stdout,
					  .path = allocate_text("to standard output")};
		return 0;
	}
	*output = (struct output){.path = allocate_text("%s", path)};
	if (is_special(path)) {
		output->file = fopen(path, "we");
	} else {
		output->temporary = allocate_text("%s.%ld.tmp", path, (long)getpid());
		output->file = fopen(output->temporary, "wxe");
	}
	return output_opened(output, path);
}

/* A full disk says so late. */
static int output_finish(FILE *file)
{
	int error = 0, otherwise = errno == ENOSPC ? ENOSPC : EIO; /* of a write just before */

	errno = 0;
	/* What is still to be written is tried again, and says why it can't be. */
	if (fflush(file) != 0 || ferror(file))
		error = errno != 0 ? errno : otherwise;
	else if (file != stdout && fsync(fileno(file)) != 0 && errno != EINVAL && errno != EROFS)
		error = errno; /* pipes and devices have nothing to be synchronised */
	if (file != stdout && fclose(file) != 0 && error == 0)
		error = errno;
	return error;
}

int output_close(struct output *output, bool keep)
{
	int error = output_finish(output->file);

	if (error == 0 && keep && output->temporary != NULL &&
	    rename(output->temporary, output->path) != 0)
		error = errno;
	if ((error != 0 || !keep) && output->temporary != NULL)
		(void)unlink(output->temporary);
	if (error != 0)
		output_failed(output->path, error);
	free(output->path);
	free(output->temporary);
	*output = (struct output){0};
	return -error;
}
