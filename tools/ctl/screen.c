/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended, resized;

static void on_end(int number)
{
	(void)number;
	ended = 1;
}

static void on_resize(int number)
{
	(void)number;
	resized = 1;
}

static bool is_capable(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term != NULL && strcmp(term, "dumb") != 0 && term[0] != '\0';
}

bool screen_has_colour(int fd)
{
	const char *no_color = getenv("NO_COLOR"); /* no-color.org: set and not empty */

	return is_capable(fd) && (no_color == NULL || no_color[0] == '\0');
}

static void measure(struct screen *screen)
{
	struct winsize size;

	screen->width = 80;
	screen->height = 24;
	if (ioctl(screen->fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
		screen->width = size.ws_col;
		screen->height = size.ws_row;
	}
}

static int put(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t written = write(fd, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		text += written;
		size -= (size_t)written;
	}
	return 0;
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

void screen_start(struct screen *screen, int fd, bool plain)
{
	*screen = (struct screen){.fd = fd, .terminal = !plain && is_capable(fd)};
	handle(SIGINT, on_end);
	handle(SIGTERM, on_end);
	handle(SIGHUP, on_end);
	handle(SIGPIPE, SIG_IGN);
	if (!screen->terminal)
		return;
	handle(SIGWINCH, on_resize);
	measure(screen);
	(void)put(fd, "\033[?25l", 6);
}

/*
 * A frame goes over the one before: up as many lines as that had, then each line erased to the
 * right and what is below to the end.
 */
int screen_draw(struct screen *screen, const char *text, size_t size)
{
	char *frame = NULL;
	size_t frame_size = 0, lines = 0;
	FILE *out;
	int ret;

	out = open_memstream(&frame, &frame_size);
	if (out == NULL)
		return -ENOMEM;
	if (screen->terminal && screen->lines > 0)
		fprintf(out, "\r\033[%zuA", screen->lines);
	if (!screen->terminal && screen->started)
		fputc('\n', out);
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\n' && screen->terminal)
			fputs("\033[K", out);
		lines += text[i] == '\n';
		fputc(text[i], out);
	}
	if (screen->terminal)
		fputs("\033[J", out);
	fclose(out);
	ret = put(screen->fd, frame, frame_size);
	free(frame);
	screen->started = true;
	screen->lines = lines;
	return ret;
}

bool screen_wait(struct screen *screen, double seconds)
{
	struct timespec time = {.tv_sec = (time_t)seconds};
	sigset_t blocked, before;

	/* A signal between the look at `ended` and the wait would be lost, so none may come there. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
	if (!ended)
		(void)pselect(0, NULL, NULL, NULL, &time, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (resized && screen->terminal) {
		resized = 0;
		measure(screen);
		/* The terminal may have wrapped our lines: begin anew on an empty one. */
		(void)put(screen->fd, "\033[H\033[2J", 7);
		screen->lines = 0;
	}
	return !ended;
}

void screen_end(struct screen *screen)
{
	if (screen->terminal)
		(void)put(screen->fd, "\033[?25h", 6);
}
