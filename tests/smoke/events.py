#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Events of a running leaf: what it tells, over its socket and over HTTP, as they come, and how much."""

import datetime
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

import lab
from lab import World, check, check_equal, wait_until

PORT = 9469
BURST = 256  # control/events.h: EVENTS_MARK_BURST
KEPT = 1024  # EVENTS_KEPT

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


TOKEN = "0123456789abcdef"


def give_token(leaf, text=TOKEN, mode=0o600):
    """Put a token beside the config, and a config that names it."""
    path = os.path.join(os.path.dirname(leaf.path), "token")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="ascii") as file:
        file.write(text + "\n")
    os.chmod(path, mode)
    leaf.write(CONFIG + "telemetry: {marks: {token_file: token}}\n")


def post(body, token=TOKEN, **headers):
    """Status of a mark over HTTP."""
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return ask("POST", "/v1/marks", body, headers)[0]


def raw(request):
    """First line of the answer to a request as it is."""
    with socket.create_connection(("127.0.0.1", PORT), timeout=lab.WAIT_S) as client:
        client.sendall(request.encode())
        return client.makefile("rb").readline().decode()


def test_marks_over_http():
    """Marks over HTTP are off unless there is a token that only the owner may read, and who sends it"""
    leaf = the_leaf()
    last = events()["last"]
    check_equal(post("x"), 403, "without a token in the config")
    give_token(leaf, mode=0o604)
    refused = leaf.ctl("reload", ok=False)
    check("others than its owner" in refused.stderr, f"a token for everybody: {refused.stderr}")
    give_token(leaf, "tooshort")
    check("16 to 128" in leaf.ctl("reload", ok=False).stderr, "a short token")
    check_equal(post("x"), 403, "after a refused reload")
    give_token(leaf)
    leaf.ctl("reload")
    for token in (None, "", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "x" * 1000):
        status, headers, _ = ask("POST", "/v1/marks", "x",
                                 {} if token is None else {"Authorization": f"Bearer {token}"})
        check_equal((status, headers["WWW-Authenticate"]), (401, "Bearer"), f"token {token}")
    check_equal(ask("POST", "/v1/marks", "x", {"Authorization": f"Basic {TOKEN}"})[0], 401, "Basic")
    check_equal(ask("POST", "/v1/marks", "x", {"Authorization": f"bearer {TOKEN}"})[0], 200,
                "a scheme has no case")
    status, headers, _ = ask("GET", "/v1/marks")
    check_equal((status, headers["Allow"]), (405, "POST"), "GET")
    check_equal(ask("PUT", "/v1/marks", "x", {"Authorization": f"Bearer {TOKEN}"})[0], 405, "PUT")
    check(" 411 " in raw(f"POST /v1/marks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
                         "Connection: close\r\n\r\n"), "no length")
    for body, status in (("", 400), ("a\nb", 400), ("\x1b[31m", 400), (b"\xff", 400),
                         ("x" * 257, 413), ("x" * 5000, 413), ("x" * 256, 200),
                         ("Zürich\n".encode(), 200)):
        check_equal(post(body), status, f"a body of {len(body)} bytes: {body[:10]!r}")
    told = [event["text"] for event in events(last)["events"] if event["type"] == "mark"]
    check_equal(told, ["x", "x" * 256, "Zürich"], "marks that were taken")
    leaf.write(CONFIG)
    leaf.ctl("reload")
    check_equal(post("x"), 403, "a config without the token")


