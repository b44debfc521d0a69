#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Running the daemon: reload, refusals, missing and vanishing devices, kill and restart, idling."""

import os
import signal
import threading
import time

import lab
from lab import World, call, check, check_equal, wait_until
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

LONG = "ROCELEAF_TEST_LONG" in os.environ

CONFIG = """
leaf: {name: op, memory: 64MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: p1, device: h1, speed: 1G, vlan: {access: 100}}
  - {name: p2, device: h2, speed: 1G, vlan: {access: 100}}
  - {name: p3, device: h3, speed: 1G, address: [10.2.0.1/24]}
vlans:
  - {id: 100, address: [10.1.0.1/24]}
"""
# Another leaf in everything that may change while packets flow.
OTHER = CONFIG + """
classes:
  - {priority: 3, name: roce, dscp: [26], weight: 60}
  - {priority: 5, name: bulk, dscp: [8-15], weight: 5}
  - {priority: 7, name: control, dscp: [56], strict: true, max_rate: 50%}
  - {priority: 0, name: best-effort, weight: 20}
routes:
  - {to: 10.9.0.0/16, via: [10.2.0.10]}
neighbours:
  - {address: 10.2.0.77, mac: "02:00:00:00:77:77", port: p3}
"""


class Trio(World):
    def __init__(self, config=CONFIG, start=True):
        super().__init__()
        self.h1 = self.host("h1", addresses=["10.1.0.10/24"], gateways=["10.1.0.1"], offloads=False)
        self.h2 = self.host("h2", addresses=["10.1.0.20/24"], gateways=["10.1.0.1"], offloads=False)
        self.h3 = self.host("h3", addresses=["10.2.0.10/24"], gateways=["10.2.0.1"], offloads=False)
        if start:
            self.start_leaf(config)

    def ping_all(self):
        self.h1.ping("10.1.0.20", count=1)
        self.h1.ping("10.2.0.10", count=1)
        self.h3.ping("10.1.0.20", count=1)


class Stream:
    """Numbered packets from one tap to others, about two thousand a second each, until stopped."""

    def __init__(self, sender, receivers, frames):
        self.sender, self.frames = sender, frames
        self.sent, self.running = 0, True
        self.got = [[] for _ in receivers]
        self.threads = [threading.Thread(target=self.send)]
        self.threads += [threading.Thread(target=self.receive, args=(tap, got))
                         for tap, got in zip(receivers, self.got)]
        for thread in self.threads:
            thread.start()

    def send(self):
        while self.running:
            number = self.sent.to_bytes(4, "big")
            for frame in self.frames:
                self.sender.send(frame + number)
            self.sent += 1
            time.sleep(0.0005)  # the rate; nothing waits for it

    def receive(self, tap, got):
        """Until everything has come, or nothing has for two seconds after the end."""
        quiet_since = time.monotonic()
        while True:
            frame = tap.read(0.05)
            if frame is not None and frame[12:14] == b"\x08\0" and frame[34:38] == b"\x1b\x59\x12\xb7":
                got.append(int.from_bytes(frame[-4:], "big"))
                quiet_since = time.monotonic()
            elif self.running:
                quiet_since = time.monotonic()
            if not self.running and (len(got) >= self.sent or
                                     time.monotonic() - quiet_since > 2 * lab.SLOW):
                return

    def stop(self):
        self.running = False
        for thread in self.threads:
            thread.join()

    def check_complete(self):
        for got in self.got:
            check_equal(len(got), self.sent, "packets that arrived, of those sent")
            check_equal(got, list(range(self.sent)), "order of the packets")


def stream(world):
    """From h1 to h2 (bridged) and to h3 (routed) at once."""

    def frame(address, mac):
        return bytes(Ether(src=world.h1.mac, dst=mac) / IP(src="10.1.0.10", dst=address, tos=104) /
                     UDP(sport=7001, dport=4791, len=8 + 20, chksum=0) / Raw(bytes(16)))

    frames = [frame("10.1.0.20", world.h2.mac), frame("10.2.0.10", "02:00:00:00:10:01")]
    for index, data in enumerate(frames):  # four bytes of payload are added later
        packet = Ether(data)
        packet[IP].len += 4
        del packet[IP].chksum
        frames[index] = bytes(packet)
    return Stream(world.h1.tap(), [world.h2.tap(), world.h3.tap()], frames)


