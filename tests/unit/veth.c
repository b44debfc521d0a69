/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/veth.h"

#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <rte_eal.h>

#include "dataplane/io/packet_mmap.h"
#include "tests/unit/bytes.h"

/* Tells the processes of the single tests that they are in the user namespace already. */
#define ENTERED "VETH_USER_NAMESPACE"

/* Why there is no user namespace: errno. */
static int refused;

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd);
	return written;
}

/*
 * A process with more than one thread can't enter a user namespace, and Criterion's tests have two:
 * the program enters it before main(), each test a network of its own in there.
 */
__attribute__((constructor)) static void user_namespace_enter(void)
{
	char uid_map[32], gid_map[32];

	(void)snprintf(uid_map, sizeof(uid_map), "0 %u 1", getuid());
	(void)snprintf(gid_map, sizeof(gid_map), "0 %u 1", getgid());
	if (getenv(ENTERED) != NULL)
		return;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS) != 0 ||
	    !write_file("/proc/self/setgroups", "deny") ||
	    !write_file("/proc/self/uid_map", uid_map) ||
	    !write_file("/proc/self/gid_map", gid_map) || setenv(ENTERED, "1", 1) != 0)
		refused = errno;
}

void veth_enter(void)
{
	static char line[] = "test --no-huge -m 64 --no-shconf --no-pci --no-telemetry -l 0 "
			     "--log-level=4";
	char *arguments[16];
	int count = 0;

	/* Root needs no user namespace. */
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
		cr_assert_null(getenv("CI"), "user namespaces are refused: %s", strerror(refused));
		cr_skip_test("user namespaces are refused: %s", strerror(refused));
	}
	/* EAL's run-time directory is gone with the namespace. */
	cr_assert_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	cr_assert_eq(mount("run", "/run", "tmpfs", 0, NULL), 0, "%s", strerror(errno));
	cr_assert_eq(setenv("RUNTIME_DIRECTORY", "/run", 1), 0);
	veth_run("ip link set lo up");
	for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " "))
		arguments[count++] = word;
	cr_assert_geq(rte_eal_init(count, arguments), 0);
}

void veth_run(const char *format, ...)
{
	va_list arguments;
	char command[512];

	va_start(arguments, format);
	(void)vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	cr_assert_eq(system(command), 0, "%s", command);
}

void veth_pair(const char *near, const char *far, uint32_t mtu_bytes)
{
	veth_run("ip link add %s mtu %u type veth peer name %s mtu %u", near, mtu_bytes, far,
		 mtu_bytes);
	veth_run("echo 1 >/proc/sys/net/ipv6/conf/%s/disable_ipv6", far);
	veth_run("ip link set %s up", far);
}

struct rte_mempool *veth_pool(uint32_t count, uint32_t mtu_bytes)
{
	uint16_t room = (uint16_t)(RTE_PKTMBUF_HEADROOM + mtu_bytes + FRAME_HEADER_BYTES);
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create("veth", count, 0, 0, room, SOCKET_ID_ANY);

	cr_assert_not_null(pool);
	return pool;
}

struct port_io *veth_port(const char *interface, const char *far, uint32_t mtu_bytes,
			  struct rte_mempool *pool)
{
	struct packet_mmap_params params = {
		.interface = interface,
		.port = 7,
		.mtu_bytes = mtu_bytes,
		.pool = pool,
		.socket_id = SOCKET_ID_ANY,
	};
	struct port_io *io = NULL;
	struct io_error error;

	cr_assert_eq(packet_mmap_open(&params, &io, &error), 0, "%s", error.text);
	cr_assert_str_eq(error.text, "");
	if (far != NULL)
		veth_wait(io, far);
	else
		cr_assert(veth_link_becomes(io, true));
	return io;
}

int veth_peer(const char *interface, bool offloads)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), one = 1, size = 4 << 20;

	cr_assert(fd >= 0 && address.sll_ifindex > 0, "%s: %s", interface, strerror(errno));
	cr_assert_eq(setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)), 0);
	cr_assert_eq(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)), 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (offloads)
		cr_assert_eq(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)), 0);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

