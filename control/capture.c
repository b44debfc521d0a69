/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture - gives who asks over the control socket the copies of a port's frames.
 *
 * The copies go through memory that the workers and the one who asked share (dataplane/capture_ring.h); control
 * only makes it, hands its descriptor over, and takes it away when nobody reads any more. One at a time.
 *
 *	port=NAME [snap=BYTES]
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/schema.h"
#include "control/state.h"
#include "dataplane/capture.h"

#define MEMORY_BYTES     (UINT64_C(16) << 20) /* about; all workers together */
#define SNAP_DEFAULT     256u
#define SLOTS_MIN        64u
#define SILENT_TICKS_MAX 5 /* the reader has gone without a word */

struct capture_job {
	struct capture capture;
	void *memory;
	uint64_t bytes;
	uint64_t alive; /* as last seen */
	uint32_t silent_ticks;
	bool leaving; /* workers are told to let go of it */
	uint64_t token;
};

static void job_free(struct capture_job *job)
{
	if (job != NULL && job->memory != NULL)
		(void)munmap(job->memory, job->bytes);
	free(job);
}

/* As many slots as fit, a power of two. */
static uint32_t slots_of(uint32_t workers, uint32_t slot_bytes)
{
	uint32_t slots = SLOTS_MIN;

	while (capture_bytes(workers, 2 * slots, slot_bytes) <= MEMORY_BYTES)
		slots *= 2;
	return slots;
}

/* @return a descriptor, or -errno */
static int make_memory(struct capture_job *job, const struct daemon *daemon, uint32_t snap_bytes)
{
	uint16_t workers = leaf_worker_count(daemon->leaf);
	uint32_t slot_bytes = capture_slot_bytes(snap_bytes);
	int fd = memfd_create("roceleaf-capture", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;
	struct capture_header *header;

	if (fd < 0)
		return -errno;
	job->bytes = capture_bytes(workers, slots_of(workers, slot_bytes), slot_bytes);
	/* Nobody can make it shorter under a worker's hands. Its pages are there before a worker writes. */
	if (ftruncate(fd, (off_t)job->bytes) != 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		goto err_close;
	job->memory =
		mmap(NULL, job->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (job->memory == MAP_FAILED) {
		job->memory = NULL;
		goto err_close;
	}
	header = job->memory;
	*header = (struct capture_header){
		.magic = CAPTURE_MAGIC,
		.workers = workers,
		.slots = slots_of(workers, slot_bytes),
		.slot_bytes = slot_bytes,
		.snap_bytes = snap_bytes,
		.clock_ps = lcores_now_ps(daemon->lcores),
		.clock_ns = realtime_ns(),
	};
	return fd;

err_close:
	error = errno;
	close(fd);
	return -error;
}

/* @return an index, or PORT_NONE with an answer */
static uint16_t read_request(const struct daemon *daemon, const char *text, uint64_t *snap_bytes,
			     FILE *reply)
{
	char line[SOCKET_LINE_BYTES], why[128], *name, *snap;

	(void)snprintf(line, sizeof(line), "%s", text);
	*snap_bytes = SNAP_DEFAULT;
	name = strncmp(line, "port=", 5) == 0 ? line + 5 : NULL;
	snap = name == NULL ? NULL : strstr(name, " snap=");
	if (snap != NULL) {
		*snap = '\0';
		if (schema_parse_number(SCHEMA_SIZE, snap + 6, snap_bytes, why, sizeof(why)) != 0 ||
		    *snap_bytes < CAPTURE_SNAP_MIN || *snap_bytes > CAPTURE_SNAP_MAX) {
			(void)fprintf(reply, "error capture: snap must be %u to %u bytes\n",
				      CAPTURE_SNAP_MIN, CAPTURE_SNAP_MAX);
			return PORT_NONE;
		}
	}
	for (uint16_t i = 0; name != NULL && i < daemon->port_count; i++)
		if (strcmp(daemon->config->ports[i].name, name) == 0)
			return i;
	(void)fprintf(reply, "error capture: there is no port '%.64s'; 'show ports' lists them\n",
		      name == NULL ? "" : name);
	return PORT_NONE;
}

static void job_leave(struct daemon *daemon)
{
	struct capture_job *job = daemon->capture;

	if (job->leaving)
		return;
	job->leaving = true;
	job->token = leaf_capture(daemon->leaf, NULL);
	atomic_store_explicit(&((struct capture_header *)job->memory)->ended, 1,
			      memory_order_release);
}

/* Is its reader still there? */
static bool job_is_read(struct capture_job *job)
{
	const struct capture_header *header = job->memory;
	uint64_t alive = atomic_load_explicit(&header->alive, memory_order_relaxed);

	if (atomic_load_explicit(&header->closed, memory_order_relaxed) != 0)
		return false;
	job->silent_ticks = alive == job->alive ? job->silent_ticks + 1 : 0;
	job->alive = alive;
	return job->silent_ticks <= SILENT_TICKS_MAX;
}

static void job_end_if_quiet(struct daemon *daemon)
{
	struct capture_job *job = daemon->capture;

	if (!job->leaving || !leaf_quiet(daemon->leaf, job->token))
		return;
	daemon->capture = NULL;
	job_free(job);
}

void capture_command(struct daemon *daemon, const char *text, FILE *reply, int *fd)
{
	struct capture_job *job;
	uint64_t snap_bytes;
	uint16_t port = read_request(daemon, text, &snap_bytes, reply);
	int memory_fd;

	if (port == PORT_NONE)
		return;
	/* One that was closed a moment ago makes room. */
	if (daemon->capture != NULL &&
	    atomic_load(&((struct capture_header *)daemon->capture->memory)->closed) != 0)
		job_leave(daemon);
	if (daemon->capture != NULL)
		job_end_if_quiet(daemon);
	if (daemon->capture != NULL) {
		(void)fprintf(reply, "error capture: somebody else captures; try again later\n");
		return;
	}
	job = calloc(1, sizeof(*job));
	memory_fd = job == NULL ? -ENOMEM : make_memory(job, daemon, (uint32_t)snap_bytes);
	if (memory_fd < 0) {
		job_free(job);
		(void)fprintf(reply, "error capture: %s\n", strerror(-memory_fd));
		return;
	}
	capture_init(&job->capture, job->memory, leaf_worker_count(daemon->leaf), port);
	daemon->capture = job;
	(void)leaf_capture(daemon->leaf, &job->capture);
	*fd = memory_fd;
	(void)fprintf(reply, "ok capturing\n");
}

void capture_tick(struct daemon *daemon)
{
	if (daemon->capture == NULL)
		return;
	if (!job_is_read(daemon->capture))
		job_leave(daemon);
	job_end_if_quiet(daemon);
}

void capture_end(struct daemon *daemon)
{
	if (daemon->capture == NULL)
		return;
	atomic_store_explicit(&((struct capture_header *)daemon->capture->memory)->ended, 1,
			      memory_order_release);
	job_free(daemon->capture);
	daemon->capture = NULL;
}
