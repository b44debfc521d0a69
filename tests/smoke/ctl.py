#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""roceleafctl with a running leaf: what it prints, what it steers, and how it fails."""

import json
import os
import re
import signal
import socket
import subprocess

import lab
from lab import World, call, check, check_equal, wait_until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# h1, h2: VLAN 100, with an interface. h3: routed.
CONFIG = """
leaf: {name: ctl, memory: 64MiB, runtime_dir: $RUNTIME}
ports:
  - {name: p1, device: h1, speed: 1G, vlan: {access: 100}}
  - {name: p2, device: h2, speed: 1G, vlan: {access: 100}}
  - {name: p3, device: h3, speed: 500M, address: [10.3.0.1/24, "fd00:3::1/64"]}
vlans:
  - {id: 100, address: [10.1.0.1/24]}
routes:
  - {to: 10.9.0.0/16, via: [10.3.0.2, 10.3.0.77]}
"""


class Rack(World):
    """Three hosts and the leaf; h1 has talked to the others."""

    def __init__(self):
        super().__init__()
        self.host("h1", addresses=["10.1.0.11/24"], gateways=["10.1.0.1"])
        self.host("h2", addresses=["10.1.0.12/24"])
        self.host("h3", addresses=["10.3.0.2/24"], gateways=["10.3.0.1"])
        self.start_leaf(CONFIG)
        self.hosts["h1"].reachable("10.1.0.12", "10.3.0.2")


def the_leaf():
    """The leaf of the rack that tests share."""
    return lab.shared(Rack).leaf


# Of routes with several next hops, which this leaf hasn't.
SPREAD = ("balance", "flows")
# Nobody has made one.
MARKS = ("marks",)


def documented_keys():
    """{table: keys} of the section JSON in roceleafctl(8)."""
    with open(os.path.join(ROOT, "tools/man/roceleafctl.8"), encoding="utf-8") as file:
        section = file.read().split(".Sh JSON")[1].split(".Sh ")[0]
    keys = {}
    for item in section.split(".It Cm ")[1:]:
        table, text = item.split("\n", 1)
        text = re.sub(r"\([^)]*\)|^\..*$", "", text, flags=re.M)
        keys[table] = re.findall(r"[a-z_]+", text.split(";")[0])
    return keys


def counters(listing, header="counters.h"):
    """Names in one of the lists of dataplane/counters.h, or of another header."""
    with open(os.path.join(ROOT, "dataplane", header), encoding="utf-8") as file:
        macro = re.search(rf"#define {listing}\(X\)((?:.*\\\n)*.*\n)", file.read()).group(1)
    return re.findall(r"X\((\w+),", macro)


def test_tables():
    """every table is aligned text, without escapes or trailing blanks in a pipe"""
    leaf = the_leaf()
    for table in documented_keys():
        lines = leaf.ctl("show", table).stdout.splitlines()
        # What never happened isn't listed.
        quiet = table in ("drops", "buffers", "peaks", "pfc", "ecn", *SPREAD, *MARKS)
        check(len(lines) > (0 if quiet else 1), f"show {table} is empty: {lines}")
        for line in lines:
            check("\033" not in line, f"show {table} has an escape: {line!r}")
            check_equal(line, line.rstrip(), f"end of a line of show {table}")
        # Where a right-aligned header ends, the numbers end, too.
        if table == "ports":
            end = lines[0].index("RX packets") + len("RX packets")
            for line in lines[1:]:
                check(line[end - 1].isdigit() and line[end] == " ", f"misaligned: {line!r}")


def test_json():
    """JSON has all documented keys, and every counter of the dataplane by its name"""
    leaf = the_leaf()
    documented = documented_keys()
    check(len(documented) >= 11, f"only {list(documented)} are documented")
    # To where no route leads, so that something is dropped.
    lab.shared(Rack).hosts["h1"].run("ping", "-c", "1", "-W", "0.1", "10.250.0.1", ok=False)
    wait_until(lambda: leaf.show("drops")["drops"], "a drop")
    for table, keys in documented.items():
        look = leaf.show(table)
        check(look["time_ns"] > 0 and look["instance"] > 0, f"show {table}: no time, no instance")
        check(look[table] or table in SPREAD + MARKS, f"show {table} --json is empty")
        for row in look[table]:
            missing = [key for key in keys if key not in row]
            check(not missing, f"show {table} --json has no {missing}: {row}")
    for listing, table, header in (("PORT_COUNTERS", "ports", "counters.h"),
                                   ("QUEUE_COUNTERS", "queues", "counters.h"),
                                   ("PFC_COUNTERS", "pfc", "pfc.h")):
        names = [name.replace("_ps", "_ns") for name in counters(listing, header)]
        check(len(names) >= 6, f"{listing} not understood: {names}")
        row = leaf.show(table)[table][0]
        check(set(names) <= set(row), f"show {table} has no {set(names) - set(row)}")


