#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures of a port, read by tshark: count, content, direction, pauses, filters, and how they end."""

import os
import signal
import struct
import subprocess
import time

import lab
from lab import check, check_equal, wait_until
from rack import ROCE, ROCE_PORT, Rack, leaf_config, pfc_frame

OTHER_PORT = 9
FRAME = 700
IN, OUT = "0x00000001", "0x00000002"  # epb_flags


class Pair(Rack):
    def __init__(self):
        super().__init__(leaf_config("capture", "1G", "50M"))

    def numbered(self, number, to_port):
        """One from h1 to h2 whose payload has its number."""
        return self.packet("10.2.0.2", ROCE, FRAME, ports=(50000, to_port), payload=struct.pack("!I", number))


def rack():
    return lab.shared(Pair)


class Capture:
    """roceleafctl capture, which has begun"""

    def __init__(self, world, port, *options):
        self.path = os.path.join(world.directory, "capture.pcapng")
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.process = subprocess.Popen(
            [lab.program("ROCELEAFCTL", "roceleafctl"), "--runtime-dir", world.leaf.runtime, "capture",
             *options, port, self.path], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: os.path.exists(self.path) or self.process.poll() is not None, "a file")

    def end(self):
        """@return what it says at its end"""
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def wait(self):
        said = self.process.communicate(timeout=lab.WAIT_S)[1]
        check_equal(self.process.returncode, 0, f"status of capture: {said}")
        return said

    def rows(self, shown, *fields):
        """What tshark reads of the frames that its filter shows."""
        command = ["tshark", "-r", self.path, "-Y", shown, "-T", "fields"]
        for field in fields:
            command += ["-e", field]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return [line.split("\t") for line in done.stdout.splitlines()]


def test_both_ways():
    """tshark finds every frame once, whole, with its direction and its time, pauses included"""
    world = rack()
    before = time.time()
    capture = Capture(world, "p1", "--snap", "2KB")
    packets = [world.numbered(n, ROCE_PORT) for n in range(20)]
    world.tap["h1"].send(*packets, pfc_frame(world.hosts["h1"].mac, {3: 1}))
    world.hosts["h2"].ping("10.1.0.2", count=2)
    said = capture.end()
    check(said.endswith(" packets of p1\n"), said)
    rows = capture.rows(f"udp.dstport == {ROCE_PORT} && !icmp", "frame.packet_flags_direction", "frame.len",
                        "frame.cap_len", "frame.interface_name", "ip.ttl", "frame.time_epoch")
    check_equal([row[:5] for row in rows], [[IN, str(FRAME), str(FRAME), "p1", "64"]] * 20,
                "RoCE: as it came, whole, inbound")
    times = [float(row[5]) for row in rows]
    check(before - 1 <= times[0] <= times[-1] <= time.time() + 1 and times == sorted(times),
          f"times {times}")
    with open(capture.path, "rb") as file:
        content = file.read()
    for packet in packets:
        check_equal(content.count(packet), 1, "each frame is there once, byte by byte")
    check_equal(capture.rows("macc.opcode == 0x0101", "frame.packet_flags_direction", "eth.src"),
                [[IN, world.hosts["h1"].mac]], "the peer's pause")
    check_equal(capture.rows("icmp.type == 8 && ip.dst == 10.1.0.2", "frame.packet_flags_direction",
                             "ip.ttl"), [[OUT, "63"]] * 2, "what was sent: outbound, and routed")