void veth_peer_send(int fd, const void *frame, uint32_t bytes)
{
	cr_assert_eq(send(fd, frame, bytes, 0), (ssize_t)bytes, "%u bytes: %s", bytes,
		     strerror(errno));
}

void veth_peer_send_offload(int fd, const struct virtio_net_hdr *header, const void *frame,
			    uint32_t bytes)
{
	struct virtio_net_hdr copy = *header;
	struct iovec part[2] = {
		{.iov_base = &copy, .iov_len = sizeof(copy)},
		{.iov_base = RTE_PTR_ADD(frame, 0), .iov_len = bytes},
	};

	cr_assert_eq(writev(fd, part, 2), (ssize_t)(sizeof(copy) + bytes), "%u bytes: %s", bytes,
		     strerror(errno));
}

/* Put back the tag that the kernel took out. */
static uint32_t tag_restore(uint8_t *frame, uint32_t bytes, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
		struct tpacket_auxdata data;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&data, CMSG_DATA(c), sizeof(data));
		if ((data.tp_status & TP_STATUS_VLAN_VALID) == 0)
			continue;
		memmove(frame + 16, frame + 12, bytes - 12);
		bytes_store16(frame + 12, data.tp_vlan_tpid);
		bytes_store16(frame + 14, data.tp_vlan_tci);
		bytes += 4;
	}
	return bytes;
}

uint32_t veth_peer_receive(int fd, uint8_t *frame, uint32_t size, int wait_ms)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};

	while (poll(&ready, 1, wait_ms) > 0) {
		char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct iovec part = {.iov_base = frame, .iov_len = size - 4};
		struct msghdr message = {
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		ssize_t bytes = recvmsg(fd, &message, MSG_DONTWAIT);

		if (bytes > 0)
			return tag_restore(frame, (uint32_t)bytes, &message);
	}
	return 0;
}

uint32_t veth_receive(struct port_io *io, struct rte_mbuf **packets, uint32_t count)
{
	uint32_t taken = 0;

	while (taken < count) {
		struct pollfd ready = {.fd = io->ops->descriptor(io, 0), .events = POLLIN};
		uint16_t wanted = (uint16_t)RTE_MIN(count - taken, (uint32_t)BURST_COUNT_MAX);
		uint16_t got = io->ops->rx_burst(io, 0, packets + taken, wanted);

		taken += got;
		if (got == 0 && poll(&ready, 1, VETH_WAIT_MS) <= 0)
			break;
	}
	return taken;
}

uint32_t veth_drain(struct port_io *io)
{
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	uint32_t total = 0;

	/* A burst may be empty because what it saw was dropped. */
	while (io->ops->rx_backlog(io, 0) > 0) {
		uint16_t count = io->ops->rx_burst(io, 0, packets, BURST_COUNT_MAX);

		rte_pktmbuf_free_bulk(packets, count);
		total += count;
	}
	return total;
}

struct rte_mbuf *veth_packet(struct rte_mempool *pool, uint32_t bytes, uint32_t seed)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(pool);

	cr_assert_not_null(packet);
	cr_assert_not_null(rte_pktmbuf_append(packet, (uint16_t)bytes));
	bytes_frame(rte_pktmbuf_mtod(packet, uint8_t *), bytes, 0x88b5, seed);
	return packet;
}

bool veth_link_becomes(struct port_io *io, bool up)
{
	for (int i = 0; i < VETH_WAIT_MS / 10; i++) {
		struct port_io_link link;

		cr_assert_eq(io->ops->link(io, &link), 0);
		if (link.up == up)
			return true;
		(void)usleep(10000);
	}
	return false;
}

void veth_wait(struct port_io *io, const char *far)
{
	cr_assert(veth_link_becomes(io, true));
	/* `ip` waits for the lock under which state and queues are switched together. */
	veth_run("for i in $(seq %d); do"
		 " ip link show dev %s | grep -q 'state UP' && exit 0; sleep 0.01; done; exit 1",
		 VETH_WAIT_MS / 10, far);
}
