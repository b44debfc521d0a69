/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Next hops of a burst's plain packets: a loop for each mode, with what the mode needs in registers. They do what
 * balance_choose() does, and leave to it what is seldom.
 */
#include "dataplane/balance/balance.h"
#include "dataplane/balance/choose.h"
#include "dataplane/parse_plain.h"

/* One of them, and the mode of its class. */
struct plain {
	const struct group *group;
	uint8_t *frame;
	uint32_t size; /* readable */
	struct ipv4_words ip;
	uint8_t priority;
	uint8_t mode;
};

static inline __attribute__((always_inline)) struct plain
plain_of(const struct snapshot *snapshot, const struct balance_packet *packet)
{
	struct plain plain = {
		.group = packet->group,
		.frame = packet_data(packet->packet),
		.size = packet->packet->data_len,
	};

	plain.ip = ipv4_words_at(plain.frame + ETHERNET_BYTES);
	plain.priority = snapshot->by_dscp[ipv4_traffic_class(&plain.ip) >> 2];
	plain.mode = balance_mode_of(snapshot, plain.group, plain.priority);
	return plain;
}

static inline __attribute__((always_inline)) void chosen(const struct snapshot *snapshot,
							 struct balance_packet *packet,
							 const struct plain *plain, uint32_t member,
							 uint8_t sprayed)
{
	packet->adjacency = &snapshot->adjacency[plain->group->members + member];
	packet->priority = plain->priority;
	packet->sprayed = sprayed;
}

/* Hash of its flow. */
static inline __attribute__((always_inline)) uint32_t plain_hash(const struct snapshot *snapshot,
								 const struct plain *plain)
{
	struct parsed parsed;

	parsed_set_plain(&parsed, plain->frame, plain->size, 0, &plain->ip);
	return balance_hash_of_group(snapshot, &parsed, plain->frame + ETHERNET_BYTES);
}

static __rte_noinline void choose_any(struct worker *worker, struct balance_packet *packet)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct plain plain = plain_of(snapshot, packet);
	struct parsed parsed;
	uint32_t member;

	parsed_set_plain(&parsed, plain.frame, plain.size, packet_length(packet->packet),
			 &plain.ip);
	member = balance_choose(worker, plain.group, &parsed, plain.frame + ETHERNET_BYTES,
				plain.priority);
	chosen(snapshot, packet, &plain, member, parsed.flags & PARSED_SPRAYED);
}

/* These return how many packets are done: all before the first of another mode. */

static __rte_noinline uint32_t choose_flowlets(struct worker *worker, struct balance_packet *packet,
					       uint32_t count)
{
	const struct snapshot *const snapshot = worker->snapshot;
	uint32_t k;

	for (k = 0; k < count; k++) {
		const struct plain plain = plain_of(snapshot, &packet[k]);

		if (unlikely(plain.mode != BALANCE_FLOWLET))
			break;
		chosen(snapshot, &packet[k], &plain,
		       choose_flowlet(worker, snapshot, plain.group, plain_hash(snapshot, &plain),
				      plain.priority),
		       0);
	}
	return k;
}

static __rte_noinline uint32_t choose_turns(struct worker *worker, struct balance_packet *packet,
					    uint32_t count)
{
	const struct snapshot *const snapshot = worker->snapshot;
	uint32_t k;

	for (k = 0; k < count; k++) {
		const struct plain plain = plain_of(snapshot, &packet[k]);

		if (unlikely(plain.mode != BALANCE_SPRAY_UNORDERED))
			break;
		chosen(snapshot, &packet[k], &plain,
		       choose_unordered(worker, snapshot, plain.group,
					plain_hash(snapshot, &plain)),
		       0);
	}
	return k;
}

/*
 * In the middle of a sprayed flow, no CNP, and without a checksum: number it.
 * @return its uplink, or UINT32_MAX: it is something else
 */
static inline __attribute__((always_inline)) uint32_t
spray_plain(struct worker *worker, const struct snapshot *snapshot, struct spray_source *source,
	    struct spray_leaf *peer, const struct plain *plain, const struct plain_roce *roce)
{
	uint8_t *const ip = plain->frame + ETHERNET_BYTES;
	const struct balance_key key =
		balance_key_ipv4(ip + 12, plain_roce_qp(roce), ipv4_traffic_class(&plain->ip) >> 2);
	struct sprayed_flow *flow = spray_source_find(source, &key);
	uint16_t number;

	if (unlikely(flow == NULL || !spray_source_goes_on(flow, plain->group->peer) ||
		     plain_roce_checksum(roce) != 0 || (uint8_t)roce->bth == ROCE_OPCODE_CNP ||
		     peer->mask == 0))
		return UINT32_MAX;
	number = rte_cpu_to_be_16(spray_source_next(flow, worker->now_ps));
	memcpy(ip + IPV4_BYTES_MIN + 6, &number, sizeof(number));
	return choose_uplink(worker, snapshot, peer, plain->group, plain->priority);
}

static __rte_noinline uint32_t choose_sprayed(struct worker *worker, struct balance_packet *packet,
					      uint32_t count)
{
	const struct snapshot *const snapshot = worker->snapshot;
	struct spray *const spray = worker_spray(worker);
	uint32_t sequenced = 0, k;

	for (k = 0; k < count && spray != NULL; k++) {
		const struct plain plain = plain_of(snapshot, &packet[k]);
		struct spray_leaf *peer;
		struct plain_roce roce;
		uint32_t uplink;

		if (unlikely(plain.mode != BALANCE_SPRAY || plain.group->peer == PEER_NONE))
			break;
		peer = &spray->leaf[plain.group->peer];
		if (!plain_roce_at(plain.frame, plain.size, &plain.ip, &roce)) {
			uplink = spray_hash_path(peer, plain_hash(snapshot, &plain),
						 &snapshot->adjacency[plain.group->members],
						 plain.group->balanced);
			chosen(snapshot, &packet[k], &plain, uplink, 0);
			continue;
		}
		uplink = spray_plain(worker, snapshot, &spray->source, peer, &plain, &roce);
		if (unlikely(uplink == UINT32_MAX)) {
			choose_any(worker, &packet[k]);
			continue;
		}
		chosen(snapshot, &packet[k], &plain, uplink, PARSED_SPRAYED);
		sequenced++;
	}
	if (sequenced != 0)
		counter_add(&spray->counters.sequenced, sequenced);
	return k;
}

void balance_choose_plain(struct worker *worker, struct balance_packet *packet, uint32_t count)
{
	uint32_t k = 0;

	while (k < count) {
		const struct plain plain = plain_of(worker->snapshot, &packet[k]);
		uint32_t done = 0;

		if (plain.mode == BALANCE_SPRAY)
			done = choose_sprayed(worker, packet + k, count - k);
		else if (plain.mode == BALANCE_FLOWLET)
			done = choose_flowlets(worker, packet + k, count - k);
		else if (plain.mode == BALANCE_SPRAY_UNORDERED)
			done = choose_turns(worker, packet + k, count - k);
		if (done == 0)
			choose_any(worker, &packet[k++]);
		k += done;
	}
}
