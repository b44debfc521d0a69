/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "dataplane/counters.h"
#include "dataplane/packet.h"
#include "dataplane/punt.h"

/* The kernel's interface is missing where IPv6 is switched off: then there is nothing to set. */
static void sysctl_set(const char *name, const char *family, const char *key, const char *value)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/%s/%s", family, name, key);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)!write(fd, value, strlen(value));
	close(fd);
}

static void sysctls_set(const char *name)
{
	static const struct {
		const char *family, *key, *value;
	} settings[] = {
		{"ipv4", "arp_ignore", "1"},
		{"ipv4", "arp_announce", "2"},
		{"ipv6", "accept_ra", "0"},
		{"ipv6", "autoconf", "0"},
		{"ipv6", "router_solicitations", "0"},
		{"ipv6", "dad_transmits", "0"},
	};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		sysctl_set(name, settings[i].family, settings[i].key, settings[i].value);
}

static int tap_fail(struct io_error *error, int code, const char *name, const char *what)
{
	if (code == EPERM || code == EACCES)
		return io_fail(error, code,
			       "interface %s: %s: CAP_NET_ADMIN is needed (be root, or use "
			       "`unshare -Urn`)",
			       name, what);
	return io_fail(error, code, "interface %s: %s", name, what);
}

/* The device, by name. */
static int tap_create(struct tap *tap, struct io_error *error)
{
	struct ifreq request = {.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL)};

	if (if_nametoindex(tap->name) != 0) {
		(void)io_fail(error, 0,
			      "interface %s: a network interface of this name is there already, "
			      "and the leaf needs the name for its own; rename one of them",
			      tap->name);
		return -EEXIST;
	}
	tap->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tap->fd < 0)
		return tap_fail(error, errno, tap->name, "/dev/net/tun");
	memcpy(request.ifr_name, tap->name, sizeof(request.ifr_name));
	if (ioctl(tap->fd, TUNSETIFF, &request) != 0)
		return tap_fail(error, errno, tap->name, "can't create the TAP");
	tap->ifindex = if_nametoindex(tap->name);
	if (tap->ifindex == 0)
		return tap_fail(error, errno, tap->name, "the TAP has gone");
	if (ioctl(tap->fd, TUNSETOFFLOAD, 0) != 0)
		return tap_fail(error, errno, tap->name, "can't switch offloads off");
	return 0;
}

struct tap *tap_open(struct netlink *netlink, const struct apply_interface *interface,
		     const uint8_t mac[6], struct io_error *error)
{
	struct tap *tap = calloc(1, sizeof(*tap));
	int code;

	if (tap == NULL) {
		(void)io_fail(error, ENOMEM, "interface %s", interface->name);
		return NULL;
	}
	tap->fd = tap->source.fd = -1;
	memcpy(tap->name, interface->name, sizeof(tap->name));
	memcpy(tap->mac, mac, sizeof(tap->mac));
	tap->port = interface->port;
	tap->vlan = interface->vlan;
	if (tap_create(tap, error) != 0)
		goto err_tap;
	sysctls_set(tap->name);
	tap->carrier = true; /* how the kernel creates it */
	tap->mtu_bytes = interface->mtu_bytes;
	code = netlink_link_set(netlink, tap->ifindex, mac, tap->mtu_bytes, true);
	if (code != 0) {
		(void)tap_fail(error, -code, tap->name, "can't set its MAC address and MTU");
		goto err_tap;
	}
	if (tap_change(tap, netlink, interface, error) != 0)
		goto err_tap;
	return tap;

err_tap:
	tap_close(tap);
	return NULL;
}

void tap_close(struct tap *tap)
{
	if (tap == NULL)
		return;
	if (tap->fd >= 0)
		close(tap->fd);
	free(tap);
}

static bool address_listed(const struct config_prefix *list, uint16_t count,
			   const struct config_prefix *address)
{
	for (uint16_t i = 0; i < count; i++)
		if (list[i].length == address->length && list[i].ip.family == address->ip.family &&
		    memcmp(list[i].ip.bytes, address->ip.bytes, sizeof(address->ip.bytes)) == 0)
			return true;
	return false;
}

/* Remove from the kernel what is in `from` and not in `keep`. */
static void addresses_remove(const struct tap *tap, struct netlink *netlink,
			     const struct config_prefix *from, uint16_t from_count,
			     const struct config_prefix *keep, uint16_t keep_count)
{
	for (uint16_t i = 0; i < from_count; i++)
		if (!address_listed(keep, keep_count, &from[i]))
			(void)netlink_address(netlink, tap->ifindex, &from[i], false);
}

