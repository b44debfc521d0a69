/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame - RoCEv2 frames as hosts of the lab send and read them.
 *
 * Headers are real: Ethernet, IPv4 or IPv6, UDP to port 4791, base transport header (BTH), and the
 * RDMA extended header (RETH) in the first packet of a write, or the acknowledge extended header (AETH)
 * in replies. Of the payload only the first eight
 * bytes exist, where they fit: when the frame was sent, counted from the start of the run, for the
 * receiver's latency; the rest, padding and the invariant CRC are virtual bytes (packet.h), but they
 * count.
 *
 * Layout: InfiniBand Architecture Specification, volume 1: 9.2 (BTH), 9.3 (RETH, AETH), 9.7.5.2
 * (syndromes); annex A17 (RoCEv2).
 *
 * Thread: the lab's.
 */
#ifndef LAB_FRAME_H
#define LAB_FRAME_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;

#define FRAME_BTH_BYTES  12
#define FRAME_RETH_BYTES 16
#define FRAME_AETH_BYTES 4
#define FRAME_ICRC_BYTES 4
#define FRAME_UDP_PORT   4791
#define FRAME_PSN_MASK   0xFFFFFFu

/* Ethernet, IPv6, UDP, BTH, RETH, time stamp: what a buffer must hold, rounded up. */
#define FRAME_REAL_BYTES_MAX 128

/* Of those, headers without the time stamp. */
#define FRAME_HEADER_BYTES_MAX 96

/* Layer 3 bytes that a packet may have beyond its payload (IPv6, with RETH): 80. A port's MTU is
 * the RDMA MTU plus this, rounded up to what people configure: 4096 + 104 = 4200. */
#define FRAME_MTU_EXTRA_BYTES 104

/* BTH opcodes of reliable connections, table 38. */
enum frame_opcode {
	FRAME_SEND_FIRST = 0x00,
	FRAME_SEND_MIDDLE = 0x01,
	FRAME_SEND_LAST = 0x02,
	FRAME_SEND_ONLY = 0x04,
	FRAME_WRITE_FIRST = 0x06,
	FRAME_WRITE_MIDDLE = 0x07,
	FRAME_WRITE_LAST = 0x08,
	FRAME_WRITE_ONLY = 0x0A,
	FRAME_ACK = 0x11,
	FRAME_CNP = 0x81, /* annex A17.9.3 */
};

/*
 * Syndromes of an AETH (9.7.5.2): bits 6 and 5 say what it is, 0 an ACK, 3 a NAK; bits 4 to 0 are the credits
 * of an ACK, 31 where there is no flow control from end to end, or a NAK's code, 0 for a PSN out of sequence.
 */
#define FRAME_SYNDROME_ACK          0x1Fu
#define FRAME_SYNDROME_NAK_SEQUENCE 0x60u

/** True for a packet that ends a message of data. */
static inline bool frame_ends_message(uint32_t opcode)
{
	return opcode == FRAME_WRITE_LAST || opcode == FRAME_WRITE_ONLY ||
	       opcode == FRAME_SEND_LAST || opcode == FRAME_SEND_ONLY;
}

/** True for a packet of data. */
static inline bool frame_is_data(uint32_t opcode)
{
	return opcode <= FRAME_SEND_LAST || opcode == FRAME_SEND_ONLY ||
	       (opcode >= FRAME_WRITE_FIRST && opcode <= FRAME_WRITE_LAST) ||
	       opcode == FRAME_WRITE_ONLY;
}

/* One side's view of a connection: what all its frames have in common. */
struct frame_path {
	uint8_t source_mac[6];
	uint8_t destination_mac[6]; /* next hop: the other host, or the router */
	uint8_t family;             /* 4 or 6 */
	uint8_t tos;                /* DSCP << 2 | ECN */
	uint16_t vlan;              /* 0: untagged */
	uint8_t pcp;
	uint8_t source_ip[16], destination_ip[16];
	uint16_t source_port; /* entropy for the fabric's hashes */
	uint32_t queue_pair;  /* of the receiver, 24 bits */
	bool becn;            /* backward congestion notification: set in CNPs */
};

/* A path's headers, written once. */
struct frame_template {
	uint8_t bytes[FRAME_HEADER_BYTES_MAX];
	uint32_t ip_sum; /* IPv4: sum of the header's words but for length and checksum */
	uint8_t ip_offset;
	uint8_t udp_offset;
	uint8_t bth_offset;
	uint8_t family;
};

void frame_template_init(struct frame_template *template, const struct frame_path *path);

/* What differs from frame to frame. */
struct frame_packet {
	enum frame_opcode opcode;
	uint32_t psn;
	uint32_t payload_bytes; /* 0..MTU */
	uint32_t message_bytes; /* in a RETH */
	uint64_t stamp_ps;      /* stored in the payload when it has eight bytes */
	bool ack_request;       /* its receiver must acknowledge it */
};

/** Build a frame. Hot. @param packet as rte_mbuf_raw_alloc() gives it, with FRAME_REAL_BYTES_MAX */
void frame_build(const struct frame_template *template, struct rte_mbuf *packet,
		 const struct frame_packet *what);

/* Where a reply goes, and what it says. IPv4 only. */
struct frame_reply {
	uint8_t source_mac[6], destination_mac[6];
	uint8_t source_ip[4], destination_ip[4];
	uint16_t source_port;
	uint8_t tos;
	uint8_t syndrome; /* FRAME_SYNDROME_* */
	bool becn;        /* what it acknowledges was marked */
	uint32_t queue_pair;
	uint32_t psn; /* of the last packet acknowledged, or the one that is missing */
	uint32_t msn; /* messages completed, 24 bits */
};

/* Ethernet, IPv4, UDP, BTH, AETH, invariant CRC. */
#define FRAME_REPLY_BYTES (14 + 20 + 8 + FRAME_BTH_BYTES + FRAME_AETH_BYTES + FRAME_ICRC_BYTES)

/** Build an acknowledgement, or a NAK. Hot. @param packet as for frame_build() */
void frame_build_reply(const struct frame_reply *reply, struct rte_mbuf *packet);

/** Frame length (without FCS) that frame_build() gives for a payload. */
uint32_t frame_length(const struct frame_template *template, enum frame_opcode opcode,
		      uint32_t payload_bytes);

/* What a receiver reads. */
struct frame_view {
	const uint8_t *destination_ip;
	uint8_t family;
	uint8_t tos;
	uint8_t opcode;
	bool stamped;
	bool ack_request, becn;
	uint16_t checksum; /* of UDP; senders here leave it 0 */
	uint8_t syndrome;  /* of an AETH; else 0 */
	uint32_t msn;
	uint32_t queue_pair;
	uint32_t psn;
	uint32_t payload_bytes;
	uint64_t stamp_ps;
};

/** @return false when it is no RoCEv2 frame, or one that contradicts itself. Hot. */
bool frame_read(struct rte_mbuf *packet, struct frame_view *view);

#endif
