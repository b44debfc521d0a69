/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * instructions - counts what a row executes, by running the program under valgrind's callgrind.
 *
 * The program starts itself again under valgrind; that second run counts between
 * instructions_start() and instructions_stop() only and leaves one file per row, which the first
 * one reads.
 */
#ifndef TESTS_BENCH_INSTRUCTIONS_H
#define TESTS_BENCH_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/** True in the run under valgrind. */
bool instructions_countable(void);

/**
 * Run this program again under valgrind and print its rows.
 * @return 0, or a negative errno with a message on stderr
 */
int instructions_run(char **argv, bool json);

void instructions_start(void);
void instructions_stop(void);

/** End of a row: write down what was counted since the last one. */
void instructions_dump(const char *name, uint32_t packet_bytes, uint32_t packets);

#endif
