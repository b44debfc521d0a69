#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The dashboard of a running leaf of 32 ports, in a browser."""

import json
import os
import time
import urllib.request

import lab
from browser import Browser
from lab import World, call, check, check_equal, wait_until
from pfc import pfc_frame

URL = "http://127.0.0.1:9469/"
PORTS = 32
KMIN, KMAX = 20000, 80000
HOSTILE = "<script>hacked=1</script><img src=x onerror=hacked=2>\"'&"

CONFIG = """
leaf: {name: leaf1, memory: 64MiB, runtime_dir: $RUNTIME, router_mac: "02:00:00:00:10:01"}
ports:
  - {name: h1, device: h1, speed: 1G, vlan: {access: 100}}
  - {name: h2, device: h2, speed: 100M, vlan: {access: 100}}
  - {name: up1, device: h3, speed: 1G, address: [10.255.0.0/31]}
  - {name: up2, device: h4, speed: 1G, address: [10.255.0.2/31]}
$MORE
vlans: [{id: 100, address: [10.1.0.1/24]}]
classes:
  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60, ecn: {kmin: 20KB, kmax: 80KB, pmax: 20%}}
  - {priority: 6, name: cnp, dscp: [48], strict: true}
  - {priority: 0, name: best-effort, weight: 20}
routes: [{to: 10.9.0.0/24, via: [10.255.0.1, 10.255.0.3], balance: ecmp}]
neighbours:
  - {address: 10.255.0.1, mac: "02:00:00:00:01:03", port: up1}
  - {address: 10.255.0.3, mac: "02:00:00:00:01:04", port: up2}
"""

# Bursts of a lossless class to one host, and flows over both uplinks.
SENDER = """
import socket, time
sockets = []
for to in [("10.1.0.20", 4791)] + [("10.9.0.1", 4791 + n) for n in range(16)]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 26 << 2 | 2)
    sockets.append((s, to))
while True:
    for s, to in 90 * sockets[:1] + 6 * sockets[1:]:
        s.sendto(bytes(1400), to)
    time.sleep(0.05)
"""


class Watched(World):
    def __init__(self):
        super().__init__()
        self.browser = None
        self.h1 = self.host("h1", addresses=["10.1.0.10/24"], gateways=["10.1.0.1"])
        self.h2 = self.host("h2", addresses=["10.1.0.20/24"], gateways=["10.1.0.1"])
        self.host("h3", addresses=["10.255.0.1/31"])
        self.host("h4", addresses=["10.255.0.3/31"])
        others, more = lab.Space(self, "others"), ""
        for n in range(5, PORTS + 1):
            call("ip", "link", "add", f"h{n}", "up", "type", "veth", "peer", "name", f"x{n}", "netns",
                 others.keeper.pid)
            others.run("ip", "link", "set", f"x{n}", "up")
            more += f"  - {{name: h{n}, device: h{n}, speed: 1G, vlan: {{access: 100}}}}\n"
        self.start_leaf(CONFIG.replace("$MORE\n", more))
        self.h1.ping("10.1.0.20")
        self.browser = Browser()

    def close(self):
        if self.browser is not None:
            self.browser.close()
        for n in range(5, PORTS + 1):
            call("ip", "link", "delete", f"h{n}", ok=False)
        super().close()


def show(name):
    with urllib.request.urlopen(f"{URL}v1/show/{name}") as answer:
        return json.load(answer)[name]


def page():
    """The browser with the dashboard in it, drawn at least once."""
    world = lab.shared(Watched)
    if world.browser.js("location.href") != URL:
        world.browser.open(URL)
    world.browser.wait_for("roceleaf.history.points.at(-1)?.ports.cpu", "two looks at the leaf")
    return world, world.browser


def test_policy():
    """The page may run its own scripts and ask its own leaf, nothing else"""
    lab.shared(Watched)
    with urllib.request.urlopen(URL) as answer:
        policy = dict(part.strip().split(" ", 1) for part in
                      answer.headers["Content-Security-Policy"].split(";"))
        text = answer.read().decode()
    check_equal((policy["default-src"], policy["connect-src"]), ("'none'", "'self'"), "policy")
    check("unsafe" not in str(policy) and "*" not in str(policy), f"policy {policy}")
    check("Chart.js v" in text and "this permission notice shall be" in text, "the library's licence is kept")


def test_ports():
    """All 32 ports are listed as show has them; a click brings the port's charts"""
    _, browser = page()
    rows = show("ports")
    check_equal(len(rows), PORTS + 1, "ports and the CPU's")
    check_equal(browser.js("[...document.querySelectorAll('#ports tbody tr')].map((row) => "
                           "[row.dataset.port, row.cells[1].innerText])"),
                [[row["port"], row["state"]] for row in rows], "ports and their states")
    check_equal(browser.text("#card-ports b"), f"{PORTS} of {PORTS}", "ports up")
    for port in ("h7", "h2"):
        browser.click(f"tr[data-port={port}] button")
        check(browser.text("#port").startswith(f"Port {port} "), f"charts of {port}")
    check("100 Mbit/s" in browser.text("#port"), "its speed")
    names = browser.js("roceleaf.charts.depth.chart.data.datasets.map((set) => [set.label, set.data[0].y])")
    check(["Kmin roce 20 kB", KMIN] in names and ["Kmax roce 80 kB", KMAX] in names,
          f"thresholds of h2: {names}")


