/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What collectives were worth: their lower bound, bandwidths as NCCL's tests define them, and stragglers.
 */
#include "tools/lab/collective.h"

#include <stdlib.h>

#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/ratio.h"

/* Ethernet, IPv4, UDP, BTH and invariant CRC: every packet has them. */
#define HEADER_BYTES (14 + 20 + 8 + FRAME_BTH_BYTES + FRAME_ICRC_BYTES)

/* --- the lower bound --- */

/* Bytes on the wire of one message, framing overhead included. */
static uint64_t message_wire_bytes(const struct scenario_flow *flow, uint32_t overhead_bytes,
				   uint64_t bytes)
{
	uint64_t packets = flow_packets(bytes, flow->payload_bytes);
	uint64_t writes = (bytes + FLOW_MESSAGE_BYTES - 1) / FLOW_MESSAGE_BYTES;

	return bytes + packets * (HEADER_BYTES + overhead_bytes) + writes * FRAME_RETH_BYTES;
}

uint64_t collective_ideal_ps(const struct scenario *scenario,
			     const struct scenario_collective *plan)
{
	const struct topology *topology = scenario->topology;
	const struct scenario_flow *flow = &scenario->flows[plan->first_flow];
	uint32_t ranks = plan->shape.ranks, steps = collective_steps(&plan->shape);
	uint64_t *sent = allocate(ranks * sizeof(*sent)),
		 *received = allocate(ranks * sizeof(*sent));
	uint64_t worst_ps = 0;

	for (uint32_t step = 0; step < steps; step++) {
		for (uint32_t rank = 0; rank < ranks; rank++) {
			struct collective_message message =
				collective_message(&plan->shape, rank, step);
			uint64_t bytes =
				message_wire_bytes(flow, topology->overhead_bytes, message.bytes);

			sent[rank] += bytes;
			received[message.peer] += bytes;
		}
	}
	for (uint32_t rank = 0; rank < ranks; rank++) {
		uint32_t node = topology->hosts[plan->ranks[rank]];
		uint64_t rate_bps = topology->links[topology->nodes[node].links[0]].rate_bps;
		uint64_t bytes = sent[rank] > received[rank] ? sent[rank] : received[rank];
		uint64_t time_ps = (uint64_t)((unsigned __int128)bytes * 8 * PS_PER_S / rate_bps);

		worst_ps = time_ps > worst_ps ? time_ps : worst_ps;
	}
	free(sent);
	free(received);
	return worst_ps;
}

/* --- JSON --- */

static void put_integer(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static const char *rank_name(const struct collectives *all, const struct collective *this,
			     uint32_t rank)
{
	return all->fabric->hosts[this->plan->ranks[rank]].params.name;
}

static json_t *step_result(const struct collectives *all, const struct collective *this,
			   const struct collective_step *step, uint32_t number)
{
	json_t *object = json_object();

	put_integer(object, "step", number);
	put_integer(object, "end_ns", step->end_ps / PS_PER_NS);
	json_object_set_new(object, "straggler", json_string(rank_name(all, this, step->rank)));
	json_object_set_new(object, "from", json_string(rank_name(all, this, step->sender)));
	json_object_set_new(object, "link", json_string(all->fabric->wires[step->wire].name));
	ratio_set(object, "link_paused", step->paused_ps, step->length_ps);
	ratio_set(object, "link_busy", step->busy_ps, step->length_ps);
	return object;
}

/* 8 bytes / ns is Gb/s. */
static void put_bandwidths(json_t *object, const struct collective_shape *shape, uint64_t time_ps)
{
	unsigned __int128 bits = (unsigned __int128)shape->bytes * 8 * PS_PER_NS;
	uint64_t numerator, denominator;

	collective_bus_factor(shape, &numerator, &denominator);
	ratio_set(object, "algbw_gbps", bits, time_ps);
	ratio_set(object, "busbw_gbps", bits * numerator / denominator, time_ps);
}

static json_t *repetition_result(const struct collectives *all, const struct collective *this,
				 uint32_t index)
{
	const struct collective_repetition *repetition = &this->repetitions[index];
	uint64_t time_ps = repetition->end_ps - repetition->start_ps;
	json_t *object = json_object(), *steps = json_array();

	json_object_set_new(object, "name", json_string(this->plan->name));
	put_integer(object, "repeat", index + 1);
	put_integer(object, "start_ns", repetition->start_ps / PS_PER_NS);
	put_integer(object, "time_ns", time_ps / PS_PER_NS);
	put_integer(object, "ideal_ns", this->ideal_ps / PS_PER_NS);
	ratio_set(object, "slowdown", time_ps, this->ideal_ps);
	put_bandwidths(object, &this->plan->shape, time_ps);
	json_object_set_new(object, "straggler",
			    json_string(rank_name(all, this, repetition->straggler)));
	for (uint32_t i = 0; i < this->steps; i++)
		json_array_append_new(steps, step_result(all, this, &repetition->steps[i], i));
	json_object_set_new(object, "steps", steps);
	return object;
}

/* Over all repetitions: complete only when all are over, so that nothing unfinished looks fast. */
static json_t *overall_result(const struct collective *this)
{
	json_t *object = json_object();
	uint64_t most_ps = 0, sum_ps = 0;

	put_integer(object, "ranks", this->plan->shape.ranks);
	put_integer(object, "bytes", this->plan->shape.bytes);
	put_integer(object, "repeats", this->plan->repeat);
	put_integer(object, "finished", this->finished);
	put_integer(object, "ideal_ns", this->ideal_ps / PS_PER_NS);
	for (uint32_t i = 0; i < this->finished; i++) {
		uint64_t time_ps = this->repetitions[i].end_ps - this->repetitions[i].start_ps;

		most_ps = time_ps > most_ps ? time_ps : most_ps;
		sum_ps += time_ps;
	}
	if (this->finished == 0 || this->finished != this->plan->repeat)
		return object;
	put_integer(object, "time_ns", most_ps / PS_PER_NS);
	ratio_set(object, "slowdown", most_ps, this->ideal_ps);
	ratio_set(object, "slowdown_mean", sum_ps / this->finished, this->ideal_ps);
	put_bandwidths(object, &this->plan->shape, most_ps);
	return object;
}

void collectives_result(const struct collectives *collectives, json_t *result)
{
	json_t *list = json_array(), *overall = json_object();

	for (uint32_t i = 0; i < collectives->count; i++) {
		const struct collective *this = &collectives->collective[i];

		for (uint32_t j = 0; j < this->finished; j++)
			json_array_append_new(list, repetition_result(collectives, this, j));
		json_object_set_new(overall, this->plan->name, overall_result(this));
	}
	json_object_set_new(result, "collectives", list);
	json_object_set_new(result, "collective", overall);
}
