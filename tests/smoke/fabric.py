#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two leaves, one as the spine, joined by a cable: pauses go from hop to hop, both ways, and no frame is lost."""

import select
import struct

import lab
from lab import World, call, check, check_equal, wait_until
from pfc import BEST_EFFORT, ROCE, is_control, is_data, pfc_frame
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

# Each has a port to one that sends (s), to one that receives (r), to the other (u) and to one that
# only watches (w). All are of one VLAN.
#
# A worker may not run for any time on a busy machine; meanwhile the other one sends. What it can send
# is what it may hold before it pauses its own sender, some 12 KB (alpha), which is far below the
# headroom of u. So no stall, however long, can cost a frame.
CONFIG = """
leaf: {name: $NAME, memory: 8MiB, runtime_dir: $RUNTIME}
ports:
  - {name: $s, device: $s, speed: 100M}
  - {name: $r, device: $r, speed: 20M}
  - {name: $u, device: $u, speed: 100M, peer_response: 10ms, nic_delay: 10ms}
  - {name: $w, device: $w, speed: 100M}
classes:
  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60, ecn: off}
  - {priority: 0, name: best-effort, weight: 20}
buffer: {alpha: {roce: 1/64}}
"""
FRAME_BYTES = 1414
BATCH = 4  # frames; its bytes are less than the headroom of a host's port
HELD_MAX = 200  # frames that two leaves hold at most before the sender is paused: 24 KB, generously
FRAMES = 200  # more, once the receiver goes on
BROADCAST = "ff:ff:ff:ff:ff:ff"


def config(name, letter):
    """The configuration of a leaf whose interfaces begin with a letter."""
    text = CONFIG.replace("$NAME", name)
    for port in "sruw":
        text = text.replace(f"${port}", f"{letter}{port}")
    return text


class Flow:
    """Numbered frames from a host that obeys pauses to one behind the other leaf."""

    def __init__(self, world, source, receiver, watcher):
        self.source, self.receiver = world.hosts[source], world.hosts[receiver]
        self.tap, self.watcher = world.tap[source], world.tap[watcher]
        self.watcher_mac = world.hosts[watcher].mac
        self.sent, self.paused, self.control = 0, False, []

    def frame(self, to, dscp, number, size):
        return bytes(Ether(src=self.source.mac, dst=to) /
                     IP(src="10.0.0.1", dst="10.0.0.2", tos=dscp << 2) /
                     UDP(sport=4000, dport=4791, chksum=0) /
                     Raw(struct.pack("!I", number) + bytes(size - 46)))

    def listen(self):
        """Obey what the leaf has said; time runs out for nobody here, since it is said again."""
        while (frame := self.tap.read(0)) is not None:
            if is_control(frame):
                self.control.append(frame)
                self.paused = frame[24:26] != b"\0\0"  # the time of priority 3

    def batch(self):
        """
        Send some frames, and see one of another class arrive behind the other leaf: then ours have
        been taken, and a pause for them has been sent, ahead of it.
        """
        for _ in range(BATCH):
            self.tap.send(self.frame(self.receiver.mac, ROCE, self.sent, FRAME_BYTES))
            self.sent += 1
        last = self.frame(self.watcher_mac, BEST_EFFORT, self.sent, 100)
        self.tap.send(last)
        self.watcher.wait(lambda frame: frame == last, f"the frame after {self.sent} others")
        self.listen()


