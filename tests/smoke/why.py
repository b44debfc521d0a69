#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`why` names what slows traffic down: in results of the lab, and at a running leaf."""

import contextlib
import json
import os
import signal
import tempfile
import threading
import time

import lab
from lab import call, check, check_equal
from rack import BEST_EFFORT, ROCE, ROCE_PORT, Rack

# Three hosts that send, one that receives, and two uplinks to somebody. Slow ports, so that a test can fill them.
CONFIG = """
leaf: {name: why, memory: 16MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: p1, device: h1, speed: 50M, address: [10.1.0.1/24]}
  - {name: p2, device: h2, speed: 50M, address: [10.2.0.1/24]}
  - {name: p3, device: h3, speed: 50M, address: [10.3.0.1/24]}
  - {name: p4, device: h4, speed: 50M, address: [10.4.0.1/24]}
  - {name: up1, device: h5, speed: 50M, address: [10.5.0.1/24]}
  - {name: up2, device: h6, speed: 50M, address: [10.6.0.1/24]}
routes:
  - {to: 10.9.0.0/16, via: [10.5.0.2, 10.6.0.2]}
classes:
  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60}
  - {priority: 0, name: best-effort, weight: 20}
balance: {mode: ecmp}
"""
SIZE = 1000


# ---------------------------------------------------------------- the lab


def why(name, *words):
    """What the lab finds in a scenario's result."""
    program = lab.program("ROCELEAF_LAB", "roceleaf-lab")
    with tempfile.TemporaryDirectory(prefix="roceleaf-why-", dir="/tmp") as directory:
        path = os.path.join(directory, "result.json")
        done = call(program, "run", name, "--quiet", "--json", path, *words, ok=False, timeout_s=120)
        check(done.returncode in (0, 3), done.stderr)
        text = call(program, "why", path).stdout
        answer = json.loads(call(program, "why", "--json", path).stdout)
    check("Not visible in the fabric" in text, f"honest about hosts: {text}")
    check(all(finding["text"] in text for finding in answer["findings"]), f"all in the text: {text}")
    return answer["findings"]


def first(findings, cause, where, *words):
    """The worst cause, where it was, and what its sentence says."""
    check(findings, "nothing found")
    check_equal((findings[0]["cause"], findings[0]["where"]), (cause, where), f"the first of {findings}")
    for word in words:
        check(word in findings[0]["text"], f"'{word}' in: {findings[0]['text']}")


def test_lab_hot_uplink():
    """In the lab: elephants that were hashed to one uplink"""
    findings = why("elephants")
    check_equal(findings[0]["cause"], "hot-uplink", f"the first of {findings}")
    check("fair share 12 %" in findings[0]["text"], findings[0]["text"])


def test_lab_pausing_host():
    """In the lab: a host that takes frames slower than they come"""
    first(why("slow-receiver"), "pausing-peer", "leaf1->leaf1.h1", "leaf1.h1 paused")


def test_lab_storm():
    """In the lab: a pause storm, not what it does to others"""
    first(why("pause-storm"), "pausing-peer", "leaf1->leaf1.h1")


def test_lab_incast():
    """In the lab: eight senders to one host"""
    first(why("incast-8"), "incast", "leaf1->leaf1.h1", "8 senders", "marked")


def test_lab_idle_time():
    """In the lab: what lasted for a small part of the run, but for much of its traffic"""
    first(why("allreduce-beside-incast"), "hot-uplink", "leaf1->spine2", "fair share 25 %")
    first(why("incast-8", "--set", "duration=200ms"), "incast", "leaf1->leaf1.h1", "8 senders")


def test_lab_checkpoint():
    """In the lab: checkpoints beside a training job"""
    first(why("checkpoint-burst"), "lossy-class", "leaf1->leaf1.h17", "best-effort")


def test_lab_slow_worker():
    """In the lab: a worker that comes round too seldom"""
    first(why("hello", "--set", "leaf.poll=60us", "--set", "duration=2ms"), "slow-worker",
          "worker 0 of leaf1")


def test_lab_nothing():
    """In the lab: nothing is blamed where nothing is wrong"""
    check_equal(why("hello"), [], "findings")


def test_lab_refused():
    """What is no result is refused with a reason"""
    program = lab.program("ROCELEAF_LAB", "roceleaf-lab")
    with tempfile.TemporaryDirectory(prefix="roceleaf-why-", dir="/tmp") as directory:
        path = os.path.join(directory, "old.json")
        for text, wanted in (("{", "old.json:1"), ("{}", "is no result"),
                             ('{"digest": "1", "links": [], "fct": {}}', "older version")):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            done = call(program, "why", path, ok=False)
            check_equal(done.returncode, 1, f"status for {text}")
            check(wanted in done.stderr, done.stderr)
        check_equal(call(program, "why", ok=False).returncode, 2, "status without a file")


# ---------------------------------------------------------------- a leaf


