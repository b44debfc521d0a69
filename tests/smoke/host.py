#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""roceleaf-host: messages through the daemon arrive whole, slow down at marks, stop at pauses, outlive losses."""

import json
import os
import signal
import time

import lab
from lab import World, check, check_equal, program, wait_until
from pfc import pfc_frame
from scapy.contrib.roce import BTH
from scapy.layers.l2 import Ether

CONFIG = """
leaf: {name: hosts, memory: 16MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: p1, device: h1, speed: 200M, mtu: 1500, address: [10.1.0.1/24]}
  - {name: p2, device: h2, speed: 50M, mtu: 1500, address: [10.2.0.1/24]}
classes:
  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60,
     ecn: {kmin: 10KB, kmax: 40KB, pmax: 20%}}
  - {priority: 6, name: cnp, dscp: [48], strict: true}
  - {priority: 0, name: best-effort, weight: 20}
"""
HOST = """
device: eth0
address: 10.$N.0.2/24
gateway: 10.$N.0.1
speed: 200M
hosts: {mtu: 1024, cc: $CC, dcqcn: {increase_timer: 10ms, byte_counter: 0, additive: 1M, hyper: 1M}}
"""
MESSAGE = 100_000
SEND = f"send: [{{to: 10.2.0.2, bytes: {MESSAGE}"
PAUSE_S = 65535 * 512 / 200e6  # a pause of the longest time at a host's speed: 168 ms
SLOWEST_S = 60


class Endpoint:
    """A roceleaf-host in a host's namespace."""

    def __init__(self, world, host, config, **keys):
        self.stem = os.path.join(world.directory, f"{host.name}-{time.monotonic_ns()}")
        config = HOST + config
        for key, value in {"N": host.name[1:], "CC": "none", **keys}.items():
            config = config.replace(f"${key}", str(value))
        with open(f"{self.stem}.yaml", "w", encoding="utf-8") as file:
            file.write(config)
        self.process = host.start(program("ROCELEAF_HOST", "roceleaf-host"), "-c",
                                  f"{self.stem}.yaml", "--json", f"{self.stem}.json", "--quiet")

    def result(self):
        """Of one that has ended by itself."""
        check_equal(self.process.wait(SLOWEST_S * lab.SLOW), 0, "status of roceleaf-host")
        with open(f"{self.stem}.json", encoding="utf-8") as file:
            return json.load(file)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.result()


class Pair(World):
    """A sender behind a fast port of the leaf, and a server behind a slow one."""

    def __init__(self):
        super().__init__()
        for n in (1, 2):
            self.host(f"h{n}", addresses=[f"10.{n}.0.2/24"], offloads=False)
        self.start_leaf(CONFIG)

    def endpoint(self, name, config, **keys):
        return Endpoint(self, self.hosts[name], config, **keys)


def pair():
    return lab.shared(Pair)


def check_clean(result):
    host = result["host"]
    check_equal((host["corrupt_packets"], host["crc_packets"]), (0, 0),
                "corrupt packets, and those with a wrong invariant CRC")


def check_whole(send, serve, count):
    """Every byte was acknowledged, came once, and is what was sent."""
    check_equal(send["send"][0]["messages"], count, "messages")
    check_equal(serve["serve"][0]["bytes"], count * MESSAGE, "bytes that came in order")
    check_clean(send)
    check_clean(serve)


def test_messages():
    """messages arrive byte by byte, and another run of the sender is a new connection"""
    world = pair()
    server = world.endpoint("h2", "serve: 16-31")
    for _ in range(2):
        send = world.endpoint("h1", f"{SEND}, count: 20}}]").result()
        check_clean(send)
        check_equal(send["send"][0]["messages"], 20, "messages")
        completion = send["send"][0]["completion_ns"]
        # Two messages cross a port of 50 Mb/s: each takes at least its own time there.
        check(completion["p50"] >= MESSAGE * 8 / 50e6 * 1e9, f"too fast: {completion}")
    serve = server.stop()
    check_equal((serve["serve"][0]["bytes"], serve["host"]["connections"]), (40 * MESSAGE, 2),
                "bytes and connections")
    check_clean(serve)


