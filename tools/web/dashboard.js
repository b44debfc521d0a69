// SPDX-License-Identifier: BSD-3-Clause
// dashboard - a running leaf: all ports as a table, one of them as charts, and what happened.
import { LineChart, bytes, colour, count, element, onColourScheme, percent, rate, table, threshold, time } from "./common.js";
import { HISTORY_S, History, byPort, pairKey } from "./history.js";

const history = new History();
const byId = (id) => document.getElementById(id);
const EVENTS_SHOWN = 200;
const STEPS_SHOWN = 50;
const SPAN_MIN_S = 30;
const NOTES = new Set(["flow_control", "rx_queues"]); // events that are no news on a time line
let chosen = null; // name of a port

const charts = {
  depth: new LineChart("Queue depth", "egress, with Kmin and Kmax"),
  buffer: new LineChart("Buffer", "of what came in here, with xoff and xon"),
  pauses: new LineChart("Paused", "share of each second"),
  rates: new LineChart("Rate"),
  marked: new LineChart("Packets marked", "per second"),
  shares: new LineChart("Uplink shares", "of routed bytes; fair share dotted"),
  allPauses: new LineChart("Paused, all ports", "share of each second, the port paused most"),
  allMarks: new LineChart("Packets marked, all ports", "per second"),
};
byId("port-charts").append(...["depth", "buffer", "pauses", "rates", "marked"].map((name) => charts[name].node));
byId("leaf-charts").append(...["shares", "allPauses", "allMarks"].map((name) => charts[name].node));

const clock = (seconds) => new Date(1000 * seconds).toTimeString().slice(0, 8);

// --- what all charts share: the time, and what happened ---

function frame(y, more = {}) {
  const to = history.now.seconds;
  const from = Math.max(to - HISTORY_S, Math.min(history.points[0]?.x ?? to, to - SPAN_MIN_S));
  const happenings = history.events.filter((event) => event.time_ns / 1e9 > from && !NOTES.has(event.type)).map((event) => ({
    x: event.time_ns / 1e9,
    name: event.type === "mark" ? event.text : `${event.type}${event.port === null ? "" : ` ${event.port}`}`,
    strong: event.type === "mark",
  }));
  return { from, to, step: to - from > 150 ? 60 : to - from > 60 ? 20 : 10, x: clock, y, happenings, ...more };
}

const line = (name, index, value, more = {}) => ({
  name, index, ...more,
  points: history.points.map((point) => ({ x: point.x, y: value(point) })).filter((at) => at.y !== undefined),
});

// --- the port that was chosen ---

function drawPort() {
  const port = history.now.ports.find((row) => row.port === chosen);
  const key = (row) => `${chosen} ${row.priority}`;
  if (port === undefined) return;
  const queues = byPort(history.now.queues, chosen);
  const limits = byPort(history.now.ecn, chosen);
  const buffers = byPort(history.now.buffers, chosen);
  const used = queues.filter((row) => row.tx_packets > 0 || row.depth_bytes > 0 || row.lossless);
  const name = (row) => (row.class === "-" ? `priority ${row.priority}` : `${row.priority} ${row.class}`);
  const depth = frame(bytes, { least: 1000 });
  const buffer = frame(bytes, { least: 1000 });
  const share = frame(percent, { top: 1, none: "no lossless class" });

  byId("port").replaceChildren(`Port ${chosen} `, element("small", {}, `${port.state}, ${port.mode}, ${rate(port.speed_bps)}, device ${port.device}`));
  const busy = (row) => history.points.some((point) => point.pairs[key(row)]?.depth > 0);
  charts.depth.show({ ...depth, lines: used.map((row) => line(name(row), row.priority, (point) => point.pairs[key(row)]?.depth))
    .concat(limits.filter((row) => row.ecn && (row.lossless || busy(row))).flatMap((row) => [
      threshold(`Kmin ${row.class}`, row.kmin_bytes, depth.from, depth.to, row.priority),
      threshold(`Kmax ${row.class}`, row.kmax_bytes, depth.from, depth.to, row.priority)])), none: "no queue was used" });
  charts.buffer.show({ ...buffer, lines: buffers.flatMap((row) => [
    line(`${name(row)} used`, row.priority, (point) => point.pairs[key(row)]?.buffer?.used),
    line("xoff", 1, (point) => point.pairs[key(row)]?.buffer?.xoff, { thin: true }),
    line("xon", 2, (point) => point.pairs[key(row)]?.buffer?.xon, { thin: true, dash: [1, 3] })]), none: "no lossless class" });
  charts.pauses.show({ ...share, lines: queues.filter((row) => row.lossless).flatMap((row) => [
    line(`${row.class}: its peer paused us`, 1, (point) => point.pairs[key(row)]?.pausedBy, { fill: true, stepped: true }),
    line(`${row.class}: we paused it`, 0, (point) => point.pairs[key(row)]?.pausing, { fill: true, stepped: true })]) });
  charts.rates.show({ ...frame(rate, { least: 1000 }), lines: [line("received", 0, (point) => point.ports[chosen]?.rx), line("sent", 1, (point) => point.ports[chosen]?.tx)] });
  charts.marked.show({ ...frame(count, { least: 1 }), lines: used.filter((row) => limits.some((limit) => limit.priority === row.priority && limit.ecn))
    .map((row) => line(name(row), row.priority, (point) => point.pairs[key(row)]?.marks)), none: "no queue marks" });
}

