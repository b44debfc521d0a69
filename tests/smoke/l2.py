#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bridging with the daemon: VLANs, learning, flooding, and what must not pass."""

import threading

import lab
from lab import World, check, check_equal
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

# h1, h2: VLAN 100. h3: VLAN 200. h4 speaks both: 100 with a tag, 200 without.
CONFIG = """
leaf: {name: l2, memory: 64MiB, runtime_dir: $RUNTIME}
ports:
  - {name: p1, device: h1, speed: 1G, vlan: {access: 100}}
  - {name: p2, device: h2, speed: 1G, vlan: {access: 100}}
  - {name: p3, device: h3, speed: 1G, vlan: {access: 200}}
  - {name: p4, device: h4, speed: 1G, vlan: {trunk: [100], native: 200}}
"""
TEST_TYPE = 0x88B5  # IEEE 802 local experimental: the kernel never sends it by itself
BROADCAST = "ff:ff:ff:ff:ff:ff"


class Rack(World):
    """Four hosts and the leaf, with a tap on every host."""

    def __init__(self, config=CONFIG):
        super().__init__()
        for name in ("h1", "h2", "h3", "h4"):
            setattr(self, name, self.host(name, offloads=False))
        self.start_leaf(config)
        self.tap = {name: host.tap() for name, host in self.hosts.items()}
        self.serial = 0

    def macs(self, count):
        """Addresses that no test has used before."""
        self.serial += 1
        return [f"02:aa:{self.serial >> 8 & 255:02x}:{self.serial & 255:02x}:00:{n + 1:02x}"
                for n in range(count)]

    def frame(self, source, destination, tag=None, pcp=0, data=b""):
        """A frame that no other is equal to, and 60 bytes long at least."""
        self.serial += 1
        head = Ether(src=source, dst=destination)
        if tag is not None:
            head = head / Dot1Q(vlan=tag, prio=pcp)
        body = self.serial.to_bytes(4, "big") + data
        head.lastlayer().type = TEST_TYPE
        return bytes(head / body.ljust(46, b"\xa5"))

    def receivers(self, sender, frame, expected):
        """Send a frame; it must come out at each of `expected` (host: bytes), and nowhere else."""
        self.tap[sender].send(frame)
        mark = frame[-46:]
        for host, wanted in expected.items():
            got = self.tap[host].wait(lambda f: f[-46:] == mark, f"the frame of {sender} at {host}")
            check_equal(got.hex(), wanted.hex(), f"bytes at {host}")
        # What follows to everybody comes later than any copy of the first.
        fence = self.serial
        for vlan_sender, tag in (("h1", None), ("h3", None)):
            after = self.frame(f"02:fe:00:00:00:{vlan_sender[1]:0>2}", BROADCAST, tag)
            self.tap[vlan_sender].send(after)
            for host in {"h1": ("h2", "h4"), "h3": ("h4",)}[vlan_sender]:
                self.tap[host].wait(lambda f: f[-46:] == after[-46:], f"fence {fence} at {host}")
        if "h3" not in expected and sender != "h3":
            after = self.frame("02:fe:00:00:00:04", BROADCAST)
            self.tap["h4"].send(after)
            seen = self.tap["h3"].wait(lambda f: f[-46:] in (after[-46:], mark), "fence at h3")
            check(seen[-46:] != mark, "the frame came out at h3, too")


def the_rack():
    """The rack that tests share, with nothing left to read."""
    rack = lab.shared(Rack)
    for tap in rack.tap.values():
        tap.drain()
    return rack


def tagged(frame, vlan, pcp=0):
    """The frame with an 802.1Q tag."""
    return frame[:12] + b"\x81\x00" + (pcp << 13 | vlan).to_bytes(2, "big") + frame[12:]


