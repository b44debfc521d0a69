/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/netlink.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

/* Room for bursts of the kernel's messages: about 10,000 neighbours. */
#define NETLINK_RECEIVE_BYTES (4 << 20)

/* Largest request: a route with CONFIG_VIAS_MAX next hops of 28 bytes. */
#define NETLINK_REQUEST_BYTES 4096

/* Who put a route there, for `ip route`; not taken in iproute2's rt_protos. */
#define NETLINK_ROUTE_PROTOCOL 176

/* Nothing stops the kernel from being busy for ever; messages per netlink_read(). */
#define NETLINK_READS_MAX 64

struct netlink {
	struct mnl_socket *events;
	struct mnl_socket *requests;
	struct netlink_handlers handlers;
	uint32_t sequence;
	char buffer[32768]; /* the kernel's dumps come in pieces of up to this */
};

/* Remember the attributes of a neighbour that matter, by type. */
static int neighbour_attribute(const struct nlattr *attribute, void *context)
{
	const struct nlattr **table = context;
	uint16_t type = mnl_attr_get_type(attribute);

	if (type <= NDA_LLADDR)
		table[type] = attribute;
	return MNL_CB_OK;
}

static void neighbour_message(const struct netlink *netlink, const struct nlmsghdr *message)
{
	const struct ndmsg *header = mnl_nlmsg_get_payload(message);
	const struct nlattr *table[NDA_LLADDR + 1] = {NULL};
	const struct nlattr *address, *mac;
	struct netlink_neighbour neighbour = {
		.ifindex = (uint32_t)header->ndm_ifindex,
		.failed = (header->ndm_state & NUD_FAILED) != 0,
		.deleted = message->nlmsg_type == RTM_DELNEIGH,
	};
	uint16_t size = header->ndm_family == AF_INET ? 4 : 16;
	bool valid = (header->ndm_state &
		      (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT)) != 0;

	if (header->ndm_family != AF_INET && header->ndm_family != AF_INET6)
		return;
	if (mnl_attr_parse(message, sizeof(*header), neighbour_attribute, table) < 0)
		return;
	address = table[NDA_DST];
	mac = table[NDA_LLADDR];
	if (address == NULL || mnl_attr_get_payload_len(address) != size)
		return;
	neighbour.address.family = header->ndm_family == AF_INET ? 4 : 6;
	memcpy(neighbour.address.bytes, mnl_attr_get_payload(address), size);
	if (mac != NULL && mnl_attr_get_payload_len(mac) == sizeof(neighbour.mac)) {
		memcpy(neighbour.mac, mnl_attr_get_payload(mac), sizeof(neighbour.mac));
		neighbour.resolved = valid && !neighbour.deleted;
	}
	netlink->handlers.neighbour(netlink->handlers.context, &neighbour);
}

static void link_message(const struct netlink *netlink, const struct nlmsghdr *message)
{
	const struct ifinfomsg *header = mnl_nlmsg_get_payload(message);
	struct netlink_link link = {
		.ifindex = (uint32_t)header->ifi_index,
		.up = (header->ifi_flags & IFF_UP) != 0,
		.running =
			(header->ifi_flags & IFF_UP) != 0 && (header->ifi_flags & IFF_RUNNING) != 0,
		.deleted = message->nlmsg_type == RTM_DELLINK,
	};

	/* Bridges tell about their members in messages of their own family. */
	if (header->ifi_family == AF_UNSPEC)
		netlink->handlers.link(netlink->handlers.context, &link);
}

static int message_received(const struct nlmsghdr *message, void *context)
{
	const struct netlink *netlink = context;
	size_t size = mnl_nlmsg_get_payload_len(message);

	switch (message->nlmsg_type) {
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		if (size >= sizeof(struct ndmsg))
			neighbour_message(netlink, message);
		break;
	case RTM_NEWLINK:
	case RTM_DELLINK:
		if (size >= sizeof(struct ifinfomsg))
			link_message(netlink, message);
		break;
	default:
		break;
	}
	return MNL_CB_OK;
}

static int socket_new(struct mnl_socket **socket, unsigned groups, int flags)
{
	*socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | flags);
	if (*socket == NULL || mnl_socket_bind(*socket, groups, MNL_SOCKET_AUTOPID) != 0)
		return -errno;
	return 0;
}

