// SPDX-License-Identifier: BSD-3-Clause
// report - one run of the lab, or two side by side: {"results": [...], "comparison"} of #data.
import { LineChart, bytes, count, element, onColourScheme, percent, rate, ratio, table, threshold, time } from "./common.js";
import { drawCollective } from "./collective.js";
import { drawTopology } from "./topology.js";

const data = JSON.parse(document.getElementById("data").textContent);
const LINES = 6;
const FLOW_LINES = 8;
const ROWS = 20;
const RATE_POINTS = 200;
const NO_SERIES = "the result has no series: run with --html or --series";
const charts = [];

// --- what a chart of one result shows ---

const largest = (values) => values.reduce((most, value) => Math.max(most, value), 0);
const sum = (values) => values.reduce((all, value) => all + value, 0);
const top = (list, worth, many) => list.map((one) => [worth(one), one]).filter(([value]) => value > 0)
  .sort((a, b) => b[0] - a[0]).slice(0, many).map(([, one]) => one);

function tickStep(span) {
  const raw = span / 6;
  const size = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * size).find((step) => step >= raw);
}

// When the last thing happened, with a little after it; a run may go on in silence.
function span(result) {
  const { series } = result;
  if (series?.flows === undefined) return result.duration_ns;
  const busy = [series.paused_ppm, series.marked, ...series.flows.map((flow) => flow.bytes)];
  const last = largest(busy.map((values) => values.findLastIndex((value) => value > 0)));
  const end = Math.max((last + 1) * series.step_ns, ...(result.faults ?? []).map((fault) => fault.end_ns));
  return Math.min(result.duration_ns, 1.05 * end);
}

function overTime(result, y, lines, more = {}) {
  const happenings = (result.faults ?? []).flatMap((fault) => [
    { x: fault.at_ns, name: `${fault.kind} ${fault.target}`, strong: true },
    { x: fault.end_ns, name: "over", strong: false }]).filter((what) => what.x < result.duration_ns);
  const to = largest(data.results.map(span)) || result.duration_ns;
  return { from: 0, to, step: tickStep(to), x: time, y, lines, happenings, ...more };
}

// Values at the ends of the steps, or of what grew during each.
const points = (series, values) => values.map((value, i) => ({ x: (i + 1) * series.step_ns, y: value }));

/** What grew, per nanosecond and times a scale: over several steps each, as single ones only show packets. */
function growth(series, values, scale) {
  const group = Math.ceil(values.length / RATE_POINTS);
  const found = [];
  for (let i = 0; i < values.length; i += group) {
    const some = values.slice(i, i + group);
    found.push({ x: (i + some.length) * series.step_ns, y: (scale * sum(some)) / (some.length * series.step_ns) });
  }
  return found;
}

function depth(result) {
  const { series } = result;
  const links = top(series?.links ?? [], (link) => largest(link.depth_bytes), LINES);
  const lines = links.map((link, index) => ({ name: link.direction, points: points(series, link.depth_bytes), index }));
  const limits = new Map();
  for (const link of links.filter((one) => one.kmin_bytes > 0)) limits.set(`${link.kmin_bytes} ${link.kmax_bytes}`, link);
  for (const link of [...limits.values()].slice(0, 2))
    lines.push(threshold("Kmin", link.kmin_bytes, 0, result.duration_ns, 5), threshold("Kmax", link.kmax_bytes, 0, result.duration_ns, 1));
  return overTime(result, bytes, links.length > 0 ? lines : [], { none: series === undefined ? NO_SERIES : "nothing waited in any queue" });
}

function buffer(result) {
  const { series } = result;
  const buffers = top(series?.buffers ?? [], (one) => largest(one.used_bytes), LINES);
  const lines = buffers.map((one, index) => ({ name: one.direction, points: points(series, one.used_bytes), index }));
  if (buffers.length > 0)
    lines.push({ name: `xoff of ${buffers[0].direction}`, points: points(series, buffers[0].xoff_bytes), index: 1, thin: true });
  return overTime(result, bytes, lines, { none: series === undefined ? NO_SERIES : "no lossless packets waited" });
}

function rates(result) {
  const { series } = result;
  const flows = top(series?.flows ?? [], (flow) => sum(flow.bytes), FLOW_LINES);
  return overTime(result, rate, flows.map((flow, index) => ({ name: flow.name, points: growth(series, flow.bytes, 8e9), index })),
    { none: series === undefined ? NO_SERIES : "no flow received anything" });
}

function marks(result) {
  const { series } = result;
  const links = top(series?.links ?? [], (link) => sum(link.marked), LINES);
  return overTime(result, count, links.map((link, index) => ({ name: link.direction, points: growth(series, link.marked, 1e6), index })),
    { none: series === undefined ? NO_SERIES : "no packet was marked" });
}

function pauses(result) {
  const { series } = result;
  const links = top(series?.links ?? [], (link) => sum(link.paused_ppm), LINES);
  return overTime(result, percent, links.map((link, index) => ({ name: link.direction, points: growth(series, link.paused_ppm, 1e-6 * series.step_ns), index, fill: true, stepped: true })),
    { top: 1, none: series === undefined ? NO_SERIES : "nobody was paused" });
}

