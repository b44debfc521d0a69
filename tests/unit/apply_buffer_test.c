/* SPDX-License-Identifier: BSD-3-Clause */
/* From the plan to the tables of the buffer. Without a FIB nothing of DPDK's has to run. */
#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "control/apply.h"
#include "tests/unit/apply_ports.h"

struct fixture {
	struct config *config;
	struct apply_port port[4];
	struct apply_state state;
	struct snapshot *snapshot;
};

static void load(struct fixture *f, const char *text)
{
	static struct config_errors errors;

	memset(f, 0, sizeof(*f));
	f->config = config_load_string("test.yaml", text, strlen(text), &errors);
	cr_assert_not_null(f->config, "%s", errors.error[0].text);
	for (size_t i = 0; i < 4; i++)
		f->port[i] = (struct apply_port){.rate_bps = UINT64_C(25000000000),
						 .link_up = true,
						 .run_ahead_ps = 1000 + i};
	f->state = (struct apply_state){.port = f->port, .packets_max = 65536};
}

static void apply(struct fixture *f)
{
	f->snapshot = apply_snapshot(f->config, &f->state, NULL, true);
	cr_assert_not_null(f->snapshot, "%s", rte_strerror(rte_errno));
}

static void drop(struct fixture *f)
{
	snapshot_free(f->snapshot);
	config_free(f->config);
}

/* One of both rows of tables, and the slot of the CPU's pseudo-port behind the real ones. */
#define SLOT(priority, port) ((priority)*5 + (port))

Test(apply_buffer, fills_the_buffers_tables_from_the_plan)
{
	const struct buffer_table *b;
	struct buffer_plan plan;
	struct config_errors errors = {0};
	struct fixture f;

	load(&f, PORTS "buffer: {alpha: {roce: 2, best-effort: 1/2}, xon_offset: 5000}\n");
	f.state.packets_held = 1000;
	f.state.poll_ps = 10 * PS_PER_US;
	apply(&f);
	cr_assert_eq(apply_plan(f.config, &f.state, &plan, &errors), 0);
	b = &f.snapshot->buffer;
	cr_expect_eq(b->packets_max, 65536);
	cr_expect_eq(b->guard_packets, plan.guard_buffers);
	cr_expect_gt(b->guard_packets, 1000);
	cr_expect_eq(b->shared_bytes, plan.shared_bytes);
	cr_expect_eq(b->lossy_bytes, plan.lossy_bytes);
	cr_expect_eq(b->headroom_pool_bytes, 0, "each pair its own");
	cr_expect_eq(b->class[3].alpha_q8, 512);
	cr_expect_eq(b->class[0].alpha_q8, 128);
	cr_expect_eq(b->class[1].alpha_q8, 256, "no class");
	cr_expect_eq(b->class[3].xon_offset_bytes, 5000);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		for (uint32_t i = 0; i < 5; i++) {
			const struct buffer_pair *pair = &b->pair[SLOT(p, i)];
			const struct mark_table *mark = &b->mark[SLOT(p, i)];
			/* up1 trusts nothing; the CPU's port is the last. */
			bool lossless = p == 3 && i != 2 && i != 4;

			cr_expect_eq(pair->headroom_bytes > 0, lossless, "%u %u", p, i);
			cr_expect_eq(pair->reserved_bytes > 0, lossless, "%u %u", p, i);
			cr_expect_eq(mark->ecn_min_bytes != UINT32_MAX, p == 3 && i != 4);
			cr_expect_eq(mark->wred_min_bytes, UINT32_MAX);
			cr_expect_eq(mark->half_life_ps, 0);
		}
	}
	/* h1: MTU 4200; 10G: 10 KB are less than three frames; 20 % of 2^32, less one. */
	cr_expect_eq(b->pair[SLOT(3, 0)].reserved_bytes, 4218);
	cr_expect_eq(b->mark[SLOT(3, 0)].ecn_min_bytes, 3 * 4218);
	cr_expect_eq(b->mark[SLOT(3, 0)].ecn_max_bytes, 12 * 4218);
	cr_expect_eq(b->mark[SLOT(3, 0)].ecn_chance, 858993459 - 1);
	/* up2: 25G by the device. */
	cr_expect_eq(b->mark[SLOT(3, 3)].ecn_min_bytes, 25000);
	buffer_plan_free(&plan);
	drop(&f);
}

Test(apply_buffer, tells_marking_from_early_drops)
{
	struct fixture f;
	const struct mark_table *mark;

	load(&f, PORTS "classes:\n"
		       "  - {priority: 0, name: be, ecn: {kmin: 1KB, kmax: 2KB, pmax: 100%},\n"
		       "     wred: {min: 3KB, max: 4KB, pmax: 50%}, average: 70us}\n");
	apply(&f);
	mark = &f.snapshot->buffer.mark[SLOT(0, 1)];
	cr_expect_eq(mark->ecn_min_bytes, 1000);
	cr_expect_eq(mark->ecn_max_bytes, 2000);
	cr_expect_eq(mark->ecn_chance, UINT32_MAX);
	cr_expect_eq(mark->wred_min_bytes, 3000);
	cr_expect_eq(mark->wred_max_bytes, 4000);
	cr_expect_eq(mark->wred_chance, 0x7fffffff);
	cr_expect_eq(mark->half_life_ps, 70 * PS_PER_US);
	drop(&f);
}

Test(apply_buffer, shares_headroom_when_told_to)
{
	struct fixture f;
	uint64_t sum = 0;

	load(&f, PORTS "buffer: {headroom_pool: {oversubscribe: 1}}\n");
	apply(&f);
	for (uint32_t i = 0; i < 4; i++)
		sum += f.snapshot->buffer.pair[SLOT(3, i)].headroom_bytes;
	cr_expect_eq(f.snapshot->buffer.headroom_pool_bytes, sum);
	drop(&f);
}

Test(apply_buffer, refuses_a_buffer_that_does_not_suffice)
{
	struct config_errors errors = {0};
	struct buffer_plan plan;
	struct fixture f;

	load(&f, PORTS);
	f.state.packets_max = 100;
	cr_expect_eq(apply_plan(f.config, &f.state, &plan, &errors), -EINVAL);
	cr_expect_eq(errors.count, 1);
	cr_expect_null(apply_snapshot(f.config, &f.state, NULL, true));
	cr_expect_eq(rte_errno, EINVAL);
	drop(&f);
}
