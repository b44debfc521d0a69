/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control/daemon.h"

int runtime_path(const struct config *config, const char *name, char *path, size_t size)
{
	int length = snprintf(path, size, "%s/%s", config->leaf.runtime_dir, name);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

static int runtime_fail(const struct config *config, struct config_errors *errors, int code,
			const char *what)
{
	config_fail(config, errors, config_mark_of(config, "leaf.runtime_dir"),
		    "runtime_dir %s: %s: %s; set leaf.runtime_dir to a directory that you may "
		    "write to",
		    config->leaf.runtime_dir, what, strerror(code));
	return -code;
}

/* Somebody has the lock: who? */
static int runtime_busy(const struct config *config, int fd, struct config_errors *errors)
{
	char pid[16] = "";
	ssize_t size = pread(fd, pid, sizeof(pid) - 1, 0);

	pid[size > 0 ? size : 0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	config_fail(config, errors, config_mark_of(config, "leaf.runtime_dir"),
		    "runtime_dir %s is in use by another roceleaf (process %s); stop it, or give "
		    "this leaf a runtime_dir of its own",
		    config->leaf.runtime_dir, pid[0] != '\0' ? pid : "?");
	return -EBUSY;
}

int runtime_open(const struct config *config, int *fd, struct config_errors *errors)
{
	const char *directory = config->leaf.runtime_dir;
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path);
	char path[CONFIG_PATH_BYTES + sizeof(DAEMON_TELEMETRY_SOCKET)];
	int lock;

	if (runtime_path(config, DAEMON_TELEMETRY_SOCKET, path, most) != 0) {
		config_fail(config, errors, config_mark_of(config, "leaf.runtime_dir"),
			    "runtime_dir is %zu characters long; sockets below it allow for %zu",
			    strlen(directory), sizeof(path) - sizeof(DAEMON_TELEMETRY_SOCKET) - 1);
		return -ENAMETOOLONG;
	}
	if (mkdir(directory, 0700) != 0 && errno != EEXIST)
		return runtime_fail(config, errors, errno, "can't create it");
	(void)runtime_path(config, "lock", path, sizeof(path));
	lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0)
		return runtime_fail(config, errors, errno, "can't create a file in it");
	if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
		int code = errno == EWOULDBLOCK
				   ? runtime_busy(config, lock, errors)
				   : runtime_fail(config, errors, errno, "can't lock it");

		close(lock);
		return code;
	}
	if (ftruncate(lock, 0) == 0)
		(void)dprintf(lock, "%ld\n", (long)getpid());
	*fd = lock;
	return 0;
}