int netlink_open(struct netlink **netlink, const struct netlink_handlers *handlers)
{
	struct netlink *n = calloc(1, sizeof(*n));
	int receive_bytes = NETLINK_RECEIVE_BYTES, on = 1, error;

	if (n == NULL)
		return -ENOMEM;
	n->handlers = *handlers;
	n->sequence = (uint32_t)time(NULL);
	error = socket_new(&n->events, RTMGRP_LINK | RTMGRP_NEIGH, SOCK_NONBLOCK);
	if (error == 0)
		error = socket_new(&n->requests, 0, 0);
	if (error != 0) {
		netlink_close(n);
		return error;
	}
	/* The forced form needs CAP_NET_ADMIN in the first user namespace; the other is capped. */
	if (setsockopt(mnl_socket_get_fd(n->events), SOL_SOCKET, SO_RCVBUFFORCE, &receive_bytes,
		       sizeof(receive_bytes)) != 0)
		(void)setsockopt(mnl_socket_get_fd(n->events), SOL_SOCKET, SO_RCVBUF,
				 &receive_bytes, sizeof(receive_bytes));
	/* Errors without a copy of our request. */
	(void)mnl_socket_setsockopt(n->requests, NETLINK_CAP_ACK, &on, sizeof(on));
	*netlink = n;
	return 0;
}

void netlink_close(struct netlink *netlink)
{
	if (netlink == NULL)
		return;
	if (netlink->events != NULL)
		(void)mnl_socket_close(netlink->events);
	if (netlink->requests != NULL)
		(void)mnl_socket_close(netlink->requests);
	free(netlink);
}

int netlink_descriptor(const struct netlink *netlink)
{
	return mnl_socket_get_fd(netlink->events);
}

int netlink_read(struct netlink *netlink)
{
	for (unsigned i = 0; i < NETLINK_READS_MAX; i++) {
		ssize_t size = mnl_socket_recvfrom(netlink->events, netlink->buffer,
						   sizeof(netlink->buffer));

		if (size < 0)
			return errno == ENOBUFS ? -ENOBUFS : 0;
		if (mnl_cb_run(netlink->buffer, (size_t)size, 0, 0, message_received, netlink) < 0)
			return 0;
	}
	return 0;
}

/* Send a request and hand its answers to `callback` until the kernel says that this was all. */
static int transact(struct netlink *netlink, struct nlmsghdr *request, mnl_cb_t callback)
{
	unsigned port = mnl_socket_get_portid(netlink->requests);

	request->nlmsg_seq = ++netlink->sequence;
	request->nlmsg_flags |= NLM_F_REQUEST;
	if (mnl_socket_sendto(netlink->requests, request, request->nlmsg_len) < 0)
		return -errno;
	for (;;) {
		ssize_t size = mnl_socket_recvfrom(netlink->requests, netlink->buffer,
						   sizeof(netlink->buffer));
		int more;

		if (size < 0)
			return -errno;
		more = mnl_cb_run(netlink->buffer, (size_t)size, request->nlmsg_seq, port, callback,
				  netlink);
		if (more <= 0)
			return more < 0 ? -errno : 0;
	}
}

static int dump(struct netlink *netlink, uint16_t type)
{
	char buffer[256];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	int error;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_DUMP;
	if (type == RTM_GETLINK)
		(void)mnl_nlmsg_put_extra_header(request, sizeof(struct ifinfomsg));
	else
		(void)mnl_nlmsg_put_extra_header(request, sizeof(struct ndmsg));
	error = transact(netlink, request, message_received);
	/* A dump that a change interrupted: the change itself comes as an event. */
	return error == -EINTR ? 0 : error;
}

int netlink_dump(struct netlink *netlink)
{
	int error = dump(netlink, RTM_GETLINK);

	return error != 0 ? error : dump(netlink, RTM_GETNEIGH);
}

int netlink_link_set(struct netlink *netlink, uint32_t ifindex, const uint8_t mac[6],
		     uint32_t mtu_bytes, bool up)
{
	char buffer[NETLINK_REQUEST_BYTES];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *link;

	request->nlmsg_type = RTM_NEWLINK;
	request->nlmsg_flags = NLM_F_ACK;
	link = mnl_nlmsg_put_extra_header(request, sizeof(*link));
	link->ifi_index = (int)ifindex;
	link->ifi_change = IFF_UP;
	link->ifi_flags = up ? IFF_UP : 0;
	mnl_attr_put(request, IFLA_ADDRESS, 6, mac);
	mnl_attr_put_u32(request, IFLA_MTU, mtu_bytes);
	return transact(netlink, request, NULL);
}

static void put_ip(struct nlmsghdr *request, uint16_t type, const struct config_ip *ip)
{
	mnl_attr_put(request, type, ip->family == 4 ? 4 : 16, ip->bytes);
}

