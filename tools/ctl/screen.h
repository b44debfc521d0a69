/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * screen - a text that is drawn again and again, without flicker.
 *
 * On a terminal each frame overwrites the one before, in place and in one write, so that what stood
 * above stays; elsewhere frames follow each other with an empty line between. A frame must be lower
 * than the terminal. Signals that end a program, and changes of the
 * window's size, cut a wait short.
 *
 * Thread: one in a process; it installs signal handlers.
 */
#ifndef TOOLS_CTL_SCREEN_H
#define TOOLS_CTL_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

struct screen {
	int fd;
	bool terminal;
	bool started;
	size_t lines;         /* of the last frame, above the cursor */
	size_t width, height; /* 0: not a terminal */
};

/** Does `fd` want escape sequences? A terminal that isn't dumb, and no NO_COLOR in the way. */
bool screen_has_colour(int fd);

/**
 * Begin. On a terminal the cursor is hidden until screen_end().
 * @param plain no escape sequences: as if it were not a terminal
 */
void screen_start(struct screen *screen, int fd, bool plain);

/**
 * Draw a frame: lines that end with newlines.
 * @return 0, or -errno: the reader has gone (-EPIPE) ...
 */
int screen_draw(struct screen *screen, const char *text, size_t size);

/** Wait. @return false when a signal asked to end */
bool screen_wait(struct screen *screen, double seconds);

/** Show the cursor again; the last frame stays. */
void screen_end(struct screen *screen);

#endif
