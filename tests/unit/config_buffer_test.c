/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of the lossless buffer: defaults, forms, and what depends on other keys. */
#include <criterion/criterion.h>

#include <string.h>

#include "config/config.h"

#define TWO_PORTS "ports: [{name: a, device: eth1}, {name: b, device: eth2}]\n"
#define CLASSES(roce, be)                                                               \
	TWO_PORTS "classes:\n"                                                          \
		  "  - {priority: 3, name: roce, dscp: [26], lossless: true" roce "}\n" \
		  "  - {priority: 0, name: be" be "}\n"

static struct config *load_right(const char *text)
{
	static struct config_errors errors;
	struct config *config = config_load_string("leaf.yaml", text, strlen(text), &errors);

	cr_assert_not_null(config, "%s", errors.error[0].text);
	return config;
}

Test(config_buffer, has_the_defaults_of_the_reference)
{
	struct config *config = load_right(TWO_PORTS);
	const struct config_port *port = &config->ports[0];

	cr_expect_eq(port->cable_mm, 3000);
	cr_expect(port->nic_delay_auto);
	cr_expect_eq(port->peer_response, CONFIG_RESPONSE_STANDARD);
	cr_expect_eq(port->pfc, CONFIG_PFC_AUTO);
	for (uint8_t i = 0; i < config->class_count; i++) {
		const struct config_class *class = &config->classes[i];

		cr_expect_eq(class->ecn, class->lossless ? CONFIG_ECN_AUTO : CONFIG_ECN_OFF);
		cr_expect_not(class->wred);
		cr_expect_not(class->reserved_given);
		cr_expect_eq(class->alpha_q8, 256);
		cr_expect_eq(class->rdma_mtu_bytes, 1024);
	}
	cr_expect_eq(config->buffer.lossy_max_ppm, 300000);
	cr_expect_eq(config->buffer.small_frames_ppm, 100000);
	cr_expect_eq(config->buffer.oversubscribe, 0);
	cr_expect(config->buffer.xon_offset_auto);
	cr_expect_not(config->buffer.allow_pfc_before_ecn);
	cr_expect_eq(config->watchdog.detect_ps, 200 * PS_PER_MS);
	cr_expect_eq(config->watchdog.restore_ps, 400 * PS_PER_MS, "twice detect");
	cr_expect_eq(config->watchdog.poll_ps, 100 * PS_PER_MS, "half of detect");
	cr_expect_eq(config->watchdog.action, CONFIG_WATCHDOG_ALERT);
	config_free(config);
}

Test(config_buffer, takes_every_form_of_a_ports_keys)
{
	struct config *config = load_right(
		"ports:\n"
		"  - {name: a, device: eth1, cable: 2km, nic_delay: 500ns, peer_response: roceleaf,\n"
		"     pfc: honour-only}\n"
		"  - {name: b, device: eth2, cable: 50cm, nic_delay: 0, peer_response: 0, pfc: off}\n"
		"  - {name: c, device: eth3, peer_response: 3us, pfc: software}\n");

	cr_expect_eq(config->ports[0].cable_mm, 2000000);
	cr_expect_not(config->ports[0].nic_delay_auto);
	cr_expect_eq(config->ports[0].nic_delay_ps, 500 * PS_PER_NS);
	cr_expect_eq(config->ports[0].peer_response, CONFIG_RESPONSE_ROCELEAF);
	cr_expect_eq(config->ports[0].pfc, CONFIG_PFC_HONOUR_ONLY);
	cr_expect_eq(config->ports[1].cable_mm, 500);
	cr_expect_not(config->ports[1].nic_delay_auto);
	cr_expect_eq(config->ports[1].nic_delay_ps, 0);
	cr_expect_eq(config->ports[1].peer_response, CONFIG_RESPONSE_TIME);
	cr_expect_eq(config->ports[1].peer_response_ps, 0);
	cr_expect_eq(config->ports[1].pfc, CONFIG_PFC_OFF);
	cr_expect_eq(config->ports[2].peer_response_ps, 3 * PS_PER_US);
	cr_expect_eq(config->ports[2].pfc, CONFIG_PFC_SOFTWARE);
	config_free(config);
}

