#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""In-order spray between daemons: two leaves, and two spines that are Linux routers and know nothing of it."""

import errno
import os
import select
import signal
import struct
import threading
import time

import lab
from lab import Space, World, call, check, check_equal, wait_until
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

#          s1
#   h1 - leaf1   leaf2 - h2      each leaf has a port to each spine, u1 and u2, and one to its host, h
#          s2
#
# $HERE: number of the leaf, $THERE: of the other one. Neighbours are static: packets that wait for one may be
# overtaken when it answers, which isn't of interest here. Buffers are far larger than what is under way: no loss but
# those that are made here.
CONFIG = """
leaf: {name: leaf$HERE, memory: 32MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:0$HERE"}
ports:
  - {name: host, device: h$HERE, speed: 1G, address: ["$HOST$HERE$GATEWAY"]}
  - {name: up1, device: u$HERE1, speed: 1G, address: ["$LINK$HERE1$NEAR"]}
  - {name: up2, device: u$HERE2, speed: 1G, address: ["$LINK$HERE2$NEAR"]}
routes:
  - {to: "$HOST$THERE$NET", via: ["$LINK$HERE1$FAR", "$LINK$HERE2$FAR"]}
neighbours:
  - {address: "$HOST$HERE$ADDRESS0", mac: "02:00:00:00:01:0$HERE", port: host}
  - {address: "$LINK$HERE1$FAR", mac: "02:00:00:00:11:0$HERE", port: up1}
  - {address: "$LINK$HERE2$FAR", mac: "02:00:00:00:12:0$HERE", port: up2}
classes:
  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60, ecn: off}
  - {priority: 7, name: control, dscp: [56], strict: true}
  - {priority: 0, name: best-effort, weight: 20}
balance:
  mode: spray
  spray: {peers: [{address: "$HOST$THERE$ADDRESS", prefixes: ["$HOST$THERE$NET"]}], key_file: spray.key, promote: 4KB}
"""
WORDS = {
    4: {"$HOST": "10.1.", "$LINK": "10.255.", "$GATEWAY": ".1/24", "$ADDRESS": ".1", "$NET": ".0/24",
        "$NEAR": ".0/31", "$FAR": ".1"},
    6: {"$HOST": "fd00:1:", "$LINK": "fd00:255:", "$GATEWAY": "::1/64", "$ADDRESS": "::1",
        "$NET": "::/64", "$NEAR": "::/127", "$FAR": "::1"},
}
ROCE_PORT = 4791
PACKETS = 8  # of each flow in a round: all of a round must fit the buffer of a packet socket
PAYLOAD_BYTES = 1000
BODY = bytes(range(256)) * 5  # more than that
ROUNDS = 5  # in which all must be as it should
PACE_S = 0.002  # between packets while something else happens
STALL_S = 0.02
QUIET_S = 0.3  # no packet is under way or held that doesn't come within that: far above every time-out


def words(text, family, **more):
    for key, value in [*((f"${key}", value) for key, value in more.items()), *WORDS[family].items()]:
        text = text.replace(key, str(value))
    return text


class Flow:
    """Numbered packets of one queue pair."""

    def __init__(self, world, source, receiver, queue_pair, checksums=False):
        self.world, self.source, self.receiver = world, source, receiver
        self.queue_pair, self.checksums = queue_pair, checksums
        self.port, self.head = 49152 + queue_pair, {}
        self.ethernet = bytes(Ether(src=source.mac, dst=source.gateway_mac,
                                    type=0x0800 if world.family == 4 else 0x86DD))
        self.sent, self.got, self.late, self.missing = 0, -1, 0, set()
        self.key = (receiver.name, queue_pair)

    def packet(self, number, hops):
        """As it is after some hops: what of it routers don't change is what they must not."""
        if hops not in self.head:
            self.head[hops] = self.build(hops)
        bth = struct.pack("!BBHII", 4, 0x40, 0xFFFF, self.queue_pair, 1 << 31 | number & 0xFFFFFF)
        # Whatever the invariant CRC is, it must not change.
        rest = bth + struct.pack("!I", number) + BODY[number % 256:][:PAYLOAD_BYTES] + b"icrc"
        head = self.head[hops]
        if not self.checksums:
            return head + rest
        ip = (IP if self.world.family == 4 else IPv6)(head[:-8])
        return head[:-2] + bytes(ip / UDP(sport=self.port, dport=ROCE_PORT) / Raw(rest))[len(head) - 2:]

    def build(self, hops):
        """IP and UDP headers of all packets; scapy takes long."""
        ends = {"src": self.source.addresses[0], "dst": self.receiver.addresses[0]}
        ip = IP(**ends, tos=26 << 2, ttl=64 - hops) if self.world.family == 4 else \
            IPv6(**ends, tc=26 << 2, hlim=64 - hops)
        return bytes(ip / UDP(sport=self.port, dport=ROCE_PORT, chksum=0) / Raw(bytes(
            12 + 4 + PAYLOAD_BYTES + 4)))[:28 if self.world.family == 4 else 48]

    def send(self, count):
        """Send the next packets; what a host's own kernel would put in front is in front of them."""
        for number in range(self.sent, self.sent + count):
            self.world.tap[self.source.name].send(self.ethernet + self.packet(number, 0))
        self.sent += count

    def arrive(self, packet, where):
        """A packet has come to a host: it must be one of ours, as it was sent. Is it late?"""
        number = struct.unpack_from("!I", packet, where + 8 + 12)[0]
        wanted = self.packet(number, 3)
        check(packet == wanted, f"packet {number} of {self.key} came as {packet.hex()}, must be {wanted.hex()}")
        if number > self.got:
            self.missing.update(range(self.got + 1, number))
            self.got = number
        else:
            check(number in self.missing, f"packet {number} of {self.key} comes twice")
            self.missing.remove(number)
            self.late += 1

    def complete(self, first):
        """Has all come that was sent since a number?"""
        return self.got == self.sent - 1 and all(number < first for number in self.missing)


