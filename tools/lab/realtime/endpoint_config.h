/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_config - host.yaml: what roceleaf-host is told. `classes` as in leaf.yaml, `hosts` as in a scenario.
 *
 * Thread: any.
 */
#ifndef LAB_REALTIME_ENDPOINT_CONFIG_H
#define LAB_REALTIME_ENDPOINT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "config/schema.h"
#include "tools/lab/realtime/endpoint.h"
#include "tools/lab/scenario.h"

#define ENDPOINT_SENDS_MAX 256

/* Layer 3 bytes that a port must carry. */
#define ENDPOINT_MTU_BYTES(payload_bytes) ((payload_bytes) + FRAME_MTU_EXTRA_BYTES)

enum endpoint_driver { ENDPOINT_KERNEL, ENDPOINT_VDEV };

struct endpoint_config {
	struct config config; /* its classes mean something; first */
	char device[CONFIG_DEVICE_BYTES];
	enum endpoint_driver driver;
	enum config_idle idle;
	struct config_prefix address;
	struct config_ip gateway; /* family 0: none */
	uint64_t speed_bps;       /* 0: the device's */
	struct scenario_hosts hosts;
	uint64_t served[ENDPOINT_QUEUE_PAIRS / 64 + 1]; /* bit n: queue pair n */
	struct endpoint_message {
		struct config_ip to;
		uint32_t queue_pair;
		uint64_t bytes, count, duration_ps;
		uint32_t depth;
		char class[CONFIG_NAME_BYTES];
		bool class_given;
	} * messages;
	uint32_t message_count;
	struct endpoint_send sends[ENDPOINT_SENDS_MAX]; /* of the messages, but for source ports */
	struct schema_memory memory;
};

/** Table of the file's keys, for the reference page. */
extern const struct schema_table endpoint_table;

/** @return it, for endpoint_config_free(), or NULL with errors->count >= 1 */
struct endpoint_config *endpoint_config_load(const char *path, struct config_errors *errors);
/** The same from memory, under the name `path`. */
struct endpoint_config *endpoint_config_load_string(const char *path, const char *text,
						    struct config_errors *errors);
/** NULL is legal. */
void endpoint_config_free(struct endpoint_config *config);

/**
 * What an endpoint needs, but for port, pool and rate. The sends stay the config's.
 * @param seed draws UDP source ports
 */
void endpoint_config_params(struct endpoint_config *config, uint64_t seed,
			    struct endpoint_params *params);

#endif