def test_congestion():
    """marks at a slow port become CNPs, and the sender slows down to what the port carries"""
    world = pair()
    server = world.endpoint("h2", "serve: 16", CC="dcqcn")
    send = world.endpoint("h1", f"{SEND}, for: 4s, depth: 16}}]",
                          CC="dcqcn").result()
    serve = server.stop()
    row = send["send"][0]
    check(serve["serve"][0]["marked"] > 0, "no packet came marked")
    check(serve["host"]["cnps_sent"] > 0, "the server has sent no CNP")
    check(0 < row["cnps_received"] <= serve["host"]["cnps_sent"],
          f"CNPs: {serve['host']['cnps_sent']} sent, {row['cnps_received']} received")
    rates = [interval["rate_bps"] for interval in send["intervals"]]
    # It begins at 200 Mb/s, and what it gains between two looks is less than what is left to there.
    check(max(rates[1:]) < 150e6, f"rates stay near 200 Mb/s: {rates}")
    check(row["goodput_bps"] < 50e6, f"more than the port carries: {row['goodput_bps']}")
    check_whole(send, serve, row["messages"])


def test_pause():
    """a pause stops the sender for its priority, and a time of zero lets it go"""
    world = pair()
    # What the host's own interface gets comes from the leaf's end of the cable.
    tap = lab.Tap("h1")
    world.taps.append(tap)
    server = world.endpoint("h2", "serve: 16")
    sender = world.endpoint("h1", f"{SEND}}}]")

    def received():
        return world.leaf.ports()["p1"]["rx_packets"]

    before = received()
    wait_until(lambda: received() > before + 100, "the sender sends")
    # Another priority changes nothing.
    tap.send(pfc_frame("02:00:00:00:01:f0", {0: 65535}))
    before = received()
    wait_until(lambda: received() > before + 100, "it sends though priority 0 is paused")
    deadline = time.monotonic() + 10 * PAUSE_S
    held = []
    while time.monotonic() < deadline:
        tap.send(pfc_frame("02:00:00:00:01:f0", {3: 65535}))
        held.append(received())
        time.sleep(PAUSE_S / 4)
    # The last of these looks lie within pauses that followed each other without a gap.
    check_equal(held[-1], held[4], f"packets of a paused sender ({held})")
    tap.send(pfc_frame("02:00:00:00:01:f0", {3: 0}))
    before = received()
    wait_until(lambda: received() > before + 100, "it goes on")
    send, serve = sender.stop(), server.stop()
    check(send["host"]["paused_ns"][3] >= PAUSE_S * 1e9, f"paused: {send['host']['paused_ns']}")
    check_clean(serve)


def test_loss():
    """what is lost is sent again: the cable is cut for a while"""
    world = pair()
    server = world.endpoint("h2", "serve: 16")
    sender = world.endpoint("h1", f"{SEND}, count: 100}}]")
    before = world.leaf.ports()["p1"]["rx_packets"]
    wait_until(lambda: world.leaf.ports()["p1"]["rx_packets"] > before + 500, "the sender sends")
    world.hosts["h2"].run("ip", "link", "set", "eth0", "down")
    time.sleep(0.2)
    world.hosts["h2"].run("ip", "link", "set", "eth0", "up")
    send = sender.result()
    serve = server.stop()
    check(send["send"][0]["retransmitted_bytes"] > 0, "nothing was sent again")
    check_whole(send, serve, 100)


def test_invariant_crc():
    """the invariant CRC is what scapy computes, and a wrong one is refused"""
    world = pair()
    tap = world.hosts["h2"].tap()
    cable = lab.Tap("h2")
    world.taps.append(cable)
    server = world.endpoint("h2", "serve: 16")
    sender = world.endpoint("h1", f"{SEND}}}]")
    cable.wait(lambda frame: frame[36:38] == b"\x12\xb7" and frame[42] == 0x11, "the first ACK")
    tap.drain()
    frame = tap.wait(lambda frame: frame[12:14] == b"\x08\x00" and frame[36:38] == b"\x12\xb7" and
                     len(frame) > 1000 and frame[50] & 0x80, "data that asks for an answer")
    end = 14 + int.from_bytes(frame[16:18], "big")
    got = frame[end - 4:end]
    packet = Ether(frame[:end])
    check(BTH in packet, f"scapy sees no RoCE: {packet.summary()}")
    packet[BTH].icrc = None
    check_equal(bytes(packet)[-4:], got, "invariant CRC")
    sender.stop()
    wrong = bytearray(frame[:end])
    wrong[-1] ^= 1

    def answers():
        return world.leaf.ports()["p2"]["rx_packets"]

    def quiet():
        before = answers()
        time.sleep(0.1)
        return answers() == before

    wait_until(quiet, "what was under way has come")
    before = answers()
    # Behind it comes one that is right: when that is answered, both were taken.
    cable.send(wrong, frame[:end])
    wait_until(lambda: answers() > before, "an answer to a duplicate")
    check_equal(server.stop()["host"]["crc_packets"], 1, "packets with a wrong invariant CRC")


lab.run(globals())
