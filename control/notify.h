/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notify - tells the service manager how we are (sd_notify(3): a datagram to $NOTIFY_SOCKET).
 *
 * The protocol is one datagram of VARIABLE=VALUE lines, so that no library is needed. Without
 * NOTIFY_SOCKET nothing happens.
 *
 * Thread: control.
 */
#ifndef CONTROL_NOTIFY_H
#define CONTROL_NOTIFY_H

/** Send e.g. "READY=1\nSTATUS=4 ports". @return 0, or -errno, which callers may ignore */
int notify_send(const char *message);

/** "RELOADING=1" with the monotonic time that Type=notify-reload asks for. */
int notify_reloading(void);

#endif
