/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_internal - what the files behind config.h share; nobody else includes it.
 */
#ifndef CONFIG_CONFIG_INTERNAL_H
#define CONFIG_CONFIG_INTERNAL_H

#include "config/config.h"
#include "config/schema.h"

#define ADDRESS_TEXT_BYTES 50 /* an IPv6 address, `/128` and the NUL */

/* A network that an interface of ours is in. */
struct connected {
	struct config_prefix address; /* ours, with its host bits */
	uint16_t port;                /* index, or UINT16_MAX: of a VLAN interface */
	uint16_t vlan;                /* index into config.vlans, when port is UINT16_MAX */
	uint16_t index;               /* which address of it */
};

/* All of them, sorted by network; disjoint once config_check_addresses() had no complaint. */
struct connected_list {
	struct connected *entry;
	uint32_t count;
};

/** Rules between ports, and between ports and the rest; fills in drivers, idle and VLANs. */
void config_check_ports(struct schema_document *document, struct config *config);
/** Each interface address by itself and all together. */
void config_check_addresses(struct schema_document *document, const struct config *config,
			    struct connected_list *list);
/** Is the port a member of a VLAN, tagged or not? @param vlan 1..CONFIG_VLAN_MAX */
bool config_port_in_vlan(const struct config_port *port, uint16_t vlan);
/** VLANs: ids, MTUs. */
void config_check_vlans(struct schema_document *document, struct config *config);
/** Routes: destination and next hops. */
void config_check_routes(struct schema_document *document, struct config *config,
			 const struct connected_list *list);
/** Peers of in-order spray, their routes, our address, and the key, which is read. */
void config_check_spray(struct schema_document *document, struct config *config,
			const struct connected_list *list);
/** Nothing differs that leaves have agreed on. */
bool config_spray_equal(const struct config_spray *a, const struct config_spray *b);
/** Static neighbours; finds their ports. */
void config_check_neighbours(struct schema_document *document, struct config *config,
			     const struct connected_list *list);

/* A file with a secret. */
struct config_secret {
	char path[2 * CONFIG_PATH_BYTES]; /* of the file, for messages */
	const char *why;                  /* what is wrong; NULL: it was read */
	size_t size;                      /* without the end of its line */
	char text[CONFIG_TOKEN_BYTES_MAX +
		  8]; /* some more than any, to see that there is no more */
};

/** Read a file that only its owner may use. @param file from the config's folder, if it is relative */
void config_secret_read(struct config_secret *secret, const char *config_path, const char *file);
/** Overwrite it. */
void config_secret_forget(struct config_secret *secret);
/** Who may make marks over HTTP: the token is read. */
void config_check_marks(struct schema_document *document, struct config *config);

/** Order of addresses: family, then bytes. */
int config_ip_compare(const struct config_ip *a, const struct config_ip *b);
/** First address of a prefix's network. */
struct config_ip config_prefix_network(const struct config_prefix *prefix);
/** Why an address can't belong to one device ("a multicast address"), or NULL when it can. */
const char *config_ip_misfit(const struct config_ip *ip);
/** The same for a whole network: what all of its addresses are. */
const char *config_prefix_misfit(const struct config_prefix *prefix);
/** "the network itself" or "its network's broadcast address", or NULL when it is within. */
const char *config_ip_edge(const struct config_prefix *network, const struct config_ip *ip);
/** The connected network that holds an address, or NULL. */
const struct connected *connected_find(const struct connected_list *list,
				       const struct config_ip *ip);
/** How its interface is called in messages: "port up1", "VLAN 100". @return buffer */
const char *connected_name(const struct config *config, const struct connected *connected,
			   char *buffer, size_t size);

#endif
