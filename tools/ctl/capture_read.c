/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/capture_read.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "dataplane/units.h"

#define WORKERS_MAX 64

static struct capture_header *header_of(const struct capture_reader *reader)
{
	return reader->memory;
}

/* Does all that the header speaks of lie within the memory? */
static bool take_header(struct capture_reader *reader)
{
	const struct capture_header *header = header_of(reader);

	reader->workers = header->workers;
	reader->slots = header->slots;
	reader->slot_bytes = header->slot_bytes;
	reader->snap_bytes = header->snap_bytes;
	reader->clock_ps = header->clock_ps;
	reader->clock_ns = header->clock_ns;
	return header->magic == CAPTURE_MAGIC && reader->workers >= 1 &&
	       reader->workers <= WORKERS_MAX && reader->slots >= 1 &&
	       (reader->slots & (reader->slots - 1)) == 0 &&
	       reader->snap_bytes <= CAPTURE_SNAP_MAX &&
	       reader->slot_bytes == capture_slot_bytes(reader->snap_bytes) &&
	       capture_bytes(reader->workers, reader->slots, reader->slot_bytes) <= reader->bytes;
}

int capture_reader_open(struct capture_reader *reader, int fd)
{
	struct stat status;

	reader->memory = NULL;
	if (fstat(fd, &status) != 0)
		return -1;
	reader->bytes = (uint64_t)status.st_size;
	if (reader->bytes < CAPTURE_RINGS_BYTES) {
		errno = EPROTO;
		return -1;
	}
	reader->memory = mmap(NULL, reader->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (reader->memory == MAP_FAILED) {
		reader->memory = NULL;
		return -1;
	}
	if (take_header(reader))
		return 0;
	(void)munmap(reader->memory, reader->bytes);
	reader->memory = NULL;
	errno = EPROTO;
	return -1;
}

void capture_reader_close(struct capture_reader *reader)
{
	if (reader->memory == NULL)
		return;
	atomic_store_explicit(&header_of(reader)->closed, 1, memory_order_release);
	(void)munmap(reader->memory, reader->bytes);
	reader->memory = NULL;
}

static const struct capture_slot *slot_at(const struct capture_reader *reader, uint32_t worker,
					  uint64_t index)
{
	return (const struct capture_slot *)(const void *)(capture_slots_of(
								   reader->memory, reader->workers,
								   reader->slots,
								   reader->slot_bytes, worker) +
							   (index & (reader->slots - 1)) *
								   reader->slot_bytes);
}

static bool take_slot(const struct capture_reader *reader, const struct capture_slot *slot,
		      capture_frame_fn *take, void *context)
{
	int64_t since_ps = (int64_t)(slot->time_ps - reader->clock_ps);
	const struct capture_frame frame = {
		.time_ns = reader->clock_ns + (uint64_t)(since_ps / (int64_t)PS_PER_NS),
		.bytes = slot->bytes,
		.captured_bytes = slot->captured_bytes < reader->snap_bytes ? slot->captured_bytes
									    : reader->snap_bytes,
		.outbound = slot->direction == CAPTURE_OUT,
		.data = slot->data,
	};

	return take(context, &frame);
}

bool capture_reader_look(struct capture_reader *reader, capture_frame_fn *take, void *context)
{
	uint64_t head[WORKERS_MAX], tail[WORKERS_MAX];
	bool go_on = true;

	atomic_fetch_add_explicit(&header_of(reader)->alive, 1, memory_order_relaxed);
	for (uint32_t w = 0; w < reader->workers; w++) {
		struct capture_ring *ring = capture_ring_of(reader->memory, w);

		head[w] = atomic_load_explicit(&ring->head, memory_order_acquire);
		tail[w] = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	}
	while (go_on) {
		const struct capture_slot *first = NULL;
		uint32_t of = 0;

		for (uint32_t w = 0; w < reader->workers; w++) {
			const struct capture_slot *slot;

			if (head[w] == tail[w])
				continue;
			slot = slot_at(reader, w, tail[w]);
			if (first == NULL || time_after(first->time_ps, slot->time_ps)) {
				first = slot;
				of = w;
			}
		}
		if (first == NULL)
			return true;
		go_on = take_slot(reader, first, take, context);
		atomic_store_explicit(&capture_ring_of(reader->memory, of)->tail, ++tail[of],
				      memory_order_release);
	}
	return false;
}

uint64_t capture_reader_dropped(const struct capture_reader *reader)
{
	uint64_t dropped = 0;

	for (uint32_t w = 0; w < reader->workers; w++)
		dropped += atomic_load_explicit(&capture_ring_of(reader->memory, w)->dropped,
						memory_order_relaxed);
	return dropped;
}

uint32_t capture_reader_snap_bytes(const struct capture_reader *reader)
{
	return reader->snap_bytes;
}

bool capture_reader_ended(const struct capture_reader *reader)
{
	return atomic_load_explicit(&header_of(reader)->ended, memory_order_acquire) != 0;
}
