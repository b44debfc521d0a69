/* SPDX-License-Identifier: BSD-3-Clause */
/* spray_samples - any sound message out of any bytes, for tests that go there and back. */
#ifndef TESTS_UNIT_SPRAY_SAMPLES_H
#define TESTS_UNIT_SPRAY_SAMPLES_H

#include "dataplane/balance/spray_message.h"

/** @param data used up as far as it goes; 0 behind */
struct spray_message spray_sample(const uint8_t *data, size_t size);

#endif
