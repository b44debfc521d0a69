/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scenario_limits - bounds of what a scenario may say, shared by the tables of its keys.
 *
 * Thread: any.
 */
#ifndef LAB_SCENARIO_LIMITS_H
#define LAB_SCENARIO_LIMITS_H

#include "dataplane/units.h"

/* Times must be comparable across the wrap of the clock: less than a day. */
#define SCENARIO_DURATION_PS_MAX (3600 * PS_PER_S)
#define SCENARIO_CABLE_MM_MAX    UINT64_C(10000000000) /* 10,000 km */
#define SCENARIO_NODES_MAX       20000
#define SCENARIO_LINKS_MAX       200000
#define SCENARIO_TRAFFIC_MAX     100000
#define SCENARIO_EXPECTS_MAX     1000
#define SCENARIO_BYTES_MAX       (UINT64_C(1) << 50)
#define SCENARIO_PATH_MAX        4096

#endif
