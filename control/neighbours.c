/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/neighbours.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BINS 4096
#define NONE UINT32_MAX

/* Entries lie without gaps; each bin of the hash is a list through them. */
struct neighbours {
	neighbours_ask_fn *ask;
	void *context;
	uint32_t count;
	uint64_t refused;
	uint32_t bin[BINS];
	struct neighbour_entry entry[NEIGHBOURS_MAX];
};

struct neighbours *neighbours_create(neighbours_ask_fn *ask, void *context)
{
	struct neighbours *neighbours = calloc(1, sizeof(*neighbours));

	if (neighbours == NULL)
		return NULL;
	neighbours->ask = ask;
	neighbours->context = context;
	for (uint32_t i = 0; i < BINS; i++)
		neighbours->bin[i] = NONE;
	return neighbours;
}

void neighbours_free(struct neighbours *neighbours)
{
	free(neighbours);
}

static bool is(const struct neighbour_entry *entry, uint32_t ifindex,
	       const struct config_ip *address)
{
	return entry->ifindex == ifindex && entry->address.family == address->family &&
	       memcmp(entry->address.bytes, address->bytes, sizeof(address->bytes)) == 0;
}

static uint32_t bin_of(uint32_t ifindex, const struct config_ip *address)
{
	uint64_t hash =
		config_hash(CONFIG_HASH_START ^ ifindex, address->bytes, sizeof(address->bytes));

	return (uint32_t)((hash ^ hash >> 32) % BINS);
}

/* Where the index of an entry is kept: in its bin or in the entry before it. NONE there: not known. */
static uint32_t *slot_of(struct neighbours *n, uint32_t ifindex, const struct config_ip *address)
{
	uint32_t *slot = &n->bin[bin_of(ifindex, address)];

	while (*slot != NONE && !is(&n->entry[*slot], ifindex, address))
		slot = &n->entry[*slot].next;
	return slot;
}

const struct neighbour_entry *neighbours_find(const struct neighbours *neighbours, uint32_t ifindex,
					      const struct config_ip *address)
{
	uint32_t i = neighbours->bin[bin_of(ifindex, address)];

	while (i != NONE && !is(&neighbours->entry[i], ifindex, address))
		i = neighbours->entry[i].next;
	return i == NONE ? NULL : &neighbours->entry[i];
}

/* The entry, made when it isn't there; NULL when there is no room. */
static struct neighbour_entry *entry_get(struct neighbours *n, uint32_t ifindex,
					 const struct config_ip *address)
{
	uint32_t *slot = slot_of(n, ifindex, address);

	if (*slot == NONE) {
		if (n->count == NEIGHBOURS_MAX) {
			n->refused++;
			return NULL;
		}
		n->entry[n->count] = (struct neighbour_entry){
			.ifindex = ifindex, .address = *address, .next = NONE};
		*slot = n->count++;
	}
	return &n->entry[*slot];
}

/* Take an entry out; the last one moves into its place. */
static void entry_remove(struct neighbours *n, uint32_t i)
{
	struct neighbour_entry *entry = &n->entry[i];
	uint32_t last = n->count - 1;

	*slot_of(n, entry->ifindex, &entry->address) = entry->next;
	if (i != last) {
		*slot_of(n, n->entry[last].ifindex, &n->entry[last].address) = i;
		*entry = n->entry[last];
	}
	n->count--;
}

static bool needed(const struct neighbour_entry *entry, uint64_t now_ns)
{
	return entry->wanted ||
	       (entry->asked_ns != 0 && now_ns - entry->asked_ns < NEIGHBOUR_FORGET_NS);
}

