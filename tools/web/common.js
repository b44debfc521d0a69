// SPDX-License-Identifier: BSD-3-Clause
// common - what the dashboard and the report share: numbers as text, elements, colours and charts.
// Names of ports, flows and marks are only ever text of a node or of a canvas, never HTML.

// Okabe and Ito's colours; each goes with a way to dash, so that colour isn't needed to tell lines apart.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8a7a00"];
const DARK = ["#56b4e9", "#e69f00", "#00b382", "#cc79a7", "#f0e442", "#e97114", "#ffffff", "#3f9bd8"];
const DASHES = [[], [7, 3], [2, 2], [9, 3, 2, 3]];
const Y_WIDTH = 76; // of their labels, so that times of one chart stand below those of the other
const dark = matchMedia("(prefers-color-scheme: dark)");

export function colour(index) {
  return (dark.matches ? DARK : LIGHT)[index % LIGHT.length];
}

export function dash(index) {
  return DASHES[(index + Math.floor(index / LIGHT.length)) % DASHES.length];
}

export function onColourScheme(redraw) {
  dark.addEventListener("change", redraw);
}

/** An element with attributes and children; text children are text. */
export function element(name, attributes = {}, ...children) {
  const node = name.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", name.slice(4))
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== null) node.setAttribute(key, value);
  node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return node;
}

// 1234567 as "1.23 M".
function scaled(value, unit, step = 1000) {
  const names = ["", "k", "M", "G", "T", "P"];
  let index = 0;
  while (Math.abs(value) >= step && index + 1 < names.length) {
    value /= step;
    index++;
  }
  const digits = Number.isInteger(value) && index === 0 ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
  return `${Number(value.toFixed(digits))} ${names[index]}${unit}`.trim();
}

export const count = (value) => scaled(value, "");
export const bytes = (value) => scaled(value, "B");
export const rate = (value) => scaled(value, "bit/s");
export const percent = (value) =>
  value === 0 ? "0" : value < 0.001 ? "<0.1 %" : `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`;
export const ratio = (value) => (value < 10 ? value.toFixed(3) : value.toFixed(1));

/** Nanoseconds, in the unit that suits them. */
export function time(ns) {
  for (const [limit, size, unit] of [[1e3, 1, "ns"], [1e6, 1e3, "us"], [1e9, 1e6, "ms"]])
    if (Math.abs(ns) < limit) return `${Number((ns / size).toFixed(ns / size < 10 && size > 1 ? 2 : 1))} ${unit}`;
  return `${Number((ns / 1e9).toFixed(2))} s`;
}

