// SPDX-License-Identifier: BSD-3-Clause
// history - asks the leaf for its tables once a second, and keeps what they said for five minutes.

export const HISTORY_S = 300;
const PERIOD_MS = 1000;
const PATIENCE_MS = 4000;
const EVENTS_KEPT = 1024;
const TABLES = ["info", "ports", "queues", "ecn", "buffers", "pfc", "balance", "marks"];

/** A table's rows by their keys, as text. */
export const byPort = (rows, port) => rows.filter((row) => row.port === port);
export const pairKey = (row) => `${row.port} ${row.priority}`;

async function ask(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(PATIENCE_MS), cache: "no-store" });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

// Growth of a counter per second; another start of the leaf, or a row that is new: none.
function growth(row, before, name, seconds) {
  if (before === undefined || seconds <= 0 || row[name] < before[name]) return 0;
  return (row[name] - before[name]) / seconds;
}

const indexed = (rows, key) => new Map(rows.map((row) => [key(row), row]));

/** What happened between two looks: per port, per pair of port and priority, and of all. */
function difference(now, before) {
  const seconds = (table) => (before === null ? 0 : (now.times[table] - before.times[table]) / 1e9);
  const point = { x: now.seconds, ports: {}, pairs: {}, shares: {}, marks: 0, lost: 0 };
  const past = (table, key) => (before === null ? new Map() : indexed(before[table], key));
  const ports = past("ports", (row) => row.port);
  const queues = past("queues", pairKey);
  const pauses = past("pfc", pairKey);
  const ecn = indexed(now.ecn, pairKey);

  for (const row of now.ports) {
    const old = ports.get(row.port);
    const rate = (name) => growth(row, old, name, seconds("ports"));
    point.ports[row.port] = { rx: 8 * rate("rx_bytes"), tx: 8 * rate("tx_bytes"), drops: rate("drop_packets"), marks: 0, pausedBy: 0, pausing: 0 };
  }
  for (const row of now.queues) {
    const marks = growth(row, queues.get(pairKey(row)), "ecn_marked", seconds("queues"));
    point.pairs[pairKey(row)] = { depth: row.depth_bytes, marks, limits: ecn.get(pairKey(row)) };
    point.ports[row.port].marks += marks;
    point.marks += marks;
  }
  for (const row of now.pfc) {
    const old = pauses.get(pairKey(row));
    const pair = point.pairs[pairKey(row)];
    const port = point.ports[row.port];
    if (pair === undefined || port === undefined) continue;
    pair.pausedBy = Math.min(1, growth(row, old, "rx_paused_ns", seconds("pfc")) / 1e9);
    pair.pausing = Math.min(1, growth(row, old, "tx_paused_ns", seconds("pfc")) / 1e9);
    port.pausedBy = Math.max(port.pausedBy, pair.pausedBy);
    port.pausing = Math.max(port.pausing, pair.pausing);
  }
  for (const row of now.buffers) {
    const pair = point.pairs[pairKey(row)];
    if (pair !== undefined) pair.buffer = { used: row.used_bytes, xoff: row.xoff_bytes, xon: row.xon_bytes };
    point.lost += growth(row, before?.buffers.find((old) => pairKey(old) === pairKey(row)), "lost_packets", seconds("buffers"));
  }
  for (const row of now.balance) point.shares[row.port] = { share: row.share_ppm / 1e6, fair: row.fair_ppm / 1e6 };
  return point;
}

/** The same of a second that the leaf remembers: it knows neither depths nor shares. */
function remembered(ports, second, byPriority) {
  const seconds = second.duration_ns / 1e9;
  const point = { x: second.time_ns / 1e9, ports: {}, pairs: {}, shares: {}, marks: 0, lost: 0 };
  ports.forEach((name, port) => {
    const rate = (counter) => second[counter][port] / seconds;
    const sums = { rx: 8 * rate("rx_bytes"), tx: 8 * rate("tx_bytes"), drops: rate("drop_packets"), marks: rate("ecn_marked"), pausedBy: 0, pausing: 0 };
    for (const [priority, past] of byPriority) {
      const of = past.get(second.sequence);
      if (of === undefined) continue;
      const share = (counter) => Math.min(1, of[counter][port] / second.duration_ns);
      const pair = { marks: of.ecn_marked[port] / seconds, pausedBy: share("rx_paused_ns"), pausing: share("tx_paused_ns") };
      point.pairs[`${name} ${priority}`] = pair;
      sums.pausedBy = Math.max(sums.pausedBy, pair.pausedBy);
      sums.pausing = Math.max(sums.pausing, pair.pausing);
    }
    point.ports[name] = sums;
    point.marks += sums.marks;
  });
  return point;
}

export class History {
  constructor() {
    this.forget(null);
    this.gone = null; // since when nobody answers
  }

  forget(instance) {
    this.instance = instance;
    this.now = null;    // the tables of the last look
    this.points = [];   // what happened between each look and the one before
    this.events = [];
    this.sequence = 0;
  }

  async look() {
    const now = { times: {} };
    for (const name of TABLES) {
      const answer = await ask(`/v1/show/${name}`);
      if (answer.instance !== this.instance) this.forget(answer.instance);
      now[name] = answer[name];
      now.times[name] = answer.time_ns; // they come one after the other, each with its own time
    }
    const news = await ask(`/v1/events?after=${this.sequence}`);
    const [info] = now.info;
    now.seconds = (info.started_ns + info.uptime_ns) / 1e9;
    if (this.now === null) await this.recall(now);
    else this.points.push(difference(now, this.now));
    while (this.points.length > 0 && this.points[0].x < now.seconds - HISTORY_S) this.points.shift();
    this.events = this.events.concat(news.events).slice(-EVENTS_KEPT);
    this.sequence = news.last;
    this.now = now;
  }

  /** Begin with what the leaf remembers, of the classes that it has. */
  async recall(now) {
    const priorities = new Set(now.queues.filter((row) => row.class !== "-").map((row) => row.priority));
    const byPriority = new Map();
    const { ports, seconds } = await ask("/v1/history");
    for (const priority of priorities)
      byPriority.set(priority, indexed((await ask(`/v1/history?priority=${priority}`)).seconds, (second) => second.sequence));
    this.points = seconds.map((second) => remembered(ports, second, byPriority));
  }

  /** Look again and again; draw() after each, whether somebody answered or not. */
  async run(draw) {
    for (;;) {
      const due = performance.now() + PERIOD_MS;
      try {
        await this.look();
        this.gone = null;
      } catch (error) {
        this.gone ??= new Date();
        this.why = error.name === "TimeoutError" ? "no answer in time" : error.message;
      }
      draw();
      await new Promise((done) => setTimeout(done, Math.max(50, due - performance.now())));
    }
  }
}
