/* SPDX-License-Identifier: BSD-3-Clause */
/* apply_ports - the leaf from whose config the tests of apply.h make snapshots. */
#ifndef TESTS_UNIT_APPLY_PORTS_H
#define TESTS_UNIT_APPLY_PORTS_H

/* Ports 0..3: h1 access 100, h2 trunk 100 and 200 with native 10, up1 and up2 routed. */
#define PORTS                                                                            \
	"ports:\n"                                                                       \
	"  - {name: h1, device: eth1, speed: 10G, mtu: 4200, vlan: {access: 100}}\n"     \
	"  - {name: h2, device: eth2, speed: 10G, trust: pcp,\n"                         \
	"     vlan: {trunk: [100, 200], native: 10}}\n"                                  \
	"  - {name: up1, device: eth3, speed: 100G, mtu: 9000, trust: none,\n"           \
	"     address: [10.255.0.0/31, \"fd00:255::/127\"]}\n"                           \
	"  - {name: up2, device: eth4, address: [10.255.0.2/31, \"fd00:255::2/127\"]}\n" \
	"vlans:\n"                                                                       \
	"  - {id: 100, address: [10.1.0.1/24, \"fd00:1::1/64\"]}\n"

#endif