/** A table: columns are [header, (row) => text or Node, is text]. */
export function table(columns, rows, attributes = () => ({})) {
  const head = element("tr", {}, ...columns.map(([name, , text]) => element("th", { class: text ? "text" : undefined, scope: "col" }, name)));
  const body = rows.map((row) =>
    element("tr", attributes(row), ...columns.map(([, cell, text]) => element("td", { class: text ? "text" : undefined }, cell(row)))));
  return element("div", { class: "scroll" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
}

// --- charts ---

// Vertical lines at times: what happened. [{x, name, strong}]; the strong ones are named first.
const happenings = {
  id: "happenings",
  afterDatasetsDraw(chart, _, options) {
    const { ctx, chartArea, scales } = chart;
    const taken = []; // [left, right] of the names
    const shown = (options.list ?? []).filter((what) => what.x >= scales.x.min && what.x <= scales.x.max);
    ctx.save();
    ctx.font = "11px system-ui, sans-serif";
    ctx.lineJoin = "round";
    for (const what of [...shown.filter((what) => what.strong), ...shown.filter((what) => !what.strong)]) {
      const x = scales.x.getPixelForValue(what.x);
      ctx.strokeStyle = ctx.fillStyle = what.strong ? text() : quiet();
      ctx.lineWidth = what.strong ? 1.5 : 1;
      ctx.setLineDash(what.strong ? [] : [2, 3]);
      ctx.beginPath();
      ctx.moveTo(x, chartArea.top);
      ctx.lineTo(x, chartArea.bottom);
      ctx.stroke();
      const label = what.name.length > 28 ? what.name.slice(0, 27) + "\u2026" : what.name;
      const width = ctx.measureText(label).width;
      const left = x + 3 + width <= chartArea.right ? x + 3 : x - 3 - width;
      if (left < chartArea.left || taken.some(([from, to]) => left < to + 4 && left + width > from - 4)) continue;
      // A rim keeps a name readable where lines pass behind it.
      ctx.strokeStyle = style("--panel");
      ctx.lineWidth = 3;
      ctx.setLineDash([]);
      ctx.strokeText(label, left, chartArea.top + 10);
      ctx.fillText(label, left, chartArea.top + 10);
      taken.push([left, left + width]);
    }
    ctx.restore();
  },
};

function style(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const text = () => style("--text");
const quiet = () => style("--quiet");

/** Lines of a chart: {name, points: [{x, y}], index (colour), fill, stepped, thin (a threshold)}. */
function dataset(line) {
  const shade = colour(line.index);
  return {
    label: line.name,
    data: line.points,
    borderColor: shade,
    backgroundColor: shade + (line.fill ? "55" : ""),
    borderDash: line.dash ?? (line.thin ? [3, 3] : dash(line.index)),
    borderWidth: line.thin ? 1.2 : 1.8,
    stepped: line.stepped === true ? "before" : (line.stepped ?? false),
    fill: line.fill ? "origin" : false,
    pointStyle: "line", // in the legend
    pointRadius: line.points.length === 1 ? 2 : 0,
    pointHitRadius: 4,
  };
}

// Names with a piece of their line, dashes and all.
function legend(chart) {
  return Chart.defaults.plugins.legend.labels.generateLabels(chart).map((item) => {
    const { borderColor, borderDash, borderWidth } = chart.data.datasets[item.datasetIndex];
    return { ...item, strokeStyle: borderColor, lineDash: borderDash, lineWidth: borderWidth };
  });
}

function options(chart) {
  const grid = { color: style("--line"), tickColor: style("--line") };
  const ticks = (format, many) => ({ color: quiet(), callback: (value) => format(value), maxRotation: 0, autoSkipPadding: 16, maxTicksLimit: many });
  return {
    animation: false,
    parsing: false,
    normalized: true,
    maintainAspectRatio: false,
    interaction: { mode: "nearest", axis: "x", intersect: false },
    scales: {
      x: { type: chart.logarithmic ? "logarithmic" : "linear", min: chart.from, max: chart.to, grid, ticks: ticks(chart.x, 8),
        afterBuildTicks: chart.step === undefined ? undefined : (axis) => {
          axis.ticks = [];
          for (let x = Math.ceil(axis.min / chart.step) * chart.step; x <= axis.max; x += chart.step) axis.ticks.push({ value: x });
        },
        title: { display: chart.xTitle !== undefined, text: chart.xTitle, color: quiet() } },
      y: { beginAtZero: true, min: 0, max: chart.top, suggestedMax: chart.least, grid, ticks: ticks(chart.y, 6),
        afterFit: (axis) => { axis.width = Y_WIDTH; } },
    },
    plugins: {
      legend: { position: "bottom", align: "start", labels: { generateLabels: legend, color: text(), usePointStyle: true, pointStyleWidth: 30, boxHeight: 6, padding: 8, font: { size: 11 } } },
      tooltip: { callbacks: {
        title: (items) => (items.length > 0 ? chart.x(items[0].parsed.x) : ""),
        label: (item) => `${item.dataset.label}: ${chart.y(item.parsed.y)}`,
      } },
      happenings: { list: chart.happenings },
    },
  };
}

/**
 * A chart with its heading, to be updated again and again. What it shows:
 * {lines, from, to, step (of x), x, y (numbers to text), top or least (of y), happenings, logarithmic, none
 * (text when there are no lines)}.
 */
export class LineChart {
  constructor(title, note = "", size = "") {
    this.canvas = element("canvas", { role: "img", "aria-label": title });
    this.box = element("div", { class: "canvas" }, this.canvas);
    this.none = element("p", { class: "none" });
    this.node = element("figure", { class: `chart ${size}` },
      element("h3", {}, title, " ", element("small", {}, note)), this.box, this.none);
    this.chart = null;
  }

  show(what) {
    const empty = what.lines.length === 0;
    this.what = what;
    this.box.hidden = empty;
    this.none.hidden = !empty;
    this.none.textContent = what.none ?? "nothing";
    if (empty) return;
    const data = { datasets: what.lines.map(dataset) };
    if (this.chart === null) {
      this.chart = new Chart(this.canvas, { type: "line", data, options: options(what), plugins: [happenings] });
      return;
    }
    this.chart.data = data;
    this.chart.options = options(what);
    this.chart.update("none");
  }

  /** Anew, in the colours that are now in force. */
  redraw() {
    if (this.what !== undefined) this.show(this.what);
  }
}

/** A horizontal line. */
export function threshold(name, value, from, to, index) {
  return { name: `${name} ${bytes(value)}`, points: [{ x: from, y: value }, { x: to, y: value }], index, thin: true };
}
