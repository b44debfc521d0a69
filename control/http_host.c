/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/http_host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Take ":9469" off. @return false: that isn't a port */
static bool cut_port(char *host)
{
	char *colon = strrchr(host, ':');

	if (colon == NULL)
		return true;
	*colon = '\0';
	return colon[1 + strspn(colon + 1, "0123456789")] == '\0';
}

static bool is_v6(char *host)
{
	uint8_t address[16];
	char *end = strchr(host, ']');

	if (end == NULL || (end[1] != '\0' && (end[1] != ':' || !cut_port(end + 1))))
		return false;
	*end = '\0';
	return inet_pton(AF_INET6, host + 1, address) == 1;
}

bool http_host_is_ours(const char *header, const struct config *config, const char *machine)
{
	char host[CONFIG_HOST_BYTES + sizeof(".:65535")];
	uint8_t address[4];
	size_t length;

	if (header == NULL)
		return true;
	if ((size_t)snprintf(host, sizeof(host), "%s", header) >= sizeof(host))
		return false;
	if (host[0] == '[')
		return is_v6(host);
	if (!cut_port(host))
		return false;
	length = strlen(host);
	if (length > 0 && host[length - 1] == '.')
		host[length - 1] = '\0';
	if (host[0] == '\0')
		return false;
	for (uint32_t i = 0; i < config->telemetry.host_count; i++)
		if (strcasecmp(host, config->telemetry.hosts[i]) == 0)
			return true;
	return inet_pton(AF_INET, host, address) == 1 || strcasecmp(host, "localhost") == 0 ||
	       strcasecmp(host, config->leaf.name) == 0 || strcasecmp(host, machine) == 0;
}
