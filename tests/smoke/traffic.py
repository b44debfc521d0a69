#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Real traffic through the daemon: TCP and UDP with the kernel's offloads, jumbo frames, pacing."""

import errno

import lab
from lab import World, check, check_equal, wait_until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

# h1, h2 in one VLAN, which is routed; h3 behind a routed port.
CONFIG = """
leaf: {name: traffic, memory: 128MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: p1, device: h1, speed: 1G, mtu: 9000, vlan: {access: 100}}
  - {name: p2, device: h2, speed: 200M, mtu: 9000, vlan: {access: 100}}
  - {name: p3, device: h3, speed: 1G, mtu: 9000, address: [10.2.0.1/24, "fd00:2::1/64"]}
vlans:
  - {id: 100, address: [10.1.0.1/24, "fd00:1::1/64"]}
classes:
  - {priority: 3, name: roce, dscp: [26], weight: 60}
  - {priority: 0, name: best-effort, weight: 20}
"""
FRAME_OVERHEAD = 24  # preamble, start of frame, FCS, gap (IEEE 802.3)


class Lan(World):
    """Three hosts with 9000 byte MTU and every offload that veth has."""

    def __init__(self):
        super().__init__()
        rack = {"gateways": ["10.1.0.1", "fd00:1::1"], "mtu": 9000}
        self.h1 = self.host("h1", addresses=["10.1.0.10/24", "fd00:1::10/64"], **rack)
        self.h2 = self.host("h2", addresses=["10.1.0.20/24", "fd00:1::20/64"], **rack)
        self.h3 = self.host("h3", addresses=["10.2.0.10/24", "fd00:2::10/64"],
                            gateways=["10.2.0.1", "fd00:2::1"], mtu=9000)
        self.start_leaf(CONFIG)

    def no_frame_was_bad(self):
        """Nothing but full queues may have cost a frame."""
        start = self.leaf.drops_at_start
        wrong = {key: count for key, count in self.leaf.drops().items()
                 if key[1] != "queue_full" and count != start.get(key)}
        check_equal(wrong, {}, "drops other than for a full queue")


def tcp(world, client, server, address, *options):
    """Run TCP for a second; it must have moved data. The rate is not judged here."""
    end = client.iperf(server, address, *options, seconds=1)
    check(end["sum_received"]["bytes"] > 1_000_000,
          f"TCP moved only {end['sum_received']['bytes']} bytes")
    world.no_frame_was_bad()


def test_tcp_bridged():
    """FWD-L2: TCP in both directions and families inside a VLAN, with segmentation offload"""
    world = lab.shared(Lan)
    for address in ("10.1.0.20", "fd00:1::20"):
        tcp(world, world.h1, world.h2, address)
        tcp(world, world.h1, world.h2, address, "-R")


def test_tcp_routed():
    """FWD-L3: TCP in both directions and families across subnets, with segmentation offload"""
    world = lab.shared(Lan)
    for address in ("10.2.0.10", "fd00:2::10"):
        tcp(world, world.h1, world.h3, address)
        tcp(world, world.h1, world.h3, address, "-R")


def test_small_segments():
    """FWD-L3: TCP whose super-frames must be cut to 536 bytes"""
    world = lab.shared(Lan)
    tcp(world, world.h1, world.h3, "10.2.0.10", "-M", "536")


def test_udp_offload():
    """FWD-L3: UDP with unfinished checksums arrives with right ones"""
    world = lab.shared(Lan)
    tap = world.h3.tap()
    listener = world.h3.start("iperf3", "-s", "-1")
    wait_until(lambda: ":5201" in world.h3.run("ss", "-Hltn").stdout, "iperf3 listens")
    world.h1.run("iperf3", "-u", "-c", "10.2.0.10", "-b", "5M", "-t", "1", "-l", "1000",
                 timeout_s=20)
    listener.wait(lab.WAIT_S)
    count = 0
    for frame in iter(lambda: tap.read(0), None):
        packet = Ether(frame)
        if UDP not in packet or packet[UDP].dport != 5201 or packet[IP].dst != "10.2.0.10":
            continue
        sent = packet[UDP].chksum
        again = packet[IP].copy()
        del again[UDP].chksum
        check_equal(sent, IP(bytes(again))[UDP].chksum, "UDP checksum on arrival")
        count += 1
    check(count > 10, f"only {count} datagrams seen")
    world.no_frame_was_bad()


def test_jumbo():
    """FWD-THRU: frames up to the MTU of 9000 pass bridged and routed, unchanged"""
    world = lab.shared(Lan)
    for address, overhead in (("10.1.0.20", 28), ("10.2.0.10", 28), ("fd00:1::20", 48),
                              ("fd00:2::10", 48)):
        world.h1.ping(address, size=9000 - overhead, fragment=False)
    taps = {"h2": world.h2.tap(), "h3": world.h3.tap()}
    sender = world.h1.tap()
    for size in (1501, 2048, 4096, 4158, 8999, 9000):
        body = bytes(n % 253 for n in range(size - 28))
        packet = IP(src="10.1.0.10", dst="10.1.0.20", id=size) / UDP(dport=4791, chksum=0) / Raw(body)
        frame = bytes(Ether(src=world.h1.mac, dst=world.h2.mac) / packet)
        sender.send(frame)
        got = taps["h2"].wait(lambda f: f[18:20] == size.to_bytes(2, "big") and f[23] == 17,
                              f"{size} bytes at h2")
        check_equal(got.hex(), frame.hex(), f"bridged packet of {size} bytes")
        packet[IP].dst = "10.2.0.10"
        sender.send(Ether(src=world.h1.mac, dst="02:00:00:00:10:01") / packet)
        got = taps["h3"].wait(lambda f: f[18:20] == size.to_bytes(2, "big") and f[23] == 17,
                              f"{size} bytes at h3")
        check_equal(got[34:].hex(), frame[34:].hex(), f"routed packet of {size} bytes")