int tap_change(struct tap *tap, struct netlink *netlink, const struct apply_interface *interface,
	       struct io_error *error)
{
	char text[64], step[128];
	int code = 0;
	uint16_t added = 0;

	if (interface->mtu_bytes != tap->mtu_bytes)
		code = netlink_link_set(netlink, tap->ifindex, tap->mac, interface->mtu_bytes,
					true);
	if (code != 0)
		return tap_fail(error, -code, tap->name, "can't set its MTU");
	for (; added < interface->address_count; added++) {
		const struct config_prefix *address = &interface->address[added];

		if (address_listed(tap->address, tap->address_count, address))
			continue;
		code = netlink_address(netlink, tap->ifindex, address, true);
		if (code != 0)
			break;
	}
	if (code != 0) {
		(void)snprintf(
			step, sizeof(step), "can't add address %s",
			config_format_prefix(&interface->address[added], text, sizeof(text)));
		addresses_remove(tap, netlink, interface->address, added, tap->address,
				 tap->address_count);
		(void)netlink_link_set(netlink, tap->ifindex, tap->mac, tap->mtu_bytes, true);
		return tap_fail(error, -code, tap->name, step);
	}
	addresses_remove(tap, netlink, tap->address, tap->address_count, interface->address,
			 interface->address_count);
	memcpy(tap->address, interface->address,
	       interface->address_count * sizeof(tap->address[0]));
	tap->address_count = interface->address_count;
	tap->mtu_bytes = interface->mtu_bytes;
	return 0;
}

void tap_set_carrier(struct tap *tap, bool carrier)
{
	int on = carrier ? 1 : 0;

	if (tap->carrier == carrier)
		return;
	/* Since Linux 5.0; before, the kernel's side simply stays up. */
	(void)ioctl(tap->fd, TUNSETCARRIER, &on);
	tap->carrier = carrier;
}

/* Fill one buffer from the kernel. Returns its length, 0 when there is nothing more. */
static uint32_t read_frame(struct tap *tap, struct rte_mbuf *packet, uint32_t data_bytes)
{
	for (;;) {
		ssize_t size = read(tap->fd, rte_pktmbuf_mtod(packet, void *),
				    rte_pktmbuf_tailroom(packet));

		if (size <= 0)
			return 0;
		if ((uint32_t)size <= data_bytes)
			return (uint32_t)size;
		counter_add(&tap->kernel_drops, 1);
	}
}

uint16_t tap_read(struct tap *tap, struct rte_mempool *pool, uint32_t data_bytes,
		  struct rte_mbuf **packets)
{
	uint16_t count = 0;
	char scrap;

	while (count < TAP_BURST) {
		struct rte_mbuf *packet = rte_pktmbuf_alloc(pool);
		uint32_t size;

		if (packet == NULL) {
			/* Take the frame away all the same, or the TAP stays readable for ever. */
			if (read(tap->fd, &scrap, sizeof(scrap)) > 0)
				counter_add(&tap->kernel_drops, 1);
			break;
		}
		size = read_frame(tap, packet, data_bytes);
		if (size == 0) {
			rte_pktmbuf_free(packet);
			break;
		}
		if (size < FRAME_BYTES_MIN) {
			memset(rte_pktmbuf_mtod_offset(packet, void *, size), 0,
			       FRAME_BYTES_MIN - size);
			size = FRAME_BYTES_MIN;
		}
		packet->data_len = (uint16_t)size;
		packet->pkt_len = size;
		packet_virtual_bytes_set(packet, 0);
		*packet_meta(packet) = (struct packet_meta){
			.flags = PACKET_CPU,
			.reason = PUNT_NONE,
			.interface = tap->interface,
		};
		counter_add(&tap->kernel_packets, 1);
		counter_add(&tap->kernel_bytes, size);
		packets[count++] = packet;
	}
	return count;
}

void tap_write(struct tap *tap, struct rte_mbuf *packet)
{
	ssize_t size = write(tap->fd, rte_pktmbuf_mtod(packet, void *), packet->data_len);

	if (size < 0) {
		counter_add(&tap->punt_errors, 1);
		return;
	}
	counter_add(&tap->punt_packets, 1);
	counter_add(&tap->punt_bytes, packet->data_len);
}
