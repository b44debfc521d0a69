/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stand's leaf is told, and whether it accepts that. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/apply.h"
#include "tests/lab/stand.h"

void stand_yaml(const struct stand_params *params, char text[STAND_TEXT_MAX])
{
	size_t used;

	used = (size_t)snprintf(text, STAND_TEXT_MAX,
				"leaf: {router_mac: \"02:00:00:00:00:01\"}\nports:\n");
	for (uint32_t i = 0; i < params->ports; i++) {
		const char *speed = params->speed[i] != NULL ? params->speed[i] : params->speed[0];
		const char *cable = params->cable[i] != NULL ? params->cable[i] : params->cable[0];

		used += (size_t)snprintf(
			text + used, STAND_TEXT_MAX - used,
			"  - {name: p%u, device: eth%u, driver: kernel, speed: %s, mtu: %u, "
			"cable: %s, peer_response: %s, nic_delay: 0, address: [10.0.%u.1/24]}\n",
			i, i, speed, params->mtu != 0 ? params->mtu : 4200,
			cable != NULL ? cable : "3m",
			params->response != NULL ? params->response : "0", i);
	}
	used += (size_t)snprintf(text + used, STAND_TEXT_MAX - used, "neighbours:\n");
	for (uint32_t i = 0; i < params->ports; i++)
		used += (size_t)snprintf(
			text + used, STAND_TEXT_MAX - used,
			"  - {address: 10.0.%u.2, mac: \"02:00:00:00:01:%02x\", port: p%u}\n", i, i,
			i);
	used += (size_t)snprintf(text + used, STAND_TEXT_MAX - used, "%s", params->rest);
	cr_assert_lt(used, STAND_TEXT_MAX);
}

/* Parsed, with its ports up. */
struct stand_planner {
	struct config *config;
	struct apply_port port[RIG_PORTS_MAX];
	struct config_errors errors;
};

static void planner_init(struct stand_planner *planner, const struct stand_params *params)
{
	char text[STAND_TEXT_MAX];

	stand_yaml(params, text);
	planner->errors = (struct config_errors){0};
	planner->config = config_load_string("stand.yaml", text, strlen(text), &planner->errors);
	cr_assert_not_null(planner->config, "%s", planner->errors.error[0].text);
	for (uint16_t i = 0; i < planner->config->port_count; i++)
		planner->port[i] = (struct apply_port){
			.rate_bps = planner->config->ports[i].speed_bps, .link_up = true};
}

static bool planner_accepts(struct stand_planner *planner, uint32_t packets)
{
	struct apply_state state = {.port = planner->port, .packets_max = packets};
	struct buffer_plan plan;

	planner->errors = (struct config_errors){0};
	if (apply_plan(planner->config, &state, &plan, &planner->errors) != 0)
		return false;
	buffer_plan_free(&plan);
	return true;
}

bool stand_accepts(const struct stand_params *params, uint32_t packets)
{
	struct stand_planner planner;
	bool accepts;

	planner_init(&planner, params);
	accepts = planner_accepts(&planner, packets);
	config_free(planner.config);
	return accepts;
}

uint32_t stand_packets_min(const struct stand_params *params)
{
	struct stand_planner planner;
	uint32_t packets = 64;

	planner_init(&planner, params);
	while (!planner_accepts(&planner, packets)) {
		cr_assert_lt(packets, UINT32_MAX / 2, "%s", planner.errors.error[0].text);
		packets += packets / 10;
	}
	config_free(planner.config);
	return packets;
}
