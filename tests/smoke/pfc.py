#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pauses in real time: a peer pauses the leaf, the leaf pauses its senders, and both are shown."""

import time

import lab
from lab import check, check_equal, wait_until
from rack import BEST_EFFORT, CLASSES, ROCE, Rack, leaf_config, pfc_frame

PAUSE_S = 65535 * 512 / 50e6
COUNTERS = ("rx_frames", "tx_xoff", "tx_xon", "rx_pauses", "tx_pauses")


class Trio(Rack):
    """Port p3 is slow."""

    def __init__(self, slow="50M", more=CLASSES):
        super().__init__(leaf_config("pfc", "1G", "1G", slow, more=more))


def rack():
    return lab.shared(Trio)


def test_ways():
    """each port says at the start who obeys its pauses, and why"""
    check_equal(rack().leaf.events("flow_control"),
                [f"port p{n}: pfc: software: the kernel hands every frame over" for n in (1, 2, 3)],
                "events")


def is_control(frame):
    return frame[12:14] == b"\x88\x08"


def is_data(frame, dscp):
    return frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[15] >> 2 == dscp


def test_received():
    """CNT-PFC-RX, CNT-PFC-NOTDATA: ten frames for each priority are counted there only"""
    world = rack()
    mac, tap = world.hosts["h2"].mac, world.tap["h2"]
    before_port = world.leaf.ports()["p2"]
    wanted = {key: row["rx_frames"] for key, row in world.pfc().items()}
    for priority in range(8):
        # Pauses of one quantum, 0.5 us at this speed, and releases in turn.
        tap.send(*[pfc_frame(mac, {priority: 1 - n % 2}) for n in range(10)])
        wanted["p2", priority] += 10
        wait_until(lambda: world.pfc()["p2", priority]["rx_frames"] >= wanted["p2", priority],
                   f"ten frames for priority {priority}")
        check_equal({key: row["rx_frames"] for key, row in world.pfc().items()}, wanted,
                    f"frames of each queue after those for priority {priority}")
    port = world.leaf.ports()["p2"]
    check_equal(port["consumed"] - before_port["consumed"], 80, "MAC control frames of p2")
    # The host's kernel says something of its own now and then.
    grown = port["rx_packets"] - before_port["rx_packets"]
    check(grown <= 5, f"{grown} packets counted as data")
    look = {row["port"]: row for row in world.leaf.show("pfc")["pfc_ports"]}
    check_equal(look["p2"]["rx_not_lossless"], 70, "pauses of priorities that aren't lossless")
    rows = world.pfc()
    for priority in range(8):
        row = rows["p2", priority]
        check((row["rx_pauses"] > 0) == row["lossless"], f"who was paused: {row}")
    lines = world.leaf.ctl("show", "pfc", "p2").stdout.splitlines()
    check_equal(len([line for line in lines if line.startswith("p2 ")]), 8 + 1,
                f"lines of eight priorities and one port: {lines}")


def held(world, frames):
    """
    Pause priority 3 of p3, send through both queues; what came of the other one. None when that
    took so long that the pause may have run out.
    """
    tap = world.tap["h3"]
    paused_at = time.monotonic()
    world.pause("h3", 65535)
    wait_until(lambda: world.pfc()["p3", 3]["rx_paused"] or time.monotonic() > paused_at + PAUSE_S,
               "the queue is paused")
    # In force until then; now again, so that what follows has its whole time.
    paused_at = time.monotonic()
    world.pause("h3", 65535)
    world.tap["h1"].send(*[world.packet("10.3.0.2", dscp, 200)
                           for _ in range(frames) for dscp in (ROCE, BEST_EFFORT)])
    order = []
    while order.count(BEST_EFFORT) < frames:
        frame = tap.wait(lambda f: is_data(f, ROCE) or is_data(f, BEST_EFFORT), "best effort at h3")
        order.append(frame[15] >> 2)
    depth = world.leaf.queues()["p3", 3]["depth_packets"]
    if time.monotonic() > paused_at + 0.8 * PAUSE_S:
        return None, None, paused_at
    return order, depth, paused_at


