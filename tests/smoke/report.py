#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reports of the lab in a browser: they show what the results say, and need nothing but themselves."""

import json
import os
import tempfile

import lab
from browser import Browser
from lab import check, check_equal

HOSTILE = "</script><script>hacked=1</script><img src=x onerror=hacked=2>"
SHARED = {}


def here(name):
    if "directory" not in SHARED:
        SHARED["directory"] = tempfile.TemporaryDirectory(prefix="roceleaf-report-", dir="/tmp")
    return os.path.join(SHARED["directory"].name, name)


def roceleaf_lab(*words, status=(0,)):
    done = lab.call(lab.program("ROCELEAF_LAB", "roceleaf-lab"), *words, ok=False, timeout_s=60)
    check(done.returncode in status, f"status {done.returncode} of {words}: {done.stderr[-500:]}")
    return done


def read(name):
    with open(here(name), encoding="utf-8") as file:
        return json.load(file)


def opened(name):
    """The browser with a report in it, which has drawn itself, complained of nothing and asked for nothing."""
    if "browser" not in SHARED:
        SHARED["browser"] = Browser()
    browser = SHARED["browser"]
    browser.open(f"file://{here(name)}")
    browser.wait_for("globalThis.roceleaf?.charts.length > 0", f"{name} is drawn")
    browser.check_quiet()
    check_equal(browser.requests(), [], f"what {name} asks for")
    return browser


def ran(scenario, *more):
    """Run a scenario; the report in the browser, and the result."""
    roceleaf_lab("run", scenario, "--quiet", "--json", here("result.json"), "--html",
                 here("report.html"), *more, status=(0, 3) if more else (0,))
    browser, result = opened("report.html"), read("result.json")
    for dark in (False, True):
        browser.dark(dark)
        browser.picture(f"report-{scenario}{'-dark' if dark else ''}")
    browser.dark(False)
    browser.picture(f"report-{scenario}-whole", whole=True)
    check_equal(browser.text("#name"), result["scenario"], "scenario")
    check(result["digest"] in browser.text("#about"), "the digest")
    check_equal(browser.js("[...document.querySelectorAll('#topology g.link')].map((g) => g.dataset.direction)"),
                [link["direction"] for link in result["links"]], "links in the drawing")
    check_equal(browser.count("#topology path.paused"),
                sum(link["paused_share"] > 0 for link in result["links"]), "paused links in the drawing")
    why = json.loads(roceleaf_lab("why", "--json", here("result.json")).stdout)
    check_equal([row[0] for row in rows(browser, "#why0")], [one["cause"] for one in why["findings"]],
                "what slowed it down")
    check_equal(browser.text("[data-card=lossless] b"), str(result["lossless_drops"]), "lossless drops")
    return browser, result


def lines(browser, heading):
    """{name: its points} of the chart with that heading."""
    return dict(browser.js("""(() => {
        const chart = roceleaf.charts.find((one) => one.node.querySelector("h3").innerText.startsWith(arguments0));
        return (chart.chart?.data.datasets ?? []).map((set) => [set.label, set.data.map((at) => [at.x, at.y])]);
    })()""".replace("arguments0", json.dumps(heading))))


def rows(browser, panel):
    return browser.js(f"[...document.querySelectorAll('{panel} tbody tr')].map((row) => "
                      "[...row.cells].map((cell) => cell.innerText))")


def test_incast():
    """An incast: the queue against Kmin and Kmax, the senders' rates, the slowdowns"""
    browser, result = ran("incast-8")
    series = next(link for link in result["series"]["links"] if link["direction"] == "leaf1->leaf1.h1")
    depth = lines(browser, "Queue depth")
    check_equal([y for _, y in depth["leaf1->leaf1.h1"]], series["depth_bytes"], "the queue over time")
    thresholds = {y for name, points in depth.items() if name.startswith("K") for _, y in points}
    check_equal(thresholds, {100000, 400000}, "Kmin and Kmax of 100G (1 KB per Gb/s, and four times that)")
    rates = lines(browser, "Rate of flows")
    # What was received is the area below the line, in bits and nanoseconds.
    width = rates["sender-1"][1][0] - rates["sender-1"][0][0]
    check(abs(sum(y for _, y in rates["sender-1"]) * width / 8e9 - 10e6) < 1, "10 MB of sender-1")
    marked = lines(browser, "Packets marked")["leaf1->leaf1.h1"]
    check(abs(sum(y for _, y in marked) * width / 1e6 - result["ecn"]["marked"]) < 0.01, "marks")
    slowdowns = sorted(flow["slowdown"] for flow in result["flows"])
    check_equal([x for x, _ in lines(browser, "Slowdown")["flows"]][1:-1], slowdowns, "slowdowns")
    table = rows(browser, "#flows")
    check_equal([row[0] for row in table], [flow["name"] for flow in
                sorted(result["flows"], key=lambda flow: -flow["slowdown"])], "flows, slowest first")
    check_equal(browser.text("[data-card=p50] b"), f"{result['fct']['p50']:.3f}", "median slowdown")


