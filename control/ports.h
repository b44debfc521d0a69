/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ports - what of a port depends on its kind of device, before any device is open.
 *
 * How far the wire clock may run ahead of time into the device, and lag behind it (snapshot.h):
 *	kernel interfaces   100 us and two MTU ahead: a worker that sleeps wakes up late by tens of
 *	                    microseconds, and the ring must not run dry meanwhile. 10 ms behind: on a
 *	                    machine with few cores a worker may not run for that long, and a port
 *	                    that is paced to 200M shall still carry 200M. Measured with a load of 17
 *	                    on two CPUs: TCP got 152 and 169 Mb/s with 2 ms, 184 and 187 with 10,
 *	                    189 with 20 (188 is what headers leave). The price: an idle port takes
 *	                    10 ms of its rate in one go
 *	DPDK devices        10 us and two MTU ahead: some polls' worth. Nothing behind: a burst above
 *	                    line rate only fills the device's ring
 *
 * Pure. Thread: any.
 */
#ifndef CONTROL_PORTS_H
#define CONTROL_PORTS_H

#include "config/config.h"
#include "control/apply.h"
#include "dataplane/port_io.h"

/**
 * Rate, run-ahead and lag of a port's wire clock.
 * @param device what the device says of its link, or NULL: nothing
 */
void ports_describe(const struct config_port *port, const struct port_io_link *device,
		    struct apply_port *out);

#endif
