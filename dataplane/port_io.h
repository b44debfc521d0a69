/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port_io - the seam between the dataplane and whatever carries its frames.
 *
 * Our own, and small, because Debian's DPDK caps ethdevs at 32 and ships no driver headers, and
 * because the lab needs a wire with exact time. Implementations: io/ethdev (any DPDK device),
 * io/packet_mmap (kernel interfaces), io/memory (tests, benchmark), the CPU's pseudo-port
 * (io/cpu) and the lab's virtual wires.
 *
 * The rules of the dataplane (no system call, lock, allocation, clock) end here: a kernel port must
 * call the kernel. What still holds: no call ever blocks, and no frame vanishes without a count.
 *
 * Threads: rx_burst and backlog of one queue by its poller only; tx_burst by the port's owner only;
 * everything under "control" by the control thread, never while a worker polls unless said so.
 */
#ifndef DATAPLANE_PORT_IO_H
#define DATAPLANE_PORT_IO_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/units.h"

struct rte_mbuf;
struct rte_mempool;
struct port_io;

/* Packets per burst, at most. */
#define BURST_COUNT_MAX 32

/* What a device counted that the dataplane never saw; all monotonic. */
struct port_io_stats {
	uint64_t rx_missed_packets; /* lost before we could take them: ring full */
	uint64_t
		rx_error_packets; /* refused by the device or by us as unusable (bad length, CRC) */
	uint64_t rx_crc_errors;   /* of those, the ones that the device says had a wrong FCS */
	uint64_t rx_no_buffer;    /* bursts that found the packet pool empty */
	uint64_t rx_superframes;  /* frames above the MTU that a peer's segmentation offload left */
	uint64_t rx_superframe_drops; /* of those, the ones that could not be segmented */
	uint64_t tx_error_packets;    /* taken from us and then refused by the device */
	uint64_t rx_device_pauses;    /* pauses of the peer that the device has counted by itself */
};

struct port_io_link {
	bool up;
	uint64_t speed_bps; /* 0: the device doesn't say */
};

struct port_io_ops {
	const char *name;

	/**
	 * Take up to count (<= BURST_COUNT_MAX) received frames.
	 * Each is one segment of 14..FRAME_BYTES_MAX bytes (shorter ones may be handed over; the
	 * parser counts them), VLAN tag in the frame, checksums complete, virtual bytes set.
	 * m->port is the port's id.
	 */
	uint16_t (*rx_burst)(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			     uint16_t count);

	/**
	 * Hand over up to count frames, in order. Those taken (the return value) belong to the
	 * device, which frees them; the rest stay with the caller. A device that is gone takes
	 * everything and counts it in tx_error_packets.
	 */
	uint16_t (*tx_burst)(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			     uint16_t count);

	/** Frames waiting to be received, or -ENOTSUP. May be NULL: not known. */
	int32_t (*rx_backlog)(struct port_io *io, uint16_t queue);

	/** Frames handed over and not yet on the wire, or -ENOTSUP. May be NULL. */
	int32_t (*tx_backlog)(struct port_io *io, uint16_t queue);

	/* --- control --- */

	/** File descriptor that polls readable when frames wait, or -ENOTSUP. May be NULL. */
	int (*descriptor)(struct port_io *io, uint16_t queue);

	/** State of the link now. Safe while a worker polls. @return 0, or -ENODEV: down, gone */
	int (*link)(struct port_io *io, struct port_io_link *link);

	/** Counters of the device. Safe while a worker polls. */
	void (*stats)(struct port_io *io, struct port_io_stats *stats);

	/** Give everything back. NULL is not allowed here; port_io_close() checks. */
	void (*close)(struct port_io *io);
};

/* port_io.flags */
#define PORT_IO_POLLED 0x01u /* can't say when frames wait: its ready bit is never cleared */
#define PORT_IO_EXACT  0x02u /* a virtual wire: takes one frame when the wire is free */

/* The part that the dataplane knows; implementations embed it first. */
struct port_io {
	const struct port_io_ops *ops;
	uint16_t port;           /* id in the leaf; rx_burst stores it in every packet */
	uint16_t rx_queues;      /* >= 1 */
	uint32_t rx_ring_frames; /* that a receive queue's ring holds; 0: not known */
	uint32_t flags;          /* PORT_IO_* */
	uint8_t mac[6];          /* the device's own address, source of its MAC control frames */
	uint8_t alone; /* bit p: frames of priority p wait apart in the device, which may hold them */
};

static inline void port_io_close(struct port_io *io)
{
	if (io != NULL)
		io->ops->close(io);
}

#endif
