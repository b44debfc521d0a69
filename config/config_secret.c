/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files with a secret in one line, which only their owner may use, and the token of `telemetry.marks`.
 */
#include "config/config_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A relative path begins at the config's folder. */
static void find_secret(struct config_secret *secret, const char *config_path, const char *file)
{
	const char *slash = strrchr(config_path, '/');

	if (file[0] == '/' || slash == NULL)
		snprintf(secret->path, sizeof(secret->path), "%s", file);
	else
		snprintf(secret->path, sizeof(secret->path), "%.*s/%s", (int)(slash - config_path),
			 config_path, file);
}

static const char *read_secret(struct config_secret *secret, int fd)
{
	struct stat status;
	ssize_t size;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return "it isn't a file";
	if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return "others than its owner may use it: chmod 600";
	size = read(fd, secret->text, sizeof(secret->text));
	if (size < 0)
		return strerror(errno);
	secret->size = (size_t)size;
	while (secret->size > 0 &&
	       (secret->text[secret->size - 1] == '\n' || secret->text[secret->size - 1] == '\r'))
		secret->size--;
	return NULL;
}

void config_secret_read(struct config_secret *secret, const char *config_path, const char *file)
{
	int fd;

	*secret = (struct config_secret){.size = 0};
	find_secret(secret, config_path, file);
	fd = open(secret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		secret->why = strerror(errno);
		return;
	}
	secret->why = read_secret(secret, fd);
	close(fd);
}

void config_secret_forget(struct config_secret *secret)
{
	explicit_bzero(secret->text, sizeof(secret->text));
}

/* RFC 6750 2.1: what may stand behind "Bearer". */
static bool is_token(const char *text, size_t size)
{
	static const char signs[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~+/=";

	for (size_t i = 0; i < size; i++)
		if (text[i] == '\0' || strchr(signs, text[i]) == NULL)
			return false;
	return size >= CONFIG_TOKEN_BYTES_MIN && size <= CONFIG_TOKEN_BYTES_MAX;
}

void config_check_marks(struct schema_document *document, struct config *config)
{
	struct config_marks *marks = &config->telemetry.marks;
	struct config_secret secret;

	if (marks->token_file[0] == '\0')
		return;
	config_secret_read(&secret, config->path, marks->token_file);
	if (secret.why == NULL && !is_token(secret.text, secret.size))
		secret.why = "it must hold a token of 16 to 128 letters, digits and -._~+/= alone";
	if (secret.why == NULL)
		memcpy(marks->token, secret.text, secret.size);
	else
		schema_fail(document, schema_at(document, "telemetry.marks.token_file"),
			    "token_file %s: %s", secret.path, secret.why);
	config_secret_forget(&secret);
}
