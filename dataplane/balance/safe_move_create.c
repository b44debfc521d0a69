/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
#include "dataplane/balance/safe_move.h"

#include <stdlib.h>
#include <string.h>

bool safe_move_init(struct safe_move *move, const struct safe_move_params *params)
{
	memset(move, 0, sizeof(*move));
	move->params = *params;
	move->random = params->seed;
	move->host = calloc(params->ports, sizeof(*move->host));
	move->peer = calloc(params->peers, sizeof(*move->peer));
	for (uint16_t p = 0; move->peer != NULL && p < params->peers; p++)
		memset(move->peer[p].link, SAFE_MOVE_LINK_NONE, sizeof(move->peer[p].link));
	return move->peer != NULL && move->host != NULL;
}

void safe_move_fini(struct safe_move *move)
{
	free(move->peer);
	free(move->host);
	move->peer = NULL;
	move->host = NULL;
}
