/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * veth - a test's own network: a user, network and mount namespace with EAL in it, and helpers to
 * send and receive frames on the far end of a port.
 *
 * Where user namespaces are refused the test is skipped, or fails when CI is set.
 */
#ifndef TESTS_UNIT_VETH_H
#define TESTS_UNIT_VETH_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/virtio_net.h>
#include <rte_mbuf.h>

#include "dataplane/port_io.h"

#define VETH_WAIT_MS     5000 /* longest wait for a frame that must come */
#define VETH_FRAME_BYTES 65600

/* Enter the namespaces and start EAL. Call first. */
void veth_enter(void);

/* Run a shell command that must succeed. */
void veth_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Make a pair, both ends with this MTU; `near` is down, `far` is up without IPv6. */
void veth_pair(const char *near, const char *far, uint32_t mtu_bytes);

/* A pool of count buffers that hold frames of that MTU. */
struct rte_mempool *veth_pool(uint32_t count, uint32_t mtu_bytes);

/* Open a port that must open, and wait for it and, unless NULL, for the far end. */
struct port_io *veth_port(const char *interface, const char *far, uint32_t mtu_bytes,
			  struct rte_mempool *pool);

/* A packet socket on an interface; with offloads, every frame has a struct virtio_net_hdr. */
int veth_peer(const char *interface, bool offloads);
void veth_peer_send(int fd, const void *frame, uint32_t bytes);
void veth_peer_send_offload(int fd, const struct virtio_net_hdr *header, const void *frame,
			    uint32_t bytes);
/* One frame with its tag in place, 0 when none came within wait_ms. */
uint32_t veth_peer_receive(int fd, uint8_t *frame, uint32_t size, int wait_ms);

/* Receive until count came or, when fewer are there, VETH_WAIT_MS passed without any. */
uint32_t veth_receive(struct port_io *io, struct rte_mbuf **packets, uint32_t count);
/* Receive and free what is there now. */
uint32_t veth_drain(struct port_io *io);

/* bytes_frame() in a packet of the pool, of the type that is for experiments. */
struct rte_mbuf *veth_packet(struct rte_mempool *pool, uint32_t bytes, uint32_t seed);

/* Wait up to VETH_WAIT_MS for the link to be up or down. */
bool veth_link_becomes(struct port_io *io, bool up);
/*
 * Wait for both ends to be ready. For a while after carrier has come the kernel still drops what a
 * host's socket sends, and says nothing.
 */
void veth_wait(struct port_io *io, const char *far);

#endif