def test_pause_storm():
    """A pause storm: who was paused, when the fault was, what the watchdog dropped"""
    browser, result = ran("pause-storm")
    paused = lines(browser, "Paused")
    check_equal(set(paused), {link["direction"] for link in result["links"] if link["paused_share"] > 0},
                "paused links")
    check_equal(max(y for _, y in paused["leaf1->leaf1.h1"]), 1, "the storm's link stands still")
    fault = result["faults"][0]
    happened = browser.js("roceleaf.charts[0].what.happenings")
    check([fault["at_ns"], f"{fault['kind']} {fault['target']}"] in
          [[what["x"], what["name"]] for what in happened], f"the fault is there: {happened}")
    check_equal(rows(browser, "#drops"), [["watchdog", str(result["drops"]["watchdog"])]], "drops")
    check_equal(browser.text("[data-card=storms] b"), str(result["watchdog"]["detected"]), "storms")


def test_collective():
    """A collective: its repetitions, and the steps of the slowest with who was last"""
    browser, result = ran("allreduce-beside-incast", "--set", "traffic[0].allreduce.bytes=4MB")
    name = result["collectives"][0]["name"]
    of = [one for one in result["collectives"] if one["name"] == name]
    shown = rows(browser, f".collective[data-name={name}] .steps")
    check_equal([row[-1] for row in shown[:len(of)]], [one["straggler"] for one in of], "stragglers")
    slowest = max(of, key=lambda one: one["time_ns"])
    check_equal([[row[0], row[3], row[4], row[5]] for row in shown[len(of):]],
                [[str(step["step"]), step["straggler"], step["from"], step["link"]]
                 for step in slowest["steps"]], "steps of the slowest")
    longest = browser.js("Math.max(...[...document.querySelectorAll('tr[data-step] .bar')]"
                         ".map((bar) => parseFloat(bar.style.width)))")
    check_equal(longest, 100, "the longest bar, %")


def test_compare():
    """Two runs side by side, to the same scale; names that look like HTML are text"""
    for name, scenario in (("a", "incast-8"), ("b", "incast-without-ecn")):
        roceleaf_lab("run", scenario, "--quiet", "--series", "--json", here(f"{name}.json"))
    a, b = read("a.json"), read("b.json")
    b["scenario"] = b["flows"][0]["name"] = b["series"]["flows"][0]["name"] = HOSTILE
    with open(here("b.json"), "w", encoding="utf-8") as file:
        json.dump(b, file)
    roceleaf_lab("compare", "--html", here("compare.html"), here("a.json"), here("b.json"))
    said = json.loads(roceleaf_lab("compare", "--json", here("a.json"), here("b.json")).stdout)
    browser = opened("compare.html")
    browser.picture("report-compare")
    browser.picture("report-compare-whole", whole=True)
    check_equal([row[0] for row in rows(browser, "#comparison")], [row["name"] for row in said["rows"]],
                "differences")
    check_equal(browser.count("#topologyA g.link") + browser.count("#topologyB g.link"),
                len(a["links"]) + len(b["links"]), "both fabrics")
    deepest = [max(max(link["depth_bytes"]) for link in side["series"]["links"]) for side in (a, b)]
    check(deepest[1] > 2 * deepest[0], f"queues without marks are deeper: {deepest}")
    tops = browser.js("roceleaf.charts.filter((one) => one.node.innerText.includes('Queue depth'))"
                      ".map((one) => one.chart.scales.y.max)")
    check(len(tops) == 2 and tops[0] == tops[1] >= deepest[1], f"the same scale: {tops}")
    check_equal(browser.text("#name"), f"{a['scenario']} and {HOSTILE}", "scenarios")
    check(HOSTILE in [row[0] for row in rows(browser, "#flows")] or
          HOSTILE in browser.js("[...document.querySelectorAll('[data-flow]')].map((row) => row.dataset.flow)"),
          "the flow's name")
    check_equal((browser.js("typeof hacked"), browser.count("img")), ("undefined", 0), "nothing of it ran")


def test_without_series():
    """Results without series have a report, too; a file that can't be written is an error"""
    for name, seed in (("a", 1), ("b", 2)):
        roceleaf_lab("run", "hello", "--quiet", "--json", here(f"{name}.json"), "--seed", seed)
    roceleaf_lab("compare", here("a.json"), here("b.json"), "--html", here("compare.html"))
    browser = opened("compare.html")
    check("--series" in browser.text("#time"), "what to do is said")
    roceleaf_lab("run", "hello", "--quiet", "--html", here("no/such/folder.html"), status=(1,))
    roceleaf_lab("compare", "--html", here("a.json"), status=(2,))
    SHARED.pop("browser").close()
    SHARED.pop("directory").cleanup()


if __name__ == "__main__":
    lab.run(globals())
