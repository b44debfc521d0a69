#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Metrics over HTTP: what promtool and Prometheus say of them, sums under traffic, hostile clients."""

import http.client
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import time
import urllib.request

import lab
from lab import Skip, World, call, check, check_equal, wait_until

RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/prometheus")
PORT = 9469
SERVER = 9470
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
SCRAPE_S = 1  # a scrape among hostile clients
HOSTILE = 1000
GROWTH_KB = 64 << 10
QUARANTINE_KB = 256 << 10  # what AddressSanitizer keeps of freed memory, by default

CONFIG = """
leaf: {name: metrics, memory: 64MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: p1, device: h1, speed: 1G, vlan: {access: 100}}
  - {name: p2, device: h2, speed: 1G, vlan: {access: 100}}
  - {name: p3, device: h3, speed: 1G, address: [10.2.0.1/24]}
vlans:
  - {id: 100, address: [10.1.0.1/24]}
classes:
  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60}
  - {priority: 0, name: best-effort, weight: 20}
"""


class Watched(World):
    def __init__(self):
        super().__init__()
        self.h1 = self.host("h1", addresses=["10.1.0.10/24"], gateways=["10.1.0.1"])
        self.h2 = self.host("h2", addresses=["10.1.0.20/24"], gateways=["10.1.0.1"])
        self.h3 = self.host("h3", addresses=["10.2.0.10/24"], gateways=["10.2.0.1"])
        self.start_leaf(CONFIG)