def test_reload_under_traffic():
    """LF-CFG-RELOAD: reloads that change classes and routes lose no packet and reorder none"""
    with Trio() as world:
        world.ping_all()
        leaf = world.leaf
        count = 1000 if LONG else 100
        flow = stream(world)
        for number in range(count):
            leaf.write(OTHER if number % 2 == 0 else CONFIG)
            leaf.ctl("reload")
        flow.stop()
        check(flow.sent > count, "too little traffic to say anything")
        flow.check_complete()
        info = leaf.show("info")["info"][0]
        check_equal(info["reloads"], count, "reloads that the leaf counted")


def test_export_under_traffic():
    """CNT-RATE-EXPORT: everything is read again and again under traffic: nothing is lost, counters only grow"""
    tables = ("ports", "queues", "buffers", "pfc", "ecn", "drops", "workers")
    with Trio() as world:
        world.ping_all()
        flow = stream(world)
        before = {}
        try:
            for _ in range(200 if LONG else 20):
                for table in tables:
                    world.leaf.ctl("show", table, "--json")
                for name, row in world.leaf.ports().items():
                    for counter in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "drop_packets"):
                        check(row[counter] >= before.get((name, counter), 0),
                              f"{name} {counter}: {row[counter]} after {before.get((name, counter))}")
                        before[name, counter] = row[counter]
        finally:
            flow.stop()
        check(flow.sent > 100, "too little traffic to say anything")
        flow.check_complete()


def test_reload_by_signal():
    """LF-CFG-RELOAD: SIGHUP takes the changed file over"""
    with Trio() as world:
        priorities = lambda: {row["priority"] for row in world.leaf.show("classes")["classes"]}
        check(5 not in priorities(), "class 5 is there before the reload")
        world.leaf.write(OTHER)
        world.leaf.process.send_signal(signal.SIGHUP)
        wait_until(lambda: 5 in priorities(), "class 5 is there")
        world.ping_all()


def test_reload_refused():
    """MAL-YAML, HR-EXCEED: a bad file or too small a buffer changes nothing, and says where and why"""
    with Trio() as world:
        leaf = world.leaf
        before = (leaf.show("classes")["classes"], leaf.show("routes")["routes"])
        for text, words in (
                (CONFIG + "routes:\n  - {to: 10.9.0.0/16, via: [10.77.0.1]}\n", ["10.77.0.1", ":10:"]),
                (CONFIG.replace("speed: 1G", "sped: 1G", 1), ["sped", ":4:"]),
                (CONFIG + "  - [", ["YAML", ":10:"]),
                (CONFIG.replace("64MiB", "65MiB"), ["memory", ":2:"]),
                (CONFIG.replace("device: h3", "device: h9"), ["device", ":6:"]),
                (CONFIG.replace("name: op", "name: op2"), ["name", ":2:"]),
                (CONFIG + "buffer: {reserved: {roce: 8MB}}\n", ["reserve 24.0 MB", ":2:"]),
                (CONFIG + "buffer: {xon_offset: 1GiB}\n", ["xon_offset 1073741824", ":9:"])):
            leaf.write(text)
            done = leaf.ctl("reload", ok=False)
            check_equal(done.returncode, 1, f"status of the reload ({words})")
            said = done.stdout + done.stderr
            for word in words:
                check(word in said, f"the refusal doesn't name {word}: {said}")
            now = (leaf.show("classes")["classes"], leaf.show("routes")["routes"])
            strip = lambda rows: [[{k: v for k, v in row.items() if isinstance(v, str)}
                                   for row in table] for table in rows]
            check_equal(strip(now), strip(before), "classes and routes after a refused reload")
        world.ping_all()
        leaf.write(OTHER)
        leaf.ctl("reload")
        world.ping_all()