def test_own_pauses():
    """Pauses that the leaf sends are in the file, outbound"""
    world = rack()
    capture = Capture(world, "p1", "--filter", "ether proto 0x8808")
    packets = [world.numbered(n, ROCE_PORT) for n in range(100)]

    def paused():
        world.pause("h2", 65535)
        world.tap["h1"].send(*packets)
        return world.pfc()["p1", 3]["tx_pauses"] > 0

    wait_until(paused, "a pause of the leaf's")
    world.pause("h2", 0)
    wait_until(lambda: not any(row["tx_paused"] for row in world.pfc().values()), "its end")
    said = capture.end()
    check(" of " in said.split(" packets of p1")[1], f"how many there were before the filter: {said}")
    rows = capture.rows("frame", "frame.packet_flags_direction", "macc.opcode")
    check_equal({tuple(row) for row in rows}, {(OUT, "0x0101")}, "outbound, and nothing else")
    check(len(rows) >= 2, f"xoff and xon at least: {rows}")


def test_limits():
    """A capture ends by itself after so many frames or so long, and cuts frames as it is told"""
    world = rack()
    noise, roce = world.numbered(0, OTHER_PORT), world.numbered(1, ROCE_PORT)
    capture = Capture(world, "p2", "--packets", "3", "--snap", "64", "--filter",
                      f"udp port {ROCE_PORT}")
    world.tap["h1"].send(*[noise, roce] * 5)
    check(capture.wait().startswith("3 packets of p2 of "), "after three frames")
    check_equal(capture.rows("frame", "frame.packet_flags_direction", "frame.cap_len", "frame.len",
                             "udp.dstport"), [[OUT, "64", str(FRAME), str(ROCE_PORT)]] * 3,
                "what matches, cut")
    said = Capture(world, "p2", "--for", "100ms").wait()
    check("packets of p2" in said, said)
    piped = subprocess.Popen(
        [lab.program("ROCELEAFCTL", "roceleafctl"), "capture", "--runtime-dir", world.leaf.runtime,
         "--packets", "2", "--filter", "udp port 9", "p1", "-"], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL)
    read = subprocess.Popen(["tshark", "-r", "-", "-T", "fields", "-e", "udp.dstport"],
                            stdin=piped.stdout, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            text=True)
    wait_until(lambda: world.tap["h1"].send(noise) or piped.poll() is not None, "its end")
    check_equal(read.communicate(timeout=lab.WAIT_S)[0].split(), ["9", "9"], "through a pipe")


def test_one_at_a_time():
    """A second capture is refused while one goes on, and goes when that has ended, however it did"""
    world = rack()
    capture = Capture(world, "p1")
    refused = world.leaf.ctl("capture", "p2", os.path.join(world.directory, "other"), ok=False)
    check_equal((refused.returncode, "somebody else" in refused.stderr), (1, True), refused.stderr)
    check(not os.path.exists(os.path.join(world.directory, "other")), "and leaves no file")
    capture.end()
    Capture(world, "p2").end()
    killed = Capture(world, "p1")
    killed.process.kill()
    killed.process.wait()
    wait_until(lambda: world.leaf.ctl("capture", "--for", "1ms", "p2", killed.path,
                                      ok=False).returncode == 0, "room after a kill", 20)


def test_usage():
    """What makes no sense is refused, and says why"""
    leaf = rack().leaf
    path = os.path.join(rack().directory, "x.pcapng")
    for words, status, why in (
            (["p9", path], 1, "there is no port 'p9'"),
            (["p1"], 2, "PORT and a FILE"),
            (["p1", path, "--filter", "no such thing"], 2, "syntax error"),
            (["p1", path, "--packets", "0"], 2, "--packets"),
            (["p1", path, "--for", "5"], 2, "--for"),
            (["p1", path, "--snap", "63"], 1, "snap must be 64 to 16384"),
            (["p1", "/nowhere/x.pcapng"], 1, "No such file"),
            (["p1", path, "--frob"], 2, "--frob")):
        done = leaf.ctl("capture", *words, ok=False)
        check_equal((done.returncode, why in done.stderr), (status, True),
                    f"capture {words}: {done.stderr}")
    check(not os.path.exists(path), "no file is left")
    check("--filter" in leaf.ctl("capture", "--help").stdout, "its own help")
    lab.close_shared()


if __name__ == "__main__":
    lab.run(globals())