def test_steps():
    """show marks tells what went through the leaf between two marks, and which uplink carried most"""
    leaf = the_leaf()
    h1 = lab.shared(Told).hosts["h1"]
    leaf.ctl("mark", "step 1")
    h1.ping("10.2.1.2", count=5, size=1000)
    leaf.ctl("mark", "step 2")
    first, second = leaf.show("marks")["marks"][-2:]
    check_equal((first["text"], second["text"]), ("step 1", "step 2"), "names")
    check_equal((first["running"], second["running"]), (False, True), "running")
    # 5 requests to up1 and 5 answers to p1, of 14 + 20 + 8 + 1000 bytes; perhaps an ARP.
    check(10 * 1042 <= first["tx_bytes"] <= 10 * 1042 + 1000, f"bytes: {first}")
    check_equal(first["hottest"], "up1", "the uplink that carried it")
    check_equal((first["straggler"], first["rx_pauses"]), ("-", 0), "nobody paused")
    check(second["begin_ns"] - first["begin_ns"] >= first["duration_ns"] - 1000000, "one after the other")
    lines = leaf.ctl("show", "marks").stdout.splitlines()
    check(lines[-2].endswith("step 1") and " up1 " in lines[-2], lines[-2])
    over_http = json.loads(ask("GET", "/v1/show/marks")[2])["marks"]
    check_equal([row["text"] for row in over_http[-2:]], ["step 1", "step 2"], "over HTTP")


def test_history():
    """History has the seconds since a number, with what every port counted in each"""
    h1 = lab.shared(Told).hosts["h1"]
    the_leaf()

    def history(arguments=""):
        return json.loads(ask("GET", f"/v1/history{arguments}")[2])

    # What went before is in seconds that are over.
    before = history()["last"]
    wait_until(lambda: history()["last"] >= before + 2, "a second")
    last = history()["last"]
    h1.ping("10.2.1.2", count=5, size=1000)
    wait_until(lambda: history()["last"] >= last + 2, "two more seconds")
    look = history(f"?after={last}")
    check_equal(look["ports"], ["p1", "up1", "up2"], "ports")
    seconds = look["seconds"]
    check_equal([second["sequence"] for second in seconds],
                list(range(last + 1, look["last"] + 1)), "each second once")
    up1 = sum(second["tx_bytes"][1] for second in seconds)
    check(5 * 1042 <= up1 <= 5 * 1042 + 500, f"{up1} bytes to up1")
    for second in seconds:
        check(second["duration_ns"] > 0 and len(second["rx_paused_ns"]) == 3, f"a second: {second}")
    best = history(f"?after={last}&priority=0")["seconds"]
    check_equal(sum(second["tx_bytes"][1] for second in best), up1, "all of it best effort")
    check_equal(sum(second["tx_bytes"][1] for second in
                    history(f"?after={last}&priority=3")["seconds"]), 0, "nothing else")
    for wrong in ("?after=x", "?priority=8", "?priority=-1"):
        check_equal(ask("GET", f"/v1/history{wrong}")[0], 400, wrong)


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
    metrics = ask("GET", "/metrics")[2]
    left_out = int(re.search(r'^roceleaf_events_suppressed_total\{type="mark"\} (\d+)$', metrics, re.M).group(1))
    check_equal(left_out, sum(event["suppressed"] for event in events()["events"]), "the metric says the same")
    check('roceleaf_events_suppressed_total{type="reload"} 0\n' in metrics, "of other types none")
    leaf.ctl("reload")
    check_equal(events(last)["events"][-1]["type"], "reload", "other types have limits of their own")


def test_overwritten():
    """Who comes back after more events than are kept has the newest ones, and is told how many it missed"""
    leaf = the_leaf()
    last = events()["last"]
    told = 0
    while told < KEPT + 100:
        if leaf_says(leaf, f"mark again {told}").startswith("ok"):
            told += 1
        else:
            time.sleep(0.05)  # a hundred come in a second
    answer = events(last)
    check_equal(len(answer["events"]), KEPT, "as many as are kept")
    check_equal(answer["last"], last + told, "number of the last")
    check_equal(answer["lost"], told - KEPT, "those between")
    check_equal([event["sequence"] for event in answer["events"]],
                list(range(last + told - KEPT + 1, last + told + 1)), "without a gap")
    check_equal(events(answer["last"])["lost"], 0, "who was there has lost nothing")


def leaf_says(leaf, line):
    """Answer of the control socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(lab.WAIT_S)
        client.connect(f"{leaf.runtime}/control.sock")
        client.sendall(line.encode() + b"\n")
        return client.recv(4096).decode()


if __name__ == "__main__":
    lab.run(globals())
