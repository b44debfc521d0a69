/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture - `roceleafctl capture`: writes what a port receives and sends to a file for Wireshark.
 *
 * The leaf's workers put copies into memory that they share with us (dataplane/capture_ring.h); filtering and
 * writing is done here, and costs the leaf nothing. Frames of several workers are in order of time as far as
 * they came at the same look.
 *
 * Thread: one in a process (signals, as screen.h).
 */
#ifndef TOOLS_CTL_CAPTURE_H
#define TOOLS_CTL_CAPTURE_H

/** The command with its own options. @param argv [0] is "capture" */
int capture_main(const char *runtime_dir, int argc, char **argv);

#endif
