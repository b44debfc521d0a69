/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers of in-order spray in a config: their key, our address, their groups and routes.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/buffer_plan.h"
#include "config/config.h"
#include "control/apply.h"
#include "tests/unit/leaf_fixture.h"

static const char ports[] = "ports:\n"
			    "  - {name: a, device: eth0, address: 10.0.0.0/31, speed: 100G}\n"
			    "  - {name: b, device: eth1, address: 10.0.0.2/31, speed: 25G}\n"
			    "  - {name: h, device: eth2, address: 10.1.0.1/24, speed: 100G}\n"
			    "routes:\n"
			    "  - {to: 10.2.0.0/15, via: [10.0.0.1, 10.0.0.3]}\n"
			    "  - {to: 10.2.9.0/24, via: [10.0.0.1, 10.0.0.3], balance: ecmp}\n"
			    "  - {to: 10.4.0.0/16, via: [10.0.0.1, 10.0.0.3]}\n"
			    "neighbours:\n"
			    "  - {address: 10.0.0.1, mac: 02:00:00:00:00:01}\n"
			    "  - {address: 10.0.0.3, mac: 02:00:00:00:00:03}\n";

static const char balance[] = "balance:\n"
			      "  mode: spray\n"
			      "  spray:\n"
			      "    key_file: k\n"
			      "    peers:\n"
			      "      - {address: 10.2.0.1, prefixes: [10.2.0.0/16]}\n"
			      "      - {address: 10.3.0.1, prefixes: [10.3.1.0/24, 10.3.2.0/24]}\n";

static char folder[] = "/tmp/roceleaf-spray-XXXXXX";
static char key_path[sizeof(folder) + 4];

static void write_key(const char *text, mode_t mode)
{
	FILE *file = fopen(key_path, "w");

	cr_assert_not_null(file);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fchmod(fileno(file), mode), 0);
	fclose(file);
}

static struct config *load(struct config_errors *errors, const char *more)
{
	char text[4096], path[sizeof(folder) + 16];

	snprintf(text, sizeof(text), "%s%s%s", ports, balance, more);
	snprintf(path, sizeof(path), "%s/leaf.yaml", folder);
	return config_load_string(path, text, strlen(text), errors);
}

static void make_folder(void)
{
	fixture_start_eal();
	cr_assert_not_null(mkdtemp(folder));
	snprintf(key_path, sizeof(key_path), "%s/k", folder);
	write_key("000102030405060708090A0b0c0d0e0f\n", 0600);
}

static void remove_folder(void)
{
	unlink(key_path);
	rmdir(folder);
}

TestSuite(config_spray, .init = make_folder, .fini = remove_folder);

Test(config_spray, reads_the_key_beside_the_config_and_finds_our_address)
{
	static struct config_errors errors;
	struct config *config = load(&errors, "");
	const struct config_spray *spray;

	cr_assert_not_null(config, "%s", errors.error[0].text);
	spray = &config->balance.spray;
	cr_assert_eq(spray->peer_count, 2);
	cr_assert_eq(spray->promote_bytes, 16000);
	cr_assert(spray->hold_auto);
	for (uint8_t i = 0; i < CONFIG_KEY_BYTES; i++)
		cr_expect_eq(spray->key[i], i);
	/* Of the interfaces the one through which no route goes. */
	cr_expect_eq(spray->address.family, 4);
	cr_expect_arr_eq(spray->address.bytes, ((uint8_t[]){10, 1, 0, 1}), 4);
	config_free(config);
}

Test(config_spray, takes_no_key_that_is_no_key)
{
	static const char *const texts[] = {
		"", "000102030405060708090a0b0c0d0e0", "000102030405060708090a0b0c0d0e0f0",
		"000102030405060708090a0b0c0d0e0g", "000102030405060708090a0b0c0d0e0f x"};
	static struct config_errors errors;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		write_key(texts[i], 0600);
		cr_expect_null(load(&errors, ""), "%s", texts[i]);
		cr_expect_not_null(strstr(errors.error[0].text, "32 hexadecimal digits"));
	}
	unlink(key_path);
	cr_assert_eq(mkdir(key_path, 0700), 0);
	cr_expect_null(load(&errors, ""));
	cr_expect_not_null(strstr(errors.error[0].text, "isn't a file"));
	rmdir(key_path);
}

Test(config_spray, stays_as_it_is_while_the_leaf_runs)
{
	static struct config_errors errors;
	struct config *before = load(&errors, ""), *same = load(&errors, ""), *after;

	cr_assert_not_null(before);
	cr_expect_eq(config_check_reload(before, same, &errors), 0);
	write_key("000102030405060708090a0b0c0d0e00\n", 0600);
	after = load(&errors, "");
	cr_expect_eq(config_check_reload(before, after, &errors), -EBUSY);
	cr_expect_not_null(strstr(errors.error[0].text, "balance.spray"));
	config_free(after);
	config_free(same);
	config_free(before);
}