def get(path="/metrics", accept=OPENMETRICS, method="GET", body=None, timeout_s=lab.WAIT_S, host=None):
    """(status, content type, text)."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=timeout_s)
    try:
        headers = {"Accept": accept} if accept else {}
        if host is not None:
            headers["Host"] = host
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read().decode()
    finally:
        connection.close()


def totals(text):
    """{metric: sum over all its labels}."""
    sums = {}
    for name, value in re.findall(r"^(\w+)(?:\{[^}]*\})? (\S+)$", text, flags=re.M):
        sums[name] = sums.get(name, 0) + float(value)
    return sums


def balance(text):
    """Frames that came and that went, and those in between."""
    sums = totals(text)
    came = sums["roceleaf_port_rx_packets_total"] + sums["roceleaf_port_copied_packets_total"]
    went = sums["roceleaf_port_tx_packets_total"] + sums["roceleaf_drop_packets_total"]
    return came, went, sums["roceleaf_queued_packets"]


def test_formats():
    """OpenMetrics for who asks for it, else the older format, which promtool finds no fault with"""
    lab.shared(Watched)
    status, kind, text = get()
    check_equal((status, kind), (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
                "asked for OpenMetrics")
    check(text.endswith("\n# EOF\n"), "the text has its end")
    status, kind, older = get(accept=None)
    check_equal((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"), "asked plainly")
    checked = subprocess.run(["promtool", "check", "metrics"], input=older, text=True,
                             capture_output=True, check=False)
    check_equal((checked.returncode, checked.stdout + checked.stderr), (0, ""), "promtool")


def test_reads_only():
    """Nothing but GET and HEAD, no path but those that there are"""
    lab.shared(Watched)
    check_equal(get("/")[0], 200, "index")
    for path in ("/metrics/../secret", "/metrics/", "/v1", "/v1/show/", "/v1/show/secret", "//"):
        check_equal(get(path)[0], 404, path)
    status, _, text = get(method="HEAD")
    check_equal((status, text), (200, ""), "HEAD")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
        check_equal(get(method=method, body="x" * 100)[0], 405, method)


def test_host():
    """Who asks by a name that isn't the leaf's gets nothing, a reload can allow it"""
    world = lab.shared(Watched)
    for host in ("127.0.0.1:9469", "localhost", "metrics", socket.gethostname(), "[::1]"):
        check_equal(get(host=host)[0], 200, host)
    for path, method in (("/", "GET"), ("/metrics", "HEAD"), ("/v1/marks", "POST"), ("/nothing", "GET")):
        status, kind, text = get(path, method=method, host="evil.example:9469", body="x" * 5000)
        check_equal((status, kind), (421, "text/plain; charset=utf-8"), f"{method} {path}")
        check("telemetry.hosts" in text or method == "HEAD", text)
    world.leaf.write(CONFIG + "telemetry: {hosts: [leaf.example, evil.example]}\n")
    check_equal(world.leaf.ctl("reload").returncode, 0, "reload")
    check_equal(get(host="evil.example:9469")[0], 200, "a name that the config has")
    check_equal(get(host="other.example")[0], 421, "one that it hasn't")


def test_show():
    """/v1/show/NAME has what `roceleafctl show NAME --json` prints"""
    world = lab.shared(Watched)
    for name in ("ports", "queues", "buffers", "peaks", "pfc", "ecn", "classes", "balance", "flows",
                 "fdb", "routes", "neighbours", "interfaces", "drops", "workers", "events", "info"):
        status, kind, text = get(f"/v1/show/{name}")
        check_equal((status, kind), (200, "application/json"), name)
        table, printed = json.loads(text), world.leaf.show(name)
        check_equal(sorted(table), sorted(printed), f"members of {name}")
        check_equal(table["instance"], printed["instance"], f"instance of {name}")
        for part in table:
            if isinstance(table[part], list):
                check_equal([list(row) for row in table[part]][:1],
                            [list(row) for row in printed[part]][:1], f"columns of {part}")


def test_rules():
    """The alerts fire when they should, and read metrics that there are"""
    lab.shared(Watched)
    done = call("promtool", "test", "rules", os.path.join(RULES, "roceleaf-rules-test.yaml"), ok=False)
    check_equal(done.returncode, 0, f"promtool test rules: {done.stdout}{done.stderr}")
    with open(os.path.join(RULES, "roceleaf-rules.yaml"), encoding="utf-8") as file:
        read = set(re.findall(r"\broceleaf_\w+", file.read()))
    there = set(re.findall(r"^roceleaf_\w+", get()[2], flags=re.M))
    check_equal(sorted(read - there), [], "metrics that the rules read and the leaf doesn't have")


def test_grafana():
    """Every query of the Grafana dashboard is one, and reads metrics that there are"""
    world = lab.shared(Watched)
    with open(os.path.join(RULES, "../grafana/roceleaf-dashboard.json"), encoding="utf-8") as file:
        board = json.load(file)
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    check(len(queries) >= 8, f"{len(queries)} queries")
    path = os.path.join(world.directory, "dashboard.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel{number}", "expr": query.replace("$__rate_interval", "1m")}
            for number, query in enumerate(queries)]}]}, file)
    done = call("promtool", "check", "rules", path, ok=False)
    check_equal(done.returncode, 0, f"promtool check rules: {done.stdout}{done.stderr}")
    names = set(re.findall(r"\broceleaf_\w+", json.dumps(board)))
    # Of uplinks this leaf has none, so no sample either.
    there = set(re.findall(r"^(?:# TYPE )?(roceleaf_\w+)", get()[2], flags=re.M))
    check_equal(sorted(names - there), [], "metrics that the dashboard reads and the leaf doesn't have")


def test_readme():
    """Every metric that the README names is there"""
    lab.shared(Watched)
    with open(os.path.join(RULES, "../../README.md"), encoding="utf-8") as file:
        named = set(re.findall(r"`(roceleaf_\w+)", file.read()))
    check(len(named) > 20, f"only {sorted(named)} are named")
    there = set(re.findall(r"^roceleaf_\w+", get()[2], flags=re.M))
    check_equal(sorted(named - there), [], "metrics that the README has and the leaf doesn't")


def test_prometheus():
    """Prometheus scrapes them and has what show says"""
    world = lab.shared(Watched)
    if shutil.which("prometheus") is None:
        raise Skip("prometheus is not installed")
    path = os.path.join(world.directory, "prometheus.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("global: {scrape_interval: 1s}\n"
                   "scrape_configs: [{job_name: leaf, static_configs: "
                   f"[{{targets: ['127.0.0.1:{PORT}']}}]}}]\n")
    world.start("prometheus", f"--config.file={path}", f"--web.listen-address=127.0.0.1:{SERVER}",
                f"--storage.tsdb.path={os.path.join(world.directory, 'tsdb')}")
    world.h1.ping("10.1.0.20", count=5)

    def ask(query):
        url = f"http://127.0.0.1:{SERVER}/api/v1/query?query={query}"
        try:
            with urllib.request.urlopen(url, timeout=lab.WAIT_S) as answer:
                rows = json.load(answer)["data"]["result"]
        except OSError:
            return None
        return float(rows[0]["value"][1]) if len(rows) == 1 else None

    wait_until(lambda: ask("up{job='leaf'}") == 1, "Prometheus finds the leaf up")
    for name in ("rx", "tx"):
        wait_until(lambda: ask(f"roceleaf_port_{name}_packets_total{{port='p1'}}")
                   == world.leaf.ports()["p1"][f"{name}_packets"], f"{name} as in show ports")
    with urllib.request.urlopen(f"http://127.0.0.1:{SERVER}/api/v1/targets") as answer:
        target = json.load(answer)["data"]["activeTargets"][0]
    check_equal(target["lastError"], "", "last error of the scrapes")
    with urllib.request.urlopen(f"http://127.0.0.1:{SERVER}/api/v1/metadata") as answer:
        known = json.load(answer)["data"]
    check_equal(known["roceleaf_pfc_rx_paused_seconds"][0]["unit"], "seconds", "unit")


def test_sums():
    """CNT-CONSERVE: what came is what went and what is in between, at every scrape under traffic"""
    world = lab.shared(Watched)
    burst = 32
    server = world.h2.start("iperf3", "-s", "-1", "-B", "10.1.0.20")
    wait_until(lambda: "5201" in world.h2.run("ss", "-ltn").stdout, "iperf3 listens")
    client = world.h1.start("iperf3", "-c", "10.1.0.20", "-t", "3")
    seen = []
    while client.poll() is None:
        seen.append(balance(get()[2]))
    server.wait(lab.WAIT_S)
    check(len(seen) > 5 and seen[-1][0] > seen[0][0] + 1000, f"traffic during {len(seen)} scrapes")
    # Each count is read somewhere within its scrape: what one scrape saw come has gone, or is in
    # between, by the end of the next one; and nothing goes that hasn't come.
    for (came, went, _), (came_next, went_next, queued_next) in zip(seen, seen[1:]):
        check(came <= went_next + queued_next + burst,
              f"{came} came, then {went_next} had gone and {queued_next} waited")
        check(went <= came_next + burst, f"{went} had gone, then {came_next} had come")
        check(came <= came_next and went <= went_next, "counters only grow")

    def settled():
        came, went, queued = balance(get()[2])
        return came == went and queued == 0

    wait_until(settled, "the sums are exact once it is quiet")


def test_next_scrape():
    """CNT-RATE-EXPORT: what was counted is in the very next scrape, and no counter of any metric sinks"""
    world = lab.shared(Watched)
    pings = 3

    def look():
        return {name: float(value) for name, value in
                re.findall(r"^(\w+_total(?:\{[^}]*\})?) (\S+)$", get()[2], flags=re.M)}

    world.h1.ping("10.1.0.20", count=1)
    before = look()
    check(len(before) > 500, f"only {len(before)} counters")
    for _ in range(5):
        # Each question and answer was counted before it went on, when it was received.
        world.h1.ping("10.1.0.20", count=pings)
        now = look()
        for port in ("p1", "p2"):
            name = f'roceleaf_port_rx_packets_total{{port="{port}"}}'
            check(now[name] >= before[name] + pings, f"{name}: {now[name]} after {before[name]} and {pings}")
        check_equal([name for name, value in before.items() if now[name] < value], [], "counters that sank")
        before = now


def hostile_client(number):
    """One of a kind by its number: half a request, an endless header, none at all, a reset."""
    client = socket.socket()
    client.setblocking(False)
    try:
        client.connect(("127.0.0.1", PORT))
    except BlockingIOError:
        pass
    client.settimeout(lab.WAIT_S)
    try:
        if number % 4 == 0:
            client.send(b"GET /metrics HTTP/1.1\r\nHost: half")
        elif number % 4 == 1:
            client.send(b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 100000)
        elif number % 4 == 2:
            client.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)  # and reads nothing
    except OSError:
        pass
    if number % 8 == 3:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    return client


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


def test_hostile():
    """A thousand clients that are slow or broken: the next one is answered within a second"""
    world = lab.shared(Watched)
    get()
    pid = world.leaf.process.pid
    before = memory_kb(pid)
    descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    clients, longest = [], 0
    for number in range(HOSTILE):
        clients.append(hostile_client(number))
        if number % 50 == 49:
            started = time.monotonic()
            check_equal(get()[0], 200, f"a scrape among {number + 1} hostile clients")
            longest = max(longest, time.monotonic() - started)
            check(len(os.listdir(f"/proc/{pid}/fd")) <= descriptors + 33, "open files are bounded")
    check(longest < SCRAPE_S * lab.SLOW, f"the slowest scrape took {longest:.2f} s")
    grown = memory_kb(pid) - before
    allowed = GROWTH_KB + (QUARANTINE_KB if lab.SLOW > 1 else 0)
    check(grown < allowed, f"memory grew by {grown} KB")
    world.h1.ping("10.1.0.20", count=1)
    check_equal(world.leaf.ctl("show", "info").returncode, 0, "the control loop answers")
    for client in clients:
        client.close()
    print(f"# slowest scrape {longest * 1000:.0f} ms, memory {grown} KB more")


def test_peaks():
    """WM-MODES: clear-peaks clears one kind, in a leaf that sleeps as well"""
    world = lab.shared(Watched)

    def peak(kind):
        text = get()[2]
        rows = re.findall(r"^roceleaf_queue_depth_peak_bytes\{[^}]*kind=\"" + kind + r"\"\} (\d+)$",
                          text, flags=re.M)
        return max(int(value) for value in rows)

    world.h1.ping("10.1.0.20", count=1)
    wait_until(lambda: peak("user") > 0, "a packet that was queued is a peak")
    check_equal(world.leaf.ctl("clear-peaks").stdout.strip(), "user peaks start again", "answer")
    wait_until(lambda: peak("user") == 0 or peak("persistent") > peak("user"), "it is cleared")
    check(peak("persistent") > 0, "the persistent one is not")
    check_equal(world.leaf.ctl("clear-peaks", "all", ok=False).returncode, 1, "no such kind")


def test_address():
    """An address in use is told, and the leaf goes on; off means off"""
    lab.close_shared()
    config = "leaf: {memory: 64MiB, runtime_dir: $RUNTIME}\nports: [{name: p1, device: h1}]\n"
    world = World()
    world.host("h1")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", PORT))
        taken.listen()
        world.start_leaf(config)
        check("port 9469" in " ".join(world.leaf.events("warning")), "a warning names the port")
        world.leaf.stop()
    world.start_leaf(config + "telemetry: {http: off}\n")
    check("127.0.0.1:9469" not in call("ss", "-ltn").stdout, "nobody listens")
    world.leaf.stop()
    world.start_leaf(config + 'telemetry: {http: "[::1]:9471"}\n')
    check("[::1]:9471" in call("ss", "-ltn").stdout, "IPv6")
    world.leaf.stop()
    world.close()


if __name__ == "__main__":
    lab.run(globals())
