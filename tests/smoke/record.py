#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of queue depths: what stands in a paused queue, what a trigger catches, and how it is printed."""

import csv
import io
import json
import os
import socket
import subprocess
import urllib.request

import lab
from lab import check, check_equal, wait_until
from rack import ROCE, Rack, leaf_config

FRAME = 1000


class Pair(Rack):
    def __init__(self):
        super().__init__(leaf_config("record", "1G", "50M"))

    def send(self, count):
        """RoCE from h1 to h2."""
        self.tap["h1"].send(*[self.packet("10.2.0.2", ROCE, FRAME)] * count)

    def depth(self):
        return self.leaf.queues()["p2", 3]["depth_bytes"]

    def fill(self, count):
        """Have so many frames stand in the queue."""
        self.pause("h2", 65535)
        wait_until(lambda: self.pfc()["p2", 3]["rx_paused"], "a pause")
        self.send(count)
        wait_until(lambda: self.depth() == count * FRAME, f"{count} frames in the queue")

    def empty(self):
        self.pause("h2", 0)
        wait_until(lambda: self.depth() == 0, "an empty queue")


def rack():
    return lab.shared(Pair)


def says(leaf, line):
    """Answer of the control socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(lab.WAIT_S)
        client.connect(f"{leaf.runtime}/control.sock")
        client.sendall(line.encode() + b"\n")
        return client.recv(4096).decode()


def test_standing():
    """What stands in a paused queue is there from the first nanosecond on, and as a picture, CSV and JSON"""
    world = rack()
    world.fill(7)
    look = json.loads(world.leaf.ctl("record", "--for", "5ms", "--every", "10us", "--port", "p2",
                                     "--priority", "3", "--json").stdout)
    about, samples = look["recording"], look["samples"]
    check_equal((about["every_ns"], about["complete"], about["triggered"]), (10000, True, False),
                "what was recorded")
    check(about["duration_ns"] >= 5000000, f"how long: {about}")
    first = {key: samples[0][key] for key in ("port", "priority", "depth_bytes", "paused")}
    check_equal(first, {"port": "p2", "priority": 3, "depth_bytes": 7 * FRAME, "paused": True},
                "the first sample")
    check(samples[0]["at_ns"] < 1000000, "it is at the begin")
    lines = world.leaf.ctl("record", "--for", "2ms", "--priority", "3").stdout.splitlines()
    check(lines[0].startswith("2 ms, every 1 us"), lines[0])
    row = next(line for line in lines if line.startswith("p2"))
    check_equal(row.split()[:3], ["p2", "3", str(7 * FRAME)], "port, queue, most bytes")
    check("██████████" in row, row)
    path = os.path.join(world.directory, "record.csv")
    world.leaf.ctl("record", "--for", "1ms", "--port", "p2", "--csv", path)
    with open(path, encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    check_equal((rows[0]["port"], rows[0]["depth_bytes"], rows[0]["paused"]),
                ("p2", str(7 * FRAME), "1"), "CSV")
    piped = list(csv.reader(io.StringIO(world.leaf.ctl("record", "--for", "1ms", "--csv", "-").stdout)))
    check_equal(piped[0], ["time_ns", "port", "priority", "depth_bytes", "paused", "peer_paused"],
                "names of columns")
    world.empty()


def test_trigger():
    """A recording waits for its trigger, keeps what was before and after it, and says where it was"""
    world = rack()
    process = subprocess.Popen([lab.program("ROCELEAFCTL", "roceleafctl"), "record",
                                "--runtime-dir", world.leaf.runtime, "--trigger", "4KB", "--for",
                                "40ms", "--json"], stdout=subprocess.PIPE, text=True)
    wait_until(lambda: says(world.leaf, "record status") == "ok armed\n", "it waits")
    world.fill(3)
    check_equal(says(world.leaf, "record status"), "ok armed\n", "3000 bytes are fewer")
    world.pause("h2", 65535)
    world.send(2)
    look = json.loads(process.communicate(timeout=lab.WAIT_S)[0])
    about = look["recording"]
    check_equal((about["triggered"], about["trigger_port"], about["trigger_priority"],
                 about["trigger_ns"], about["duration_ns"]), (True, "p2", 3, 20000000, 40000000),
                f"the trigger: {about}")
    depths = [sample for sample in look["samples"] if (sample["port"], sample["priority"]) == ("p2", 3)]
    before = [sample["depth_bytes"] for sample in depths if sample["at_ns"] < 20000000]
    after = [sample["depth_bytes"] for sample in depths if sample["at_ns"] >= 20000000]
    check_equal(max(before), 3 * FRAME, "what stood there before")
    check(after[0] >= 4 * FRAME, f"before {before}, after {after}")
    world.empty()


def test_last():
    """What was there lately was recorded anyway, for roceleafctl and over HTTP"""
    world = rack()
    world.fill(5)
    world.empty()
    look = json.loads(world.leaf.ctl("record", "--last", "30s", "--port", "p2", "--json").stdout)
    check(max(sample["depth_bytes"] for sample in look["samples"]) >= 5 * FRAME, "the queue was that deep")
    check_equal(look["samples"][-1]["depth_bytes"], 0, "and is empty now")
    with urllib.request.urlopen("http://127.0.0.1:9469/v1/record?last_ms=30000&port=p2&priority=3",
                                timeout=lab.WAIT_S) as answer:
        over_http = json.load(answer)
    check_equal(over_http["ports"], ["p1", "p2", "cpu"], "ports")
    check(max(sample[3] for sample in over_http["samples"]) >= 5 * FRAME, "over HTTP, too")
    check(all(sample[1:3] == [1, 3] for sample in over_http["samples"]), "of that queue alone")
    times = [sample[0] for sample in over_http["samples"]]
    check_equal(times, sorted(times), "in order of time")
    with urllib.request.urlopen("http://127.0.0.1:9469/v1/record", timeout=lab.WAIT_S) as answer:
        check_equal(len(json.load(answer)["samples"]), len(look["samples"]), "the last one asked for")


def test_one_at_a_time():
    """A second recording is refused while one goes on, and goes once nobody asks for that one any more"""
    leaf = rack().leaf
    waiting = subprocess.Popen([lab.program("ROCELEAFCTL", "roceleafctl"), "record", "--runtime-dir",
                                leaf.runtime, "--trigger", "xoff"], stderr=subprocess.PIPE)
    wait_until(lambda: says(leaf, "record status") == "ok armed\n", "it waits")
    refused = leaf.ctl("record", "--for", "1ms", ok=False)
    check_equal((refused.returncode, "somebody else records" in refused.stderr), (1, True), refused.stderr)
    check_equal(says(leaf, "record status"), "ok armed\n", "the first one still waits")
    waiting.kill()
    waiting.communicate()
    wait_until(lambda: leaf.ctl("record", "--for", "1ms", ok=False).returncode == 0, "room after a kill", 20)


def test_usage():
    """What makes no sense is refused, by roceleafctl or by the leaf"""
    leaf = rack().leaf
    for words, status in ((["--for", "1ns"], 1), (["--for", "2min"], 1), (["--every", "1ns"], 1),
                          (["--port", "p9"], 1), (["--priority", "8"], 1), (["--trigger", "x"], 1),
                          (["--for", "1ms 2"], 2), (["x"], 2), (["--last", "1s", "--for", "1s"], 2),
                          (["--frob"], 2), (["--csv", "-", "--json"], 2)):
        done = leaf.ctl("record", *words, ok=False)
        check_equal((done.returncode, bool(done.stderr)), (status, True), f"record {words}")
    check("--trigger" in leaf.ctl("record", "--help").stdout, "its own help")
    check("--trigger" in leaf.ctl("--help", "record").stdout, "help in front")
    process = subprocess.Popen([lab.program("ROCELEAFCTL", "roceleafctl"), "--runtime-dir",
                                leaf.runtime, "record", "--trigger", "xoff"], stderr=subprocess.PIPE)
    wait_until(lambda: says(leaf, "record status") == "ok armed\n", "it waits")
    process.terminate()
    check_equal(process.wait(lab.WAIT_S), 1, "status when it is interrupted")
    check("nothing is recorded" in says(leaf, "record status"), "the leaf has stopped, too")
    lab.close_shared()


if __name__ == "__main__":
    lab.run(globals())