static const struct group *group_of(const struct snapshot *snapshot, const char *destination)
{
	unsigned a, b, c, d;

	cr_assert_eq(sscanf(destination, "%u.%u.%u.%u", &a, &b, &c, &d), 4);
	return &snapshot->group[fib_find4(snapshot->fib[0], a << 24 | b << 16 | c << 8 | d)];
}

Test(config_spray, its_peers_have_groups_and_the_hold_its_share)
{
	static struct config_errors errors;
	struct config *config = load(&errors, "");
	struct apply_port port[3] = {{.link_up = true}, {.link_up = true}, {.link_up = true}};
	struct apply_state state = {.port = port, .packets_max = 60000, .spray_epoch = 77};
	struct fib *fib = fib_create(FIB_COMPACT, apply_routes_max(config));
	struct snapshot *snapshot;
	struct buffer_plan plan;

	cr_assert_not_null(fib);
	snapshot = apply_snapshot(config, &state, fib, false);
	cr_assert_not_null(snapshot);
	cr_expect_eq(group_of(snapshot, "10.2.3.4")->peer, 0);
	cr_expect_eq(group_of(snapshot, "10.2.3.4")->balanced, 2);
	cr_expect_eq(group_of(snapshot, "10.2.9.4")->peer, 0, "a longer route of its own");
	cr_expect_eq(group_of(snapshot, "10.2.9.4")->mode, BALANCE_ECMP);
	cr_expect_eq(group_of(snapshot, "10.3.2.4")->peer, 1);
	cr_expect_eq(group_of(snapshot, "10.3.3.4")->peer, PEER_NONE, "nobody's prefix");
	cr_expect_eq(group_of(snapshot, "10.4.0.1")->peer, PEER_NONE);
	cr_expect_eq(snapshot->spray.peer_count, 2);
	cr_expect_eq(snapshot->spray.epoch, 77);
	cr_expect_eq(snapshot->spray.peer[1].count, 2);
	cr_expect_eq(snapshot->spray.slowest_bps, 25 * UINT64_C(1000000000));
	cr_expect_eq(snapshot->spray.key.k0, UINT64_C(0x0706050403020100));
	cr_expect(snapshot->port[0].fabric && snapshot->port[1].fabric &&
		  !snapshot->port[2].fabric);
	cr_expect(snapshot->port[3].fabric, "what waited for its neighbour");

	/* A quarter of what is neither guard nor headroom. */
	cr_assert_eq(apply_plan(config, &state, &plan, &errors), 0);
	cr_expect_eq(plan.hold_bytes,
		     (uint64_t)(plan.buffers - plan.guard_buffers) * plan.mean_bytes / 4);
	cr_expect_eq(plan.pool_bytes, plan.headroom_bytes + plan.reserved_bytes +
					      plan.overshoot_bytes + plan.hold_bytes +
					      plan.lossy_bytes + plan.shared_bytes);
	/* Its buffers may be full of the longest frames. */
	cr_expect_eq(snapshot->spray.hold_packets, plan.hold_bytes / plan.mean_bytes);
	cr_assert_lt(plan.mean_bytes, plan.frame_bytes_max);
	cr_expect_eq(snapshot->spray.hold_bytes,
		     (uint64_t)snapshot->spray.hold_packets * plan.frame_bytes_max);
	buffer_plan_free(&plan);
	snapshot_free(snapshot);
	fib_free(fib);
	config_free(config);
}

Test(config_spray, looks_at_every_packet_when_one_uplink_is_left)
{
	static struct config_errors errors;
	struct config *config = load(&errors, "");
	struct apply_port port[3] = {{.link_up = true}, {.link_up = false}, {.link_up = true}};
	struct apply_state state = {.port = port, .packets_max = 60000};
	struct fib *fib = fib_create(FIB_COMPACT, apply_routes_max(config));
	struct snapshot *snapshot = apply_snapshot(config, &state, fib, false);

	cr_assert_not_null(snapshot);
	cr_expect_eq(group_of(snapshot, "10.2.3.4")->balanced, 2);
	cr_expect_eq(group_of(snapshot, "10.2.3.4")->count, 0);
	cr_expect_eq(group_of(snapshot, "10.3.3.4")->count, 1,
		     "elsewhere there is nothing to choose");
	snapshot_free(snapshot);
	fib_free(fib);
	config_free(config);
}
