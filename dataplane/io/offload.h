/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * offload - finishes in software what a sender left to a network card that isn't there.
 *
 * A host behind a veth or TAP hands its frames over with the transport checksum unfinished and TCP
 * (or UDP) in super-frames of up to 64 KB. The kernel describes both in a struct virtio_net_hdr
 * (virtio 1.2, 5.1.6): checksum of the bytes from csum_start on, to be stored csum_offset further;
 * payload to be cut into pieces of gso_size, each behind a copy of the headers.
 *
 * Why not DPDK's rte_gso: the one of 22.11 leaves TCP over IPv6 uncut, makes IP fragments of UDP
 * instead of datagrams, and allocates all pieces of a super-frame at once, each as a chain of two
 * buffers that would have to be copied together again. This one writes piece after piece straight
 * into buffers of one segment, as many as the burst asks for, and so never holds any. The unit test
 * compares it with rte_gso where that can do the job.
 *
 * Pure functions on bytes, for whichever thread owns them. Nothing is trusted: lengths and offsets
 * out of the frame are refused. Cost: one pass over the bytes for a checksum, copy and pass for a
 * piece.
 */
#ifndef DATAPLANE_IO_OFFLOAD_H
#define DATAPLANE_IO_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/virtio_net.h>

/* The kernel's name for UDP super-frames that become datagrams; younger than our libc's header. */
#define OFFLOAD_GSO_UDP_DATAGRAMS 5

/* An Ethernet header with two tags, an IP packet of 64 KB. */
#define OFFLOAD_FRAME_BYTES_MAX (14u + 8u + 65535u)

/**
 * Complete the checksum that header->flags says is missing; without that flag nothing happens.
 * @param frame   the frame from its destination MAC on, with the tags that csum_start counts
 * @param bytes   its length
 * @return 0, or -EBADMSG when the place of the checksum isn't inside the frame
 */
int offload_checksum_finish(uint8_t *frame, uint32_t bytes, const struct virtio_net_hdr *header);

/* A super-frame being cut; opaque but for what is left. */
struct offload_pieces {
	uint32_t left; /* pieces still to come, 0: none, or not started */

	const uint8_t *frame;
	uint32_t bytes;
	uint32_t index;        /* of the next piece */
	uint32_t header_bytes; /* Ethernet up to and with TCP or UDP */
	uint32_t piece_bytes;  /* payload of all pieces but the last */
	uint32_t l3_offset;
	uint32_t l4_offset;
	uint32_t pseudo_sum; /* of the pseudo-header, its length field left out */
	uint8_t protocol;    /* IPPROTO_TCP or IPPROTO_UDP */
	bool ipv4;
	bool congestion_once; /* TCP's CWR belongs into the first piece only (RFC 3168 6.1.2) */
};

/**
 * Begin to cut a super-frame; header->gso_type is not VIRTIO_NET_HDR_GSO_NONE.
 * @param frame        must stay as it is until the last piece was made
 * @param bytes        up to OFFLOAD_FRAME_BYTES_MAX
 * @param piece_max    the longest frame that may come out, bytes, without a tag put back later
 * @return 0 (pieces->left > 0), -EBADMSG (lengths don't fit together), -ENOTSUP (not TCP or UDP
 *         straight over IP: tunnels, other protocols, more than 64 KB), -EMSGSIZE (a piece would be
 *         longer than piece_max)
 */
int offload_pieces_begin(struct offload_pieces *pieces, const uint8_t *frame, uint32_t bytes,
			 const struct virtio_net_hdr *header, uint32_t piece_max);

/**
 * Make the next piece; pieces->left > 0. IPv4 identification and TCP sequence count up, FIN and PSH
 * stay with the last piece; lengths and checksums are right.
 * @param out   room for piece_max bytes
 * @return its length
 */
uint32_t offload_pieces_next(struct offload_pieces *pieces, uint8_t *out);

#endif