def test_paused():
    """PFC-HONOUR: a paused queue stops, and goes on by a release or by time; another isn't held"""
    world = rack()
    frames, tap = 5, world.tap["h3"]
    for release in (True, False):
        for _ in range(5):
            before = world.pfc()["p3", 3]
            tap.drain()
            order, depth, paused_at = held(world, frames)
            if order is not None:
                break
            # Too slow this time: let all of it come.
            wait_until(lambda: world.leaf.queues()["p3", 3]["depth_packets"] == 0, "queue is empty")
        check(order is not None, "this machine is too slow: five times")
        check_equal(order, [BEST_EFFORT] * frames, "what came while priority 3 was paused")
        check_equal(depth, frames, "packets held")
        if release:
            world.pause("h3", 0)
        tap.collect(lambda f: is_data(f, ROCE), frames, "what was held")
        took = time.monotonic() - paused_at
        if not release:
            check(took >= 0.99 * PAUSE_S, f"let go after {took} s, must be {PAUSE_S}")
        row = world.pfc()["p3", 3]
        check_equal(row["rx_pauses"] - before["rx_pauses"], 1, "pauses")
        check_equal(row["rx_frames"] - before["rx_frames"], 3 if release else 2, "frames")
        check_equal(row["rx_paused"], False, "paused afterwards")
        paused_s = (row["rx_paused_ns"] - before["rx_paused_ns"]) / 1e9
        check(paused_s > 0 if release else paused_s >= 0.99 * PAUSE_S, f"paused for {paused_s} s")
        check_equal(row["tx_xoff"], 0, "pauses sent by p3")


def fill(world, tap, limit, dscp=ROCE):
    """Send from h1 to the slow port until the leaf says xoff: its frame, and the packets sent."""
    packet = world.packet("10.3.0.2", dscp, 1400)
    for sent in range(1, limit + 1):
        tap.send(packet)
        frame = tap.read(0)
        if frame is not None and is_control(frame):
            return frame, sent
    # What was sent is on its way.
    return tap.wait(is_control, "an xoff from the leaf"), limit


def test_pauses_sender():
    """PFC-FRAME, PFC-SRC-MAC: a slow port makes the leaf pause the sender, byte for byte"""
    world = rack()
    tap = world.tap["h1"]
    tap.drain()
    mac = world.leaf.ports()["p1"]["mac"]
    before = world.pfc()
    frame, sent = fill(world, tap, 1500)
    controls = [frame]
    # Half a megabyte at 50 Mb/s lasts 0.1 s; refreshed until it may go on.
    while controls[-1] != pfc_frame(mac, {3: 0}) and len(controls) < 1000:
        controls.append(tap.wait(is_control, f"an xon after {sent} packets"))
    xoff = controls[:-1]
    check(xoff, "an xon came without an xoff")
    for frame in xoff:
        check_equal(frame.hex(), pfc_frame(mac, {3: 65535}).hex(), "xoff, byte by byte")

    def quiet():
        rows = world.leaf.show("buffers")["buffers"]
        return all(row["used_bytes"] == 0 and row["state"] == "running" for row in rows)

    wait_until(quiet, "all buffers are empty")
    controls += [frame for frame in iter(lambda: tap.read(0), None) if is_control(frame)]
    rows = world.pfc()
    grown = {key: {name: rows[key][name] - before[key][name] for name in COUNTERS} for key in rows}
    released = sum(frame == pfc_frame(mac, {3: 0}) for frame in controls)
    check_equal((grown["p1", 3]["tx_xoff"], grown["p1", 3]["tx_xon"]),
                (len(controls) - released, released), "frames counted, and read")
    check(rows["p1", 3]["tx_paused_ns"] > before["p1", 3]["tx_paused_ns"], "no time was counted")
    del grown["p1", 3]
    check_equal({key: row for key, row in grown.items() if any(row.values())}, {}, "other queues")
    buffers = {row["port"]: row for row in world.leaf.show("buffers")["buffers"]}
    # The pool is theirs alone: half of it, and what was reserved (--check prints it).
    check(buffers["p1"]["peak_bytes"] > buffers["p1"]["xoff_bytes"] / 2, f"peak: {buffers['p1']}")
    check(buffers["p1"]["peak_bytes"] < sent * 1400 + 10000, f"peak: {buffers['p1']}")
    check_equal(buffers["p2"]["peak_bytes"], 0, "p2 received nothing lossless")
    ecn = {(row["port"], row["priority"]): row for row in world.leaf.show("ecn")["ecn"]}
    # They aren't ECN capable, and the queue was far above Kmax.
    check(ecn["p3", 3]["ecn_unmarked"] > 0 and ecn["p3", 3]["ecn_marked"] == 0, "marks")
    check(ecn["p3", 3]["depth_bytes_max"] > ecn["p3", 3]["kmax_bytes"], f"depth: {ecn['p3', 3]}")
    lines = world.leaf.ctl("show", "buffers").stdout.splitlines()
    check("Shared used" in lines[0] and lines[2] == "" and lines[3].startswith("Port"), lines)
    check(any(line.startswith("p1 ") for line in lines[4:]), lines)


