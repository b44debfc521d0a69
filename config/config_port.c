/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules between ports: names, devices, drivers; VLANs and who is in them.
 */
#include "config/config_internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_NAME_BYTES 16 /* IFNAMSIZ, which <net/if.h> has beside much else */

/* Hexadecimal digits, exactly `count`. @return what follows, or NULL */
static const char *hex_digits(const char *text, uint32_t count)
{
	for (; count > 0; count--, text++) {
		if (!isxdigit((unsigned char)*text))
			return NULL;
	}
	return text;
}

/* [DDDD:]BB:SS.F, the domain optional. */
static bool is_pci(const char *device)
{
	const char *rest = hex_digits(device, 4);

	rest = rest != NULL && *rest == ':' ? rest + 1 : device;
	rest = hex_digits(rest, 2);
	if (rest == NULL || *rest != ':')
		return false;
	rest = hex_digits(rest + 1, 2);
	return rest != NULL && *rest == '.' && rest[1] >= '0' && rest[1] <= '7' && rest[2] == '\0';
}

/* With domain and in small letters, so that one device has one name. */
static void pci_normalise(char device[CONFIG_DEVICE_BYTES])
{
	static const char domain[5] = {'0', '0', '0', '0', ':'};
	char *c;

	if (device[4] != ':') {
		memmove(device + sizeof(domain), device, strlen(device) + 1);
		memcpy(device, domain, sizeof(domain));
	}
	for (c = device; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
}

static bool is_vdev(const char *device)
{
	return strncmp(device, "net_", 4) == 0 || strncmp(device, "virtio_user", 11) == 0 ||
	       strchr(device, ',') != NULL;
}

/* What the kernel takes as an interface's name (dev_valid_name). */
static bool is_kernel_name(const char *name)
{
	const char *c;

	if (name[0] == '\0' || strlen(name) >= KERNEL_NAME_BYTES || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return false;
	for (c = name; *c != '\0'; c++) {
		if (isspace((unsigned char)*c) || *c == '/' || *c == ':')
			return false;
	}
	return true;
}

static enum config_driver driver_by_device(const char *device)
{
	if (is_pci(device))
		return CONFIG_DRIVER_VFIO;
	if (device[0] == '/')
		return CONFIG_DRIVER_VHOST;
	return is_vdev(device) ? CONFIG_DRIVER_VDEV : CONFIG_DRIVER_KERNEL;
}

/* NULL when the device is one for the driver, else what it should be. */
static const char *device_misfit(enum config_driver driver, const char *device)
{
	switch (driver) {
	case CONFIG_DRIVER_VFIO:
		return is_pci(device) ? NULL
				      : "driver vfio needs a PCI address, such as 0000:17:00.0";
	case CONFIG_DRIVER_KERNEL:
	case CONFIG_DRIVER_AF_XDP:
		return is_kernel_name(device) ? NULL
					      : "a kernel interface's name has 1 to 15 characters, "
						"without spaces, / and :";
	case CONFIG_DRIVER_VHOST:
		if (device[0] != '/')
			return "driver vhost needs the absolute path of a socket, such as /run/vm.sock";
		return strlen(device) < CONFIG_PATH_BYTES
			       ? NULL
			       : "a socket's path has at most 107 characters";
	case CONFIG_DRIVER_VDEV:
		return device[0] != '/' && device[0] != ','
			       ? NULL
			       : "driver vdev needs a DPDK device, such as net_tap0,iface=tap0";
	case CONFIG_DRIVER_AUTO:
		break;
	}
	return NULL;
}

/* Two strings for one device? DPDK tells virtual devices by what stands before the comma. */
static bool device_same(const struct config_port *a, const struct config_port *b)
{
	size_t length;

	if (a->device[0] == '\0')
		return false;
	if (a->driver != CONFIG_DRIVER_VDEV || b->driver != CONFIG_DRIVER_VDEV)
		return strcmp(a->device, b->device) == 0;
	length = strcspn(a->device, ",");
	return length == strcspn(b->device, ",") && memcmp(a->device, b->device, length) == 0;
}

static void check_device(struct schema_document *document, struct config_port *port, uint32_t index)
{
	const char *misfit;

	if (port->device[0] == '\0')
		return;
	if (port->driver == CONFIG_DRIVER_AUTO)
		port->driver = driver_by_device(port->device);
	misfit = device_misfit(port->driver, port->device);
	if (misfit != NULL)
		schema_fail(document, schema_at(document, "ports[%u].device", index),
			    "device \"%s\" doesn't fit: %s", port->device, misfit);
	else if (port->driver == CONFIG_DRIVER_VFIO)
		pci_normalise(port->device);
}

/* Only a NIC's own driver can make it obey. */
static void check_pfc(struct schema_document *document, const struct config_port *port,
		      uint32_t index)
{
	if (port->pfc == CONFIG_PFC_HARDWARE && port->driver != CONFIG_DRIVER_VFIO &&
	    port->driver != CONFIG_DRIVER_VDEV)
		schema_fail(document, schema_at(document, "ports[%u].pfc", index),
			    "pfc: hardware needs a NIC that DPDK drives (driver vfio or vdev); the "
			    "device of port %s isn't one: use pfc: auto",
			    port->name);
}

/* Against all ports before it; one complaint of each kind. */
static void check_unique(struct schema_document *document, const struct config *config,
			 uint32_t index)
{
	const struct config_port *port = &config->ports[index];
	bool name_taken = false;
	bool device_taken = false;
	uint32_t i;

	for (i = 0; i < index; i++) {
		const struct config_port *first = &config->ports[i];

		if (!name_taken && port->name[0] != '\0' && strcmp(first->name, port->name) == 0) {
			name_taken = true;
			schema_fail(document, schema_at(document, "ports[%u].name", index),
				    "two ports are called %s: the first in line %u", port->name,
				    first->mark.line);
		}
		if (!device_taken && device_same(first, port)) {
			device_taken = true;
			schema_fail(document, schema_at(document, "ports[%u].device", index),
				    "device %s is used by port %s already, in line %u",
				    port->device, first->name, first->device_mark.line);
		}
	}
}

/* A routed port's kernel interface bears its name, so the kernel's rules count. */
static void check_interface_name(struct schema_document *document, const struct config *config,
				 uint32_t index)
{
	const struct config_port *port = &config->ports[index];
	struct schema_node *node = schema_at(document, "ports[%u].name", index);
	uint32_t i;

	if (port->address_count == 0 || port->name[0] == '\0')
		return;
	if (!is_kernel_name(port->name) || strcmp(port->name, "lo") == 0 ||
	    strcmp(port->name, "all") == 0 || strcmp(port->name, "default") == 0) {
		schema_fail(document, node,
			    "name \"%s\" can't be that of a routed port: its kernel interface is "
			    "called so, with at most 15 characters and not lo, all or default",
			    port->name);
		return;
	}
	for (i = 0; i < config->port_count; i++) {
		const struct config_port *other = &config->ports[i];

		if ((other->driver == CONFIG_DRIVER_KERNEL ||
		     other->driver == CONFIG_DRIVER_AF_XDP) &&
		    strcmp(other->device, port->name) == 0)
			schema_fail(document, node,
				    "name \"%s\" can't be that of a routed port: its kernel "
				    "interface is called so, and %s is a device of port %s",
				    port->name, other->device, other->name);
	}
	for (i = 0; i < config->vlan_count; i++) {
		char vlan[KERNEL_NAME_BYTES];

		snprintf(vlan, sizeof(vlan), "vlan%u", config->vlans[i].id);
		if (config->vlans[i].address_count > 0 && strcmp(vlan, port->name) == 0)
			schema_fail(document, node,
				    "name \"%s\" can't be that of a routed port: the interface of "
				    "VLAN %u is called so",
				    port->name, config->vlans[i].id);
	}
}

static void vlan_default(struct config_port *port)
{
	if (port->address_count == 0 && !port->trunk && port->access_vlan == 0)
		port->access_vlan = 1;
	/* Untagged on the wire, so not a tagged member. */
	port->trunk_vlans[port->native_vlan / 64] &= ~(UINT64_C(1) << port->native_vlan % 64);
}

void config_check_ports(struct schema_document *document, struct config *config)
{
	bool all_kernel = true;
	uint32_t i;

	for (i = 0; i < config->port_count; i++) {
		struct config_port *port = &config->ports[i];

		check_device(document, port, i);
		check_pfc(document, port, i);
		vlan_default(port);
		all_kernel &= port->driver == CONFIG_DRIVER_KERNEL;
		check_unique(document, config, i);
	}
	for (i = 0; i < config->port_count; i++)
		check_interface_name(document, config, i);
	if (config->leaf.idle == CONFIG_IDLE_AUTO)
		config->leaf.idle = all_kernel ? CONFIG_IDLE_ADAPTIVE : CONFIG_IDLE_SPIN;
}

bool config_port_in_vlan(const struct config_port *port, uint16_t vlan)
{
	return port->access_vlan == vlan || (port->trunk && port->native_vlan == vlan) ||
	       (port->trunk_vlans[vlan / 64] >> vlan % 64 & 1) != 0;
}

void config_check_vlans(struct schema_document *document, struct config *config)
{
	uint32_t first_line[CONFIG_VLAN_MAX + 1] = {0};
	uint32_t i;
	uint32_t j;

	for (i = 0; i < config->vlan_count; i++) {
		struct config_vlan *vlan = &config->vlans[i];

		if (vlan->id == 0)
			continue;
		if (first_line[vlan->id] != 0)
			schema_fail(document, schema_at(document, "vlans[%u].id", i),
				    "VLAN %u stands twice: first in line %u", vlan->id,
				    first_line[vlan->id]);
		else
			first_line[vlan->id] = vlan->mark.line;
		vlan->mtu_bytes = 0;
		for (j = 0; j < config->port_count; j++) {
			const struct config_port *port = &config->ports[j];

			if (config_port_in_vlan(port, vlan->id) &&
			    (vlan->mtu_bytes == 0 || port->mtu_bytes < vlan->mtu_bytes))
				vlan->mtu_bytes = port->mtu_bytes;
		}
		if (vlan->mtu_bytes == 0)
			vlan->mtu_bytes = 1500;
	}
}
