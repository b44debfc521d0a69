#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""roceleaf-lab as people call it: files it writes, what it refuses, and what other programs read of it."""

import csv
import json
import os
import pty
import subprocess
import tempfile

import lab
from lab import check, check_equal

SCENARIO = """
name: cli
duration: 300us
fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, host_speed: 100G}}
hosts: {mtu: 1024, cc: none}
traffic:
  - flow: {name: a, from: leaf1.h1, to: leaf1.h2, rate: 50G, bytes: 1MB}
  - flow: {name: b, from: leaf1.h3, to: leaf1.h4, rate: 50G, bytes: 1MB}
faults:
  - pause_storm: {host: leaf1.h2, priority: 3, at: 50us, for: 20us}
"""

DIRECTORY = tempfile.TemporaryDirectory(prefix="roceleaf-lab-", dir="/tmp") \
    if lab.INSIDE in os.environ else None


def here(name):
    return os.path.join(DIRECTORY.name, name)


def scenario():
    with open(here("cli.yaml"), "w", encoding="utf-8") as file:
        file.write(SCENARIO)
    return here("cli.yaml")


def run(*words, status=0):
    done = lab.call(lab.program("ROCELEAF_LAB", "roceleaf-lab"), *words, ok=False, timeout_s=60)
    check_equal(done.returncode, status, f"status of {words} ({done.stderr.strip()[-500:]})")
    check(status == 0 or done.stderr or done.stdout, f"{words} fails without a word")
    return done


def tshark(path, wanted, *fields):
    words = ["tshark", "-r", path, "-Y", wanted, "-T", "fields"]
    for field in fields:
        words += ["-e", field]
    return [line.split("\t") for line in lab.call(*words, timeout_s=60).stdout.splitlines()]


def test_pcap():
    """Wireshark reads a link's frames as RoCEv2 and as priority pauses."""
    path = here("h2.pcapng")
    run("run", scenario(), "--quiet", "--pcap", f"leaf1.h2={path}")
    check_equal(tshark(path, "_ws.malformed", "frame.number"), [], "malformed packets")
    # 1 MB in 1024 bytes: 977 packets, none of them lost, with sequence numbers one after the other.
    rows = tshark(path, "infiniband.bth.opcode in {6,7,8,10}", "infiniband.bth.psn",
                  "frame.interface_name", "udp.dstport", "ip.dsfield.dscp")
    numbers = [int(row[0]) for row in rows]
    check_equal(len(rows), 977, "packets of the flow")
    check_equal([(number - numbers[0]) % (1 << 24) for number in numbers], list(range(977)), "PSNs")
    check_equal({tuple(row[1:]) for row in rows}, {("leaf1->leaf1.h2", "4791", "26")}, "data")
    acks = tshark(path, "infiniband.bth.opcode == 17", "frame.interface_name")
    check(acks and {row[0] for row in acks} == {"leaf1.h2->leaf1"}, "no acknowledgements back")
    pauses = tshark(path, "macc", "frame.time_epoch", "eth.dst", "macc.opcode", "macc.cbfc.enbv",
                    "macc.cbfc.pause_time.c3", "frame.interface_name", "frame.len")
    for row in pauses:
        check_equal(row[1:4] + row[5:], ["01:80:c2:00:00:01", "0x0101", "0x0008",
                                         "leaf1.h2->leaf1", "60"], "a pause frame")
    check_equal((pauses[0][4], pauses[-1][4]), ("65535", "0"), "first and last quanta")
    # It begins when the wire is free: within one acknowledgement's time of 50 us.
    begin_ns = round(float(pauses[0][0]) * 1e9)
    check(50000 <= begin_ns <= 50010, f"the first pause comes at {begin_ns} ns")