class Six(Rack):
    """Four hosts and what stands for two spines, all of whom the leaf knows."""

    def __init__(self, config=CONFIG):
        super().__init__(config)

    def stream(self, source, to, dscp, rate, port=50000):
        """A packet, bits per second, who sends it."""
        return self.packet(to, dscp, SIZE, source=source, ports=(port, ROCE_PORT)), rate, source

    def why(self, *words):
        return json.loads(self.leaf.ctl("why", "--json", *words).stdout)["findings"]

    def ask(self, *streams, beside=None):
        """`why` of the next seconds while streams (packet, bits per second, who sends it) go on."""
        with self.traffic(*streams, beside=beside):
            time.sleep(0.5)
            return self.why("--next", "2")

    @contextlib.contextmanager
    def traffic(self, *streams, beside=None):
        end = threading.Event()

        def send():
            started, sent = time.monotonic(), [0] * len(streams)
            while not end.is_set():
                passed = time.monotonic() - started
                for n, (packet, rate, source) in enumerate(streams):
                    while sent[n] < passed * rate / 8 / SIZE:
                        self.tap[source].send(packet)
                        sent[n] += 1
                time.sleep(0.001)

        threads = [threading.Thread(target=send)]
        if beside is not None:
            threads.append(threading.Thread(target=beside, args=(end,)))
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            end.set()
            for thread in threads:
                thread.join()


def rack():
    return lab.shared(Six)


def test_leaf_nothing():
    """At a leaf: nothing is blamed while nothing goes on"""
    world = rack()
    check_equal(world.ask(), [], "findings")
    check("Nothing in the fabric" in world.leaf.ctl("why", "--next", "0.1").stdout, "in words")
    for words in (("why", "0"), ("why", "4000"), ("why", "1", "2"), ("why", "x"), ("why", "--next", "0")):
        check_equal(world.leaf.ctl(*words, ok=False).returncode, 2, f"status of {words}")


def test_leaf_hot_uplink():
    """At a leaf: one flow by one of two uplinks"""
    world = rack()
    findings = world.ask(world.stream("h1", "10.9.0.1", ROCE, 40e6))
    check(findings and findings[0]["cause"] == "hot-uplink" and findings[0]["where"] in ("up1", "up2"),
          f"{findings}")
    check("fair share 50 %" in findings[0]["text"], findings[0]["text"])


def test_leaf_past():
    """At a leaf: what is over is still named, as long as it is within the seconds that are asked for"""
    world = rack()
    with world.traffic(world.stream("h1", "10.9.0.1", ROCE, 45e6)):
        time.sleep(5)
    time.sleep(3)
    check_equal(world.why("--next", "1"), [], "nothing goes on now")
    check_equal(world.why("1"), [], "nothing was there a second ago")
    findings = world.why("8")
    check(findings and findings[0]["cause"] == "hot-uplink" and findings[0]["where"] in ("up1", "up2"),
          f"{findings}")
    asked = json.loads(world.leaf.ctl("why", "--json").stdout)["time_ns"]
    check(8e9 < asked < (11 + lab.WAIT_S) * 1e9, f"10 s if not told, not {asked} ns")
    kept = json.loads(world.leaf.ctl("why", "3600", "--json").stdout)["time_ns"]
    check(asked <= kept < 3000e9, f"as much as there is, not {kept} ns")


def test_leaf_incast():
    """At a leaf: three senders to one host"""
    world = rack()
    findings = world.ask(*(world.stream(f"h{n}", "10.4.0.2", ROCE, 15e6, 50000 + n) for n in (1, 2, 3)))
    first(findings, "incast", "p4", "3 senders", "the host at p4")


def test_leaf_pausing_host():
    """At a leaf: a host that pauses again and again"""
    world = rack()

    def pause(end):
        while not end.is_set():
            world.pause("h4", 65535)
            time.sleep(0.1)  # as often as to leave no gap

    findings = world.ask(world.stream("h1", "10.4.0.2", ROCE, 0.5e6), beside=pause)
    first(findings, "pausing-peer", "p4", "the host at p4 paused", "in priority 3")


def test_leaf_checkpoint():
    """At a leaf: lossy traffic beside lossless"""
    world = rack()
    time.sleep(1)  # what was paused goes
    findings = world.ask(world.stream("h1", "10.3.0.2", ROCE, 5e6),
                         world.stream("h2", "10.3.0.2", BEST_EFFORT, 40e6, 50002))
    first(findings, "lossy-class", "p3", "best-effort")


def test_end():
    """CNT-CONSERVE: every packet is accounted for, and the leaf stops cleanly"""
    lab.close_shared()


def test_leaf_slow_worker():
    """At a leaf: its worker, which should never rest, stands still now and then"""
    with Six(CONFIG.replace("memory: 16MiB", "memory: 16MiB, idle: spin")) as world:
        def stop(end):
            while not end.is_set():
                world.leaf.process.send_signal(signal.SIGSTOP)
                time.sleep(0.2)
                world.leaf.process.send_signal(signal.SIGCONT)
                time.sleep(0.1)

        first(world.ask(beside=stop), "slow-worker", "worker 0", "stood still")


if __name__ == "__main__":
    lab.run(globals())
