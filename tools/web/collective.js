// SPDX-License-Identifier: BSD-3-Clause
// collective - repetitions of collectives and their steps as bars, each with who was last and why.
import { element, percent, ratio, table, time } from "./common.js";

function bar(share, title) {
  const filled = element("span", { class: "bar", title });
  filled.style.width = `${(100 * Math.min(1, share)).toFixed(2)}%`;
  return element("span", { class: "track" }, filled);
}

function stepRows(repetition) {
  let before = repetition.start_ns;
  return repetition.steps.map((step) => {
    const row = { ...step, length: step.end_ns - before };
    before = step.end_ns;
    return row;
  });
}

function drawSteps(repetition) {
  const rows = stepRows(repetition);
  const longest = Math.max(...rows.map((row) => row.length), 1);
  return table([
    ["Step", (row) => row.step], ["", (row) => bar(row.length / longest, time(row.length)), true], ["Took", (row) => time(row.length)],
    ["Last", (row) => row.straggler, true], ["Waited for", (row) => row.from, true], ["Over", (row) => row.link, true],
    ["Busy", (row) => percent(row.link_busy)], ["Paused", (row) => percent(row.link_paused)]],
  rows, (row) => ({ "data-step": row.step }));
}

/** One collective, by its name: its repetitions, and the steps of the slowest. */
export function drawCollective(name, repetitions) {
  const longest = Math.max(...repetitions.map((one) => one.time_ns));
  const slowest = repetitions.find((one) => one.time_ns === longest);
  const overview = table([
    ["Repeat", (one) => one.repeat], ["", (one) => bar(one.time_ns / longest, time(one.time_ns)), true], ["Took", (one) => time(one.time_ns)],
    ["Slowdown", (one) => ratio(one.slowdown)], ["Bus Gb/s", (one) => one.busbw_gbps.toFixed(1)], ["Straggler", (one) => one.straggler, true]],
  repetitions, (one) => ({ "data-repeat": one.repeat }));
  return element("section", { class: "panel collective", "data-name": name },
    element("h2", {}, `Collective ${name} `, element("small", {}, `ideal ${time(slowest.ideal_ns)}; the bars are times`)),
    element("div", { class: "steps" }, overview),
    element("h3", {}, `Steps of repetition ${slowest.repeat}`, element("small", {}, slowest === repetitions[0] && repetitions.length === 1 ? "" : ", the slowest")),
    element("div", { class: "steps" }, drawSteps(slowest)));
}