def test_disobedient():
    """HR-DELAY: what a sender that obeys no pause loses is counted and told, with port, priority, reason"""
    world = rack()
    before = world.leaf.drops()
    packets = [world.packet("10.3.0.2", ROCE, 1400)] * 50

    def lost():
        return world.leaf.drops().get(("p1", "headroom"), 0)

    # Senders of other tests here may have been too slow to obey.
    first = lost()
    for _ in range(200):
        if lost() > first:
            break
        world.pause("h3", 65535)
        world.tap["h1"].send(*packets)
    world.pause("h3", 0)
    wait_until(lambda: world.leaf.queues()["p3", 3]["depth_packets"] == 0, "the queue is empty")
    check(lost() > first, "nothing was lost")
    world.leaf.check_dropped(before, lost() - first, "p1", "headroom")
    rows = {(row["port"], row["priority"]): row for row in world.leaf.show("buffers")["buffers"]}
    check_equal(rows["p1", 3]["lost_packets"], lost(), "lost packets of p1")
    check_equal(rows["p1", 3]["lost_bytes"], lost() * 1400, "lost bytes of p1")
    check_equal(rows["p1", 3]["headroom_peak_bytes"] // 1400,
                rows["p1", 3]["headroom_bytes"] // 1400, "frames in headroom at most")
    check_equal(rows["p2", 3]["lost_packets"], 0, "lost packets of p2")
    told = wait_until(lambda: world.leaf.events("lossless_loss"), "an event")
    check(told[0].startswith("port p1, priority 3 (roce): ") and "reason headroom" in told[0],
          f"it says: {told}")


def test_cleared():
    """clear counts pauses anew"""
    world = rack()
    world.leaf.ctl("clear")
    look = world.leaf.show("pfc")
    check_equal([row for row in look["pfc"] if any(row[name] for name in COUNTERS)], [], "pauses")
    check_equal([row for row in look["pfc_ports"] if row["rx_not_lossless"]], [], "ports")
    lines = world.leaf.ctl("show", "pfc").stdout.splitlines()
    check_equal(len(lines), 1, f"a header alone: {lines}")
    frames = world.leaf.ctl("show", "pfc", "--watch", "0.1", "--count", "2").stdout.split("\n\n")
    check("RX frame/s" in frames[0], f"no rates: {frames}")
    lab.close_shared()


def test_let_go_at_stop():
    """PFC-XON: a leaf that stops lets the peers go that it has paused"""
    # The queue doesn't move: its receiver has paused it for 3.4 s, and again for as long.
    with Trio("10M") as world:
        tap, mac = world.tap["h1"], world.leaf.ports()["p1"]["mac"]
        world.pause("h3", 65535)
        wait_until(lambda: world.pfc()["p3", 3]["rx_paused"], "the queue is paused")
        tap.drain()
        frame, _ = fill(world, tap, 1500)
        check_equal(frame.hex(), pfc_frame(mac, {3: 65535}).hex(), "xoff")
        check(world.pfc()["p1", 3]["tx_paused"], "the sender is paused")
        world.pause("h3", 65535)
        world.leaf.stop()
        said = [frame for frame in iter(lambda: tap.read(0), None) if is_control(frame)]
        check(said, "it stopped without a word")
        check_equal(said.pop().hex(), pfc_frame(mac, {3: 0}).hex(), "its last word, byte by byte")
        for frame in said:
            check_equal(frame.hex(), pfc_frame(mac, {3: 65535}).hex(), "what it said before")


if __name__ == "__main__":
    lab.run(globals())