int netlink_address(struct netlink *netlink, uint32_t ifindex, const struct config_prefix *address,
		    bool add)
{
	char buffer[NETLINK_REQUEST_BYTES];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct ifaddrmsg *header;

	request->nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR;
	request->nlmsg_flags = (uint16_t)(NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0));
	header = mnl_nlmsg_put_extra_header(request, sizeof(*header));
	header->ifa_family = address->ip.family == 4 ? AF_INET : AF_INET6;
	header->ifa_prefixlen = address->length;
	header->ifa_flags = address->ip.family == 6 ? IFA_F_NODAD : 0;
	header->ifa_index = ifindex;
	put_ip(request, IFA_LOCAL, &address->ip);
	put_ip(request, IFA_ADDRESS, &address->ip);
	return transact(netlink, request, NULL);
}

static int neighbour_request(struct netlink *netlink, uint32_t ifindex,
			     const struct config_ip *address, uint16_t type, uint16_t state,
			     uint8_t flags, const uint8_t *mac)
{
	char buffer[NETLINK_REQUEST_BYTES];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct ndmsg *header;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_ACK;
	if (type == RTM_NEWNEIGH)
		request->nlmsg_flags |= mac != NULL ? NLM_F_CREATE | NLM_F_REPLACE : NLM_F_CREATE;
	header = mnl_nlmsg_put_extra_header(request, sizeof(*header));
	header->ndm_family = address->family == 4 ? AF_INET : AF_INET6;
	header->ndm_ifindex = (int)ifindex;
	header->ndm_state = state;
	header->ndm_flags = flags;
	put_ip(request, NDA_DST, address);
	if (mac != NULL)
		mnl_attr_put(request, NDA_LLADDR, 6, mac);
	return transact(netlink, request, NULL);
}

int netlink_neighbour_use(struct netlink *netlink, uint32_t ifindex,
			  const struct config_ip *address)
{
	return neighbour_request(netlink, ifindex, address, RTM_NEWNEIGH, NUD_NONE, NTF_USE, NULL);
}

int netlink_neighbour_set(struct netlink *netlink, uint32_t ifindex,
			  const struct config_ip *address, const uint8_t *mac)
{
	return neighbour_request(netlink, ifindex, address,
				 mac != NULL ? RTM_NEWNEIGH : RTM_DELNEIGH,
				 mac != NULL ? NUD_PERMANENT : NUD_NONE, 0, mac);
}

/* Next hops as RTA_MULTIPATH: a list of struct rtnexthop, each with its gateway. */
static void put_hops(struct nlmsghdr *request, const struct netlink_hop *hop, uint16_t hop_count)
{
	struct nlattr *list = mnl_attr_nest_start(request, RTA_MULTIPATH);

	for (uint16_t i = 0; i < hop_count; i++) {
		struct rtnexthop *next = mnl_nlmsg_get_payload_tail(request);
		const char *begin = (const char *)next;

		memset(next, 0, sizeof(*next));
		next->rtnh_ifindex = (int)hop[i].ifindex;
		request->nlmsg_len += sizeof(*next);
		put_ip(request, RTA_GATEWAY, &hop[i].address);
		next->rtnh_len =
			(unsigned short)((const char *)mnl_nlmsg_get_payload_tail(request) - begin);
	}
	mnl_attr_nest_end(request, list);
}

int netlink_route(struct netlink *netlink, const struct config_prefix *to,
		  const struct netlink_hop *hop, uint16_t hop_count, uint32_t metric, bool add)
{
	char buffer[NETLINK_REQUEST_BYTES];
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route;

	request->nlmsg_type = add ? RTM_NEWROUTE : RTM_DELROUTE;
	request->nlmsg_flags = (uint16_t)(NLM_F_ACK | (add ? NLM_F_CREATE | NLM_F_REPLACE : 0));
	route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
	route->rtm_family = to->ip.family == 4 ? AF_INET : AF_INET6;
	route->rtm_dst_len = to->length;
	route->rtm_table = RT_TABLE_MAIN;
	route->rtm_protocol = NETLINK_ROUTE_PROTOCOL;
	route->rtm_scope = RT_SCOPE_UNIVERSE;
	route->rtm_type = RTN_UNICAST;
	put_ip(request, RTA_DST, &to->ip);
	mnl_attr_put_u32(request, RTA_PRIORITY, metric);
	if (hop_count > 0)
		put_hops(request, hop, hop_count);
	return transact(netlink, request, NULL);
}