def test_missing_device():
    """A port whose device is missing: an error that names both, status 1"""
    with Trio(start=False) as world:
        leaf = world.leaf = lab.Leaf(world, CONFIG.replace("device: h3", "device: nowhere0"))
        status = leaf.spawn().wait(lab.WAIT_S * lab.SLOW)
        check_equal(status, 1, "status")
        check("nowhere0" in leaf.log() and "p3" in leaf.log(), f"it says: {leaf.log()}")


def test_small_buffer():
    """A buffer that doesn't suffice: refused at start with its numbers, status 1"""
    with Trio(start=False) as world:
        leaf = world.leaf = lab.Leaf(world, CONFIG + "buffer: {reserved: {roce: 8MB}}\n")
        status = leaf.spawn().wait(lab.WAIT_S * lab.SLOW)
        check_equal(status, 1, "status")
        check("leave nothing of" in leaf.log() and ":2:" in leaf.log(), f"it says: {leaf.log()}")


def test_pfc_in_hardware():
    """PFC in hardware where a device has none: refused at start with its reason, status 1; auto says who does it"""
    ring = CONFIG.replace("device: h3,", "device: net_ring0, driver: vdev, pfc: hardware,")
    with Trio(start=False) as world:
        leaf = world.leaf = lab.Leaf(world, ring)
        status = leaf.spawn().wait(lab.WAIT_S * lab.SLOW)
        check_equal(status, 1, "status")
        check("pfc: hardware: it has no priority flow control" in leaf.log() and ":6:" in leaf.log(),
              f"it says: {leaf.log()}")
        world.start_leaf(ring.replace("pfc: hardware", "pfc: auto"))
        told = world.leaf.events("flow_control")
        check_equal(told[2], "port p3: pfc: software: the device has no flow control of its own", "p3")
        check_equal(len(told), 3, f"ports: {told}")
        world.h1.ping("10.1.0.20", count=1)


def test_receive_queues():
    """Several workers: a device that spreads by RSS has a receive queue for each, others one; said at start"""
    config = CONFIG.replace("leaf: {", "leaf: {workers: 2, idle: adaptive, ")
    # net_null spreads, net_ring doesn't; net_tap does, but wants as many queues to send.
    devices = {"p4": "net_null0,no-rx=1", "p5": "net_ring0", "p6": "net_tap0,iface=queues0"}
    config = config.replace("vlans:", "".join(
        f"  - {{name: {name}, device: '{device}', driver: vdev, speed: 1G, vlan: {{access: 200}}}}\n"
        for name, device in devices.items()) + "vlans:")
    with Trio(start=False) as world:
        world.start_leaf(config)
        told = "\n".join(world.leaf.events("rx_queues"))
        check("port p4: 2 receive queues, one for each of 2 of 2 workers" in told, f"p4: {told}")
        for port in ["p1", "p2", "p3", "p5", "p6"]:
            check(f"port {port}: one receive queue" in told, f"{port}: {told}")
        queues = {name: row["rx_queues"] for name, row in world.leaf.ports().items()}
        check_equal(queues, {"p1": 1, "p2": 1, "p3": 1, "p4": 2, "p5": 1, "p6": 1, "cpu": 0}, "queues")
        world.ping_all()


def test_links_at_start():
    """LF-UP: links that are up at the start are up from the start"""
    for _ in range(2):
        with Trio() as world:
            check_equal(world.leaf.events("link_up"), [], "links that came up later")


def test_device_vanishes():
    """LF-DOWN: a device that goes away: shown as that, an event, and the rest goes on"""
    with Trio() as world:
        world.ping_all()
        call("ip", "link", "delete", "h3")
        wait_until(lambda: world.leaf.ports()["p3"]["state"] != "up", "p3 is not up any more")
        world.h1.ping("10.1.0.20")
        before = world.leaf.dropped("p1", "cpu")
        tap = world.h1.tap()
        tap.send(*[Ether(src=world.h1.mac, dst="02:00:00:00:10:01") /
                   IP(src="10.1.0.10", dst="10.2.0.10") / UDP() / Raw(bytes(30))] * 20)
        wait_until(lambda: world.leaf.dropped("p1", "cpu") > before,
                   "packets to it are counted as dropped")
        text = world.leaf.ctl("show", "events").stdout
        check("p3" in text, f"no event names p3: {text}")
        world.h1.ping("10.1.0.20")


