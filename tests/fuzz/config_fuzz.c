/* SPDX-License-Identifier: BSD-3-Clause */
/* Any text as a configuration: refused with a message or complete, and nothing is lost or read twice. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config_errors errors;
	struct config *config;

	memset(&errors, 0, sizeof(errors));
	config = config_load_string("fuzz.yaml", (const char *)data, size, &errors);
	if (config == NULL) {
		assert(errors.count >= 1 && errors.count <= CONFIG_ERRORS_MAX);
		for (uint32_t i = 0; i < errors.count; i++)
			assert(strncmp(errors.error[i].text, "fuzz.yaml:", 10) == 0);
		return 0;
	}
	assert(errors.count == 0);
	assert(config->port_count >= 1 && config->class_count >= 1);
	/* A file never conflicts with itself. */
	assert(config_check_reload(config, config, &errors) == 0);
	config_free(config);
	return 0;
}
