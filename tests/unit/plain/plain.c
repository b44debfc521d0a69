/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/plain/criterion/criterion.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_FAILED 100
#define TIMEOUT_S     120

static struct plain_test *first, **last = &first;
static atomic_bool failed;

void plain_register(struct plain_test *test)
{
	*last = test;
	last = &test->next;
}

void plain_failed(bool fatal, const char *file, int line, const char *what, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("# %s:%d: not so: %s:", file, line, what);
	vprintf(format, arguments);
	printf("\n");
	fflush(stdout);
	va_end(arguments);
	atomic_store(&failed, true);
	if (fatal)
		_exit(STATUS_FAILED);
}

static const struct plain_options *suite_options(const char *suite)
{
	static const struct plain_options none;

	for (const struct plain_test *t = first; t != NULL; t = t->next)
		if (t->name == NULL && strcmp(t->suite, suite) == 0)
			return &t->options;
	return &none;
}

static void run_in_child(const struct plain_test *test)
{
	const struct plain_options *suite = suite_options(test->suite);
	void (*init)(void) = test->options.init != NULL ? test->options.init : suite->init;
	void (*fini)(void) = test->options.fini != NULL ? test->options.fini : suite->fini;

	alarm(TIMEOUT_S);
	if (init != NULL)
		init();
	test->run();
	if (fini != NULL)
		fini();
	/* exit() lets the sanitizer report what it has found. */
	exit(atomic_load(&failed) ? STATUS_FAILED : test->options.exit_code);
}

static bool passed(const struct plain_test *test)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		run_in_child(test);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return false;
	if (WIFSIGNALED(status) && WTERMSIG(status) != test->options.signal)
		printf("# ended by signal %d\n", WTERMSIG(status));
	if (test->options.signal != 0)
		return WIFSIGNALED(status) && WTERMSIG(status) == test->options.signal;
	return WIFEXITED(status) && WEXITSTATUS(status) == test->options.exit_code;
}

int main(void)
{
	int count = 0, number = 0, bad = 0;

	for (const struct plain_test *t = first; t != NULL; t = t->next)
		count += t->name != NULL && !t->options.disabled;
	printf("1..%d\n", count);
	for (const struct plain_test *t = first; t != NULL; t = t->next) {
		if (t->name == NULL || t->options.disabled)
			continue;
		fflush(stdout);
		bool ok = passed(t);

		printf("%s %d - %s::%s\n", ok ? "ok" : "not ok", ++number, t->suite, t->name);
		bad += !ok;
	}
	return bad == 0 ? 0 : 1;
}
