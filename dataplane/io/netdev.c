/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/netdev.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* netdev.changed */
#define CHANGED_MTU      0x01u
#define CHANGED_FEATURES 0x02u
#define CHANGED_IPV6     0x04u
#define CHANGED_FLAGS    0x08u

#define FEATURE_COUNT_MAX ((size_t)NETDEV_FEATURE_WORDS * 32)

/* Every feature by which the kernel or the device joins received frames. */
static const char *const merging_features[] = {
	"rx-gro", "rx-lro", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding",
};

/* Start a request: its name as it is now. */
static int request_name(const struct netdev *netdev, struct ifreq *request)
{
	memset(request, 0, sizeof(*request));
	request->ifr_ifindex = netdev->index;
	return ioctl(netdev->fd, SIOCGIFNAME, request) == 0 ? 0 : -errno;
}

static int ethtool(const struct netdev *netdev, void *command)
{
	struct ifreq request;
	int result = request_name(netdev, &request);

	if (result != 0)
		return result;
	request.ifr_data = command;
	/* Positive: bits that say how a wish was taken. */
	return ioctl(netdev->fd, SIOCETHTOOL, &request) >= 0 ? 0 : -errno;
}

static int mtu_set(const struct netdev *netdev, int mtu_bytes)
{
	struct ifreq request;
	int result = request_name(netdev, &request);

	if (result != 0)
		return result;
	request.ifr_mtu = mtu_bytes;
	return ioctl(netdev->fd, SIOCSIFMTU, &request) == 0 ? 0 : -errno;
}

static int flags_get(const struct netdev *netdev, short *flags)
{
	struct ifreq request;
	int result = request_name(netdev, &request);

	if (result != 0)
		return result;
	if (ioctl(netdev->fd, SIOCGIFFLAGS, &request) != 0)
		return -errno;
	*flags = request.ifr_flags;
	return 0;
}

static int flags_set(const struct netdev *netdev, short flags)
{
	struct ifreq request;
	int result = request_name(netdev, &request);

	if (result != 0)
		return result;
	request.ifr_flags = flags;
	return ioctl(netdev->fd, SIOCSIFFLAGS, &request) == 0 ? 0 : -errno;
}

/* Commands of variable length, with room for all that they can carry. */
union sset_info {
	struct ethtool_sset_info header;
	uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
};

union strings {
	struct ethtool_gstrings header;
	uint8_t room[sizeof(struct ethtool_gstrings) + FEATURE_COUNT_MAX * ETH_GSTRING_LEN];
};

union features_get {
	struct ethtool_gfeatures header;
	uint8_t room[sizeof(struct ethtool_gfeatures) +
		     NETDEV_FEATURE_WORDS * sizeof(struct ethtool_get_features_block)];
};

union features_set {
	struct ethtool_sfeatures header;
	uint8_t room[sizeof(struct ethtool_sfeatures) +
		     NETDEV_FEATURE_WORDS * sizeof(struct ethtool_set_features_block)];
};

union link_settings {
	struct ethtool_link_settings header;
	uint8_t room[sizeof(struct ethtool_link_settings) + sizeof(uint32_t) * 3 * INT8_MAX];
};

/* Mark in mask the features that merge frames. @return how many features the kernel has, or 0 */
static uint32_t merging_mask(const struct netdev *netdev, uint32_t mask[NETDEV_FEATURE_WORDS])
{
	union sset_info info = {
		.header = {.cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES},
	};
	union strings strings = {
		.header = {.cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES},
	};
	uint32_t count;

	if (ethtool(netdev, &info) != 0 || info.header.sset_mask == 0)
		return 0;
	memcpy(&count, info.room + sizeof(info.header), sizeof(count));
	if (count == 0 || count > FEATURE_COUNT_MAX)
		return 0;
	strings.header.len = count;
	if (ethtool(netdev, &strings) != 0)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = (const char *)strings.room + sizeof(strings.header) +
				   (size_t)i * ETH_GSTRING_LEN;

		for (size_t j = 0; j < sizeof(merging_features) / sizeof(merging_features[0]); j++)
			if (strncmp(name, merging_features[j], ETH_GSTRING_LEN) == 0)
				mask[i / 32] |= 1u << (i % 32);
	}
	return count;
}