def test_values():
    """what the tables say is what the configuration and the hosts say"""
    leaf = the_leaf()
    ports = leaf.ports()
    check_equal([row["port"] for row in leaf.show("ports")["ports"]], ["p1", "p2", "p3", "cpu"],
                "ports in the order of the file")
    check_equal(ports["p3"]["speed_bps"], 500000000, "speed of p3")
    check_equal((ports["p1"]["mode"], ports["p3"]["mode"]), ("vlan 100", "routed"), "modes")
    macs = {name: json.loads(host.run("ip", "-j", "link", "show", "dev", "eth0").stdout)[0]["address"]
            for name, host in lab.shared(Rack).hosts.items()}
    fdb = {row["mac"]: row["port"] for row in leaf.show("fdb")["fdb"]}
    check_equal((fdb[macs["h1"]], fdb[macs["h2"]]), ("p1", "p2"), "learned ports")
    neighbours = {row["address"]: row for row in leaf.show("neighbours")["neighbours"]}
    check_equal((neighbours["10.3.0.2"]["mac"], neighbours["10.3.0.2"]["state"]),
                (macs["h3"], "resolved"), "neighbour 10.3.0.2")
    routes = {(row["to"], row["via"]): row["state"] for row in leaf.show("routes")["routes"]}
    check_equal(routes[("10.1.0.0/24", "-")], "up", "the connected route of VLAN 100")
    check_equal(routes[("10.9.0.0/16", "10.3.0.2")], "resolved", "the next hop that answers")
    check_equal(routes[("10.9.0.0/16", "10.3.0.77")], "unresolved", "the next hop that doesn't")


def test_ports_by_name():
    """names of ports limit a table, and an unknown one is refused"""
    leaf = the_leaf()
    lines = leaf.ctl("show", "queues", "p1", "p2", "--all").stdout.splitlines()
    check_equal(len(lines), 1 + 2 * 8, "lines of the queues of two ports")
    check_equal({line.split()[0] for line in lines[1:]}, {"p1", "p2"}, "ports shown")
    look = json.loads(leaf.ctl("show", "ports", "cpu", "--json").stdout)
    check_equal([row["port"] for row in look["ports"]], ["cpu"], "ports in JSON")
    refused = leaf.ctl("show", "fdb", "p9", ok=False)
    check_equal(refused.returncode, 1, "status for an unknown port")
    check("p9" in refused.stderr, refused.stderr)


def test_clear():
    """clear counts anew for this user, and resets nothing in the leaf"""
    leaf, host = the_leaf(), lab.shared(Rack).hosts["h1"]
    leaf.ctl("clear")
    before = leaf.ports()["p1"]["rx_packets"]
    look = leaf.show("ports")
    check("cleared_s" in look, "the JSON doesn't say that it was cleared")
    since = {row["port"]: row["rx_packets"] for row in look["ports"]}
    check(since["p1"] <= leaf.ports()["p1"]["rx_packets"] - 1, "nothing was taken off")
    host.ping("10.1.0.12", count=5)
    # ARP may come on top; what is absolute has grown by as much as what is relative.
    wait_until(lambda: {row["port"]: row for row in leaf.show("ports")["ports"]}["p1"]
               ["rx_packets"] >= 5, "five packets since clear")
    check(leaf.ports()["p1"]["rx_packets"] >= before + 5, "the leaf's own counters go on")
    path = [name for name in os.listdir(leaf.runtime) if name.endswith(".baseline")]
    check_equal(len(path), 1, "files of clear in the runtime directory")
    os.unlink(os.path.join(leaf.runtime, path[0]))
    check("cleared_s" not in leaf.show("ports"), "the baseline outlives its file")


def test_watch():
    """--watch prints rates again and again, and ends by count or by interrupt"""
    leaf = the_leaf()
    frames = leaf.ctl("show", "ports", "--watch", "0.1", "--count", "3").stdout.split("\n\n")
    check_equal(len(frames), 3, "frames")
    for frame in frames:
        check("RX bit/s" in frame.splitlines()[1], f"no rates in {frame!r}")
        check("\033" not in frame, "escapes in a pipe")
    lines = leaf.ctl("show", "ports", "--json", "--watch=0.1", "--count", "2").stdout.splitlines()
    looks = [json.loads(line) for line in lines]
    check_equal(len(looks), 2, "lines of JSON")
    check(looks[1]["time_ns"] - looks[0]["time_ns"] >= 100000000, "looks are 0.1 s apart")
    process = subprocess.Popen([lab.program("ROCELEAFCTL", "roceleafctl"), "--runtime-dir",
                                leaf.runtime, "show", "queues", "--watch", "60"],
                               stdout=subprocess.PIPE)
    check(process.stdout.readline(), "no frame")
    process.send_signal(signal.SIGINT)
    check_equal(process.wait(lab.WAIT_S), 0, "status after SIGINT")


