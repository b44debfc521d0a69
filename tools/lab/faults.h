/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults - makes a scenario's faults happen at their times.
 *
 * A node of the engine that acts when a fault begins or ends: after all others at that picosecond, but
 * before anything when it is there from the start. A switch whose workers still hold the state before
 * last can't be told of a dead link; it is asked again every FAULTS_RETRY_PS.
 *
 * Thread: the lab's.
 */
#ifndef LAB_FAULTS_H
#define LAB_FAULTS_H

#include <stdint.h>

#include "tools/lab/engine.h"

#define FAULTS_RETRY_PS PS_PER_US

struct fabric;
struct faults;

/**
 * Add the node, and do what is due at the start. Before the first run.
 * @return NULL when the scenario has no faults
 */
struct faults *faults_create(struct fabric *fabric);
void faults_free(struct faults *faults);

/** Frames that links have corrupted so far, of the whole fabric. */
uint64_t faults_corrupted(const struct fabric *fabric);

#endif
