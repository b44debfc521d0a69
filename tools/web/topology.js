// SPDX-License-Identifier: BSD-3-Clause
// topology - draws a fabric: hosts below their switches, each direction of a link by its load and its pauses.
import { element, percent } from "./common.js";

const TIER = 120;
const LABEL_ROOM = 24; // of a host that is named

// Nodes by name, in tiers: 0 hosts, 1 switches with hosts, then by their distance from these.
function layOut(links) {
  const nodes = new Map();
  const node = (name) => nodes.get(name) ?? nodes.set(name, { name, peers: [] }).get(name);
  const ends = links.map((link) => link.direction.split("->"));
  for (const [from, to] of ends) node(from).peers.push(node(to));
  for (const one of nodes.values()) {
    const alone = new Set(one.peers).size === 1 && one.peers.length === 1;
    one.tier = alone && (one.peers[0].peers.length > 1 || one.peers[0].tier !== 0) ? 0 : undefined;
  }
  let edge = [...nodes.values()].filter((one) => one.tier === 0);
  while (edge.length > 0) {
    const next = new Set(edge.flatMap((one) => one.peers).filter((peer) => peer.tier === undefined));
    for (const one of next) one.tier = edge[0].tier + 1;
    edge = [...next];
  }
  for (const one of nodes.values()) one.tier ??= 1;
  return [...nodes.values()];
}

function place(nodes, full) {
  const top = Math.max(...nodes.map((one) => one.tier));
  const y = (tier) => 30 + (top - tier) * TIER;
  for (let tier = 1; tier <= top; tier++) {
    const row = nodes.filter((one) => one.tier === tier);
    row.forEach((one, index) => {
      one.x = (full * (index + 0.5)) / row.length;
      one.y = y(tier);
      one.room = full / row.length;
    });
  }
  for (const parent of nodes.filter((one) => one.tier >= 1)) {
    const hosts = parent.peers.filter((peer) => peer.tier === 0);
    hosts.forEach((host, index) => {
      host.x = parent.x + parent.room * 0.92 * ((index + 0.5) / hosts.length - 0.5);
      host.y = y(0);
      host.parent = parent.name;
    });
  }
  for (const one of nodes) if (one.x === undefined) Object.assign(one, { x: full / 2, y: y(0), parent: "" });
  return y(0) + 44;
}

// From one to the other, a little to the right, so that both directions are seen; an arc within a tier.
function path(from, to, offset) {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy) || 1;
  const [x, y] = [(-dy / length) * offset, (dx / length) * offset];
  const start = `M${(from.x + x).toFixed(1)} ${(from.y + y).toFixed(1)}`;
  const end = `${(to.x + x).toFixed(1)} ${(to.y + y).toFixed(1)}`;
  if (from.tier !== to.tier) return `${start}L${end}`;
  const rise = from.y - Math.min(70, 24 + Math.abs(dx) * 0.08) - offset;
  return `${start}Q${((from.x + to.x) / 2).toFixed(1)} ${rise.toFixed(1)} ${end}`;
}

function drawLink(link, from, to, offset) {
  const d = path(from, to, offset);
  const title = element("svg:title", {}, `${link.direction}: ${percent(link.utilisation)} busy, paused ${percent(link.paused_share)}, ${link.marked} packets marked`);
  const load = element("svg:path", { d, class: "load", fill: "none", stroke: "currentColor", "stroke-width": (0.6 + 4 * link.utilisation).toFixed(2), opacity: (0.25 + 0.75 * link.utilisation).toFixed(2) });
  const group = element("svg:g", { "data-direction": link.direction, class: "link" }, title, load);
  if (link.paused_share > 0)
    group.append(element("svg:path", { d, class: "paused", fill: "none", "stroke-dasharray": "5 4", "stroke-width": (1.5 + 4 * link.paused_share).toFixed(2) }));
  return group;
}

function drawNode(node, named) {
  if (node.tier > 0) {
    const width = Math.min(Math.max(56, 7.5 * node.name.length + 12), Math.max(node.room - 4, 14));
    const fits = width >= 7 * node.name.length;
    return element("svg:g", { class: "switch" }, element("svg:title", {}, node.name),
      element("svg:rect", { x: node.x - width / 2, y: node.y - 13, width, height: 26, rx: 4 }),
      element("svg:text", { x: node.x, y: node.y + 4, "text-anchor": "middle" }, fits ? node.name : ""));
  }
  const name = node.name.startsWith(`${node.parent}.`) ? node.name.slice(node.parent.length + 1) : node.name;
  return element("svg:g", { class: "host" }, element("svg:title", {}, node.name),
    element("svg:circle", { cx: node.x.toFixed(1), cy: node.y, r: named ? 5 : 3 }),
    ...(named ? [element("svg:text", { x: node.x.toFixed(1), y: node.y + 20, "text-anchor": "middle" }, name)] : []));
}

/** The drawing of a result's links, for a picture about so wide. */
export function drawTopology(links, width) {
  const nodes = layOut(links);
  const height = place(nodes, width);
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const named = nodes.filter((node) => node.tier === 0).length * LABEL_ROOM <= width;
  const seen = new Map(); // cables between the same two, beside each other
  const lines = links.map((link) => {
    const [from, to] = link.direction.split("->").map((name) => byName.get(name));
    const cable = seen.get(link.direction) ?? 0;
    seen.set(link.direction, cable + 1);
    return drawLink(link, from, to, (named ? 3 : 1.5) + 9 * cable);
  });
  return element("svg:svg", { viewBox: `0 0 ${width} ${height}`, class: "topology", role: "img", "aria-label": "topology" },
    ...lines, ...nodes.map((node) => drawNode(node, named)));
}