function drawLeaf() {
  const uplinks = history.now.balance;
  const most = (field) => (point) => Math.max(0, ...Object.values(point.ports).map((port) => port[field]));
  const shares = frame(percent, { top: 1, none: "no route has several next hops" });

  charts.shares.show({ ...shares, lines: uplinks.map((row, index) => line(row.port, index, (point) => point.shares[row.port]?.share))
    .concat(uplinks.slice(0, 1).map((row) => ({ ...line("fair", 6, (point) => point.shares[row.port]?.fair), thin: true }))) });
  charts.allPauses.show({ ...frame(percent, { top: 1 }), lines: [
    line("a peer paused us", 1, most("pausedBy"), { fill: true, stepped: true }),
    line("we paused a peer", 0, most("pausing"), { fill: true, stepped: true })] });
  charts.allMarks.show({ ...frame(count, { least: 1 }), lines: [line("marked", 5, (point) => point.marks)] });
}

// --- all ports ---

// The background says how much; the text says it too.
function heat(text, value, shade, title) {
  const cell = element("span", { "data-heat": value, title }, text);
  cell.style.backgroundColor = value >= 0.001 ? `rgba(var(--${shade}), ${Math.min(1, 0.12 + 0.68 * value)})` : "";
  return cell;
}

function portColumns() {
  const last = history.points.at(-1);
  const of = (row) => last?.ports[row.port] ?? { rx: 0, tx: 0, drops: 0, marks: 0, pausedBy: 0, pausing: 0 };
  const share = (bits, row) => (row.speed_bps > 0 ? bits / row.speed_bps : 0);
  const util = (field) => (row) => heat(row.speed_bps > 0 ? percent(share(of(row)[field], row)) : rate(of(row)[field]), share(of(row)[field], row), "blue", rate(of(row)[field]));
  const paused = (field) => (row) => heat(percent(of(row)[field]), of(row)[field], "red");
  const queue = (priority) => (row) => {
    const pair = last?.pairs[`${row.port} ${priority}`];
    const depth = pair?.depth ?? 0;
    return heat(depth === 0 ? "0" : bytes(depth), depth / Math.max(1, pair?.limits?.kmax_bytes || 1e6), "orange");
  };
  const used = [...new Set(history.now.queues.filter((row) => row.lossless || row.class !== "-").map((row) => row.priority))];

  return [
    ["Port", (row) => choose(row.port), true],
    ["State", (row) => element("span", { class: row.state === "up" ? undefined : "down" }, row.state), true],
    ["In", util("rx")], ["Out", util("tx")],
    ...used.map((priority) => [`Q${priority}`, queue(priority)]),
    ["Paused", paused("pausedBy")], ["Pausing", paused("pausing")],
    ["Marks/s", (row) => heat(count(Math.round(of(row).marks)), of(row).marks > 0 ? 0.3 : 0, "orange")],
    ["Drops/s", (row) => heat(count(Math.round(of(row).drops)), of(row).drops > 0 ? 0.5 : 0, "red")],
  ];
}

function choose(port) {
  const button = element("button", { type: "button" }, port);
  button.addEventListener("click", () => {
    chosen = port;
    draw();
  });
  return button;
}

// The buttons stay the same ones, or a click that a redraw comes into would be lost.
function drawPorts() {
  const fresh = table(portColumns(), history.now.ports, (row) => ({ "data-port": row.port, class: row.port === chosen ? "chosen" : "" }));
  const rowsOf = (node) => [...node.querySelectorAll("tr")];
  const names = (node) => JSON.stringify([...node.querySelectorAll("th, td:first-child")].map((cell) => cell.textContent));
  if (names(fresh) !== names(byId("ports"))) {
    byId("ports").replaceChildren(fresh);
    return;
  }
  const shown = rowsOf(byId("ports"));
  rowsOf(fresh).forEach((row, index) => {
    shown[index].className = row.className;
    [...row.cells].slice(1).forEach((cell, column) => shown[index].cells[column + 1].replaceWith(cell));
  });
}

