#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Routing with the daemon: both families, VLAN interfaces and routed ports, and hostile packets."""

import itertools

import lab
from lab import World, check, check_equal, wait_until
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

ROUTER = "02:00:00:00:10:01"
# h1, h2: a rack behind a VLAN interface. h3: a routed port. h4, h5: routers behind two uplinks.
CONFIG = """
leaf: {name: l3, memory: 64MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: p1, device: h1, speed: 1G, vlan: {access: 100}}
  - {name: p2, device: h2, speed: 1G, vlan: {access: 100}}
  - {name: p3, device: h3, speed: 1G, address: [10.2.0.1/24, "fd00:2::1/64"]}
  - {name: u1, device: h4, speed: 1G, address: [10.255.0.0/31, "fd00:255::/127"]}
  - {name: u2, device: h5, speed: 1G, mtu: 1400, address: [10.255.0.2/31, "fd00:255::2/127"]}
vlans:
  - {id: 100, address: [10.1.0.1/24, "fd00:1::1/64"]}
routes:
  - {to: 10.3.0.0/16, via: [10.255.0.1, 10.255.0.3]}
  - {to: "fd00:3::/48", via: ["fd00:255::1", "fd00:255::3"]}
  - {to: 0.0.0.0/0, via: [10.2.0.10]}
  - {to: 20.0.0.0/8, via: [10.255.0.1]}
  - {to: 20.1.0.0/16, via: [10.255.0.3]}
  - {to: 20.1.1.0/24, via: [10.255.0.1]}
  - {to: 20.1.1.1/32, via: [10.255.0.3]}
  - {to: "2001:db8::/32", via: ["fd00:255::1"]}
  - {to: "2001:db8:1::/48", via: ["fd00:255::3"]}
  - {to: "2001:db8:1:1::/64", via: ["fd00:255::1"]}
  - {to: "2001:db8:1:1::1/128", via: ["fd00:255::3"]}
"""
PORTS = {"h1": "p1", "h2": "p2", "h3": "p3", "h4": "u1", "h5": "u2"}
BTH = bytes.fromhex("044000ff00000011800000aa")  # RoCEv2: SEND only, queue pair 0x11, PSN 0xaa


class Fabric(World):
    """Five hosts and the leaf; the leaf knows the addresses of all of them."""

    def __init__(self):
        super().__init__()
        both = lambda n, last: [f"10.{n}.0.{last}/24", f"fd00:{n}::{last}/64"]
        self.h1 = self.host("h1", addresses=both(1, 10), offloads=False)
        self.h2 = self.host("h2", addresses=both(1, 20), offloads=False)
        self.h3 = self.host("h3", addresses=both(2, 10), offloads=False)
        self.h4 = self.host("h4", addresses=["10.255.0.1/31", "fd00:255::1/127"], offloads=False)
        self.h5 = self.host("h5", addresses=["10.255.0.3/31", "fd00:255::3/127"], offloads=False)
        self.start_leaf(CONFIG)
        for host, v4, v6 in ((self.h1, "10.1.0.1", "fd00:1::1"), (self.h2, "10.1.0.1", "fd00:1::1"),
                             (self.h3, "10.2.0.1", "fd00:2::1"),
                             (self.h4, "10.255.0.0", "fd00:255::"),
                             (self.h5, "10.255.0.2", "fd00:255::2")):
            for gateway in (v4, v6):
                host.run("ip", "route", "add", "default", "via", gateway)
            # So the kernel learns who they are, and the leaf from it.
            host.ping(v4, count=1)
            host.ping(v6, count=1)
        wait_until(lambda: len(self.leaf.show("neighbours")["neighbours"]) >= 10,
                   "the leaf knows its ten neighbours")
        self.tap = {name: host.tap() for name, host in self.hosts.items()}

    def drain(self):
        for tap in self.tap.values():
            tap.drain()

    def routed(self, sender, packet, receiver, tell=None):
        """Send a packet to the router; it must come out at a host with a TTL less, and only there."""
        frame = bytes(Ether(src=self.hosts[sender].mac, dst=ROUTER) / packet)
        self.tap[sender].send(frame)
        wanted = expected(frame, self.hosts[receiver].mac)
        got = self.tap[receiver].wait(lambda f: f[18:20] == wanted[18:20] and f[:12] == wanted[:12]
                                      and f[26:].startswith(wanted[26:]), tell or "the packet")
        check_equal(got[:len(wanted)].hex(), wanted.hex(), tell or "bytes of the packet")