def test_trace():
    """Traces of a flow and of a queue add up."""
    flow, queue = here("flow.csv"), here("queue.csv")
    run("run", scenario(), "--quiet", "--trace", f"flow:a={flow}",
        "--trace", f"queue:leaf1:leaf1.h2:3={queue}")
    with open(flow, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for link in "leaf1.h1->leaf1", "leaf1->leaf1.h2":
        data = [row for row in rows if row["what"] == "data" and row["link"] == link]
        check_equal(len(data), 977, f"data on {link}")
        check(all(int(row["arrival_ps"]) > int(row["time_ps"]) for row in data), "arrivals")
    sent = sum(int(row["bytes"]) for row in rows
               if row["what"] == "data" and row["link"] == "leaf1->leaf1.h2")
    with open(queue, encoding="utf-8") as file:
        steps = list(csv.DictReader(file))
    total = {what: sum(int(step["bytes"]) for step in steps if step["what"] == what)
             for what in ("enqueue", "send", "drop")}
    check_equal(total, {"enqueue": sent, "send": sent, "drop": 0}, "bytes of the queue")
    check_equal([step["what"] for step in steps if step["what"] in ("pause", "resume")],
                ["pause", "resume"], "its pauses")
    check_equal(steps[-1]["depth_bytes"], "0", "depth at the end")


def test_digest():
    """Recording changes nothing."""
    plain = json.loads(run("run", scenario(), "--quiet", "--json", "-").stdout)
    seen = json.loads(run("run", scenario(), "--quiet", "--json", "-", "--pcap",
                          f"leaf1.h1={here('x.pcapng')}", "--trace",
                          f"flow:a={here('x.csv')}").stdout)
    check_equal(seen["digest"], plain["digest"], "digest")
    check_equal(seen["events"], plain["events"], "events")


def test_full_disk():
    """A full disk is an error and leaves nothing behind."""
    small = here("small")
    os.mkdir(small)
    lab.call("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small)
    with open(os.path.join(small, "filler"), "wb") as file:
        file.write(bytes(12 << 10))
    result = os.path.join(small, "result.json")
    for option in (["--json", result], ["--pcap", f"leaf1.h2={small}/x.pcapng"],
                   ["--trace", f"flow:a={small}/x.csv"]):
        done = run("run", scenario(), "--quiet", *option, status=1)
        check("No space left on device" in done.stderr, done.stderr)
        check_equal(os.listdir(small), ["filler"], f"files after {option}")
    lab.call("umount", small)
    for option in (["--json", "/dev/full"], ["--pcap", "leaf1.h2=/dev/full"],
                   ["--trace", "queue:leaf1:leaf1.h2:3=/dev/full"]):
        check("No space left" in run("run", scenario(), "--quiet", *option, status=1).stderr,
              f"{option} doesn't say why")


def test_refused():
    """What can't be recorded is refused by name, and what exists stays."""
    kept = here("kept.json")
    with open(kept, "w", encoding="utf-8") as file:
        file.write("kept")
    for option, status, text in (
            (["--pcap", "nowhere=x"], 1, "no link nowhere"),
            (["--pcap", "leaf1.h1"], 2, "LINK=FILE"),
            (["--pcap", "leaf1.h1=/nonexistent/x"], 1, "No such file"),
            (["--trace", "flow:c=x"], 1, "no flow c"),
            (["--trace", "what=x"], 2, "flow:NAME=FILE"),
            (["--trace", "queue:leaf9:leaf1.h1:3=x"], 1, "no switch leaf9"),
            (["--trace", "queue:leaf1:leaf1.h1:8=x"], 1, "priority of 0 to 7"),
            (["--json", kept, "--set", "expect=[lossless_drops > 0]"], 3, "does not hold")):
        done = run("run", scenario(), "--quiet", *option, status=status)
        check(text in done.stderr + done.stdout, f"{option}: {done.stderr}")
    check(json.load(open(kept, encoding="utf-8"))["digest"], "the new result is in place")


def test_compare():
    """Compare shows what differs, aligned, and refuses what is no result."""
    a, b, broken = here("a.json"), here("b.json"), here("broken.json")
    run("run", scenario(), "--quiet", "--json", a, "--set", "faults[0].pause_storm.for=150us")
    run("run", scenario(), "--quiet", "--json", b, "--set", "faults=[]")
    lines = run("compare", a, b).stdout.splitlines()
    rows = [line for line in lines[4:] if line]
    check(any(row.startswith("fct.max") for row in rows), f"no fct.max in {rows}")
    check_equal(len({len(row) for row in rows}), 1, "lengths of rows")
    data = json.loads(run("compare", a, b, "--json").stdout)
    row = next(row for row in data["rows"] if row["name"] == "fct_ns.max")
    check(abs(row["change"] - (row["b"] - row["a"]) / row["a"]) < 1e-9, f"change in {row}")
    check(row["b"] < row["a"], "a storm makes flows slower")
    check("no differences" in run("compare", a, a).stdout, "a result differs from itself")
    for text, why in (("{", "expected"), ("{}", "no result"), ("[1]", "no result")):
        with open(broken, "w", encoding="utf-8") as file:
            file.write(text)
        check(why in run("compare", a, broken, status=1).stderr, f"{text!r} isn't refused")
    check("nowhere" in run("compare", "nowhere", b, status=1).stderr, "a file that is missing")
    run("compare", a, status=2)


def test_list():
    """List shows every scenario with what it teaches."""
    lines = run("list").stdout.splitlines()
    names = {line.split()[0] for line in lines}
    for name in "hello", "pause-storm", "link-failure", "ecn-above-pfc", "slow-receiver":
        check(name in names, f"no {name} in the list")
    for line in lines:
        check(len(line) <= 140 and len(line.split()) >= 4, f"what does it teach? {line!r}")


def test_terminal():
    """A terminal gets a progress bar that is gone at the end."""
    master, slave = pty.openpty()
    process = subprocess.Popen([lab.program("ROCELEAF_LAB", "roceleaf-lab"), "run", scenario()],
                               stdout=subprocess.DEVNULL, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    seen = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # EIO: nobody has the other end any more
            break
        if not part:
            break
        seen += part
    check_equal(process.wait(lab.WAIT_S), 0, "status")
    check(b"100%" in seen, f"no bar: {seen[-200:]!r}")
    check_equal(seen.rsplit(b"\r", 2)[-2].strip(), b"", "what is left of the bar")


if __name__ == "__main__":
    lab.run(globals())