def test_traffic():
    """Traffic, marks, pauses and shares are drawn as the counters say"""
    world, browser = page()
    browser.click("tr[data-port=h2] button")
    tap = world.h2.tap()
    sender = world.h1.start("/usr/bin/python3", "-c", SENDER)
    world.leaf.ctl("mark", "step 1 begin")
    begun = browser.js("roceleaf.history.points.length")

    def enough():
        tap.send(pfc_frame(world.h2.mac, {3: 8000}))  # 41 ms at 100 Mbit/s
        time.sleep(0.1)
        return browser.js("roceleaf.history.points.length") >= begun + 6

    wait_until(enough, "six more looks")
    browser.wait_for("document.querySelector('#events tr.mark')?.innerText.includes('step 1 begin')",
                     "the mark")
    pictures(browser)
    port = browser.js("roceleaf.history.points.at(-2).ports.h2")
    check(port["marks"] > 0 and port["tx"] > 1e6, f"marks and rate of h2: {port}")
    paused = browser.js("roceleaf.history.points.map((point) => point.ports.h2.pausedBy)")
    check(0.05 < max(paused) <= 1, f"h2 is paused by its peer: {paused}")
    check(sum(row["share"] for row in browser.js("Object.values(roceleaf.history.points.at(-1).shares)"))
          > 0.99, "uplinks share what is routed")
    sender.kill()

    def settled():
        rows = {row["port"]: row for row in show("ports")}
        held = browser.js("roceleaf.history.now.ports")
        return all(rows[row["port"]][name] == row[name] for row in held
                   for name in ("rx_packets", "tx_bytes"))

    wait_until(settled, "the page holds the counters that show has")
    # Rates over time are what was counted: they are looked at one after another, so nearly.
    step = show("marks")[-1]
    shown = browser.js("[...document.querySelector('#steps tbody tr').cells].map((cell) => cell.innerText)")
    check_equal((shown[0], step["straggler"]), ("step 1 begin", "h2"), "the step, and who was paused in it")
    check(shown[6].startswith("h2 ") and shown[5].startswith(f"{step['hottest']} "), f"the step: {shown}")
    sent = browser.js("""(() => {
        const points = roceleaf.history.points;
        return points.slice(1).reduce((sum, p, i) => sum + p.ports.h2.tx / 8 * (p.x - points[i].x), 0);
    })()""")
    counted = next(row for row in show("ports") if row["port"] == "h2")["tx_bytes"]
    check(abs(sent - counted) < 0.1 * counted, f"{sent:.0f} bytes by rates, {counted} counted")
    marked = sum(row["ecn_marked"] for row in show("queues"))
    check(marked > 0, "packets were marked")
    check_equal(browser.text("#card-lost b"), str(sum(r["lost_packets"] for r in show("buffers"))), "lost")
    browser.check_quiet()
    asked = browser.requests()
    check(asked and all(url.startswith(URL) for url in asked), f"asked for: {set(asked)}")


def test_history():
    """A page that is opened late begins with what the leaf remembers"""
    world, browser = page()
    browser.driver.refresh()
    world, browser = page()
    check(browser.js("roceleaf.history.points.length") > 5, "more seconds than the page has seen")
    marked = browser.js("""(() => {
        const points = roceleaf.history.points;
        return points.slice(1).reduce((sum, p, i) => sum + p.pairs["h2 3"].marks * (p.x - points[i].x), 0);
    })()""")
    counted = next(row for row in show("queues") if (row["port"], row["priority"]) == ("h2", 3))["ecn_marked"]
    check(abs(marked - counted) < 0.1 * counted, f"{marked:.0f} marks remembered, {counted} counted")
    check(max(browser.js("roceleaf.history.points.map((p) => p.ports.h2.pausedBy)")) > 0.05, "pauses")
    browser.picture("dashboard-late")
    browser.check_quiet()


def pictures(browser):
    for dark in (False, True):
        browser.dark(dark)
        browser.picture("dashboard-dark" if dark else "dashboard")
    browser.picture("dashboard-dark-whole", whole=True)
    browser.dark(False)


def test_hostile_names():
    """Marks and ports that look like HTML are text"""
    world, browser = page()
    world.leaf.ctl("mark", HOSTILE)
    browser.wait_for("[...document.querySelectorAll('#events tr.mark')].some((row) => "
                     "row.cells[3].innerText == arguments[0])", "the mark", HOSTILE)
    # No leaf takes such a name for a port: let the answers have it.
    browser.js("""(() => {
        const json = Response.prototype.json;
        Response.prototype.json = async function () {
            return JSON.parse(JSON.stringify(await json.call(this)).replaceAll('"h2"', JSON.stringify(arguments0)));
        };
    })()""".replace("arguments0", json.dumps(HOSTILE)))
    browser.wait_for("[...document.querySelectorAll('#ports button')].some((b) => b.innerText == arguments[0])",
                     "the port's name", HOSTILE)
    browser.js("[...document.querySelectorAll('#ports button')].find((b) => b.innerText == arguments[0]).click()",
               HOSTILE)
    check(browser.text("#port").startswith(f"Port {HOSTILE} "), "its charts")
    check_equal(browser.js("typeof hacked"), "undefined", "nothing of it ran")
    check_equal(browser.count("img"), 0, "images")
    browser.check_quiet()
    browser.driver.refresh()


def test_gone():
    """A leaf that is gone is said to be, and taken up again when it is back"""
    world, browser = page()
    world.leaf.stop()
    browser.wait_for("document.querySelector('#state').classList.contains('gone')", "it is gone")
    check("no answer since" in browser.text("#state"), browser.text("#state"))
    browser.picture("dashboard-gone")
    instance = browser.js("roceleaf.history.instance")
    world.leaf.start()
    browser.wait_for("!document.querySelector('#state').classList.contains('gone')", "it is back")
    check(browser.js("roceleaf.history.instance") != instance, "what it knows is of the new leaf")
    browser.check_quiet("ERR_CONNECTION_REFUSED")
    lab.close_shared()


if __name__ == "__main__":
    lab.run(globals())
