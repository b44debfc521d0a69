#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Events of a running leaf: what it tells, over its socket and over HTTP, as they come, and how much."""

import datetime
import http.client
import json
import signal
import socket
import subprocess

import lab
from lab import World, check, check_equal, wait_until

PORT = 9469
BURST = 256  # control/events.h: EVENTS_MARK_BURST

# Two uplinks to two neighbours.
CONFIG = """
leaf: {name: told, memory: 64MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: p1, device: h1, speed: 1G, vlan: {access: 100}}
  - {name: up1, device: s1, speed: 1G, address: [10.2.1.1/24]}
  - {name: up2, device: s2, speed: 1G, address: [10.2.2.1/24]}
vlans:
  - {id: 100, address: [10.1.0.1/24]}
routes:
  - {to: 10.9.0.0/16, via: [10.2.1.2, 10.2.2.2]}
"""


class Told(World):
    def __init__(self):
        super().__init__()
        self.host("h1", addresses=["10.1.0.10/24"], gateways=["10.1.0.1"])
        for i in (1, 2):
            self.host(f"s{i}", addresses=[f"10.2.{i}.2/24"], gateways=[f"10.2.{i}.1"])
        self.start_leaf(CONFIG)
        self.hosts["h1"].reachable("10.2.1.2", "10.2.2.2")


def the_leaf():
    return lab.shared(Told).leaf


def ask(method, path, body=None, headers=None):
    """(status, headers, text)"""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=lab.WAIT_S)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def events(after=0):
    """What /v1/events says after an event."""
    status, headers, text = ask("GET", f"/v1/events?after={after}")
    check_equal((status, headers["Content-Type"]), (200, "application/json"), "events over HTTP")
    return json.loads(text)


class Follower:
    """roceleafctl show events --follow"""

    def __init__(self, leaf, *options):
        self.process = subprocess.Popen(
            [lab.program("ROCELEAFCTL", "roceleafctl"), "--runtime-dir", leaf.runtime, "show",
             "events", "--follow", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def find(self, words):
        """The next line that has these words."""
        for line in self.process.stdout:
            if words in line:
                return line
        raise AssertionError(f"the stream ended without {words!r}: {self.process.stderr.read()}")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        check_equal(self.process.wait(lab.WAIT_S), 0, "status after SIGINT")


def test_http():
    """Events over HTTP: from a number on, with all their fields, as the tables have them"""
    leaf = the_leaf()
    before = events()["last"]
    leaf.ctl("mark", 'Zürich "1"')
    look = events(before)
    check_equal((look["lost"], look["last"], len(look["events"])), (0, before + 1, 1), "one event")
    event = look["events"][0]
    check_equal({name: event[name] for name in ("sequence", "type", "port", "priority", "packets",
                                                "bytes", "duration_ns", "suppressed", "text")},
                {"sequence": before + 1, "type": "mark", "port": None, "priority": None,
                 "packets": 0, "bytes": 0, "duration_ns": 0, "suppressed": 0,
                 "text": 'Zürich "1"'}, "the mark")
    time = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00"))
    check_equal(round(time.timestamp() * 1000), event["time_ns"] // 1000000, "time")
    check_equal(events(before + 1)["events"], [], "nothing after the last")
    rows = {row["sequence"]: row for row in leaf.show("events")["events"]}
    for event in events()["events"]:
        row = rows[event["sequence"]]
        check_equal((row["type"], row["at_ns"], row["port"]),
                    (event["type"], event["time_ns"], event["port"] or "-"), "the same in a table")
    check_equal(events(before + 1000000)["events"][0]["sequence"], 1, "a number of another leaf")
    for wrong in ("-1", "x", "1x", "99999999999999999999999", ""):
        check_equal(ask("GET", f"/v1/events?after={wrong}")[0], 400, f"after={wrong}")


def test_follow():
    """--follow prints what there is and then what comes, as lines or as objects, until it is ended"""
    leaf = the_leaf()
    leaf.ctl("mark", "before")
    lines, objects = Follower(leaf), Follower(leaf, "--json", "--all")
    check("mark" in lines.find("before"), "the line names the type")
    check_equal(json.loads(objects.process.stdout.readline())["sequence"], 1, "from the start")
    objects.find("before")
    leaf.ctl("mark", "after")
    lines.find("after")
    event = json.loads(objects.find("after"))
    check_equal((event["type"], event["text"]), ("mark", "after"), "as an object")
    lines.end()
    objects.end()
    for words in (["show", "ports", "--follow"], ["show", "events", "--follow", "--watch"]):
        check_equal(leaf.ctl(*words, ok=False).returncode, 2, f"status of {words}")


def test_uplinks():
    """Links that go and come, and the uplinks behind them, are told with their port"""
    leaf = the_leaf()
    wait_until(lambda: {text.split()[1] for text in leaf.events("uplink_in")} == {"up1", "up2"},
               "both uplinks")
    last = events()["last"]

    def told():
        return [(event["type"], event["port"]) for event in events(last)["events"]]

    lab.shared(Told).hosts["s2"].run("ip", "link", "set", "eth0", "down")
    wait_until(lambda: ("uplink_out", "up2") in told(), "up2 is out")
    check(("link_down", "up2") in told(), f"its link is told, too: {told()}")
    lab.shared(Told).hosts["s2"].run("ip", "link", "set", "eth0", "up")
    lab.shared(Told).hosts["s2"].run("ip", "route", "replace", "default", "via", "10.2.2.1")
    wait_until(lambda: ("uplink_in", "up2") in told(), "up2 is back")
    check(not any(port == "up1" for _, port in told()), f"nothing of up1: {told()}")


def test_limit():
    """Marks that come too fast are refused, counted, and told with the next; other events still come"""
    leaf = the_leaf()
    last = events()["last"]
    # Faster than 100 a second for as long as the burst lasts: over the socket itself.
    for i in range(BURST * 40):
        answer = leaf_says(leaf, f"mark flood {i}")
        if not answer.startswith("ok"):
            break
    check_equal(answer, "error too many marks at once: this one isn't kept\n", "answer to a flood")
    wait_until(lambda: leaf_says(leaf, "mark the next").startswith("ok"), "a mark is taken again")
    mark = [event for event in events(last)["events"] if event["text"] == "the next"][-1]
    check(mark["suppressed"] >= 1, f"how many were left out: {mark}")
    leaf.ctl("reload")
    check_equal(events(last)["events"][-1]["type"], "reload", "other types have limits of their own")


def leaf_says(leaf, line):
    """Answer of the control socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(lab.WAIT_S)
        client.connect(f"{leaf.runtime}/control.sock")
        client.sendall(line.encode() + b"\n")
        return client.recv(4096).decode()


if __name__ == "__main__":
    lab.run(globals())