def fabric():
    world = lab.shared(Fabric)
    world.drain()
    return world


def expected(frame, mac):
    """What a router makes of a frame, by scapy's own arithmetic."""
    packet = Ether(frame)
    out = packet.copy()
    out.src, out.dst = ROUTER, mac
    if IP in out:
        out[IP].ttl -= 1
        del out[IP].chksum
        head = bytes(IP(bytes(out[IP])[:out[IP].ihl * 4]))
        # Only the header is built anew: the rest must be the very bytes that were sent.
        return bytes(Ether(src=ROUTER, dst=mac, type=0x0800)) + head + frame[14 + len(head):]
    return (bytes(Ether(src=ROUTER, dst=mac, type=0x86DD)) + frame[14:21] +
            bytes([frame[21] - 1]) + frame[22:])


def header_sum(header):
    """One's complement sum of a header: 0xffff when its checksum is right (RFC 1071)."""
    total = sum(int.from_bytes(header[n:n + 2], "big") for n in range(0, len(header), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def roce(number):
    """A RoCEv2 payload whose invariant CRC (here: any four bytes) must not change."""
    return BTH + number.to_bytes(4, "big") * 8 + b"icrc"


def test_unresolved():
    """FWD-ARP: a burst to an unknown neighbour is held within bounds; once it answers, it gets it"""
    with World() as world:
        h1 = world.host("h1", addresses=["10.1.0.10/24"], gateways=["10.1.0.1"], offloads=False)
        h3 = world.host("h3", addresses=["10.2.0.10/24"], offloads=False)
        for name in ("h2", "h4", "h5"):
            world.host(name)
        world.start_leaf(CONFIG)
        h1.ping("10.1.0.1", count=1)
        sender, receiver, address = h1.tap(), h3.tap(), bytes([10, 2, 0, 99])
        frames = [bytes(Ether(src=h1.mac, dst=ROUTER) / IP(src="10.1.0.10", dst="10.2.0.99", id=n) /
                        UDP(dport=4791) / Raw(n.to_bytes(4, "big"))) for n in range(300)]
        for start in range(0, 300, 50):
            sender.send(*frames[start:start + 50])
        asks = receiver.wait(lambda f: f[12:14] == b"\x08\x06" and f[38:42] == address,
                             "the leaf asks for 10.2.0.99")
        check_equal(asks[:12], b"\xff" * 6 + bytes.fromhex(ROUTER.replace(":", "")),
                    "who asks whom")
        receiver.send(Ether(src=h3.mac, dst=ROUTER) /
                      ARP(op=2, hwsrc=h3.mac, psrc="10.2.0.99", hwdst=ROUTER, pdst="10.2.0.1"))
        first = receiver.wait(lambda f: f[12:14] == b"\x08\0" and f[30:34] == address,
                              "a held packet")
        # Whatever was held leaves at once, in order; the rest has been counted.
        numbers = [int.from_bytes(first[18:20], "big")]
        while True:
            frame = receiver.read(0.5)
            if frame is None:
                break
            if frame[12:14] == b"\x08\0" and frame[30:34] == address:
                numbers.append(int.from_bytes(frame[18:20], "big"))
        check_equal(numbers, sorted(set(numbers)), "numbers of the held packets")
        check(len(numbers) < 300, "all 300 packets were held: there is no bound")
        check_equal(len(numbers) + world.leaf.dropped("p1", "cpu"), 300,
                    "packets that came and packets counted as dropped")
        # From now on packets pass at once.
        extra = bytes(Ether(src=h1.mac, dst=ROUTER) / IP(src="10.1.0.10", dst="10.2.0.99", id=999) /
                      UDP(dport=4791) / Raw(b"late"))
        sender.send(extra)
        receiver.wait(lambda f: f[18:20] == (999).to_bytes(2, "big"), "a packet after that", 1)


def test_mesh():
    """FWD-MESH: every pair of hosts, both families; every host its gateway"""
    world = fabric()
    hosts = list(world.hosts.values())
    for one, other in itertools.permutations(hosts, 2):
        for address in other.addresses:
            one.ping(address, count=1)
    # The kernel behind the leaf answers at every address of the leaf, from everywhere.
    for host in hosts:
        answered = host.reachable("10.1.0.1", "10.2.0.1", "10.255.0.0", "10.255.0.2", "fd00:1::1",
                                  "fd00:2::1", "fd00:255::", "fd00:255::2")
        check_equal(len(answered), 8, f"addresses of the leaf that answer {host.name}: {answered}")


def test_routed_ipv4():
    """FWD-L3: 1000 IPv4 packets: TTL, MACs and checksum as they must be, all else untouched"""
    world = fabric()
    pairs = [("h1", "h3", "10.2.0.10"), ("h3", "h1", "10.1.0.10"), ("h4", "h2", "10.1.0.20"),
             ("h2", "h4", "20.200.0.1"), ("h1", "h5", "20.1.200.1")]
    number = 0
    for _ in range(20):
        for sender, receiver, address in pairs:
            for _ in range(10):
                number += 1
                packet = IP(src=world.hosts[sender].addresses[0], dst=address, id=number,
                            ttl=2 + number % 254, tos=number % 256) / \
                    UDP(sport=49152 + number, dport=4791, chksum=0) / Raw(roce(number))
                world.routed(sender, packet, receiver, f"packet {number}, {sender} to {receiver}")


def test_routed_ipv6():
    """FWD-L3: 500 IPv6 packets: hop limit and MACs as they must be, all else untouched"""
    world = fabric()
    pairs = [("h1", "h3", "fd00:2::10"), ("h3", "h1", "fd00:1::10"), ("h4", "h2", "fd00:1::20"),
             ("h2", "h4", "2001:db8:ffff::1"), ("h1", "h5", "2001:db8:1:ffff::1")]
    number = 0
    for _ in range(10):
        for sender, receiver, address in pairs:
            for _ in range(10):
                number += 1
                packet = IPv6(src=world.hosts[sender].addresses[1], dst=address, fl=number,
                              hlim=2 + number % 254, tc=number % 256) / \
                    UDP(sport=49152 + number, dport=4791) / Raw(roce(number))
                world.routed(sender, packet, receiver, f"packet {number}, {sender} to {receiver}")


def test_longest_prefix():
    """FWD-L3: of routes that overlap, from /0 to /32 and /128, the longest wins"""
    world = fabric()
    number = 0
    for address, receiver in (("8.8.8.8", "h3"), ("20.0.0.1", "h4"), ("20.255.255.254", "h4"),
                              ("20.1.0.1", "h5"), ("20.1.255.254", "h5"), ("20.1.1.2", "h4"),
                              ("20.1.1.1", "h5"), ("20.1.2.1", "h5"), ("21.0.0.1", "h3")):
        number += 1
        world.routed("h1", IP(src="10.1.0.10", dst=address, id=number) / UDP() / Raw(roce(number)),
                     receiver, f"{address} to {receiver}")
    for address, receiver in (("2001:db8::1", "h4"), ("2001:db8:1::1", "h5"),
                              ("2001:db8:1:1::2", "h4"), ("2001:db8:1:1::1", "h5"),
                              ("2001:db8:1:2::1", "h5"), ("2001:db8:2::1", "h4")):
        number += 1
        world.routed("h1", IPv6(src="fd00:1::10", dst=address, fl=number) / UDP() /
                     Raw(roce(number)), receiver, f"{address} to {receiver}")


def test_checksum_edges():
    """FWD-CSUM-EDGE: header checksums 0x0000 and 0xffff, and those that become so"""
    world = fabric()

    def with_checksum(wanted, ttl):
        """Header and payload of a packet with this header checksum: the id takes what is missing."""
        packet = bytes(IP(src="10.1.0.10", dst="20.0.0.1", id=0, ttl=ttl, len=60) /
                       UDP(sport=1, dport=4791, len=40, chksum=0) / Raw(bytes(32)))
        head = bytearray(packet[:20])
        head[10:12] = wanted.to_bytes(2, "big")
        head[4:6] = (0xFFFF - header_sum(head)).to_bytes(2, "big")
        check_equal(header_sum(head), 0xFFFF, f"sum of the header with 0x{wanted:04x}")
        return bytes(head), packet[20:]

    # Sent with 0x0000 and, which is the same number in one's complement, 0xffff; leaving with
    # 0x0000 (TTL - 1 adds 0x0100 to the checksum); and the carry from 0xfeff to 0xffff.
    for stored, ttl in ((0x0000, 64), (0xFEFF, 64), (0xFF00, 64), (0xFEFE, 64), (0x00FF, 1 + 1)):
        head, rest = with_checksum(stored, ttl)
        forms = {stored, 0xFFFF} if stored == 0 else {stored}
        for form in forms:
            sent = head[:10] + form.to_bytes(2, "big") + head[12:]
            check_equal(header_sum(sent), 0xFFFF, "sum of the header as it is sent")
            before = world.leaf.drops()
            for _ in range(20):
                world.tap["h1"].send(bytes.fromhex(ROUTER.replace(":", "")) +
                                     bytes.fromhex(world.h1.mac.replace(":", "")) + b"\x08\0" +
                                     sent + rest)
                got = world.tap["h4"].wait(lambda f: f[18:20] == sent[4:6] and f[12:14] == b"\x08\0",
                                           f"the packet with checksum 0x{form:04x}")
                check_equal(got[22], ttl - 1, "TTL")
                check_equal(header_sum(got[14:34]), 0xFFFF,
                            f"sum of the header that came with checksum 0x{form:04x} and "
                            f"left with 0x{got[24:26].hex()}")
            check_equal(world.leaf.drops(), before, "drops")


def test_ttl():
    """MAL-IP: TTL or hop limit 0 and 1: not forwarded, counted as that; TTL 1 to the leaf is good"""
    world = fabric()
    for hops in (0, 1):
        before = world.leaf.drops()
        frames = [bytes(Ether(src=world.h1.mac, dst=ROUTER) / packet) for packet in (
            IP(src="10.1.0.10", dst="20.0.0.1", ttl=hops) / UDP() / Raw(bytes(30)),
            IPv6(src="fd00:1::10", dst="2001:db8::1", hlim=hops) / UDP() / Raw(bytes(30)))]
        for frame in frames:
            world.tap["h1"].send(*[frame] * 50)
        world.leaf.check_dropped(before, 100, "p1", "ttl")
    world.h1.run("ping", "-c", 1, "-w", 5, "-t", 1, "10.1.0.1")
    world.h1.run("ping", "-c", 1, "-w", 5, "-t", 1, "fd00:1::1")


# name: (packet, reasons that it may be counted under)
def bad_ipv4():
    def packet(**fields):
        return IP(**{"src": "10.1.0.10", "dst": "20.0.0.1", **fields}) / UDP() / Raw(bytes(30))

    header, source, target = ("ip_header", "too_short"), ("martian_source",), \
        ("martian_destination",)
    yield "version 5", packet(version=5), header
    yield "version 6", packet(version=6), header
    for ihl in range(5):
        yield f"header of {ihl * 4} bytes", packet(ihl=ihl), header
    yield "header longer than the frame", IP(src="10.1.0.10", dst="20.0.0.1", ihl=15), header
    yield "checksum", packet(chksum=0x1234), ("ip_checksum",)
    yield "total length beyond the frame", packet(len=200), header
    yield "total length within the header", packet(len=19), header
    yield "total length 0", packet(len=0), header
    for address in ("127.0.0.1", "127.255.255.255", "0.0.0.0", "0.1.2.3", "224.0.0.1",
                    "239.255.255.255", "240.0.0.1", "255.255.255.255"):
        yield f"source {address}", packet(src=address), source
    for address in ("127.0.0.1", "0.0.0.0", "240.0.0.1", "169.254.1.1"):
        yield f"destination {address}", packet(dst=address), target
    yield "destination 224.1.2.3", packet(dst="224.1.2.3"), ("multicast", *target)
    whole = bytes(packet())
    for size in (0, 1, 12, 16, 19):
        yield f"cut after {size} bytes", Raw(whole[:size]), header


def bad_ipv6():
    def packet(**fields):
        return IPv6(**{"src": "fd00:1::10", "dst": "2001:db8::1", **fields}) / UDP() / \
            Raw(bytes(30))

    header, source, target = ("ip_header", "too_short"), ("martian_source",), \
        ("martian_destination",)
    yield "version 4", packet(version=4), header
    yield "version 7", packet(version=7), header
    yield "payload length beyond the frame", packet(plen=200), header
    for address in ("::", "::1", "ff02::1", "ff0e::1"):
        yield f"source {address}", packet(src=address), source
    for address in ("::", "::1"):
        yield f"destination {address}", packet(dst=address), target
    yield "destination ff0e::1", packet(dst="ff0e::1"), ("multicast", *target)
    yield "no route", packet(dst="2001:dead::1"), ("no_route",)
    whole = bytes(packet())
    for size in (0, 1, 23, 39):
        yield f"cut after {size} bytes", Raw(whole[:size]), header


def check_bad(world, kind, cases):
    """None of the packets comes out anywhere, and each is counted once, for its own reason."""
    count = 0
    for name, packet, reasons in cases:
        before = world.leaf.drops()
        frame = bytes(Ether(src=world.h1.mac, dst=ROUTER, type=kind)) + bytes(packet)
        world.tap["h1"].send(*[frame] * 20)
        try:
            world.leaf.check_dropped(before, 20, "p1", *reasons)
        except lab.Failure as failure:
            raise lab.Failure(f"{name}: {failure}") from failure
        count += 1
    check(count > 12, "too few cases")
    for name in ("h2", "h3", "h4", "h5"):
        rest = list(iter(lambda tap=world.tap[name]: tap.read(0), None))
        bad = [f for f in rest if f[12:14] == kind.to_bytes(2, "big") and f[-30:] == bytes(30)]
        check(not bad, f"a bad packet came out at {name}: {bad[:1]}")


def test_bad_ipv4():
    """MAL-IP: wrong version, lengths, checksum, martian addresses: dropped, each counted as it is"""
    check_bad(fabric(), 0x0800, bad_ipv4())


def test_bad_ipv6():
    """MAL-IP: the same for IPv6, and no route"""
    check_bad(fabric(), 0x86DD, bad_ipv6())


def test_wrong_mac():
    """MAL-L2: a routed port drops what is addressed to somebody else, and what isn't IP"""
    world = fabric()
    packet = IP(src="10.2.0.10", dst="20.0.0.1") / UDP() / Raw(bytes(30))
    before = world.leaf.drops()
    world.tap["h3"].send(*[bytes(Ether(src=world.h3.mac, dst="02:00:00:00:10:02") / packet)] * 50)
    world.leaf.check_dropped(before, 50, "p3", "wrong_mac")
    before = world.leaf.drops()
    world.tap["h3"].send(*[bytes(Ether(src=world.h3.mac, dst=ROUTER, type=0x88B5)) + bytes(46)] * 50)
    world.leaf.check_dropped(before, 50, "p3", "unroutable")


def test_mtu():
    """FWD-L3: a packet longer than the egress MTU is dropped and counted; one byte less passes"""
    world = fabric()

    def packet(size):
        return IP(src="10.1.0.10", dst="20.1.0.1", id=size) / UDP(chksum=0) / Raw(bytes(size - 28))

    world.routed("h1", packet(1400), "h5", "1400 bytes")
    before = world.leaf.drops()
    frame = bytes(Ether(src=world.h1.mac, dst=ROUTER) / packet(1401))
    world.tap["h1"].send(*[frame] * 20)
    world.leaf.check_dropped(before, 20, "p1", "mtu")


def test_short_roce():
    """MAL-ROCE-SHORT: port 4791 with 0 to 11 bytes, wrong UDP lengths: forwarded by their addresses"""
    world = fabric()
    number = 0
    for size in range(13):
        for length in (None, 0, 7, 8 + size, 60000):
            number += 1
            udp = UDP(sport=number, dport=4791, chksum=0) / Raw(BTH[:size])
            if length is not None:
                udp.len = length
            world.routed("h1", IP(src="10.1.0.10", dst="20.0.0.1", id=number) / udp, "h4",
                         f"{size} bytes, UDP length {length}")
            if length != 0:  # for scapy, 0 is a jumbogram
                world.routed("h1", IPv6(src="fd00:1::10", dst="2001:db8::1", fl=number) / udp.copy(),
                             "h4", f"{size} bytes in IPv6, UDP length {length}")
    for size in range(8):
        number += 1
        world.routed("h1", IP(src="10.1.0.10", dst="20.0.0.1", id=number, proto=17) /
                     Raw(bytes(UDP(dport=4791))[:size]), "h4", f"{size} bytes of UDP header")


def test_fragments():
    """MAL-ROCE-SHORT: the fragments of a datagram take one path; flows use both"""
    world = fabric()
    used = set()
    for number in range(1, 33):
        # 48 bytes of UDP and RoCE in three fragments of 16; only the first has ports.
        datagram = bytes(UDP(sport=1000 + number, dport=4791, len=48, chksum=0) / Raw(BTH + bytes(28)))
        came = []
        for piece in range(3):
            packet = IP(src="10.1.0.10", dst=f"10.3.{number}.1", id=number, proto=17,
                        flags="MF" if piece < 2 else 0, frag=piece * 2)
            world.tap["h1"].send(bytes(Ether(src=world.h1.mac, dst=ROUTER) / packet /
                                       Raw(datagram[piece * 16:piece * 16 + 16])))
        for piece in range(3):

            def arrived():
                for name in ("h4", "h5"):
                    frame = world.tap[name].read(0)
                    while frame is not None:
                        if frame[18:20] == number.to_bytes(2, "big") and frame[12:14] == b"\x08\0":
                            return name
                        frame = world.tap[name].read(0)
                return None

            came.append(wait_until(arrived, f"fragment {piece} of datagram {number}"))
        check_equal(len(set(came)), 1, f"uplinks that datagram {number} took")
        used.add(came[0])
    check_equal(used, {"h4", "h5"}, "uplinks in use")


def test_order():
    """FWD-ORDER: 1000 packets of one routed flow over two uplinks: one path, in order, once each"""
    world = fabric()
    head = Ether(src=world.h1.mac, dst=ROUTER) / IP(src="10.1.0.10", dst="10.3.9.9", tos=104)
    path = None
    for start in range(0, 1000, 50):
        frames = [bytes(head / UDP(sport=7000, dport=4791) / Raw(BTH + n.to_bytes(4, "big")))
                  for n in range(start, start + 50)]
        world.tap["h1"].send(*frames)
        if path is None:
            path = wait_until(lambda: next((name for name in ("h4", "h5") if any(
                f[30:34] == bytes([10, 3, 9, 9]) and f[-4:] == bytes(4)
                for f in iter(lambda n=name: world.tap[n].read(0), None))), None), "the first packet")
            rest = range(start + 1, start + 50)
        else:
            rest = range(start, start + 50)
        for number in rest:
            got = world.tap[path].wait(lambda f: f[30:34] == bytes([10, 3, 9, 9]),
                                       f"packet {number} at {path}")
            check_equal(int.from_bytes(got[-4:], "big"), number, "number of the next packet")


def test_icmp_and_tcp():
    """FWD-L3: ICMP and TCP pass byte by byte, with IP options, too"""
    world = fabric()
    number = 2000
    for protocol, payload in ((1, ICMP(id=7) / Raw(b"x" * 40)),
                              (6, TCP(sport=9, dport=10, flags="S") / Raw(b"y" * 9))):
        for options in (b"", b"\x01\x01\x01\x00", b"\x94\x04\x00\x00", b"\x01" * 40):
            number += 1
            packet = IP(src="10.1.0.10", dst="20.0.0.1", id=number, proto=protocol, chksum=0,
                        ihl=5 + len(options) // 4, len=20 + len(options) + len(bytes(payload)))
            head = bytearray(bytes(packet) + options)
            head[10:12] = (0xFFFF ^ header_sum(head)).to_bytes(2, "big")
            send_raw(world, bytes(head) + bytes(payload))
    world.routed("h1", IPv6(src="fd00:1::10", dst="2001:db8::1", fl=77) / ICMPv6EchoRequest(), "h4")


def send_raw(world, packet):
    """An IPv4 packet as it is: out at h4 with a TTL less and the checksum to match."""
    mac = lambda text: bytes.fromhex(text.replace(":", ""))
    world.tap["h1"].send(mac(ROUTER) + mac(world.h1.mac) + b"\x08\0" + packet)
    got = world.tap["h4"].wait(lambda f: f[18:20] == packet[4:6] and f[12:14] == b"\x08\0",
                               "the packet")
    size = (packet[0] & 15) * 4
    check_equal(header_sum(got[14:14 + size]), 0xFFFF, "sum of the header")
    check_equal(got[22], packet[8] - 1, "TTL")
    check_equal((got[14:22] + got[23:24] + got[26:14 + len(packet)]).hex(),
                (packet[:8] + packet[9:10] + packet[12:]).hex(), "everything else")


def test_end():
    """CNT-CONSERVE: every packet is accounted for, and the leaf stops cleanly"""
    lab.close_shared()


if __name__ == "__main__":
    lab.run(globals())
