/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of a port's frames: by a leaf's workers into memory that roceleafctl's reader takes them from. */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataplane/capture.h"
#include "tests/unit/pause_fixture.h"
#include "tools/ctl/capture_read.h"

#define FRAME_BYTES 1000u
#define FRAMES_MAX  64
#define EPOCH_NS    UINT64_C(1769862896000000000)

static struct leaf_fixture f;
static struct capture capture;
static struct capture_reader reader;
static void *memory;
static uint64_t memory_bytes;
static struct capture_frame seen[FRAMES_MAX];
static uint8_t first_bytes[FRAMES_MAX][32];
static uint32_t count, count_max;

static void start(void)
{
	fixture_start_eal();
	count_max = FRAMES_MAX;
}

static void finish(void)
{
	(void)leaf_capture(f.leaf, NULL);
	fixture_close(&f);
	capture_reader_close(&reader);
	munmap(memory, memory_bytes);
}

static void open_capture(uint16_t port, uint32_t slots, uint32_t snap_bytes)
{
	uint32_t slot_bytes = capture_slot_bytes(snap_bytes);
	int fd = memfd_create("capture_test", 0);

	pause_open(&f, &(struct pause_params){.senders = 2,
					      .shared_bytes = 1000000,
					      .reserved_bytes = 3000,
					      .headroom_bytes = 100000,
					      .xon_offset_bytes = 5000,
					      .alpha_q8 = 256});
	memory_bytes = capture_bytes(f.worker_count, slots, slot_bytes);
	cr_assert_eq(ftruncate(fd, (off_t)memory_bytes), 0);
	memory = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(memory, MAP_FAILED);
	*(struct capture_header *)memory = (struct capture_header){
		.magic = CAPTURE_MAGIC,
		.workers = f.worker_count,
		.slots = slots,
		.slot_bytes = slot_bytes,
		.snap_bytes = snap_bytes,
		.clock_ps = f.now_ps,
		.clock_ns = EPOCH_NS,
	};
	capture_init(&capture, memory, f.worker_count, port);
	(void)leaf_capture(f.leaf, &capture);
	cr_assert_eq(capture_reader_open(&reader, fd), 0);
	close(fd);
}

static bool take(void *unused, const struct capture_frame *frame)
{
	(void)unused;
	cr_assert_lt(count, FRAMES_MAX);
	seen[count] = *frame;
	memcpy(first_bytes[count], frame->data, 32);
	count++;
	return count < count_max;
}

/* @return how many frames there are to read */
static uint32_t look(void)
{
	count = 0;
	(void)capture_reader_look(&reader, take, NULL);
	return count;
}

/* SINK's wire is exact: as many polls as it needs. */
static void send_all(uint32_t frames)
{
	for (uint32_t i = 0; i < frames; i++)
		pause_inject(&f, SENDER, 3, FRAME_BYTES);
	fixture_settle(&f);
}

LEAF_TEST(capture, frames_that_come_are_copied_inbound_and_cut)
{
	open_capture(SENDER, 64, 32);
	f.now_ps += 5 * PS_PER_US;
	send_all(5);
	cr_assert_eq(look(), 5);
	for (uint32_t i = 0; i < 5; i++) {
		cr_expect_eq(seen[i].bytes, FRAME_BYTES);
		cr_expect_eq(seen[i].captured_bytes, 32);
		cr_expect_not(seen[i].outbound);
		cr_expect_eq(seen[i].time_ns, EPOCH_NS + 5000, "the poll that took them");
	}
	cr_expect_eq(look(), 0, "once");
	cr_expect_eq(capture_reader_dropped(&reader), 0);
}

LEAF_TEST(capture, frames_that_go_are_copied_outbound_when_they_go)
{
	open_capture(SINK, 64, 2048);
	send_all(5);
	cr_assert_eq(look(), 5);
	for (uint32_t i = 0; i < 5; i++) {
		cr_expect_eq(seen[i].bytes, FRAME_BYTES);
		cr_expect(seen[i].outbound);
		/* 1024 bytes at 100G take 81.92 ns. */
		cr_expect_eq(seen[i].time_ns, EPOCH_NS + i * 8192 / 100);
	}
}