/* Ask for the marked features to be on or off. */
static int features_set(const struct netdev *netdev, const uint32_t mask[NETDEV_FEATURE_WORDS],
			bool on)
{
	union features_set command = {
		.header = {.cmd = ETHTOOL_SFEATURES, .size = netdev->feature_words},
	};

	for (uint32_t i = 0; i < netdev->feature_words; i++)
		command.header.features[i] = (struct ethtool_set_features_block){
			.valid = mask[i],
			.requested = on ? mask[i] : 0,
		};
	return ethtool(netdev, &command);
}

/*
 * A device that knows nothing of features, or refuses, is no error: merged frames still arrive with
 * the size they were made of and are segmented again.
 */
static void merging_stop(struct netdev *netdev)
{
	union features_get now = {.header = {.cmd = ETHTOOL_GFEATURES}};
	uint32_t mask[NETDEV_FEATURE_WORDS] = {0};
	bool any = false;

	netdev->feature_words = (merging_mask(netdev, mask) + 31) / 32;
	now.header.size = netdev->feature_words;
	if (netdev->feature_words == 0 || ethtool(netdev, &now) != 0)
		return;
	for (uint32_t i = 0; i < netdev->feature_words; i++) {
		const struct ethtool_get_features_block *block = &now.header.features[i];

		mask[i] &= block->active & block->available & ~block->never_changed;
		any = any || mask[i] != 0;
	}
	if (!any || features_set(netdev, mask, false) != 0)
		return;
	memcpy(netdev->features_off, mask, sizeof(mask));
	netdev->changed |= CHANGED_FEATURES;
}

/* Write the switch and say what it was before, '0' or '1', or a negative errno. */
static int ipv6_disable_write(const struct netdev *netdev, char value)
{
	struct ifreq request;
	char path[64 + IFNAMSIZ], before = '0';
	int fd, result = request_name(netdev, &request);

	if (result != 0)
		return result;
	(void)snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%.*s/disable_ipv6", IFNAMSIZ,
		       request.ifr_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, &before, 1, 0) != 1)
		result = -EIO;
	else if (before != value && pwrite(fd, &value, 1, 0) != 1)
		result = -errno;
	else
		result = (unsigned char)before;
	(void)close(fd);
	return result;
}

/* Not fatal: in a container /proc/sys may be read-only, and IPv6 may not be there at all. */
static void ipv6_stop(struct netdev *netdev, const char *name, struct io_error *error)
{
	int before = ipv6_disable_write(netdev, '1');

	if (before == '0')
		netdev->changed |= CHANGED_IPV6;
	else if (before < 0 && before != -ENOENT)
		(void)io_fail(
			error, -before,
			"interface %s: IPv6 of the kernel stays on and may answer on the port "
			"(disable_ipv6)",
			name);
}

static int identify(struct netdev *netdev, const char *name, struct io_error *error)
{
	struct ifreq request = {0};

	if (name[0] == '\0' || strlen(name) >= IFNAMSIZ)
		return io_fail(error, ENODEV, "interface '%s': a name has 1..%d characters", name,
			       IFNAMSIZ - 1);
	memcpy(request.ifr_name, name, strlen(name));
	if (ioctl(netdev->fd, SIOCGIFINDEX, &request) != 0)
		return io_fail(error, errno, "interface %s (in this network namespace)", name);
	netdev->index = request.ifr_ifindex;
	if (ioctl(netdev->fd, SIOCGIFHWADDR, &request) != 0)
		return io_fail(error, errno, "interface %s: hardware address", name);
	if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return io_fail(error, ENOTSUP,
			       "interface %s: not an Ethernet interface (hardware type %u, not %u)",
			       name, request.ifr_hwaddr.sa_family, ARPHRD_ETHER);
	memcpy(netdev->mac, request.ifr_hwaddr.sa_data, sizeof(netdev->mac));
	return 0;
}

static int change(struct netdev *netdev, const char *name, uint32_t mtu_bytes,
		  struct io_error *error)
{
	short wanted;
	int result = flags_get(netdev, &netdev->flags_before);