class Fabric(World):
    """Two leaves, their hosts and two spines. Index 0 and 1 for leaves, spines and hosts alike."""

    def __init__(self, family=4):
        super().__init__()
        self.family, self.flows = family, {}
        # The second leaf and all its ports are elsewhere: kernels would talk to each other past the leaves.
        self.place = [None, Space(self, "leaf2")]
        self.spines = [Space(self, name) for name in ("s1", "s2")]
        ends = [self.host(f"h{n}", addresses=[words(f"$HOST{n}$ADDRESS", family) + "0" + words(
            "$GATEWAY", family)[-3:]], offloads=False) for n in (1, 2)]
        call("ip", "link", "set", "h2", "netns", self.place[1].keeper.pid)
        self.place[1].run("sysctl", "-qw", "net.ipv6.conf.h2.disable_ipv6=1")
        self.place[1].run("ip", "link", "set", "h2", "up")
        for number, spine in enumerate(self.spines, 1):
            self.cable(spine, number)
        self.tap = {host.name: host.tap() for host in ends}
        self.ends = ends
        key = os.path.join(self.directory, "spray.key")
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write("00112233445566778899aabbccddeeff\n")
        for leaf, host in enumerate(ends):
            host.gateway_mac = f"02:00:00:00:10:0{leaf + 1}"
        self.start_leaf(words(CONFIG, family, HERE=1, THERE=2))
        self.start_another("leaf2", words(CONFIG, family, HERE=2, THERE=1), self.place[1])
        self.leaves, self.late_before = [self.leaf, self.others[0]], [0, 0]
        self.meet()
        for spine in self.spines:
            spine.taps = [roce_tap(spine, f"d{leaf}") for leaf in (1, 2)]

    def cable(self, spine, number):
        """A spine is a router: d1 and d2 are its ports."""
        spine.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1",
                  "net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.all.accept_dad=0")
        for leaf in (1, 2):
            place = self.place[leaf - 1]
            keeper = os.getpid() if place is None else place.keeper.pid
            spine.run("ip", "link", "add", f"d{leaf}", "address",
                      f"02:00:00:00:1{number}:0{leaf}", "type", "veth", "peer", "name",
                      f"u{leaf}{number}", "netns", keeper)
            there = call if place is None else place.run
            there("sysctl", "-qw", f"net.ipv6.conf.u{leaf}{number}.disable_ipv6=1")
            there("ip", "link", "set", f"u{leaf}{number}", "up")
            spine.run("ethtool", "-K", f"d{leaf}", "tx", "off", "gro", "off")
            self.up(spine, number, leaf)

    def up(self, spine, number, leaf):
        """The port to a leaf, with what the kernel forgets when one goes down."""
        link = words(f"$LINK{leaf}{number}", self.family)
        spine.run("ip", "link", "set", f"d{leaf}", "up")
        spine.run("ip", "address", "replace", link + words("$FAR", self.family) + words(
            "$NEAR", self.family)[-4 if self.family == 6 else -3:], "dev", f"d{leaf}", "nodad")
        spine.run("ip", "route", "replace", words(f"$HOST{leaf}$NET", self.family), "via",
                  words(f"{link}$NEAR", self.family).split("/")[0])

    def meet(self):
        """Everybody learns who its neighbours are."""
        for leaf, host in enumerate(self.ends, 1):
            gateway = words(f"$HOST{leaf}$ADDRESS", self.family)
            host.run("ip", "route", "replace", "default", "via", gateway)
            host.ping(gateway, count=1)
        for number, spine in enumerate(self.spines, 1):
            for leaf in (1, 2):
                link = words(f"$LINK{leaf}{number}$NEAR", self.family).split("/")[0]
                spine.run("ping", "-n", "-q", "-c", 1, "-w", 5, link)
        for leaf in self.leaves:
            wait_until(lambda: len(leaf.show("neighbours")["neighbours"]) >= 3,
                       "a leaf knows its three neighbours")

    def flow(self, source, queue_pair, **options):
        """One of the first host (0) to the second, or of the second (1)."""
        flow = Flow(self, self.ends[source], self.ends[1 - source], queue_pair, **options)
        self.flows[flow.key] = flow
        return flow

    def listen(self, timeout_s=0):
        """Look at what has come to the hosts. False: nothing has."""
        came = False
        end = time.monotonic() + timeout_s
        while True:
            for host in self.ends:
                while (frame := self.tap[host.name].read(0)) is not None:
                    came = self.look_at(host, frame) or came
            rest = end - time.monotonic()
            if came or rest <= 0:
                return came
            select.select([self.tap[host.name].socket for host in self.ends], [], [], rest)

    def look_at(self, host, frame):
        where = 34 if self.family == 4 else 54  # of the UDP header
        if len(frame) < where + 24 or frame[where - 11 if self.family == 4 else 20] != 17 or \
                struct.unpack_from("!H", frame, where + 2)[0] != ROCE_PORT:
            return False
        queue_pair = struct.unpack_from("!I", frame, where + 12)[0] & 0xFFFFFF
        flow = self.flows.get((host.name, queue_pair))
        check(flow is not None, f"{host.name} gets a packet of nobody's: {frame.hex()}")
        flow.arrive(frame[14:], where - 14)
        return True

    def round(self, flows):
        """Send some packets of each flow; all must arrive."""
        first = {flow: flow.sent for flow in flows}
        for flow in flows:
            flow.send(PACKETS)
        end = time.monotonic() + lab.WAIT_S * lab.SLOW
        while not all(flow.complete(first[flow]) for flow in flows):
            check(self.listen(end - time.monotonic()), "packets of a round don't arrive: " + ", ".join(
                f"{flow.key} sent {flow.sent}, got {flow.got}, missing {sorted(flow.missing)[-9:]}"
                for flow in flows))

    def check_order(self):
        """What came late to a host, its leaf has given up for lost before, or it is its fault."""
        for number, host in enumerate(self.ends):
            late = sum(flow.late for flow in self.flows.values() if flow.receiver is host)
            counted = self.late_before[number] + self.late(number)
            check(late <= counted, f"{late} packets came late to {host.name}, of which its leaf knows {counted}")

    def late(self, number):
        """Late packets that a leaf has counted."""
        return self.leaves[number].show("balance")["spread"][0]["late"]

    def crossed(self):
        """Per spine, the checksums of RoCE packets that came to it since the last time, from each leaf."""
        return [[list(checksums(tap, 34 if self.family == 4 else 54)) for tap in spine.taps]
                for spine in self.spines]