def test_too_long():
    """FWD-THRU: frames above a port's MTU end at the leaf or before it, and stop nothing"""
    lab.close_shared()
    with World() as world:
        h1 = world.host("h1", mtu=9216, offloads=False)
        h2 = world.host("h2", mtu=9216, offloads=False)
        world.host("h3")
        world.start_leaf(CONFIG.replace("mtu: 9000", "mtu: 2000"))
        sender, receiver = h1.tap(), h2.tap()
        head = bytes(Ether(src=h1.mac, dst="ff:ff:ff:ff:ff:ff", type=0x88B5))
        for size in (2001, 2004, 2005, 4000, 9216):
            try:
                sender.send(*[head + bytes(size)] * 5)
            except OSError as error:  # the cable itself refuses it: the leaf has set its MTU
                check_equal(error.errno, errno.ENOBUFS, "why a long frame can't be sent")
        sender.send(head + b"last" + bytes(2000 - 4))
        got = receiver.wait(lambda f: f[12:14] == b"\x88\xb5", "the frame of 2000 bytes")
        # A tag's worth of bytes is left to the port, which can't know what is inside.
        check(len(got) <= 14 + 2004, f"a frame of {len(got)} bytes came through an MTU of 2000")


def window(world, seconds):
    """Ports and queues now, and again after some traffic."""
    tables = []
    for _ in range(2):
        tables.append((world.leaf.show("queues")["time_ns"], world.leaf.ports(),
                       world.leaf.queues()))
        if len(tables) == 1:
            end = tables[0][0] + seconds * 1e9
            wait_until(lambda: world.leaf.show("queues")["time_ns"] >= end, "time passes",
                       seconds + 5)
    return tables


def test_pacing_tcp():
    """FWD-THRU: a port of 200 Mb/s carries 185 to 200 Mb/s of TCP"""
    world = lab.shared(Lan)
    seen = []
    for _ in range(3):  # a shared machine may pause in the middle of one
        end = world.h1.iperf(world.h2, "10.1.0.20", seconds=2)
        seen.append(end["sum_received"]["bits_per_second"] / 1e6)
        check(seen[-1] < 200, f"TCP got {seen[-1]:.1f} Mb/s through a port of 200 Mb/s")
        if seen[-1] >= 185:
            return
    raise lab.Failure(f"TCP got {seen} Mb/s through a port of 200 Mb/s, must be 185 at least")


def overload(world):
    """Two classes from two hosts, 300 Mb/s each in frames of one size, into a port of 200 Mb/s."""
    running = []
    for client, tos, port in ((world.h1, 26 << 2, 5301), (world.h3, 0, 5302)):
        world.h2.start("iperf3", "-s", "-1", "-p", port)
        wait_until(lambda port=port: f":{port}" in world.h2.run("ss", "-Hltn").stdout,
                   "iperf3 listens")
        running.append(client.start("iperf3", "-u", "-c", "10.1.0.20", "-p", port, "-b", "300M",
                                    "-t", 30, "-l", 1400, "-S", tos))
    full = lambda: all(row["depth_packets"] > 20 for (port, priority), row in
                       world.leaf.queues().items() if port == "p2" and priority in (0, 3))
    wait_until(full, "both queues of p2 are full")
    return running


def test_shares():
    """SCH-DWRR: two classes of weight 60 and 20 share a full port 3:1; its rate is never exceeded"""
    lab.close_shared()
    with Lan() as world:
        world.h1.ping("10.1.0.20")
        world.h3.ping("10.1.0.20")
        running = overload(world)
        ratios, rates = [], []
        # A shared machine may stop a sender, or us between clock and counters, for a while; a wrong
        # share or rate would be wrong every time.
        while len(ratios) < 5 and not (ratios and 2.85 <= ratios[-1] <= 3.15 and rates[-1] < 202):
            (start, ports, queues), (end, ports_after, queues_after) = window(world, 1)
            roce, rest = [queues_after["p2", priority]["tx_bytes"] -
                          queues["p2", priority]["tx_bytes"] for priority in (3, 0)]
            ratios.append(roce / rest)
            packets, size = [ports_after["p2"][field] - ports["p2"][field]
                             for field in ("tx_packets", "tx_bytes")]
            rates.append((size + FRAME_OVERHEAD * packets) * 8e3 / (end - start))
        for process in running:
            process.kill()
        check(2.85 <= ratios[-1] <= 3.15, f"weights 60 and 20 shared {ratios}, must be 3:1")
        check(rates[-1] < 202, f"the port of 200 Mb/s sent at {rates} Mb/s")


def test_end():
    """CNT-CONSERVE: every frame is accounted for, and the leaf stops cleanly"""
    lab.close_shared()


if __name__ == "__main__":
    lab.run(globals())