LEAF_TEST(capture, pauses_of_both_sides_are_copied)
{
	open_capture(SINK, 64, 64);
	pause_receive(&f, SINK, 3, 1000);
	pause_receive(&f, SENDER, 3, 1000); /* another port's */
	cr_assert_eq(look(), 1);
	cr_expect_not(seen[0].outbound);
	cr_expect_eq(first_bytes[0][12] << 8 | first_bytes[0][13], 0x8808);
}

LEAF_TEST(capture, a_full_ring_drops_copies_and_counts_them)
{
	open_capture(SENDER, 4, 64);
	send_all(10);
	cr_expect_eq(capture_reader_dropped(&reader), 6);
	count_max = 2;
	cr_assert_eq(look(), 2, "a reader may stop");
	count_max = FRAMES_MAX;
	send_all(3);
	cr_expect_eq(capture_reader_dropped(&reader), 7, "two had been read");
	cr_expect_eq(look(), 4);
}

LEAF_TEST(capture, what_a_device_does_not_take_is_copied_when_it_does)
{
	uint32_t all = 0;

	open_capture(SENDER + 1, 64, 64);
	/* SINK's device is exact; another one takes bursts, of which two frames at a time. */
	memory_io_limit(f.memory[SINK], 0);
	for (uint32_t i = 0; i < 5; i++)
		pause_inject(&f, SENDER, 3, FRAME_BYTES);
	capture.port = SINK;
	fixture_poll(&f);
	cr_expect_eq(look(), 0, "nothing was taken");
	cr_expect_eq(capture_reader_dropped(&reader), 0);
	memory_io_limit(f.memory[SINK], 2);
	f.now_ps += PS_PER_MS;
	for (int i = 0; i < 100; i++) {
		fixture_poll(&f);
		f.now_ps += PS_PER_US;
	}
	all += look();
	cr_expect_eq(all, 5, "each once");
	memory_io_limit(f.memory[SINK], BURST_COUNT_MAX);
	fixture_settle(&f);
}

/* What the other process writes can't lead a worker astray. */
LEAF_TEST(capture, nonsense_in_shared_memory_only_drops_copies)
{
	static const uint64_t tails[] = {1, UINT64_MAX, UINT64_MAX / 2, 1u << 20};
	struct capture_ring *ring;
	uint16_t poller;

	open_capture(SENDER, 4, 64);
	poller = leaf_poller(f.leaf, SENDER, 0);
	ring = capture_ring_of(memory, poller);
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		atomic_store(&ring->tail, tails[i]);
		atomic_store(&ring->head, UINT64_MAX);
		*(struct capture_header *)memory =
			(struct capture_header){.slots = UINT32_MAX, .snap_bytes = UINT32_MAX};
		send_all(3);
	}
	cr_expect_eq(atomic_load(&ring->head), capture.worker[poller].head,
		     "as the worker knows it");
	cr_expect_leq(capture.worker[poller].head, 4);
}

LEAF_TEST(capture, a_reader_refuses_memory_whose_header_is_wrong)
{
	struct capture_header *header, right;
	int fd = memfd_create("capture_test", 0);
	struct capture_reader other;

	open_capture(SENDER, 4, 64);
	right = *(struct capture_header *)memory;
	cr_assert_eq(ftruncate(fd, (off_t)memory_bytes), 0);
	header = mmap(NULL, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq((void *)header, MAP_FAILED);
	for (int i = 0; i < 7; i++) {
		*header = right;
		header->magic += i == 1;
		header->workers = i == 2 ? 0 : i == 3 ? 65 : header->workers;
		header->slots = i == 4 ? 3 : i == 5 ? 1u << 20 : header->slots;
		header->slot_bytes -= i == 6 ? 8 : 0;
		cr_expect_eq(capture_reader_open(&other, fd), i == 0 ? 0 : -1, "case %d", i);
		if (i == 0)
			capture_reader_close(&other);
	}
	munmap(header, memory_bytes);
	cr_assert_eq(ftruncate(fd, 100), 0);
	cr_expect_eq(capture_reader_open(&other, fd), -1, "too short for a header");
	close(fd);
}

LEAF_TEST(capture, nothing_is_copied_once_it_is_over)
{
	uint64_t token;

	open_capture(SENDER, 64, 64);
	token = leaf_capture(f.leaf, NULL);
	fixture_poll(&f);
	cr_expect(leaf_quiet(f.leaf, token), "a poll later its memory may go");
	send_all(3);
	cr_expect_eq(look(), 0);
}
