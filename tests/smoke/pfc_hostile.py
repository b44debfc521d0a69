#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""MAC control frames that mustn't pause, those that are cut short, and a flood of those that do."""

import struct
import threading

import lab
from lab import check, check_equal, wait_until
from pfc import COUNTERS, Trio, is_control, is_data
from rack import PFC_ADDRESS, pfc_frame

# Priorities 3 and 4 are lossless, of DSCP 3 and 4.
SONIC = """
classes: sonic
watchdog: {detect: 100ms, restore: 200ms, action: drop}
"""
LOSSY = (0, 1, 2, 5, 6, 7)
STORM = 50  # frames before the data, and as many behind


class Sonic(Trio):
    def __init__(self):
        super().__init__(more=SONIC)

    def pfc_port(self, port):
        return next(row for row in self.leaf.show("pfc")["pfc_ports"] if row["port"] == port)

    def consumed(self):
        return {name: row["consumed"] for name, row in self.leaf.ports().items()}


def the_rack():
    return lab.shared(Sonic)


def control(source, body, destination=PFC_ADDRESS):
    """A MAC control frame, padded."""
    return (destination + bytes.fromhex(source.replace(":", "")) + b"\x88\x08" + body).ljust(60, b"\0")


def grown(world, before):
    """{(port, priority): {counter: by how much}}, of those that have."""
    rows = world.pfc()
    more = {key: {name: row[name] - before[key][name] for name in COUNTERS
                  if row[name] != before[key][name]} for key, row in rows.items()}
    return {key: row for key, row in more.items() if row}


def storm(world, frame, dscps, count):
    """
    Send pauses from h3, data of all these DSCPs to it, and pauses again; what arrives is complete, and
    no queue was paused and no pause sent. @return what has grown, without these
    """
    before, consumed = world.pfc(), world.consumed()
    tap = world.tap["h3"]
    tap.drain()
    tap.send(*[frame] * STORM)
    for dscp in dscps:
        world.tap["h1"].send(world.packet("10.3.0.2", dscp, 200))
    tap.send(*[frame] * STORM)
    got = tap.collect(lambda f: f[12:14] == b"\x08\x00" and f[23] == 17, len(dscps), "data at h3")
    check_equal(sorted(f[15] >> 2 for f in got), sorted(dscps), "DSCPs that arrived")
    wait_until(lambda: world.consumed()["p3"] - consumed["p3"] >= count, "all pauses are counted")
    check_equal(world.consumed()["p3"] - consumed["p3"], count, "MAC control frames of p3")
    more = grown(world, before)
    for key, row in more.items():
        check(set(row) <= {"rx_frames"}, f"{key} was paused, or pauses: {row}")
    for host in world.tap.values():
        check(not any(is_control(f) for f in iter(lambda: host.read(0), None)),
              "a MAC control frame has come out of the leaf")
    return {key: row["rx_frames"] for key, row in more.items()}


def test_lossy():
    """HON-LOSSY: pauses of lossy priorities stop nothing; they are counted, and none is sent on"""
    world = the_rack()
    before = world.pfc_port("p3")["rx_not_lossless"]
    frame = pfc_frame(world.hosts["h3"].mac, {priority: 65535 for priority in LOSSY})
    more = storm(world, frame, range(64), 2 * STORM)
    check_equal(more, {("p3", priority): 2 * STORM for priority in LOSSY}, "frames of each priority")
    check_equal(world.pfc_port("p3")["rx_not_lossless"] - before, 2 * STORM * len(LOSSY),
                "pauses of priorities that aren't lossless")


def test_global():
    """HON-GLOBAL: 802.3x pauses stop nothing and count for no priority"""
    world = the_rack()
    before = world.pfc_port("p3")["rx_global"]
    frame = control(world.hosts["h3"].mac, struct.pack("!HH", 0x0001, 65535))
    check_equal(storm(world, frame, range(64), 2 * STORM), {}, "frames of each priority")
    check_equal(world.pfc_port("p3")["rx_global"] - before, 2 * STORM, "802.3x pauses")


def test_nothing_enabled():
    """HON-CEV0: times of priorities that aren't enabled stop nothing and count for none"""
    world = the_rack()
    frame = control(world.hosts["h3"].mac, struct.pack("!HH8H", 0x0101, 0, *[65535] * 8))
    check_equal(storm(world, frame, range(64), 2 * STORM), {}, "frames of each priority")