class TaggedHost:
    """Answers ARP and echo requests in a VLAN: not every kernel has interfaces for one."""

    def __init__(self, tap, mac, address, vlan):
        self.tap, self.mac, self.address, self.vlan = tap, mac, address, vlan
        self.running = True
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while self.running:
            frame = self.tap.read(0.1)
            packet = Ether(frame) if frame else None
            if packet is None or Dot1Q not in packet or packet[Dot1Q].vlan != self.vlan:
                continue
            head = Ether(src=self.mac, dst=packet.src) / Dot1Q(vlan=self.vlan)
            if ARP in packet and packet[ARP].op == 1 and packet[ARP].pdst == self.address:
                self.tap.send(head / ARP(op=2, hwsrc=self.mac, psrc=self.address,
                                         hwdst=packet[ARP].hwsrc, pdst=packet[ARP].psrc))
            elif ICMP in packet and packet[ICMP].type == 8 and packet[IP].dst == self.address:
                echo = packet[ICMP]
                self.tap.send(head / IP(src=self.address, dst=packet[IP].src) /
                              ICMP(type=0, id=echo.id, seq=echo.seq) / bytes(echo.payload))

    def stop(self):
        self.running = False
        self.thread.join()


def test_ping():
    """FWD-L2: hosts of one VLAN ping each other in both families, those of another don't"""
    with World() as world:
        h1 = world.host("h1", addresses=["10.0.0.1/24", "fd00::1/64"])
        h2 = world.host("h2", addresses=["10.0.0.2/24", "fd00::2/64"])
        h3 = world.host("h3", addresses=["10.0.0.3/24", "fd00::3/64"])
        h4 = world.host("h4")
        world.start_leaf(CONFIG)
        h1.ping("10.0.0.2")
        h2.ping("10.0.0.1")
        h1.ping("fd00::2")
        h2.ping("fd00::1")
        tagged_host = TaggedHost(h4.tap(), h4.mac, "10.0.0.4", 100)
        h1.ping("10.0.0.4")
        h2.ping("10.0.0.4")
        check_equal(h1.reachable("10.0.0.3", "fd00::3"), [], "what VLAN 100 reaches of VLAN 200")
        check_equal(h3.reachable("10.0.0.2", "10.0.0.4", "fd00::2"), [],
                    "what VLAN 200 reaches of VLAN 100")
        tagged_host.stop()


def test_learning():
    """FWD-L2-LEARN: floods inside the VLAN, learns, moves with the first frame from a new place"""
    rack = the_rack()
    one, two = rack.macs(2)
    frame = rack.frame(one, two)
    rack.receivers("h1", frame, {"h2": frame, "h4": tagged(frame, 100)})
    frame = rack.frame(two, one)
    rack.receivers("h2", frame, {"h1": frame})
    frame = rack.frame(one, two)
    rack.receivers("h1", frame, {"h2": frame})
    # `two` moves to h4, tagged; the very next frame follows it.
    frame = rack.frame(two, one, tag=100)
    rack.receivers("h4", frame, {"h1": frame[:12] + frame[16:]})
    frame = rack.frame(one, two)
    rack.receivers("h1", frame, {"h4": tagged(frame, 100)})
    where = {(row["vlan"], row["mac"]): row["port"] for row in rack.leaf.show("fdb")["fdb"]}
    check_equal(where.get((100, one)), "p1", "port of the first address")
    check_equal(where.get((100, two)), "p4", "port of the address that moved")
    check((200, one) not in where, "learned in a VLAN that it never spoke in")


def test_tags():
    """FWD-L2: access, trunk and native VLANs: tags come off, go on and stay as they must"""
    rack = the_rack()
    one, three, four = rack.macs(3)
    frame = rack.frame(three, BROADCAST)
    rack.receivers("h3", frame, {"h4": frame})
    frame = rack.frame(four, BROADCAST)
    rack.receivers("h4", frame, {"h3": frame})
    frame = rack.frame(four, BROADCAST, tag=100)
    plain = frame[:12] + frame[16:]
    rack.receivers("h4", frame, {"h1": plain, "h2": plain})
    # A priority tag (VLAN 0) is no VLAN: the frame belongs to the port's own.
    frame = rack.frame(one, BROADCAST, tag=0, pcp=5)
    rack.tap["h1"].send(frame)
    got = rack.tap["h2"].wait(lambda f: f[-46:] == frame[-46:], "priority-tagged frame at h2")
    check_equal(got.hex(), (frame[:12] + frame[16:]).hex(), "bytes at h2")


