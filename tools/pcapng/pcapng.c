/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/pcapng/pcapng.h"

#include <string.h>

/* Block types and options, sections 4.1 to 4.6. */
#define BLOCK_SECTION      0x0A0D0D0Au
#define BLOCK_INTERFACE    1u
#define BLOCK_STATISTICS   5u
#define BLOCK_PACKET       6u
#define BYTE_ORDER_MAGIC   0x1A2B3C4Du
#define OPTION_IF_NAME     2u
#define OPTION_IF_TSRESOL  9u
#define OPTION_EPB_FLAGS   2u
#define OPTION_ISB_IFRECV  4u
#define OPTION_ISB_IFDROP  5u
#define LINKTYPE_ETHERNET  1u
#define TSRESOL_NS         9u
#define BLOCK_WORDS_BYTES  12u /* type and twice the length */
#define PACKET_FIXED_BYTES 20u
#define FLAGS_BYTES        12u /* the option, its value, and the end of options */
#define STATISTICS_BYTES   (BLOCK_WORDS_BYTES + 12u + 2 * 12u + 4u)

static void put(FILE *file, const void *bytes, size_t size)
{
	(void)fwrite(bytes, 1, size, file); /* ferror() tells */
}

static void put_u32(FILE *file, uint32_t value)
{
	put(file, &value, sizeof(value));
}

static void put_time(FILE *file, uint64_t time_ns)
{
	put_u32(file, (uint32_t)(time_ns >> 32));
	put_u32(file, (uint32_t)time_ns);
}

static void put_option_u64(FILE *file, uint32_t option, uint64_t value)
{
	put_u32(file, option | (uint32_t)sizeof(value) << 16);
	put(file, &value, sizeof(value));
}

static void put_zeros(FILE *file, uint32_t count)
{
	static const uint8_t zeros[256];

	for (; count > sizeof(zeros); count -= (uint32_t)sizeof(zeros))
		put(file, zeros, sizeof(zeros));
	put(file, zeros, count);
}

static uint32_t padded(uint32_t size)
{
	return (size + 3) & ~3u;
}

void pcapng_section(FILE *file)
{
	put_u32(file, BLOCK_SECTION);
	put_u32(file, 28);
	put_u32(file, BYTE_ORDER_MAGIC);
	put_u32(file, 1);          /* version 1.0 */
	put_u32(file, UINT32_MAX); /* length of the section: not said */
	put_u32(file, UINT32_MAX);
	put_u32(file, 28);
}

void pcapng_interface(FILE *file, const char *name, uint32_t snap_bytes)
{
	uint32_t name_bytes = (uint32_t)strlen(name);
	uint32_t length = BLOCK_WORDS_BYTES + 8 + 4 + padded(name_bytes) + 4 + 4 + 4;

	put_u32(file, BLOCK_INTERFACE);
	put_u32(file, length);
	put_u32(file, LINKTYPE_ETHERNET);
	put_u32(file, snap_bytes);
	put_u32(file, OPTION_IF_NAME | name_bytes << 16);
	put(file, name, name_bytes);
	put_zeros(file, padded(name_bytes) - name_bytes);
	put_u32(file, OPTION_IF_TSRESOL | 1u << 16);
	put_u32(file, TSRESOL_NS);
	put_u32(file, 0); /* end of options */
	put_u32(file, length);
}

void pcapng_packet(FILE *file, const struct pcapng_packet *packet)
{
	uint32_t length = BLOCK_WORDS_BYTES + PACKET_FIXED_BYTES + padded(packet->captured_bytes);

	if (packet->direction != PCAPNG_UNKNOWN)
		length += FLAGS_BYTES;
	put_u32(file, BLOCK_PACKET);
	put_u32(file, length);
	put_u32(file, packet->interface);
	put_time(file, packet->time_ns);
	put_u32(file, packet->captured_bytes);
	put_u32(file, packet->original_bytes);
	put(file, packet->data, packet->data_bytes);
	put_zeros(file, padded(packet->captured_bytes) - packet->data_bytes);
	if (packet->direction != PCAPNG_UNKNOWN) {
		put_u32(file, OPTION_EPB_FLAGS | 4u << 16);
		put_u32(file, packet->direction);
		put_u32(file, 0); /* end of options */
	}
	put_u32(file, length);
}

void pcapng_statistics(FILE *file, uint32_t interface, uint64_t time_ns, uint64_t received,
		       uint64_t dropped)
{
	put_u32(file, BLOCK_STATISTICS);
	put_u32(file, STATISTICS_BYTES);
	put_u32(file, interface);
	put_time(file, time_ns);
	put_option_u64(file, OPTION_ISB_IFRECV, received);
	put_option_u64(file, OPTION_ISB_IFDROP, dropped);
	put_u32(file, 0); /* end of options */
	put_u32(file, STATISTICS_BYTES);
}