def test_other_opcodes():
    """MAL-PFC-OTHER: other opcodes and unicast addresses stop nothing and are not forwarded"""
    world = the_rack()
    mac = world.hosts["h3"].mac
    body = struct.pack("!H8H", 0x00FF, *[65535] * 8)
    before = world.pfc_port("p3")
    for opcode in (0x0000, 0x0002, 0x0100, 0x0102, 0x01FF, 0x0201, 0xFFFF):
        frame = control(mac, struct.pack("!H", opcode) + body)
        check_equal(storm(world, frame, (3, 4, 8), 2 * STORM), {}, f"opcode {opcode:#06x}")
    port_mac = bytes.fromhex(world.leaf.ports()["p3"]["mac"].replace(":", ""))
    for destination in (port_mac, bytes.fromhex("020000001001"), bytes.fromhex("0180c2000002")):
        frame = control(mac, b"\x01\x01" + body, destination)
        check_equal(storm(world, frame, (3, 4, 8), 2 * STORM), {}, f"to {destination.hex()}")
    row = world.pfc_port("p3")
    check_equal(row["rx_unknown"] - before["rx_unknown"], 7 * 2 * STORM, "unknown opcodes")
    check_equal(row["rx_bad"] - before["rx_bad"], 3 * 2 * STORM, "misaddressed ones")


def test_short():
    """MAL-PFC-SHORT: a frame that ends after k of 8 times is bad; with all of them, it is obeyed"""
    world = the_rack()
    whole = pfc_frame(world.hosts["h3"].mac, {3: 65535})
    for times in range(8):
        before = world.pfc_port("p3")["rx_bad"]
        more = storm(world, whole[:18 + 2 * times], (3, 4), 2 * STORM)
        check_equal(more, {}, f"frames of each priority, {times} times")
        check_equal(world.pfc_port("p3")["rx_bad"] - before, 2 * STORM, f"bad ones, {times} times")
    for size in (14, 15, 16, 17):
        check_equal(storm(world, whole[:size], (3, 4), 2 * STORM), {}, f"{size} bytes")
    check_obeyed(world, whole[:34], pfc_frame(world.hosts["h3"].mac, {3: 0})[:34])


def check_obeyed(world, xoff, xon):
    """Priority 3 of p3 is paused by a frame and let go by another; 4 isn't concerned."""
    tap, before = world.tap["h3"], world.pfc()
    tap.drain()
    tap.send(xoff)
    wait_until(lambda: grown(world, before), "the frame is counted")
    check_equal(grown(world, before), {("p3", 3): {"rx_frames": 1, "rx_pauses": 1}}, "what it did")
    tap.send(xoff)
    world.tap["h1"].send(*[world.packet("10.3.0.2", dscp, 200) for dscp in (3, 4)])
    order = [f[15] >> 2 for f in tap.collect(lambda f: is_data(f, 3) or is_data(f, 4), 1, "data")]
    check_equal(order, [4], "first to arrive")
    tap.send(xon)
    tap.wait(lambda f: is_data(f, 3), "what was held")
    wait_until(lambda: world.pfc()["p3", 3]["rx_frames"] == before["p3", 3]["rx_frames"] + 3,
               "three frames counted")
    check_equal(world.pfc()["p3", 3]["rx_paused"], False, "paused")


def test_zero_source():
    """HON-ZERO-SMAC: a pause from address zero is obeyed and counted like any other"""
    zero = "00:00:00:00:00:00"
    check_obeyed(the_rack(), pfc_frame(zero, {3: 65535}), pfc_frame(zero, {3: 0}))


def test_reserved_bits():
    """MAL-PFC-OTHER: reserved bits of the class vector are ignored, the others obeyed"""
    world = the_rack()
    frames = [bytearray(pfc_frame(world.hosts["h3"].mac, {3: quanta})) for quanta in (65535, 0)]
    for frame in frames:
        frame[16] = 0xFF
    check_obeyed(world, *map(bytes, frames))