// --- the rest ---

function drawCards() {
  const last = history.points.at(-1);
  const { ports, buffers, info } = history.now;
  const sum = (field) => (last === undefined ? 0 : Object.values(last.ports).reduce((all, port) => all + port[field], 0));
  const real = ports.filter((row) => row.port !== "cpu");
  const lost = buffers.reduce((all, row) => all + row.lost_packets, 0);
  const storms = history.now.pfc.reduce((all, row) => all + row.storms, 0);
  const most = (field) => (last === undefined ? 0 : Math.max(0, ...Object.values(last.ports).map((port) => port[field])));
  const down = real.filter((row) => row.state !== "up").length;
  const card = (id, value, text, bad = false) => element("div", { class: bad ? "card bad" : "card", id }, element("b", {}, value), element("span", {}, text));

  byId("cards").replaceChildren(
    card("card-ports", `${real.length - down} of ${real.length}`, "ports up", down > 0),
    card("card-rate", rate(sum("rx")), "received"),
    card("card-marks", count(Math.round(last?.marks ?? 0)), "packets marked a second"),
    card("card-paused", percent(most("pausedBy")), "paused by a peer, worst port"),
    card("card-pausing", percent(most("pausing")), "pausing a peer, worst port"),
    card("card-lost", count(lost), "lossless packets lost", lost > 0),
    card("card-storms", count(storms), "pause storms", storms > 0),
    card("card-buffers", percent(info[0].buffer_free / Math.max(1, info[0].buffer_count)), "packet buffers free"));
}

function drawEvents() {
  const newest = history.events.slice(-EVENTS_SHOWN).reverse();
  byId("events").replaceChildren(table([
    ["Time", (row) => clock(row.time_ns / 1e9), true], ["Type", (row) => row.type, true],
    ["Port", (row) => row.port ?? "", true], ["", (row) => row.text, true]],
  newest, (row) => ({ class: row.type === "mark" ? "mark" : undefined, "data-sequence": row.sequence })));
  for (const cell of byId("events").querySelectorAll("td:last-child")) cell.classList.add("wrap");
}

function drawSteps() {
  const steps = history.now.marks.slice(-STEPS_SHOWN).reverse();
  byId("steps-panel").hidden = steps.length === 0;
  byId("steps").replaceChildren(table([
    ["Step", (row) => row.text, true], ["Took", (row) => `${time(row.duration_ns)}${row.running ? ", still" : ""}`], ["Sent", (row) => bytes(row.tx_bytes)],
    ["Marked", (row) => count(row.ecn_marked)], ["Paused", (row) => time(row.rx_paused_ns)],
    ["Hottest", (row) => (row.hottest === "-" ? "-" : `${row.hottest} ${percent(row.hottest_ppm / 1e6)}`), true],
    ["Straggler", (row) => (row.straggler === "-" ? "-" : `${row.straggler} ${time(row.straggler_paused_ns)}`), true]],
  steps, (row) => ({ "data-step": row.sequence })));
  for (const cell of byId("steps").querySelectorAll("td:first-child")) cell.classList.add("wrap");
}

function drawState() {
  const state = byId("state");
  state.classList.toggle("gone", history.gone !== null);
  if (history.gone !== null)
    state.textContent = `no answer since ${history.gone.toTimeString().slice(0, 8)} (${history.why}); trying again`;
  else
    state.textContent = "live, every second";
}

function draw() {
  drawState();
  if (history.now === null) return;
  const [info] = history.now.info;
  document.title = `${info.name}: roceleaf`;
  byId("name").textContent = info.name;
  byId("about").textContent = `roceleaf ${info.version}, up ${time(info.uptime_ns)}, ${info.workers} worker${info.workers === 1 ? "" : "s"}, ${info.config}`;
  if (chosen === null || !history.now.ports.some((row) => row.port === chosen)) chosen = busiest();
  drawCards();
  drawPorts();
  drawPort();
  drawLeaf();
  drawSteps();
  drawEvents();
}

/** The port to begin with: the one with most packets, else the first. */
function busiest() {
  const ports = history.now.ports.filter((row) => row.port !== "cpu");
  return ports.reduce((best, row) => (row.tx_packets > best.tx_packets ? row : best), ports[0])?.port ?? null;
}

onColourScheme(draw);
globalThis.roceleaf = { history, charts, colour };
void history.run(draw);