function distribution(result) {
  const slowdowns = result.flows.filter((flow) => flow.slowdown !== undefined).map((flow) => flow.slowdown).sort((a, b) => a - b);
  return slowdowns.map((value, i) => ({ x: value, y: (i + 1) / slowdowns.length }));
}

/** Of all results in one chart. */
function slowdowns(results) {
  const all = results.map(distribution);
  const most = largest(all.flat().map((point) => point.x));
  const lines = all.map((values, index) => ({ name: results.length > 1 ? sides[index] : "flows", index,
    points: [{ x: 1, y: 0 }, ...values, { x: most * 1.02, y: 1 }], stepped: "after" })).filter((_, index) => all[index].length > 0);
  const to = Math.max(1.1, most * 1.02);
  return { from: 1, to, step: most > 20 ? undefined : tickStep(to - 1), x: (value) => `${Number(value.toPrecision(4))}`, y: percent, top: 1, lines, logarithmic: most > 20, none: "no flow ended" };
}

const OVER_TIME = [
  ["Queue depth", "of the deepest queues, with Kmin and Kmax", depth],
  ["Buffers", "of lossless packets that came in over a link, with xoff", buffer],
  ["Rate of flows", "received; the largest", rates],
  ["Packets marked", "a millisecond", marks],
  ["Paused", "share of the time that a link's sender was paused", pauses],
];

// --- parts of the page ---

const sides = ["A", "B"];

function card(id, value, text, bad = false) {
  return element("div", { class: bad ? "card bad" : "card", "data-card": id }, element("b", {}, value), element("span", {}, text));
}

function cards(result) {
  const done = result.flows_finished;
  const all = done + result.flows_unfinished;
  return element("div", { class: "cards" },
    ...(all > 0 ? [card("finished", `${done} of ${all}`, "flows finished", done < all)] : []),
    ...(done > 0 ? [card("p50", ratio(result.fct.p50), "slowdown, median"), card("p99", ratio(result.fct.p99), "slowdown, 99 %")] : []),
    card("latency", time(result.latency_ns.p99), "latency, 99 %"),
    card("marked", count(result.ecn.marked), "packets marked"),
    card("pauses", count(result.pfc.pauses), "pauses"),
    card("share", percent(result.pfc.pause_share), "of the time hosts paused"),
    card("lossless", count(result.lossless_drops), "lossless packets lost", result.lossless_drops > 0),
    ...(result.watchdog.detected > 0 ? [card("storms", count(result.watchdog.detected), "pause storms", true)] : []),
    ...(result.retransmitted_bytes > 0 ? [card("again", bytes(result.retransmitted_bytes), "sent again")] : []));
}

function panel(id, title, note, ...children) {
  return element("section", { class: "panel", id }, element("h2", {}, title, " ", element("small", {}, note)), ...children);
}

function some(rows, columns, attributes) {
  return [table(columns, rows.slice(0, ROWS), attributes), ...(rows.length > ROWS ? [element("p", { class: "none" }, `and ${rows.length - ROWS} more`)] : [])];
}

function linkTable(result) {
  const links = [...result.links].sort((a, b) => b.paused_share - a.paused_share || b.queue_max_bytes - a.queue_max_bytes || b.utilisation - a.utilisation);
  return panel("links", "Links", "those that were paused first, then by their queues", ...some(links, [
    ["Link", (link) => link.direction, true], ["Busy", (link) => percent(link.utilisation)], ["Paused", (link) => percent(link.paused_share)],
    ["Marked", (link) => count(link.marked)], ["Queue, most", (link) => bytes(link.queue_max_bytes)], ["mean", (link) => bytes(link.queue_mean_bytes)]],
  (link) => ({ "data-direction": link.direction })));
}

function flowTable(result) {
  if (result.flows.length === 0) return [];
  const worth = (flow) => flow.slowdown ?? (flow.bytes === 0 ? 0 : Number.MAX_VALUE);
  const flows = [...result.flows].sort((a, b) => worth(b) - worth(a));
  return [panel("flows", "Flows", "the slowest first", ...some(flows, [
    ["Flow", (flow) => flow.name, true], ["From", (flow) => flow.src, true], ["To", (flow) => flow.dst, true], ["Received", (flow) => bytes(flow.received_bytes)],
    ["Time", (flow) => (flow.fct_ns !== undefined ? time(flow.fct_ns) : flow.bytes === 0 ? "no end" : "unfinished")], ["Slowdown", (flow) => (flow.slowdown === undefined ? "-" : ratio(flow.slowdown))],
    ["Marked", (flow) => count(flow.marked)]], (flow) => ({ "data-flow": flow.name })))];
}

function dropTable(result) {
  const drops = Object.entries(result.drops).filter(([, packets]) => packets > 0);
  if (drops.length === 0) return [];
  return [panel("drops", "Drops", "packets, by reason", table([["Reason", ([reason]) => reason, true], ["Packets", ([, packets]) => packets]], drops))];
}