def test_flood():
    """MAL-PFC-FLOOD: a flood of pauses costs other queues nothing; the watchdog ends what they stop"""
    world = the_rack()
    mac = {name: host.mac for name, host in world.hosts.items()}
    before, consumed, drops = world.pfc(), world.consumed(), world.leaf.drops()
    missed = {name: row["rx_missed_packets"] for name, row in world.leaf.ports().items()}
    sent, held, rounds = 0, 5, 0
    world.tap["h3"].drain()
    world.tap["h2"].drain()
    while world.pfc()["p3", 3]["storms"] == before["p3", 3]["storms"]:
        check(rounds < 200 * lab.SLOW, "the watchdog sees no storm")
        for name in ("h2", "h3"):
            world.tap[name].send(*[pfc_frame(mac[name], {3: 65535})] * 200)
        sent += 200
        if rounds == 0:
            world.tap["h1"].send(*[world.packet("10.3.0.2", 3, 200)] * held)
        for to, name in (("10.3.0.2", "h3"), ("10.2.0.2", "h2")):
            world.tap["h1"].send(*[world.packet(to, 8, 200)] * 20)
            got = world.tap[name].collect(lambda f: is_data(f, 8) or is_data(f, 3), 20, "data")
            check_equal([f[15] >> 2 for f in got], [8] * 20, f"what {name} receives meanwhile")
        rounds += 1
    # Emptied, and not one more.
    world.leaf.check_dropped(drops, held, "p1", "watchdog")
    row = world.pfc()["p3", 3]
    check_equal((row["watchdog"], row["watchdog_packets"]), ("storm", held), f"the watchdog: {row}")
    where = "port p3, priority 3 (tc3): "
    wait_until(lambda: world.leaf.events("pause_storm"), "an event")
    told = world.leaf.events("pause_storm")
    check(len(told) == 1 and told[0].startswith(where), f"events: {told}")
    for name, port in (("h2", "p2"), ("h3", "p3")):
        lost = world.leaf.ports()[port]["rx_missed_packets"] - missed[port]
        wait_until(lambda: world.consumed()[port] - consumed[port] >= sent - lost, "all are counted")
        check_equal(world.consumed()[port] - consumed[port] + lost, sent, f"frames from {name}")
    row = world.pfc()["p2", 3]
    check_equal(row["storms"], before["p2", 3]["storms"], "storms of a queue that nobody needs")
    # Over, and seen to be: it carries traffic again.
    world.pause("h3", 0)
    wait_until(lambda: world.pfc()["p3", 3]["restored"] == before["p3", 3]["restored"] + 1,
               "the queue is restored")
    ended = wait_until(lambda: world.leaf.events("pause_storm_end"), "an event of its end")
    check_equal(ended, [f"{where}the pause storm is over; dropped: {held} packets, {held * 200} bytes"],
                "its end")
    check_equal(world.pfc()["p3", 3]["watchdog"], "ok", "the watchdog afterwards")
    world.tap["h1"].send(world.packet("10.3.0.2", 3, 200))
    world.tap["h3"].wait(lambda f: is_data(f, 3), "data of priority 3")
    lab.close_shared()


class PauseStorm:
    """h3 pauses priority 3 of p3 without a break: a frame lasts 671 ms, the next comes after 50."""

    def __init__(self, world):
        self.frame = pfc_frame(world.hosts["h3"].mac, {3: 65535})
        self.release = pfc_frame(world.hosts["h3"].mac, {3: 0})
        self.tap = world.tap["h3"]
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        for _ in range(20 * 60 * int(lab.SLOW)):  # a minute at most
            self.tap.send(self.frame)
            if self.over.wait(0.05):
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self.over.set()
        self.thread.join()
        self.tap.send(self.release)


def check_stormed(world):
    """Data is sent into the storm, and the watchdog detects it, for the first time of this daemon."""
    drops = world.leaf.drops()
    check_equal((world.pfc()["p3", 3]["watchdog"], world.pfc()["p3", 3]["storms"]), ("ok", 0),
                "an empty queue of a daemon that has just begun")
    world.tap["h1"].send(*[world.packet("10.3.0.2", 3, 200)] * 5)
    wait_until(lambda: world.pfc()["p3", 3]["watchdog"] == "storm", "the watchdog sees the storm")
    world.leaf.check_dropped(drops, 5, "p1", "watchdog")
    check_equal(world.pfc()["p3", 3]["storms"], 1, "storms")
    # Others are not concerned.
    world.tap["h3"].drain()
    world.tap["h1"].send(*[world.packet("10.3.0.2", 8, 200)] * 20)
    got = world.tap["h3"].collect(lambda f: is_data(f, 8) or is_data(f, 3), 20, "data")
    check_equal([f[15] >> 2 for f in got], [8] * 20, "what h3 receives meanwhile")


def test_restart_in_storm():
    """WD-TOGGLE: a daemon that restarts in a storm begins anew, sees it again, and its end"""
    with Sonic() as world:
        with PauseStorm(world):
            check_stormed(world)
            world.leaf.stop()
            world.leaf.start()
            world.hosts["h1"].ping("10.3.0.2")
            wait_until(lambda: world.pfc()["p3", 3]["rx_frames"] > 0, "a pause after the restart")
            check_stormed(world)
        wait_until(lambda: world.pfc()["p3", 3]["restored"] == 1, "the queue is restored")
        world.tap["h1"].send(world.packet("10.3.0.2", 3, 200))
        world.tap["h3"].wait(lambda f: is_data(f, 3), "data of priority 3")


if __name__ == "__main__":
    lab.run(globals())
