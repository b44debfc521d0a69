/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * http_host - is a request for us, by its Host header (RFC 9110 7.2)?
 *
 * A page of another site can make a browser ask a leaf, when its owner lets the name of that site lead to
 * the leaf's address; the browser takes the answer for that site's own, and hands it over (DNS rebinding). The
 * Host header still has the name. So we answer to addresses, which can't be made to lead elsewhere, to
 * localhost, and to names that are known to be ours: leaf.name, the machine's, telemetry.hosts.
 *
 * Thread: any; nothing is shared.
 */
#ifndef CONTROL_HTTP_HOST_H
#define CONTROL_HTTP_HOST_H

#include <stdbool.h>

#include "config/config.h"

/**
 * @param header  "leaf1:9469", or NULL: a client that sends none, which no browser is
 * @param machine its name, as gethostname() tells it
 */
bool http_host_is_ours(const char *header, const struct config *config, const char *machine);

#endif