def test_frame_sizes():
    """FWD-THRU: frames of 60 to 1518 bytes pass unchanged"""
    rack = the_rack()
    for size in (60, 61, 64, 65, 127, 128, 255, 256, 257, 511, 512, 1023, 1024, 1280, 1514):
        frame = rack.frame("02:aa:00:00:00:01", BROADCAST)
        frame = frame + bytes(n % 251 for n in range(size - len(frame)))
        rack.tap["h1"].send(frame)
        got = rack.tap["h2"].wait(lambda f: f[14:18] == frame[14:18], f"{size} bytes at h2")
        check_equal(got.hex(), frame.hex(), f"frame of {size} bytes")
        rack.tap["h4"].drain()


def test_source_mac():
    """MAL-L2: a source that is multicast, zero or the destination: dropped, counted, not learned"""
    rack = the_rack()
    good = rack.macs(1)[0]
    for source, destination in (("01:aa:00:00:00:01", good), (BROADCAST, good),
                                ("00:00:00:00:00:00", good), (good, good)):
        before = rack.leaf.drops()
        rack.tap["h1"].send(*[rack.frame(source, destination) for _ in range(100)])
        rack.leaf.check_dropped(before, 100, "p1", "source_mac")
        macs = [row["mac"] for row in rack.leaf.show("fdb")["fdb"]]
        check(source not in macs, f"{source} was learned")
    for name in ("h2", "h3", "h4"):
        rest = iter(lambda tap=rack.tap[name]: tap.read(0), None)
        check(all(f[12:14] != b"\x88\xb5" for f in rest), f"such a frame came out at {name}")


def test_wrong_vlan():
    """MAL-L2: a tag of a VLAN that the port isn't in: dropped and counted as that"""
    rack = the_rack()
    source = rack.macs(1)[0]
    for sender, port, tag in (("h1", "p1", 200), ("h1", "p1", 4094), ("h4", "p4", 300),
                              ("h3", "p3", 100)):
        before = rack.leaf.drops()
        rack.tap[sender].send(*[rack.frame(source, BROADCAST, tag)
                                for _ in range(100)])
        rack.leaf.check_dropped(before, 100, port, "vlan")
    check(source not in [row["mac"] for row in rack.leaf.show("fdb")["fdb"]],
          "the source of a refused frame was learned")


def test_runts():
    """MAL-L2: frames that end inside their IP header: dropped, the leaf goes on"""
    rack = the_rack()
    before = rack.leaf.drops()
    head = bytes(Ether(src="02:aa:00:00:00:01", dst=BROADCAST, type=0x0800))
    rack.tap["h1"].send(*[head + b"\x45"[:n] + bytes(max(0, n - 1)) for n in range(20)])
    head = bytes(Ether(src="02:aa:00:00:00:01", dst=BROADCAST, type=0x86DD))
    rack.tap["h1"].send(*[head + b"\x60"[:n] + bytes(max(0, n - 1)) for n in range(40)])
    rack.leaf.check_dropped(before, 60, "p1", "too_short", "ip_header")
    frame = rack.frame("02:aa:00:00:00:01", BROADCAST)
    rack.receivers("h1", frame, {"h2": frame, "h4": tagged(frame, 100)})


