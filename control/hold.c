/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/hold.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT16_MAX

/*
 * Every packet is in two lists: that of its key, in order of arrival, and that of all packets,
 * which is also the order in which they expire.
 */
struct hold_slot {
	void *packet;
	uint64_t since_ns;
	uint16_t key;
	uint16_t next;         /* of this key; of a free slot: the next free one */
	uint16_t older, newer; /* of all */
};

struct hold_bin {
	struct hold_key key;
	uint16_t count; /* 0: the bin is free */
	uint16_t first, last;
};

struct hold {
	struct hold_slot slot[HOLD_PACKETS];
	struct hold_bin bin[HOLD_KEYS];
	uint16_t bins; /* in use: bin[0..bins-1] may be searched */
	uint16_t unused;
	uint16_t oldest, newest;
	struct hold_stats stats;
};

struct hold *hold_create(void)
{
	struct hold *hold = calloc(1, sizeof(*hold));

	if (hold == NULL)
		return NULL;
	for (uint16_t i = 0; i < HOLD_PACKETS; i++)
		hold->slot[i].next = i + 1 < HOLD_PACKETS ? (uint16_t)(i + 1) : NONE;
	hold->oldest = hold->newest = NONE;
	return hold;
}

void hold_free(struct hold *hold)
{
	assert(hold == NULL || hold->stats.packets == 0);
	free(hold);
}

static bool key_equal(const struct hold_key *a, const struct hold_key *b)
{
	return a->ifindex == b->ifindex && a->family == b->family &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

/* The bin of a key, or NONE. A linear search: there are few, and this isn't the fast path. */
static uint16_t bin_find(const struct hold *hold, const struct hold_key *key)
{
	for (uint16_t i = 0; i < hold->bins; i++)
		if (hold->bin[i].count > 0 && key_equal(&hold->bin[i].key, key))
			return i;
	return NONE;
}

static uint16_t bin_new(struct hold *hold, const struct hold_key *key)
{
	uint16_t i = 0;

	while (i < hold->bins && hold->bin[i].count > 0)
		i++;
	if (i == HOLD_KEYS)
		return NONE;
	if (i == hold->bins)
		hold->bins++;
	hold->bin[i] = (struct hold_bin){.key = *key, .first = NONE, .last = NONE};
	return i;
}

int hold_put(struct hold *hold, const struct hold_key *key, void *packet, uint64_t now_ns)
{
	uint16_t b = bin_find(hold, key), s = hold->unused;
	struct hold_slot *slot;
	struct hold_bin *bin;

	if (hold->stats.packets == HOLD_PACKETS ||
	    (b != NONE && hold->bin[b].count == HOLD_PER_KEY) ||
	    (b == NONE && (b = bin_new(hold, key)) == NONE)) {
		hold->stats.refused++;
		return -ENOBUFS;
	}
	bin = &hold->bin[b];
	slot = &hold->slot[s];
	hold->unused = slot->next;
	*slot = (struct hold_slot){
		.packet = packet,
		.since_ns = now_ns,
		.key = b,
		.next = NONE,
		.older = hold->newest,
		.newer = NONE,
	};
	*(bin->count == 0 ? &bin->first : &hold->slot[bin->last].next) = s;
	bin->last = s;
	*(hold->newest == NONE ? &hold->oldest : &hold->slot[hold->newest].newer) = s;
	hold->newest = s;
	hold->stats.packets++;
	hold->stats.held++;
	return bin->count++ == 0 ? 1 : 0;
}

/* Take the oldest packet of a bin. */
static void *bin_pop(struct hold *hold, struct hold_bin *bin)
{
	uint16_t s = bin->first;
	struct hold_slot *slot = &hold->slot[s];

	bin->first = slot->next;
	bin->count--;
	*(slot->older == NONE ? &hold->oldest : &hold->slot[slot->older].newer) = slot->newer;
	*(slot->newer == NONE ? &hold->newest : &hold->slot[slot->newer].older) = slot->older;
	slot->next = hold->unused;
	hold->unused = s;
	hold->stats.packets--;
	return slot->packet;
}

uint32_t hold_take(struct hold *hold, const struct hold_key *key, void **packets, uint32_t max)
{
	uint16_t b = bin_find(hold, key);
	uint32_t count = 0;

	while (b != NONE && hold->bin[b].count > 0 && count < max)
		packets[count++] = bin_pop(hold, &hold->bin[b]);
	hold->stats.released += count;
	return count;
}

uint32_t hold_expire(struct hold *hold, uint64_t now_ns, void **packets, uint32_t max)
{
	uint32_t count = 0;

	while (count < max && hold->oldest != NONE && hold_due_ns(hold) <= now_ns)
		/* The oldest of all is the oldest of its key. */
		packets[count++] = bin_pop(hold, &hold->bin[hold->slot[hold->oldest].key]);
	hold->stats.expired += count;
	return count;
}

uint64_t hold_due_ns(const struct hold *hold)
{
	return hold->oldest == NONE ? UINT64_MAX : hold->slot[hold->oldest].since_ns + HOLD_NS;
}

uint32_t hold_count(const struct hold *hold, const struct hold_key *key)
{
	uint16_t b = bin_find(hold, key);

	return b == NONE ? 0 : hold->bin[b].count;
}

void hold_stats(const struct hold *hold, struct hold_stats *stats)
{
	*stats = hold->stats;
}