bool neighbours_update(struct neighbours *neighbours, uint32_t ifindex,
		       const struct config_ip *address, const uint8_t *mac, uint64_t now_ns)
{
	uint32_t *slot = slot_of(neighbours, ifindex, address);
	struct neighbour_entry *entry;
	bool changed;

	if (*slot == NONE && mac == NULL)
		return false;
	entry = entry_get(neighbours, ifindex, address);
	if (entry == NULL)
		return false;
	entry->seen = true;
	if (mac == NULL) {
		changed = entry->resolved;
		entry->resolved = false;
		memset(entry->mac, 0, sizeof(entry->mac));
		/* Not at once: the kernel has just given up, and the answer would be the same. */
		if (changed)
			entry->due_ns = now_ns + NEIGHBOUR_RETRY_NS;
		if (!needed(entry, now_ns))
			entry_remove(neighbours, (uint32_t)(entry - neighbours->entry));
		return changed;
	}
	changed = !entry->resolved || memcmp(entry->mac, mac, sizeof(entry->mac)) != 0;
	if (!entry->resolved) {
		entry->due_ns = now_ns + NEIGHBOUR_CONFIRM_NS;
		entry->resolved_ns = now_ns;
	}
	entry->resolved = true;
	memcpy(entry->mac, mac, sizeof(entry->mac));
	return changed;
}

static void ask(struct neighbours *n, struct neighbour_entry *entry, uint64_t now_ns)
{
	entry->due_ns = now_ns + (entry->resolved ? NEIGHBOUR_CONFIRM_NS : NEIGHBOUR_RETRY_NS);
	n->ask(n->context, entry->ifindex, &entry->address);
}

int neighbours_need(struct neighbours *neighbours, uint32_t ifindex,
		    const struct config_ip *address, uint64_t now_ns)
{
	struct neighbour_entry *entry = entry_get(neighbours, ifindex, address);

	if (entry == NULL)
		return -ENOSPC;
	entry->asked_ns = now_ns;
	if (!entry->resolved && now_ns >= entry->due_ns)
		ask(neighbours, entry, now_ns);
	return 0;
}

void neighbours_want_begin(struct neighbours *neighbours)
{
	for (uint32_t i = 0; i < neighbours->count; i++)
		neighbours->entry[i].wanted = false;
}

int neighbours_want(struct neighbours *neighbours, uint32_t ifindex,
		    const struct config_ip *address, uint64_t now_ns)
{
	struct neighbour_entry *entry = entry_get(neighbours, ifindex, address);

	if (entry == NULL)
		return -ENOSPC;
	entry->wanted = true;
	if (!entry->resolved && now_ns >= entry->due_ns)
		ask(neighbours, entry, now_ns);
	return 0;
}

void neighbours_resync_begin(struct neighbours *neighbours)
{
	for (uint32_t i = 0; i < neighbours->count; i++)
		neighbours->entry[i].seen = false;
}

bool neighbours_resync_end(struct neighbours *neighbours)
{
	bool changed = false;

	for (uint32_t i = neighbours->count; i-- > 0;) {
		struct neighbour_entry *entry = &neighbours->entry[i];

		if (entry->seen || !entry->resolved)
			continue;
		changed = true;
		entry->resolved = false;
		entry->due_ns = 0;
		if (!entry->wanted)
			entry_remove(neighbours, i);
	}
	return changed;
}

bool neighbours_forget(struct neighbours *neighbours, uint32_t ifindex)
{
	bool changed = false;

	for (uint32_t i = neighbours->count; i-- > 0;) {
		if (neighbours->entry[i].ifindex != ifindex)
			continue;
		changed = changed || neighbours->entry[i].resolved;
		entry_remove(neighbours, i);
	}
	return changed;
}

void neighbours_tick(struct neighbours *neighbours, uint64_t now_ns)
{
	uint32_t asks = 0;

	for (uint32_t i = neighbours->count; i-- > 0;) {
		struct neighbour_entry *entry = &neighbours->entry[i];

		if (!entry->resolved && !needed(entry, now_ns))
			entry_remove(neighbours, i);
		else if (now_ns >= entry->due_ns && asks++ < NEIGHBOUR_ASKS_PER_TICK)
			ask(neighbours, entry, now_ns);
	}
}

uint32_t neighbours_count(const struct neighbours *neighbours)
{
	return neighbours->count;
}

const struct neighbour_entry *neighbours_entry(const struct neighbours *neighbours, uint32_t i)
{
	return &neighbours->entry[i];
}

uint64_t neighbours_refused(const struct neighbours *neighbours)
{
	return neighbours->refused;
}