def test_reload():
    """reload says what is wrong and where, and what was taken over"""
    leaf = the_leaf()
    leaf.write(CONFIG.replace("speed: 500M", "speed: 5"))
    refused = leaf.ctl("reload", ok=False)
    check_equal(refused.returncode, 1, "status of a refused reload")
    check(re.match(r"\S+leaf\.yaml:6:\d+: ", refused.stderr), refused.stderr)
    check_equal(leaf.ports()["p3"]["speed_bps"], 500000000, "speed after a refused reload")
    leaf.write(CONFIG.replace("speed: 500M", "speed: 400M"))
    leaf.ctl("reload")
    check_equal(leaf.ports()["p3"]["speed_bps"], 400000000, "speed after a reload")
    leaf.write(CONFIG)
    leaf.ctl("reload")
    info = leaf.show("info")["info"][0]
    check_equal((info["reloads"], info["reloads_refused"]), (2, 1), "reloads counted")


def test_mark():
    """mark puts a text among the events, whatever is in it"""
    leaf = the_leaf()
    text = 'phase "two": all\\reduce 50% ' + "x" * 200
    leaf.ctl("mark", *text.split(" "))
    events = leaf.show("events")["events"]
    check_equal((events[-1]["type"], events[-1]["text"]), ("mark", text), "the last event")
    leaf.ctl("mark", "Zürich")
    check_equal(leaf.show("events")["events"][-1]["text"], "Z?rich", "text beyond ASCII")
    check_equal(leaf.ctl("mark", "two\nlines", ok=False).returncode, 2, "status for two lines")


def test_check():
    """check tells a good file from a bad one, without a leaf"""
    leaf = the_leaf()
    good = leaf.path
    bad = leaf.path + ".bad"
    with open(bad, "w", encoding="utf-8") as file:
        file.write(CONFIG.replace("vlan: {access: 100}", "vlan: {access: 5000}", 1))
    tool = lab.program("ROCELEAFCTL", "roceleafctl")
    check_equal(call(tool, "check", good).returncode, 0, "status for a good file")
    done = call(tool, "check", bad, ok=False)
    check_equal(done.returncode, 1, "status for a bad file")
    check(f"{bad}:4:" in done.stderr, done.stderr)


def test_usage():
    """bad usage ends with 2 and a hint, help with 0"""
    tool = lab.program("ROCELEAFCTL", "roceleafctl")
    for words in ([], ["show"], ["show", "nothing"], ["fly"], ["reload", "x"], ["--nope"],
                  ["show", "ports", "--count", "3"], ["show", "ports", "--watch", "0.01"],
                  ["show", "ports", "--watch", "--count", "0"], ["show", "workers", "p1"],
                  ["check"], ["mark"], ["clear", "x"]):
        done = call(tool, *words, ok=False)
        check_equal(done.returncode, 2, f"status of roceleafctl {' '.join(words)}")
        check("--help" in done.stderr and not done.stdout, f"{words}: {done}")
    for words in (["--help"], ["show", "--help"], ["show", "queues", "--help"],
                  ["reload", "--help"], ["check", "-h"], ["--version"]):
        done = call(tool, *words)
        check(done.stdout and not done.stderr, f"{words}: {done}")


def test_crowd():
    """an eleventh client is told that there is no room, and finds it when another leaves"""
    leaf = the_leaf()
    crowd = []
    for _ in range(10):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.connect(os.path.join(leaf.runtime, "dpdk/leaf/dpdk_telemetry.v2"))
        check(client.recv(4096), "no greeting")
        crowd.append(client)
    done = leaf.ctl("show", "ports", ok=False)
    check_equal(done.returncode, 1, "status of the eleventh")
    check("10 clients" in done.stderr, done.stderr)
    for client in crowd:
        client.close()
    wait_until(lambda: leaf.ctl("show", "ports", ok=False).returncode == 0, "room for a client")


def test_stop():
    """without a leaf it says how to start one, also after a leaf was killed"""
    leaf = the_leaf()
    tool = lab.program("ROCELEAFCTL", "roceleafctl")
    done = call(tool, "--runtime-dir", "/nowhere/at/all", "show", "ports", ok=False)
    check_equal(done.returncode, 1, "status without a leaf")
    check("no roceleaf runs at /nowhere/at/all" in done.stderr and "roceleaf -c" in done.stderr,
          done.stderr)
    with_env = subprocess.run([tool, "show", "ports"], capture_output=True, text=True, check=True,
                              env={**os.environ, "ROCELEAF_RUNTIME_DIR": leaf.runtime})
    check("p1" in with_env.stdout, "ROCELEAF_RUNTIME_DIR is not obeyed")
    lab.close_shared()
    with Rack() as rack:
        rack.leaf.process.kill()
        rack.leaf.process.wait()
        for words in (["show", "ports"], ["reload"], ["clear"]):
            done = rack.leaf.ctl(*words, ok=False)
            check_equal(done.returncode, 1, f"status of {words} after SIGKILL")
            check("no roceleaf runs at" in done.stderr, done.stderr)


if __name__ == "__main__":
    lab.run(globals())
