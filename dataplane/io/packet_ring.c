/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/packet_ring.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_malloc.h>

int packet_ring_socket(struct packet_ring *ring, const char *name, struct io_error *error)
{
	memset(ring, 0, sizeof(*ring));
	ring->fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (ring->fd >= 0)
		return 0;
	if (errno == EPERM)
		return io_fail(error, EPERM,
			       "interface %s: packet socket needs CAP_NET_RAW (root, or a user "
			       "namespace that owns the network namespace)",
			       name);
	return io_fail(error, errno, "interface %s: packet socket", name);
}

int packet_ring_map(struct packet_ring *ring, int option, uint32_t slot_bytes, uint32_t count,
		    int socket_id, const char *name, struct io_error *error)
{
	uint32_t per_block;
	struct tpacket_req request = {.tp_block_size = PACKET_RING_BLOCK_BYTES};
	int version = TPACKET_V2;

	ring->slot_bytes = TPACKET_ALIGN(slot_bytes);
	assert(ring->slot_bytes <= PACKET_RING_BLOCK_BYTES && count > 0);
	per_block = PACKET_RING_BLOCK_BYTES / ring->slot_bytes;
	request.tp_frame_size = ring->slot_bytes;
	request.tp_block_nr = (count + per_block - 1) / per_block;
	request.tp_frame_nr = request.tp_block_nr * per_block;
	ring->count = request.tp_frame_nr;
	if (setsockopt(ring->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0)
		return io_fail(error, errno, "interface %s: PACKET_VERSION 2", name);
	if (setsockopt(ring->fd, SOL_PACKET, option, &request, sizeof(request)) != 0)
		return io_fail(error, errno, "interface %s: %s ring of %u slots of %u bytes", name,
			       option == PACKET_RX_RING ? "receive" : "transmit", ring->count,
			       ring->slot_bytes);
	ring->slot = rte_zmalloc_socket("packet_ring", ring->count * sizeof(void *), 0, socket_id);
	if (ring->slot == NULL)
		return io_fail(error, ENOMEM, "interface %s: table of %u slots", name, ring->count);
	ring->memory_bytes = (size_t)request.tp_block_nr * PACKET_RING_BLOCK_BYTES;
	ring->memory = mmap(NULL, ring->memory_bytes, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_POPULATE, ring->fd, 0);
	if (ring->memory == MAP_FAILED) {
		ring->memory = NULL;
		return io_fail(error, errno, "interface %s: mapping a ring of %zu bytes", name,
			       ring->memory_bytes);
	}
	for (uint32_t i = 0; i < ring->count; i++)
		ring->slot[i] =
			(void *)(ring->memory + (size_t)(i / per_block) * PACKET_RING_BLOCK_BYTES +
				 (size_t)(i % per_block) * ring->slot_bytes);
	return 0;
}

int packet_ring_bind(const struct packet_ring *ring, int interface_index, uint16_t protocol,
		     const char *name, struct io_error *error)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = interface_index,
	};

	if (bind(ring->fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return io_fail(error, errno, "interface %s: binding a packet socket", name);
	return 0;
}

void packet_ring_close(struct packet_ring *ring)
{
	if (ring->memory != NULL)
		(void)munmap(ring->memory, ring->memory_bytes);
	rte_free(ring->slot);
	if (ring->fd >= 0)
		(void)close(ring->fd);
	memset(ring, 0, sizeof(*ring));
	ring->fd = -1;
}