def test_link_down_and_up():
    """LF-DOWN, LF-UP: a link goes down and comes back; traffic flows again by itself"""
    with Trio() as world:
        world.ping_all()
        for _ in range(3):
            world.h2.run("ip", "link", "set", "eth0", "down")
            wait_until(lambda: world.leaf.ports()["p2"]["state"] == "down", "p2 is down")
            world.h1.ping("10.2.0.10", count=1)
            world.h2.run("ip", "link", "set", "eth0", "up")
            wait_until(lambda: world.leaf.ports()["p2"]["state"] == "up", "p2 is up")
            world.h1.ping("10.1.0.20", count=1)


def test_flaps():
    """LF-UP: a link that flaps is kept out for a while, and then comes back by itself"""
    config = CONFIG + "balance: {damping: {half_life: 5s, reuse: 1990, max: 5s}}\n"
    with Trio(config) as world:
        world.ping_all()
        for _ in range(20):
            world.h2.run("ip", "link", "set", "eth0", "down")
            wait_until(lambda: world.leaf.ports()["p2"]["state"] == "down", "p2 is down")
            world.h2.run("ip", "link", "set", "eth0", "up")
            wait_until(lambda: world.leaf.ports()["p2"]["state"] != "down", "p2 has its carrier")
            if world.leaf.ports()["p2"]["state"] == "damped":
                break
        else:
            check(False, "p2 is up after 20 flaps")
        check("p2" in world.leaf.events("link_damped")[0], "an event")
        world.h1.ping("10.2.0.10", count=1)
        wait_until(lambda: world.leaf.ports()["p2"]["state"] == "up", "p2 is up again")
        world.h1.ping("10.1.0.20", count=1)


def test_kill_and_restart():
    """After SIGKILL the same command starts again and forwards"""
    with Trio() as world:
        world.ping_all()
        for _ in range(3):
            world.leaf.process.kill()
            world.leaf.process.wait()
            check_equal(world.h1.reachable("10.1.0.20"), [], "who answers while there is no leaf")
            done = world.leaf.ctl("show", "ports", ok=False)
            check_equal(done.returncode, 1, "status of roceleafctl while there is no leaf")
            check("roceleaf" in done.stderr, f"roceleafctl says: {done.stderr}")
            world.leaf.start()
            world.ping_all()


def test_second_leaf():
    """A second daemon with the same runtime directory is refused, the first goes on"""
    with Trio() as world:
        world.ping_all()
        done = call(lab.program("ROCELEAF", "roceleaf"), "-c", world.leaf.path, ok=False)
        check_equal(done.returncode, 1, "status of the second one")
        world.ping_all()


def test_stop_under_traffic():
    """SIGTERM in the middle of traffic: it ends cleanly, and in time"""
    with Trio() as world:
        world.ping_all()
        flow = stream(world)
        wait_until(lambda: len(flow.got[1]) > 100, "traffic flows")
        started = time.monotonic()
        try:
            world.leaf.stop()
        finally:
            flow.stop()
        check(time.monotonic() - started < 10 * lab.SLOW, "it took long to stop")


def test_idle():
    """With `idle: adaptive` a leaf without traffic needs less than 2 % of a core"""
    bound = 0.02 * lab.SLOW  # instrumented code takes longer to do nothing
    with Trio() as world:
        for host in (world.h1, world.h2, world.h3):
            host.run("ip", "-6", "address", "flush", "dev", "eth0")

        def cpu_seconds():
            with open(f"/proc/{world.leaf.process.pid}/stat", encoding="ascii") as stat:
                fields = stat.read().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        used = []
        for _ in range(3):  # the first may still see the hosts wake up
            before, started = cpu_seconds(), time.monotonic()
            time.sleep(2)  # the time that is measured
            used.append((cpu_seconds() - before) / (time.monotonic() - started))
            if used[-1] < bound:
                return
        raise lab.Failure(f"shares of a core while idle: {used}")


if __name__ == "__main__":
    lab.run(globals())