class Fabric(World):
    def __init__(self):
        super().__init__()
        for name in ("ls", "lr", "lw", "ss", "sr", "sw"):
            self.host(name)
        call("ip", "link", "add", "lu", "type", "veth", "peer", "name", "su")
        for name in ("lu", "su"):
            call("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            call("ip", "link", "set", name, "up")
        self.start_leaf(config("leaf", "l"))
        self.start_another("spine", config("spine", "s"))
        self.spine = self.others[0]
        self.tap = {name: host.tap() for name, host in self.hosts.items()}
        self.learn()
        # From leaf to spine, and from spine to leaf.
        self.flows = [Flow(self, "ls", "sr", "sw"), Flow(self, "ss", "lr", "lw")]

    def learn(self):
        """Both know where everybody is: a flooded frame would lose its class."""
        for host in self.hosts.values():
            frame = bytes(Ether(src=host.mac, dst=BROADCAST, type=0x88B5) / bytes(46))
            self.tap[host.name].send(frame)
            for name, tap in self.tap.items():
                if name != host.name:
                    tap.wait(lambda got: got == frame, f"the broadcast of {host.name} at {name}")

    def pfc(self, leaf, port):
        """The row of priority 3."""
        return next(row for row in leaf.show("pfc")["pfc"]
                    if row["port"] == port and row["priority"] == 3)


def said(row):
    return row["tx_xoff"] + row["tx_xon"]


def receiver_pauses(world, flow):
    """Send until the pause of a receiver has come back, hop by hop, to the sender."""
    mac, tap = flow.receiver.mac, world.tap[flow.receiver.name]
    while not flow.paused:
        check(flow.sent < HELD_MAX, f"{flow.source.name} isn't paused after {flow.sent} frames")
        tap.send(pfc_frame(mac, {3: 65535}))
        flow.batch()


def send_all(world, flows, count):
    """Let each flow send so many frames more."""
    last = {flow: flow.sent + count for flow in flows}
    receivers = {flow: world.tap[flow.receiver.name] for flow in flows}
    got = {flow: [] for flow in flows}
    while any(flow.sent < last[flow] for flow in flows):
        for flow in flows:
            flow.listen()
            if not flow.paused and flow.sent < last[flow]:
                flow.batch()
            while (frame := receivers[flow].read(0)) is not None:
                if is_data(frame, ROCE):
                    got[flow].append(struct.unpack("!I", frame[42:46])[0])
        if all(flow.paused or flow.sent >= last[flow] for flow in flows):
            waiting = [flow.tap.socket for flow in flows if flow.sent < last[flow]]
            check(not waiting or select.select(waiting, [], [], lab.WAIT_S * lab.SLOW)[0],
                  "a sender is paused for ever")
    return got


def check_complete(leaf, port, flow):
    """What a flow has sent has gone out to its receiver."""
    wait_until(lambda: leaf.queues()[port, 3]["tx_packets"] >= flow.sent, f"all frames leave by {port}")
    check_equal(leaf.queues()[port, 3]["tx_packets"], flow.sent, f"frames that left by {port}")


def test_pauses_hop_by_hop():
    """PFC-HOP: a receiver that pauses stops the sender behind two leaves, both ways at once; nothing is lost"""
    with Fabric() as world:
        leaf, spine, flows = world.leaf, world.spine, world.flows
        for flow in flows:
            receiver_pauses(world, flow)
        # Each waits for the other, and says so.
        for here, there, port in ((leaf, spine, "su"), (spine, leaf, "lu")):
            peer = "lu" if port == "su" else "su"
            row = world.pfc(there, port)
            check(row["tx_paused"] and row["tx_xoff"] > 0, f"{port} has not paused its peer: {row}")
            wait_until(lambda: world.pfc(here, peer)["rx_paused"], f"the queue of {peer} is paused")
            states = {row["port"]: row["state"] for row in there.show("buffers")["buffers"]}
            check_equal(states[port], "paused", f"state of {port} in show buffers")
        for flow in flows:
            world.tap[flow.receiver.name].send(pfc_frame(flow.receiver.mac, {3: 0}))
        got = send_all(world, flows, FRAMES)
        check_complete(spine, "sr", flows[0])
        check_complete(leaf, "lr", flows[1])
        for flow, numbers in got.items():
            check(numbers and numbers == sorted(set(numbers)), f"order at {flow.receiver.name}: {numbers}")

        # Quiet again: everybody is let go, and both ends have counted the same frames.
        for one in (leaf, spine):
            wait_until(lambda: all(row["used_bytes"] == 0 and row["state"] == "running"
                                   for row in one.show("buffers")["buffers"]), "all is drained")
            lost = {key: count for key, count in one.drops().items()
                    if count != one.drops_at_start.get(key, 0)}
            check_equal(lost, {}, "drops")
        wait_until(lambda: said(world.pfc(spine, "su")) == world.pfc(leaf, "lu")["rx_frames"] and
                   said(world.pfc(leaf, "lu")) == world.pfc(spine, "su")["rx_frames"],
                   "frames sent by one are those received by the other")
        for one, port in ((leaf, "lu"), (spine, "su")):
            row = world.pfc(one, port)
            for name in ("tx_pauses", "rx_pauses", "tx_paused_ns", "rx_paused_ns", "tx_xon"):
                check(row[name] > 0, f"{port}: {name} is zero: {row}")
            check(not row["rx_paused"] and not row["tx_paused"], f"{port} waits: {row}")
        for flow, one, port in ((flows[0], leaf, "ls"), (flows[1], spine, "ss")):
            flow.listen()
            mac = one.ports()[port]["mac"]
            check_equal({frame.hex() for frame in flow.control},
                        {pfc_frame(mac, {3: quanta}).hex() for quanta in (0, 65535)},
                        f"frames to {flow.source.name}, byte by byte")
            check_equal(len(flow.control), said(world.pfc(one, port)), f"frames to {flow.source.name}")


if __name__ == "__main__":
    lab.run(globals())
