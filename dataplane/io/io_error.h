/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * io_error - why a port could not be opened, in words for its user.
 * Thread: control.
 */
#ifndef DATAPLANE_IO_IO_ERROR_H
#define DATAPLANE_IO_IO_ERROR_H

struct io_error {
	char text[256]; /* names the device, the step and the reason; "" when nothing is wrong */
};

/**
 * Fill in the text: format, then ": " and the system's word for code unless it is 0.
 * @param code  errno value, positive, or 0
 * @return -code, or -EINVAL when code is 0
 */
int io_fail(struct io_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
