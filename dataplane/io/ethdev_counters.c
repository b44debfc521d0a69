/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
#include "dataplane/io/ethdev_counters.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

static bool is_of_tx(const char *name)
{
	return strncasecmp(name, "tx", 2) == 0 || strcasestr(name, "_tx_") != NULL;
}

bool ethdev_counts_pauses(const char *name)
{
	static const char *const words[] = {"pause", "pfc", "xoff"};

	/* Of what we have sent there may be counters, too. */
	if (is_of_tx(name))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i]) != NULL)
			return true;
	return false;
}

/*
 * rx_crc_errors (ixgbe, i40e, ice), rx_crc_errors_phy (mlx5), rx_fcs_errors (bnxt), mac_rx_crc... ; counters of
 * checksums of IP and above, and of frames in buckets of length, have other words.
 */
bool ethdev_counts_crc_errors(const char *name)
{
	if (is_of_tx(name) || strcasestr(name, "xec") != NULL)
		return false;
	return strcasestr(name, "crc_err") != NULL || strcasestr(name, "fcs_err") != NULL;
}

void ethdev_counters_find(struct ethdev_counters *out, uint16_t device,
			  bool (*is_one)(const char *name))
{
	int count = rte_eth_xstats_get_names(device, NULL, 0);
	struct rte_eth_xstat_name *names;

	out->count = 0;
	if (count <= 0)
		return;
	names = calloc((size_t)count, sizeof(*names));
	if (names == NULL || rte_eth_xstats_get_names(device, names, (unsigned)count) != count)
		count = 0;
	for (int i = 0; i < count && out->count < ETHDEV_COUNTERS_MAX; i++)
		if (is_one(names[i].name))
			out->id[out->count++] = (uint64_t)i;
	free(names);
}

uint64_t ethdev_counters_sum(const struct ethdev_counters *counters, uint16_t device)
{
	uint64_t value[ETHDEV_COUNTERS_MAX], sum = 0;

	if (counters->count == 0 ||
	    rte_eth_xstats_get_by_id(device, counters->id, value, counters->count) !=
		    (int)counters->count)
		return 0;
	for (uint32_t i = 0; i < counters->count; i++)
		sum += value[i];
	return sum;
}