def test_reserved():
    """MAL-L2: 01-80-C2-00-00-00 to -0F are never forwarded, pause frames included"""
    rack = the_rack()
    before = rack.leaf.dropped("p1")
    consumed = rack.leaf.ports()["p1"]["consumed"]
    for last in range(16):
        rack.tap["h1"].send(rack.frame("02:aa:00:00:00:01", f"01:80:c2:00:00:{last:02x}"))
    # A pause frame as 802.1Qbb writes it: all classes, longest time.
    pause = b"\x01\x01\x00\xff" + b"\xff\xff" * 8
    rack.tap["h1"].send(bytes(Ether(src="02:aa:00:00:00:01", dst="01:80:c2:00:00:01",
                                    type=0x8808) / pause.ljust(46, b"\0")))
    frame = rack.frame("02:aa:00:00:00:01", BROADCAST)
    rack.tap["h1"].send(frame)
    for name in ("h2", "h4"):
        got = rack.tap[name].wait(lambda f: f[0] & 1 and f[6:12] == frame[6:12],
                                  f"the broadcast at {name}")
        check_equal(got[:6].hex(), "ff" * 6, f"destination of the first frame at {name}")
    ended = rack.leaf.dropped("p1") - before
    ended += rack.leaf.ports()["p1"]["consumed"] - consumed
    check_equal(ended, 17, "frames that ended here")


def test_control_frames_by_type():
    """MAL-PFC-OTHER: MAC control to a unicast address is not forwarded"""
    rack = the_rack()
    bad = bytes(Ether(src="02:aa:00:00:00:01", dst="02:aa:00:00:00:02", type=0x8808) /
                (b"\x01\x01\x00\x08" + b"\xff\xff" * 8).ljust(46, b"\0"))
    frame = rack.frame("02:aa:00:00:00:01", BROADCAST)
    rack.tap["h1"].send(bad, frame)
    got = rack.tap["h2"].wait(lambda f: f[6:12] == bad[6:12], "the broadcast at h2")
    check_equal(got.hex(), frame.hex(), "first frame at h2")


def test_non_ip():
    """CLS-NONIP: ARP, LLDP and unknown types never enter a lossless queue"""
    rack = the_rack()
    source = "02:aa:00:00:00:01"
    frames = [bytes(Ether(src=source, dst=BROADCAST) /
                    ARP(hwsrc=source, psrc="10.0.0.1", pdst="10.0.0.2")),
              bytes(Ether(src=source, dst="01:80:c2:00:00:0e", type=0x88CC) / bytes(46)),
              rack.frame(source, BROADCAST)]

    def arrived():
        rows = rack.leaf.queues().items()
        return {p: row["rx_packets"] for (port, p), row in rows if port == "p1"}

    before, port_before = arrived(), rack.leaf.ports()["p1"]["rx_packets"]
    for frame in frames:
        rack.tap["h1"].send(*[frame] * 30)
    lab.wait_until(lambda: rack.leaf.ports()["p1"]["rx_packets"] >= port_before + 90,
                   "90 frames received")
    lossless = [p for (port, p), row in rack.leaf.queues().items()
                if port == "p1" and row["lossless"]]
    check(lossless, "there is no lossless class to keep clear of")
    for priority in lossless:
        check_equal(arrived()[priority] - before[priority], 0, f"frames in lossless queue {priority}")


def test_order():
    """FWD-ORDER: 1000 frames of one flow arrive once each and in order"""
    rack = the_rack()
    source, destination = rack.macs(2)
    rack.receivers("h2", frame := rack.frame(destination, source),
                   {"h1": frame, "h4": tagged(frame, 100)})
    head = Ether(src=source, dst=destination) / IP(src="10.9.0.1", dst="10.9.0.2", tos=26 << 2)
    number = 0
    for _ in range(20):
        frames = [bytes(head / UDP(sport=4000, dport=4791) / n.to_bytes(4, "big"))
                  for n in range(number, number + 50)]
        rack.tap["h1"].send(*frames)
        for frame in frames:
            got = rack.tap["h2"].wait(lambda f: f[6:12] == frame[6:12] and f[12:14] == b"\x08\0",
                                      f"frame {number}")
            check_equal(got[:len(frame)].hex(), frame.hex(), f"frame {number}")
            number += 1


def test_end():
    """CNT-CONSERVE: every frame is accounted for, and the leaf stops cleanly"""
    lab.close_shared()


if __name__ == "__main__":
    lab.run(globals())
