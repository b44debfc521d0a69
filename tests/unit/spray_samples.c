/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/spray_samples.h"

#include <string.h>

struct source {
	const uint8_t *data;
	size_t left;
};

static uint64_t take(struct source *source, uint32_t bytes)
{
	uint64_t value = 0;

	for (; bytes != 0; bytes--) {
		value = value << 8 | (source->left != 0 ? *source->data : 0);
		source->data += source->left != 0 ? 1 : 0;
		source->left -= source->left != 0 ? 1 : 0;
	}
	return value;
}

static uint16_t take_number(struct source *source)
{
	uint16_t number = (uint16_t)take(source, 2);

	return number < 2 ? 2 : number;
}

static struct spray_flow take_flow(struct source *source)
{
	struct spray_flow flow = {
		.family = take(source, 1) % 2 == 0 ? 4 : 6,
		.dscp = take(source, 1) % 64,
		.vrf = (uint16_t)take(source, 2),
		.qp = (uint32_t)take(source, 3),
	};

	for (uint32_t i = 0; i < (flow.family == 4 ? 4 : 16); i++) {
		flow.source[i] = (uint8_t)take(source, 1);
		flow.destination[i] = (uint8_t)take(source, 1);
	}
	return flow;
}

struct spray_message spray_sample(const uint8_t *data, size_t size)
{
	struct source source = {data, size};
	struct spray_message m;
	uint8_t count;

	memset(&m, 0, sizeof(m));
	m.type = (uint8_t)(1 + take(&source, 1) % (SPRAY_MESSAGE_TYPE_COUNT - 1));
	m.worker = (uint8_t)take(&source, 1);
	count = (uint8_t)(1 + take(&source, 1) % SPRAY_UPLINKS_MAX);
	m.uplink = (uint8_t)(take(&source, 1) % count);
	m.epoch = take(&source, 8) | 1;
	m.receiver_epoch = m.type == SPRAY_HELLO ? take(&source, 8) : take(&source, 8) | 1;
	m.counter = take(&source, 8) | 1;
	switch (m.type) {
	case SPRAY_HELLO:
		m.hello.capabilities = (uint32_t)take(&source, 4);
		m.hello.serial = (uint32_t)take(&source, 4);
		m.hello.count = count;
		for (uint32_t i = 0; i < count; i++) {
			m.hello.uplink[i].speed_mbps = (uint32_t)take(&source, 4);
			m.hello.uplink[i].up = take(&source, 1) % 2;
		}
		break;
	case SPRAY_REQUEST:
		m.request.transaction = (uint32_t)take(&source, 4);
		m.request.flow = take_flow(&source);
		m.request.first = take_number(&source);
		break;
	case SPRAY_ANSWER:
		m.answer.transaction = (uint32_t)take(&source, 4);
		m.answer.worker = (uint8_t)take(&source, 1);
		m.answer.answer = (uint8_t)(take(&source, 1) % SPRAY_ANSWER_COUNT);
		m.answer.flow = take_flow(&source);
		break;
	case SPRAY_PASSED:
		m.answer.transaction = (uint32_t)take(&source, 4);
		m.answer.worker = (uint8_t)take(&source, 1);
		m.answer.answer = SPRAY_YES;
		m.answer.flow = take_flow(&source);
		break;
	case SPRAY_PROBE:
		m.probe.transaction = (uint32_t)take(&source, 4);
		m.probe.flow = take_flow(&source);
		break;
	case SPRAY_PLACED:
	case SPRAY_LOADS:
		m.elephants.worker = m.type == SPRAY_LOADS ? (uint8_t)take(&source, 1) : 0;
		m.elephants.count = count;
		for (uint32_t i = 0; i < count; i++)
			m.elephants.uplink[i] = (uint16_t)take(&source, 2);
		break;
	case SPRAY_FEEDBACK:
		m.feedback.count = count;
		for (uint32_t i = 0; i < count; i++) {
			m.feedback.uplink[i].lateness_ps = (uint32_t)take(&source, 4);
			m.feedback.uplink[i].packets = (uint32_t)take(&source, 4);
			m.feedback.uplink[i].silent = take(&source, 1) % 2;
			m.feedback.uplink[i].up = take(&source, 1) % 2;
		}
		break;
	case SPRAY_BYE:
		break;
	default:
		m.sequence.transaction = (uint32_t)take(&source, 4);
		m.sequence.flow = take_flow(&source);
		m.sequence.number = take_number(&source);
		break;
	}
	return m;
}
