/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/view_rows.h"

#include <string.h>

int view_compare_fdb(const struct reply *reply, size_t a, size_t b)
{
	uint64_t vlan_a = reply_number(reply, "vlan", a), vlan_b = reply_number(reply, "vlan", b);

	if (vlan_a != vlan_b)
		return vlan_a < vlan_b ? -1 : 1;
	return strcmp(reply_text(reply, "mac", a), reply_text(reply, "mac", b));
}

int view_compare_neighbours(const struct reply *reply, size_t a, size_t b)
{
	int order =
		text_compare(reply_text(reply, "interface", a), reply_text(reply, "interface", b));

	if (order != 0)
		return order;
	return text_compare(reply_text(reply, "address", a), reply_text(reply, "address", b));
}

bool view_queue_is_idle(const struct reply *reply, size_t row)
{
	return reply_number(reply, "tx_packets", row) == 0 &&
	       reply_number(reply, "drop_packets", row) == 0 &&
	       reply_number(reply, "depth_packets", row) == 0;
}

bool view_buffer_is_idle(const struct reply *reply, size_t row)
{
	return reply_number(reply, "peak_bytes", row) == 0 &&
	       reply_number(reply, "used_bytes", row) == 0 &&
	       strcmp(reply_text(reply, "reason", row), "-") == 0;
}

bool view_peak_is_none(const struct reply *reply, size_t row)
{
	return reply_number(reply, "queue_persistent_bytes", row) == 0 &&
	       reply_number(reply, "queue_user_bytes", row) == 0 &&
	       reply_number(reply, "occupancy_persistent_bytes", row) == 0 &&
	       reply_number(reply, "occupancy_user_bytes", row) == 0;
}

bool view_pfc_is_quiet(const struct reply *reply, size_t row)
{
	return reply_number(reply, "rx_frames", row) == 0 &&
	       reply_number(reply, "tx_xoff", row) == 0 &&
	       reply_number(reply, "tx_xon", row) == 0 &&
	       reply_number(reply, "rx_paused", row) == 0 &&
	       reply_number(reply, "tx_paused", row) == 0;
}

bool view_pfc_port_is_fine(const struct reply *reply, size_t row)
{
	static const char *const odd[] = {"rx_bad", "rx_global", "rx_unknown", "rx_not_lossless",
					  "tx_no_buffer"};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (reply_number(reply, odd[i], row) != 0)
			return false;
	return true;
}

bool view_ecn_is_idle(const struct reply *reply, size_t row)
{
	return reply_number(reply, "tx_packets", row) == 0 &&
	       reply_number(reply, "wred_packets", row) == 0 &&
	       reply_number(reply, "depth_bytes", row) == 0;
}

bool view_drop_is_zero(const struct reply *reply, size_t row)
{
	return reply_number(reply, "packets", row) == 0;
}