function howToRead() {
  return element("p", { class: "none" }, "Lines are as wide as a direction is busy; dashed ones were paused. Point at a link for its figures.");
}

function addChart(title, note, what, size) {
  const chart = new LineChart(title, note, size);
  charts.push({ chart, what });
  return chart;
}

function addSlowdowns(results) {
  if (results.every((result) => result.flows.length === 0)) return [];
  return [addChart("Slowdown of flows", "share of flows that took at most so many times their ideal time", () => slowdowns(results), "tall")];
}

function collectives(result) {
  const names = [...new Set(result.collectives.map((one) => one.name))];
  return names.map((name) => drawCollective(name, result.collectives.filter((one) => one.name === name)));
}

function why(index) {
  const { findings, unseen } = data.why[index] ?? { findings: [], unseen: "" };
  return panel(`why${index}`, "What slowed it down", "worst first; the share of time that it may have cost at most",
    findings.length === 0 ? element("p", {}, "nothing that is seen here") : table([
      ["Cause", (one) => one.cause, true], ["Share", (one) => percent(one.share)], ["", (one) => one.text, true]], findings, (one) => ({ "data-cause": one.cause })),
    element("p", { class: "none" }, unseen));
}

function topology(result, side = "") {
  return panel(`topology${side}`, side === "" ? "Fabric" : `Fabric, ${side}`, `${result.links.length / 2} links`, drawTopology(result.links, side === "" ? 1200 : 600), howToRead());
}

// --- one run ---

function drawRun(result) {
  const left = OVER_TIME.map(([title, note, of]) => addChart(title, note, () => of(result), "tall"));
  const cdf = addSlowdowns([result]);
  return [
    cards(result), why(0), topology(result),
    panel("time", "Over time", "faults are vertical lines", element("div", { class: "columns" },
      ...[...left, ...cdf].map((chart) => chart.node))),
    ...collectives(result),
    element("div", { class: "columns" }, linkTable(result), element("div", { class: "stack" }, ...flowTable(result), ...dropTable(result))),
  ];
}

// --- two, side by side ---

function value(number) {
  return number === null ? "-" : Number.isInteger(number) ? String(number) : number.toFixed(6);
}

function change(number) {
  return number === null ? "-" : number >= 9 ? `x ${(number + 1).toFixed(1)}` : `${number > 0 ? "+" : ""}${(100 * number).toFixed(2)} %`;
}

// The same scale on both sides, so that a look compares them.
function pair(results, of) {
  const both = results.map(of);
  const most = largest(both.flatMap((what) => what.lines.filter((line) => !line.thin)).flatMap((line) => line.points).map((point) => point.y));
  return both.map((what) => ({ ...what, least: most }));
}

function drawComparison(results, comparison) {
  const header = ({ file, scenario, seed, digest }, name) => card(name, `${name}: ${scenario}, seed ${seed}`, `${file}, digest ${digest}`);
  const rows = OVER_TIME.flatMap(([title, note, of]) => sides.map((side, index) => addChart(`${side}: ${title}`, note, () => pair(results, of)[index], "tall")));
  const cdf = addSlowdowns(results);
  return [
    element("div", { class: "cards" }, header(comparison.a, "A"), header(comparison.b, "B"),
      ...(comparison.same_digest ? [card("same", "the same run", "their digests are equal")] : [])),
    panel("comparison", "Differences", "change from A to B", comparison.rows.length === 0 ? element("p", { class: "none" }, "none") : table([
      ["", (row) => row.name, true], ["A", (row) => value(row.a)], ["B", (row) => value(row.b)], ["Change", (row) => change(row.change)]], comparison.rows,
    (row) => ({ "data-row": row.name }))),
    element("div", { class: "columns" }, ...results.map((result, index) => element("div", { class: "stack" }, topology(result, sides[index]), why(index)))),
    ...cdf.map((chart) => panel("slowdowns", "Flows", "A and B", chart.node)),
    panel("time", "Over time", "both to the same scale; faults are vertical lines", element("div", { class: "columns" }, ...rows.map((chart) => chart.node))),
    element("div", { class: "columns" }, ...results.map((result) => element("div", { class: "stack" }, ...collectives(result), linkTable(result), ...flowTable(result), ...dropTable(result)))),
  ];
}

function draw() {
  for (const { chart, what } of charts) chart.show(what());
}

const [first] = data.results;
const title = data.results.map((result) => result.scenario);
document.title = `${[...new Set(title)].join(", ")}: roceleaf-lab`;
document.getElementById("name").textContent = [...new Set(title)].join(" and ");
document.getElementById("about").textContent = data.comparison === undefined
  ? `seed ${first.seed}, ${time(first.duration_ns)} of virtual time, ${count(first.packet_hops)} packet-hops, digest ${first.digest}`
  : "two runs, side by side";
document.getElementById("report").append(...(data.comparison === undefined ? drawRun(first) : drawComparison(data.results, data.comparison)));
onColourScheme(draw);
for (const cell of document.querySelectorAll("[data-cause] td:last-child")) cell.classList.add("wrap");
globalThis.roceleaf = { data, charts: charts.map(({ chart }) => chart) };
draw();