def roce_tap(spine, interface):
    tap = spine.tap(interface)
    tap.drain()
    return tap


def read(tap):
    """The next frame; an interface that goes down tells it once."""
    try:
        return tap.read(0)
    except OSError as error:
        check_equal(error.errno, errno.ENETDOWN, "why a frame can't be read")
        return tap.read(0)


def checksums(tap, where):
    while (frame := read(tap)) is not None:
        if len(frame) > where + 8 and struct.unpack_from("!H", frame, where + 2)[0] == ROCE_PORT:
            yield struct.unpack_from("!H", frame, where + 6)[0]


def sprayed(world, flows, limit_s=20):
    """
    Go on until for some rounds all has been sprayed: numbered, and nothing late; and each leaf has sent some of it
    by either spine. How much is not asked: a machine that is busy makes one of them look slow.
    """
    good, carried, tried = 0, set(), []
    end = time.monotonic() + limit_s * lab.SLOW
    while good < ROUNDS or len(carried) < 4:
        check(time.monotonic() < end, f"not sprayed: packets and numbered ones by spine and leaf: {tried[-10:]}")
        late = sum(flow.late for flow in flows)
        world.round(flows)
        seen = world.crossed()
        tried.append([[(len(one), sum(value != 0 for value in one)) for one in spine] for spine in seen])
        all_numbered = late == sum(flow.late for flow in flows) and all(
            0 not in one for spine in seen for one in spine)
        good = good + 1 if all_numbered else 0
        carried = carried | {(spine, leaf) for spine in (0, 1) for leaf in (0, 1) if seen[spine][leaf]} \
            if all_numbered else set()
    world.check_order()