Test(config_buffer, takes_every_form_of_a_classs_keys)
{
	struct config *config =
		load_right(CLASSES(", rdma_mtu: 4096, ecn: {kmin: 100KB, kmax: 400KB, pmax: 1%}",
				   ", ecn: {kmin: 200KB, kmax: 200KB}, wred: {min: 1, max: 8KiB, "
				   "pmax: 100%}"));
	const struct config_class *roce = &config->classes[0], *be = &config->classes[1];

	cr_expect_eq(roce->rdma_mtu_bytes, 4096);
	cr_expect_eq(roce->ecn, CONFIG_ECN_CURVE);
	cr_expect_eq(roce->ecn_curve.min_bytes, 100000);
	cr_expect_eq(roce->ecn_curve.max_bytes, 400000);
	cr_expect_eq(roce->ecn_curve.pmax_ppm, 10000);
	cr_expect_eq(be->ecn, CONFIG_ECN_CURVE);
	cr_expect_eq(be->ecn_curve.min_bytes, be->ecn_curve.max_bytes, "a step is a curve, too");
	cr_expect_eq(be->ecn_curve.pmax_ppm, 200000, "by default 20 %%");
	cr_expect(be->wred);
	cr_expect_eq(be->wred_curve.min_bytes, 1);
	cr_expect_eq(be->wred_curve.max_bytes, 8192);
	cr_expect_eq(be->wred_curve.pmax_ppm, 1000000);
	cr_expect_eq(be->half_life_ps, 0, "by the depth itself");
	config_free(config);
	config = load_right(CLASSES(", ecn: off", ", ecn: off, wred: off"));
	cr_expect_eq(config->classes[0].ecn, CONFIG_ECN_OFF);
	cr_expect_not(config->classes[1].wred);
	config_free(config);
	config = load_right(CLASSES(", ecn: auto, average: 1us",
				    ", wred: {min: 1KB, max: 8KB}, average: 500ms"));
	cr_expect_eq(config->classes[0].ecn, CONFIG_ECN_AUTO);
	cr_expect_eq(config->classes[0].half_life_ps, PS_PER_US);
	cr_expect_eq(config->classes[1].half_life_ps, 500 * PS_PER_MS);
	config_free(config);
}

/* 256 alpha, to the nearest: 1/3 is 85.33. */
Test(config_buffer, gives_classes_the_alphas_and_reserves_that_name_them)
{
	static const struct {
		const char *alpha;
		uint32_t q8;
	} rows[] = {{"1", 256},     {"1/2", 128},      {"2", 512},   {"1/256", 1},
		    {"128", 32768}, {"0.25", 64},      {"3/4", 192}, {"1/3", 85},
		    {"5/2", 640},   {"0.00390625", 1}, {"1/128", 2}, {"1/170", 2}};
	char text[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *config;

		snprintf(text, sizeof(text),
			 CLASSES("", "") "buffer: {alpha: {be: %s}, reserved: {roce: 8KB}}\n",
			 rows[i].alpha);
		config = load_right(text);
		cr_expect_eq(config->classes[1].alpha_q8, rows[i].q8, "%s", rows[i].alpha);
		cr_expect_eq(config->classes[0].alpha_q8, 256);
		cr_expect(config->classes[0].reserved_given);
		cr_expect_eq(config->classes[0].reserved_bytes, 8000);
		cr_expect_not(config->classes[1].reserved_given);
		config_free(config);
	}
}

Test(config_buffer, takes_every_form_of_the_buffers_keys)
{
	struct config *config = load_right(
		"classes: sonic\n" TWO_PORTS
		"buffer: {alpha: {tc3: 4, tc4: 1/8}, lossy_max: 25%, small_frames: 0.5%,\n"
		"  headroom_pool: {oversubscribe: 2}, xon_offset: 4KB, allow_pfc_before_ecn: true}\n");

	cr_expect_eq(config->classes[3].alpha_q8, 1024);
	cr_expect_eq(config->classes[4].alpha_q8, 32);
	cr_expect_eq(config->buffer.lossy_max_ppm, 250000);
	cr_expect_eq(config->buffer.small_frames_ppm, 5000);
	cr_expect_eq(config->buffer.oversubscribe, 2);
	cr_expect_not(config->buffer.xon_offset_auto);
	cr_expect_eq(config->buffer.xon_offset_bytes, 4000);
	cr_expect(config->buffer.allow_pfc_before_ecn);
	config_free(config);
	config = load_right(TWO_PORTS "buffer: {headroom_pool: off, xon_offset: auto}\n");
	cr_expect_eq(config->buffer.oversubscribe, 0);
	cr_expect(config->buffer.xon_offset_auto);
	config_free(config);
}

Test(config_buffer, derives_the_watchdogs_times_from_detect)
{
	static const struct {
		const char *text;
		uint32_t detect_ms, restore_ms, poll_ms;
	} rows[] = {
		{"{detect: 100ms}", 100, 200, 100},
		{"{detect: 5s}", 5000, 10000, 1000},
		{"{detect: 1s, restore: 300ms}", 1000, 300, 150},
		{"{detect: 1s, restore: 1min, poll: 1s}", 1000, 60000, 1000},
		{"{detect: 1s, poll: auto, action: drop}", 1000, 2000, 500},
	};
	char text[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config *config;

		snprintf(text, sizeof(text), TWO_PORTS "watchdog: %s\n", rows[i].text);
		config = load_right(text);
		cr_expect_eq(config->watchdog.detect_ps, rows[i].detect_ms * PS_PER_MS);
		cr_expect_eq(config->watchdog.restore_ps, rows[i].restore_ms * PS_PER_MS);
		cr_expect_eq(config->watchdog.poll_ps, rows[i].poll_ms * PS_PER_MS, "%s",
			     rows[i].text);
		config_free(config);
	}
}
