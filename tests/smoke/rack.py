# SPDX-License-Identifier: BSD-3-Clause
"""
rack - a leaf with a host behind each of its routed ports, RoCE packets and pauses.

Port pN leads to host hN, 10.N.0.2. Priority 3 is lossless and has DSCP 26. A pause of 65535 quanta lasts 671 ms
on a port of 50 Mb/s (65535 * 512 bits): long enough for a busy machine, and it can be renewed.
"""

import struct

from lab import World
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

ROUTER_MAC = "02:00:00:00:10:01"
PFC_ADDRESS = bytes.fromhex("0180c2000001")
ROCE, BEST_EFFORT = 26, 0  # DSCP
ROCE_PORT = 4791
CLASSES = """
classes:
  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60}
  - {priority: 0, name: best-effort, weight: 20}
"""


def leaf_config(name, *speeds, more=CLASSES):
    """Ports of these speeds, and other sections."""
    ports = "".join(f"\n  - {{name: p{n}, device: h{n}, speed: {speed}, address: [10.{n}.0.1/24]}}"
                    for n, speed in enumerate(speeds, 1))
    return (f'leaf: {{name: {name}, memory: 8MiB, runtime_dir: $RUNTIME, router_mac: "{ROUTER_MAC}"}}\n'
            f"ports:{ports}{more}")


def pfc_frame(source, quanta):
    """A frame as 802.1Qbb has it. quanta: {priority: time}, zero to let it go."""
    vector = sum(1 << priority for priority in quanta)
    times = [quanta.get(priority, 0) for priority in range(8)]
    frame = (PFC_ADDRESS + bytes.fromhex(source.replace(":", "")) +
             struct.pack("!HHH8H", 0x8808, 0x0101, vector, *times))
    return frame.ljust(60, b"\0")


class Rack(World):
    """Hosts that all know the leaf, which knows them; `tap` has a socket on each."""

    def __init__(self, config):
        super().__init__()
        for n in range(1, config.count("device: h") + 1):
            self.host(f"h{n}", addresses=[f"10.{n}.0.2/24"], gateways=[f"10.{n}.0.1"])
        self.start_leaf(config)
        for host in self.hosts.values():
            self.hosts["h1"].ping(host.addresses[0], count=1)
        self.tap = {name: host.tap() for name, host in self.hosts.items()}

    def packet(self, to, dscp, size, *, source="h1", ports=(50000, ROCE_PORT), payload=b""):
        """A packet to be routed, of `size` bytes on the wire, without the FCS."""
        return bytes(Ether(src=self.hosts[source].mac, dst=ROUTER_MAC) /
                     IP(src=self.hosts[source].addresses[0], dst=to, tos=dscp << 2, ttl=64) /
                     UDP(sport=ports[0], dport=ports[1], chksum=0) / Raw(payload.ljust(size - 42, b"\0")))

    def pause(self, host, quanta):
        """A host pauses priority 3 of its port, or lets it go (0)."""
        self.tap[host].send(pfc_frame(self.hosts[host].mac, {3: quanta}))

    def pfc(self):
        """{(port, priority): its row}."""
        return {(row["port"], row["priority"]): row for row in self.leaf.show("pfc")["pfc"]}