	if (result != 0)
		return io_fail(error, -result, "interface %s: flags", name);
	if ((netdev->flags_before & IFF_SLAVE) != 0)
		return io_fail(error, ENOTSUP, "interface %s: is part of a bond", name);
	netdev->mtu_before = netdev_mtu(netdev);
	if (netdev->mtu_before < 0)
		return io_fail(error, -netdev->mtu_before, "interface %s: MTU", name);
	if ((uint32_t)netdev->mtu_before != mtu_bytes) {
		result = mtu_set(netdev, (int)mtu_bytes);
		if (result != 0)
			return io_fail(error, -result,
				       "interface %s: MTU %u bytes refused (it has %d)", name,
				       mtu_bytes, netdev->mtu_before);
		netdev->changed |= CHANGED_MTU;
	}
	merging_stop(netdev);
	ipv6_stop(netdev, name, error);
	wanted = (short)(netdev->flags_before | IFF_UP | IFF_NOARP);
	if (wanted != netdev->flags_before) {
		result = flags_set(netdev, wanted);
		if (result != 0)
			return io_fail(error, -result, "interface %s: setting it up", name);
		netdev->changed |= CHANGED_FLAGS;
	}
	return 0;
}

int netdev_prepare(struct netdev *netdev, int fd, const char *name, uint32_t mtu_bytes,
		   struct io_error *error)
{
	int result;

	assert(mtu_bytes >= MTU_BYTES_MIN && mtu_bytes <= MTU_BYTES_MAX);
	memset(netdev, 0, sizeof(*netdev));
	netdev->fd = fd;
	error->text[0] = '\0';
	result = identify(netdev, name, error);
	if (result == 0)
		result = change(netdev, name, mtu_bytes, error);
	if (result != 0)
		netdev_restore(netdev);
	return result;
}

void netdev_restore(struct netdev *netdev)
{
	short flags = 0;

	/* Up and NOARP as they were; other flags may have been changed by others meanwhile. */
	if ((netdev->changed & CHANGED_FLAGS) != 0 && flags_get(netdev, &flags) == 0) {
		flags = (short)((flags & ~(IFF_UP | IFF_NOARP)) |
				(netdev->flags_before & (IFF_UP | IFF_NOARP)));
		(void)flags_set(netdev, flags);
	}
	if ((netdev->changed & CHANGED_FEATURES) != 0)
		(void)features_set(netdev, netdev->features_off, true);
	/* The kernel forgets the IPv6 switch below an MTU of 1280: MTU first. */
	if ((netdev->changed & CHANGED_MTU) != 0)
		(void)mtu_set(netdev, netdev->mtu_before);
	if ((netdev->changed & CHANGED_IPV6) != 0)
		(void)ipv6_disable_write(netdev, '0');
	netdev->changed = 0;
}

/* Mb/s as ethtool shows it, 0 when unknown. */
static uint32_t speed_mbps(const struct netdev *netdev)
{
	union link_settings settings = {.header = {.cmd = ETHTOOL_GLINKSETTINGS}};
	int8_t words;

	/* The first call only says how many words the kernel's masks have, as a negative number. */
	if (ethtool(netdev, &settings) != 0 || settings.header.link_mode_masks_nwords >= 0)
		return 0;
	words = settings.header.link_mode_masks_nwords;
	if (words == INT8_MIN)
		return 0;
	memset(&settings, 0, sizeof(settings));
	settings.header.cmd = ETHTOOL_GLINKSETTINGS;
	settings.header.link_mode_masks_nwords = (int8_t)-words;
	if (ethtool(netdev, &settings) != 0 || settings.header.speed == (uint32_t)SPEED_UNKNOWN)
		return 0;
	return settings.header.speed;
}

/*
 * Not IFF_RUNNING, where a device can tell: the kernel sets it in the background, up to a second after
 * the carrier has come.
 */
static bool carrier_get(const struct netdev *netdev, short flags)
{
	struct ethtool_value carrier = {.cmd = ETHTOOL_GLINK};

	if (ethtool(netdev, &carrier) != 0)
		return (flags & IFF_RUNNING) != 0;
	return carrier.data != 0;
}

int netdev_link(const struct netdev *netdev, struct port_io_link *link)
{
	short flags = 0;
	int result;

	*link = (struct port_io_link){0};
	result = flags_get(netdev, &flags);
	if (result != 0)
		return -ENODEV;
	link->up = (flags & IFF_UP) != 0 && carrier_get(netdev, flags);
	link->speed_bps = speed_mbps(netdev) * UINT64_C(1000000);
	return 0;
}

int netdev_mtu(const struct netdev *netdev)
{
	struct ifreq request;
	int result = request_name(netdev, &request);

	if (result != 0)
		return -ENODEV;
	return ioctl(netdev->fd, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : -ENODEV;
}

bool netdev_running(const struct netdev *netdev)
{
	short flags = 0;

	return flags_get(netdev, &flags) == 0 && (flags & IFF_UP) != 0 &&
	       (flags & IFF_RUNNING) != 0;
}