def meanwhile(world, flows, action):
    """Go on sending while something is done, and until all is quiet again; the order must be kept."""
    failures = []

    def act():
        try:
            action()
        except Exception as error:  # whatever it is: the test has failed
            failures.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    while thread.is_alive():
        for flow in flows:
            flow.send(2)
        world.listen(PACE_S)
        world.crossed()
    thread.join()
    for failure in failures:
        raise failure
    while world.listen(QUIET_S):
        pass


def resume(world, flows, what):
    """Packets get through again: from some round on, all of them."""
    end = time.monotonic() + lab.WAIT_S * lab.SLOW
    while True:
        first = {flow: flow.sent for flow in flows}
        for flow in flows:
            flow.send(PACKETS)
        while not all(flow.complete(first[flow]) for flow in flows) and world.listen(QUIET_S):
            pass
        world.crossed()
        if all(flow.complete(first[flow]) for flow in flows):
            break
        check(time.monotonic() < end, f"{what}: packets don't get through")
    for _ in range(ROUNDS):
        world.round(flows)
        world.crossed()


def both_ways(world):
    """Some flows each way, on queue pairs that nobody has used."""
    first = 17 + len(world.flows)
    return [world.flow(n % 2, first + n) for n in range(4)]


def test_sprayed():
    """Flows go by both spines with numbers, and arrive in order as they were sent"""
    world = lab.shared(Fabric)
    flows = both_ways(world)
    sprayed(world, flows)
    check_equal([flow.missing for flow in flows], [set()] * 4, "lost packets")


def test_stall():
    """A leaf that stands still for some milliseconds neither loses nor reorders a packet"""
    world = lab.shared(Fabric)
    flows = both_ways(world)
    sprayed(world, flows)
    tried = 0
    for leaf in [*world.leaves] * 3:
        while not stalled(world, leaf, flows):
            tried += 1
            if tried > 50:
                raise lab.Skip("the machine is too busy to stop a process for a short time")
    sprayed(world, flows)


def stalled(world, leaf, flows):
    """False when the leaf stood still for longer than it should."""
    world.round(flows)
    start = time.monotonic()
    leaf.process.send_signal(signal.SIGSTOP)
    for _ in range(PACKETS):
        for flow in flows:
            flow.send(1)
        world.listen(0.001)
    while time.monotonic() - start < STALL_S:
        world.listen(0.001)
    leaf.process.send_signal(signal.SIGCONT)
    short = time.monotonic() - start < 2 * STALL_S
    world.round(flows)
    world.crossed()
    return short


def test_spine_fails():
    """A spine's links go down, one or both, and come back: traffic goes on in order"""
    world = lab.shared(Fabric)
    flows = both_ways(world)
    sprayed(world, flows)
    for number, leaves in ((0, (1, 2)), (1, (1,)), (1, (2,))):
        spine = world.spines[number]
        meanwhile(world, flows, lambda: [spine.run("ip", "link", "set", f"d{leaf}", "down")
                                         for leaf in leaves])
        resume(world, flows, f"without links {leaves} of spine {number + 1}")
        meanwhile(world, flows, lambda: [world.up(spine, number + 1, leaf) for leaf in leaves])
        resume(world, flows, f"with spine {number + 1} again")
        sprayed(world, flows)


def test_restart():
    """A leaf is killed and starts again: no host ever sees a number, and order is kept"""
    world = lab.shared(Fabric)
    flows = both_ways(world)
    sprayed(world, flows)

    def restart(leaf):
        number = world.leaves.index(leaf)
        world.late_before[number] += world.late(number)
        leaf.process.kill()
        leaf.process.wait()
        leaf.start()

    for leaf in world.leaves:
        meanwhile(world, flows, lambda: restart(leaf))
        resume(world, flows, "after a restart")
        sprayed(world, flows)


def test_checksums():
    """Checksums that hosts compute arrive untouched beside flows that are sprayed"""
    world = lab.shared(Fabric)
    flows = both_ways(world)
    own = [world.flow(n, 4096 + n, checksums=True) for n in (0, 1)]
    sprayed(world, flows)
    for _ in range(10 * ROUNDS):
        world.round(flows + own)
        world.crossed()
    world.check_order()


def test_end():
    """CNT-CONSERVE: every packet is accounted for, and the leaves stop cleanly"""
    lab.close_shared()


def test_ipv6():
    """The same with IPv6, where hosts may leave out the checksum of UDP too (RFC 6936)"""
    with Fabric(6) as world:
        flows = both_ways(world)
        sprayed(world, flows)
        check_equal([flow.missing for flow in flows], [set()] * 4, "lost packets")


if __name__ == "__main__":
    lab.run(globals())
