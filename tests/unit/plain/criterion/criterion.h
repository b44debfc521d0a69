/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of Criterion's interface that our tests use, for ThreadSanitizer builds alone: Criterion
 * maps memory at addresses that ThreadSanitizer keeps for itself, and so can't start there.
 * Each test runs in a process of its own; results come out as TAP. See plain.c.
 */
#ifndef CRITERION_CRITERION_H
#define CRITERION_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct plain_options {
	void (*init)(void);
	void (*fini)(void);
	double timeout;
	bool disabled;
	int signal;
	int exit_code;
	const char *description;
};

struct plain_test {
	const char *suite;
	const char *name; /* NULL: options for the whole suite */
	void (*run)(void);
	struct plain_options options;
	struct plain_test *next;
};

void plain_register(struct plain_test *test);

/* Say that a check failed; ends the test when it is fatal. */
void plain_failed(bool fatal, const char *file, int line, const char *what, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#define Test(suite_, name_, ...)                                                   \
	static void suite_##_##name_##_run(void);                                  \
	static struct plain_test suite_##_##name_##_test = {                       \
		.suite = #suite_,                                                  \
		.name = #name_,                                                    \
		.run = suite_##_##name_##_run,                                     \
		.options = {__VA_ARGS__},                                          \
	};                                                                         \
	__attribute__((constructor)) static void suite_##_##name_##_register(void) \
	{                                                                          \
		plain_register(&suite_##_##name_##_test);                          \
	}                                                                          \
	static void suite_##_##name_##_run(void)

#define TestSuite(suite_, ...)                                                 \
	static struct plain_test suite_##_suite = {                            \
		.suite = #suite_,                                              \
		.options = {__VA_ARGS__},                                      \
	};                                                                     \
	__attribute__((constructor)) static void suite_##_suite_register(void) \
	{                                                                      \
		plain_register(&suite_##_suite);                               \
	}                                                                      \
	struct plain_test

/* The blank keeps the format from being empty when a check has no message. */
#define PLAIN_CHECK_(fatal, holds, what, ...)                                           \
	do {                                                                            \
		if (!(holds))                                                           \
			plain_failed(fatal, __FILE__, __LINE__, what, " " __VA_ARGS__); \
	} while (0)
#define PLAIN_COMPARE_(fatal, a, op, b, ...) \
	PLAIN_CHECK_(fatal, (a)op(b), #a " " #op " " #b, ##__VA_ARGS__)

#define cr_assert(x, ...)	   PLAIN_CHECK_(true, x, #x, ##__VA_ARGS__)
#define cr_assert_not(x, ...)	   PLAIN_CHECK_(true, !(x), "not " #x, ##__VA_ARGS__)
#define cr_assert_eq(a, b, ...)	   PLAIN_COMPARE_(true, a, ==, b, ##__VA_ARGS__)
#define cr_assert_neq(a, b, ...)   PLAIN_COMPARE_(true, a, !=, b, ##__VA_ARGS__)
#define cr_assert_lt(a, b, ...)	   PLAIN_COMPARE_(true, a, <, b, ##__VA_ARGS__)
#define cr_assert_leq(a, b, ...)   PLAIN_COMPARE_(true, a, <=, b, ##__VA_ARGS__)
#define cr_assert_gt(a, b, ...)	   PLAIN_COMPARE_(true, a, >, b, ##__VA_ARGS__)
#define cr_assert_geq(a, b, ...)   PLAIN_COMPARE_(true, a, >=, b, ##__VA_ARGS__)
#define cr_assert_null(x, ...)	   PLAIN_COMPARE_(true, x, ==, NULL, ##__VA_ARGS__)
#define cr_assert_not_null(x, ...) PLAIN_COMPARE_(true, x, !=, NULL, ##__VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) \
	PLAIN_CHECK_(true, strcmp(a, b) == 0, #a " equals " #b, ##__VA_ARGS__)
#define cr_assert_fail(...) PLAIN_CHECK_(true, false, "failed", ##__VA_ARGS__)

#define cr_expect(x, ...)	 PLAIN_CHECK_(false, x, #x, ##__VA_ARGS__)
#define cr_expect_not(x, ...)	 PLAIN_CHECK_(false, !(x), "not " #x, ##__VA_ARGS__)
#define cr_expect_eq(a, b, ...)	 PLAIN_COMPARE_(false, a, ==, b, ##__VA_ARGS__)
#define cr_expect_neq(a, b, ...) PLAIN_COMPARE_(false, a, !=, b, ##__VA_ARGS__)
#define cr_expect_lt(a, b, ...)	 PLAIN_COMPARE_(false, a, <, b, ##__VA_ARGS__)
#define cr_expect_leq(a, b, ...) PLAIN_COMPARE_(false, a, <=, b, ##__VA_ARGS__)
#define cr_expect_gt(a, b, ...)	 PLAIN_COMPARE_(false, a, >, b, ##__VA_ARGS__)
#define cr_expect_geq(a, b, ...) PLAIN_COMPARE_(false, a, >=, b, ##__VA_ARGS__)

#endif
