/* SPDX-License-Identifier: BSD-3-Clause */
/* Which Host headers (RFC 9110 7.2, RFC 3986 3.2.2) name this leaf. */
#include <criterion/criterion.h>
#include <string.h>

#include "control/http_host.h"

static bool is_ours(const char *header)
{
	static struct config config = {
		.leaf.name = "leaf1",
		.telemetry = {.hosts = {"a.example", "leaf1.lab.example"}, .host_count = 2}};

	return http_host_is_ours(header, &config, "server7");
}

Test(http_host, addresses_and_our_names_are)
{
	static const char *const ours[] = {
		"127.0.0.1",
		"127.0.0.1:9469",
		"10.0.0.1",
		"[::1]",
		"[::1]:9469",
		"[fd00:255::1]:80",
		"localhost",
		"LocalHost:9469",
		"leaf1",
		"leaf1:9469",
		"LEAF1",
		"server7:9469",
		"a.example",
		"leaf1.lab.example",
		"leaf1.lab.example.:9469",
		"localhost.",
		"127.0.0.1:",
	};

	cr_expect(is_ours(NULL), "a client that sends none");
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		cr_expect(is_ours(ours[i]), "%s", ours[i]);
}

Test(http_host, others_are_not)
{
	static const char *const others[] = {
		"",
		":9469",
		".",
		"evil.example",
		"evil.example:9469",
		"localhost.evil.example",
		"leaf1.evil.example",
		"evil-localhost",
		"127.0.0.1.evil.example",
		"127.0.0.1x",
		"[::1].evil.example",
		"[::1",
		"[evil.example]",
		"[::1]x",
		"[::1]:80:x",
		"a.example:x",
		"a.example:9469.evil.example",
		"aa.example",
		".example",
		"a.example..",
	};
	char longest[4096];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_not(is_ours(others[i]), "%s", others[i]);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	cr_expect_not(is_ours(longest));
	memcpy(longest, "localhost", 9);
	cr_expect_not(is_ours(longest));
}
