/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/telemetry_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_eal.h>

#include "control/telemetry.h"
#include "tests/unit/telemetry_fake.h"
#include "tools/ctl/client.h"

char telemetry_client_dir[] = "/tmp/roceleaf-telemetry-XXXXXX";

void telemetry_client_start(void)
{
	char text[] = "telemetry --no-huge -m 64 --no-pci --no-shconf --file-prefix=leaf -l 0 "
		      "--log-level=*:error";
	char *arguments[16], *rest = text;
	int count = 0;

	while ((arguments[count] = strsep(&rest, " ")) != NULL)
		count++;
	cr_assert_not_null(mkdtemp(telemetry_client_dir));
	setenv("RUNTIME_DIRECTORY", telemetry_client_dir, 1);
	cr_assert_geq(rte_eal_init(count, arguments), 0);
	fake_reset(4);
	/* Any address will do: the fake daemon has no state of its own. */
	cr_assert_eq(telemetry_start((struct daemon *)&fake), 0);
}

void telemetry_client_stop(void)
{
	char command[128];

	telemetry_stop();
	cr_expect_eq(fake.locked, 0, "each lock was given back");
	snprintf(command, sizeof(command), "rm -rf %s", telemetry_client_dir);
	cr_expect_eq(system(command), 0);
}

struct reply ask(const char *command)
{
	struct ctl_error error;
	struct client client;
	struct reply reply;

	reply_init(&reply);
	cr_assert_eq(client_open(&client, telemetry_client_dir, &error), 0, "%s", error.text);
	cr_assert_eq(client_fetch(&client, command, &reply, &error), 0, "%s", error.text);
	client_close(&client);
	cr_expect_eq(reply.instance, FAKE_STARTED_NS / 1000);
	cr_expect_gt(reply.time_ns, 0);
	return reply;
}

bool has_counter(const struct reply *reply, const char *name, const char *unit)
{
	int c = reply_column_find(reply, name);

	return c >= 0 && reply->column[c].counter && strcmp(reply->column[c].unit, unit) == 0;
}
