/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output - a file that is there whole or not at all.
 *
 * It is written beside its place, under a temporary name, and takes its place when everything has reached
 * the disk. What can't be replaced is written to directly: a device, a pipe, or "-", the standard output.
 * Errors are told on stderr, once a file.
 *
 * Thread: one.
 */
#ifndef LAB_OUTPUT_H
#define LAB_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct output {
	FILE *file;
	char *path;
	char *temporary; /* NULL: written to directly */
};

/** @return 0 or -errno */
int output_open(struct output *output, const char *path);

/**
 * @param keep false: as if it had never been opened
 * @return 0, or -errno of whatever has gone wrong since output_open(); then nothing is left
 */
int output_close(struct output *output, bool keep);

#endif
