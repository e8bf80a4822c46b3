/* Rows, places and words of a trace's timeline. Pure; timeline_chart.tsx draws them. */
import type { SliceColumns, TimelineReply, TraceDetail, TraceUnit } from "../api/trace";
import { formatNumber, formatShare, formatValue, plural } from "../base/format";
import type { View } from "./lines";

export const ROW = { line: 20, group: 26, counter: 34, gap: 3 };

export interface Row {
  key: string;
  top: number;
  height: number;
  label: string;
  /** A heading; one line of the reply; one counter of it. */
  kind: "group" | "line" | "counter";
  /** Place in the reply's lines or counters. */
  at: number;
  unit: number;
  colour: string;
}

/** Which rows are shown beside slices and states. */
export interface Shown { waits: boolean; points: boolean; counters: boolean }

/** A slice of the reply, with what a card and the table say of it. */
export interface Slice {
  line: number;
  begin: number;
  end: number;
  name: string;
  correlation: number;
  unfinished: boolean;
}

const COLOURS: Record<string, string> = {
  host: "--host", queue: "--latency", tensor: "--compute", vector: "--vector", dma: "--dma", hbm: "--memory", link: "--pcie",
  scalar: "--scratchpad", collective: "--weights",
};

export const colourOf = (unit: TraceUnit | undefined) => COLOURS[unit?.kind ?? ""] ?? "--muted";

export const groupOf = (unit: TraceUnit | undefined) => (unit?.kind === "host" ? "Host" : `Device ${unit?.device ?? 0}`);

function labelOf(unit: TraceUnit | undefined, kind: string, number: number): string {
  const name = unit?.name ?? "?";
  if (kind === "waits") return `${name}: waits`;
  if (kind === "states") return `${name}: state`;
  if (kind === "points") return `${name}: points`;
  if (number === 0) return name;
  return unit?.overlaps ? `${name} (${number + 1})` : `${name}, level ${number + 1}`;
}

/** The host first, then each device, each with its counters last. */
export function rowsOf(trace: TraceDetail, reply: TimelineReply, shown: Shown): { rows: Row[]; height: number } {
  const units = trace.unit_list;
  const rank = (u: number) => (units[u]?.kind === "host" ? -1 : units[u]?.device ?? 0);
  const wanted = { slices: true, states: true, waits: shown.waits, points: shown.points };
  const lines = reply.lines.map((l, at) => ({ l, at })).filter(({ l }) => wanted[l.kind]);
  const counters = shown.counters ? reply.counters.map((c, at) => ({ c, at })) : [];
  const ranks = [...new Set([...lines.map(({ l }) => rank(l.unit)), ...counters.map(({ c }) => rank(c.unit))])].sort((a, b) => a - b);
  const rows: Row[] = [];
  let top = 0;
  const add = (row: Omit<Row, "top">) => {
    rows.push({ ...row, top });
    top += row.height + ROW.gap;
  };
  for (const r of ranks) {
    add({ key: `group ${r}`, height: ROW.group, label: r < 0 ? "Host" : `Device ${r}`, kind: "group", at: -1, unit: -1, colour: "--muted" });
    for (const { l, at } of lines.filter((x) => rank(x.l.unit) === r)) {
      add({ key: `line ${at}`, height: ROW.line, label: labelOf(units[l.unit], l.kind, l.number), kind: "line", at, unit: l.unit, colour: colourOf(units[l.unit]) });
    }
    for (const { c, at } of counters.filter((x) => rank(x.c.unit) === r)) {
      const unit = units[c.unit];
      add({ key: `counter ${at}`, height: ROW.counter, label: unit?.kind === "counters" ? c.name : `${unit?.name ?? "?"}: ${c.name}`,
        kind: "counter", at, unit: c.unit, colour: colourOf(unit) });
    }
  }
  return { rows, height: top };
}

export function sliceAt(reply: TimelineReply, columns: SliceColumns, line: number, i: number): Slice {
  return { line, begin: columns.begin[i] as number, end: columns.end[i] as number, name: reply.names[columns.name[i] as number] ?? "",
    correlation: columns.correlation[i] ?? 0, unfinished: columns.unfinished.includes(i) };
}

/** Single slices of the shown lines with a part in the view, in order of time; `merged`: those that only cells show. */
export function slicesIn(reply: TimelineReply, rows: readonly Row[], view: View): { slices: Slice[]; merged: number } {
  const slices: Slice[] = [];
  let merged = 0;
  for (const row of rows) {
    if (row.kind !== "line") continue;
    const line = reply.lines[row.at];
    if (!line?.slices) {
      merged += line?.shown ?? 0;
      continue;
    }
    const c = line.slices;
    for (let i = 0; i < c.begin.length; i++) {
      if ((c.begin[i] as number) <= view.to && (c.end[i] as number) >= view.from) slices.push(sliceAt(reply, c, row.at, i));
    }
  }
  return { slices: slices.sort((a, b) => a.begin - b.begin || a.line - b.line), merged };
}

/** The host's call of a correlation id; null: none is known. */
export function callOf(reply: TimelineReply, correlation: number): Slice | null {
  if (correlation === 0) return null;
  const i = reply.calls.correlation.indexOf(correlation);
  return i < 0 ? null : sliceAt(reply, reply.calls, reply.calls.line[i] as number, i);
}

/** The thing under a place: a slice, a cell, or a value of a counter. */
export type Hit =
  | { kind: "slice"; row: Row; slice: Slice }
  | { kind: "cell"; row: Row; from: number; to: number; count: number; busy: number }
  | { kind: "value"; row: Row; text: string };

/** `slack`: ns around a slice that still hit it, so that a thin one can be pointed at. */
export function hitAt(reply: TimelineReply, rows: readonly Row[], ns: number, y: number, slack: number): Hit | null {
  const row = rows.find((r) => y >= r.top && y < r.top + r.height);
  if (!row || row.kind === "group") return null;
  if (row.kind === "counter") {
    const text = counterAt(reply, row.at, ns);
    return text ? { kind: "value", row, text } : null;
  }
  const line = reply.lines[row.at];
  if (line?.slices) {
    const c = line.slices;
    let best = -1;
    let distance = slack;
    for (let i = 0; i < c.begin.length; i++) {
      const d = Math.max((c.begin[i] as number) - ns, ns - (c.end[i] as number), 0);
      if (d < distance || (d === 0 && best >= 0 && (c.end[i] as number) - (c.begin[i] as number) < (c.end[best] as number) - (c.begin[best] as number))) {
        best = i;
        distance = d;
      } else if (d === 0 && best < 0) best = i;
    }
    return best < 0 ? null : { kind: "slice", row, slice: sliceAt(reply, c, row.at, best) };
  }
  if (!line?.cells) return null;
  const wide = (reply.to - reply.from) / reply.cells;
  const at = line.cells.at.indexOf(Math.floor((ns - reply.from) / wide));
  if (at < 0) return null;
  const cell = line.cells.at[at] as number;
  return { kind: "cell", row, from: reply.from + cell * wide, to: reply.from + (cell + 1) * wide, count: line.cells.count[at] as number,
    busy: (line.cells.busy[at] as number) / 1000 };
}

/** The value that holds at a time, or the range of a cell. */
export function counterAt(reply: TimelineReply, at: number, ns: number): string {
  const c = reply.counters[at];
  if (!c) return "";
  const unit = c.measure;
  if (c.values) {
    let value = c.before;
    for (let i = 0; i < c.values.ns.length && (c.values.ns[i] as number) <= ns; i++) value = c.values.value[i] ?? null;
    return value === null ? "" : formatValue(value, unit);
  }
  if (!c.ranges) return "";
  const cell = Math.floor((ns - reply.from) / ((reply.to - reply.from) / reply.cells));
  let i = -1;
  while (i + 1 < c.ranges.at.length && (c.ranges.at[i + 1] as number) <= cell) i++;
  if (i < 0) return c.before === null ? "" : formatValue(c.before, unit);
  const [low, high] = [c.ranges.low[i] ?? null, c.ranges.high[i] ?? null];
  if (low === null || high === null) return "";
  return low === high ? formatValue(low, unit) : `${formatValue(low, unit)} to ${formatValue(high, unit)}`;
}

/** Lowest and highest value of a counter in the reply; a flat one gets room above. */
export function counterSpan(reply: TimelineReply, at: number): [number, number] {
  const c = reply.counters[at];
  const all = [c?.before ?? null, ...(c?.values?.value ?? []), ...(c?.ranges?.low ?? []), ...(c?.ranges?.high ?? [])].filter((v): v is number => v !== null);
  let low = Infinity;
  let high = -Infinity;
  for (const v of all) {
    low = Math.min(low, v);
    high = Math.max(high, v);
  }
  if (all.length === 0) return [0, 1];
  return high > low ? [Math.min(low, 0), high] : [Math.min(low, 0), high > 0 ? high : low + 1];
}

/** Times of the axis: a step of 1, 2 or 5 times a power of ten, at most one in `room` pixels. */
export function ticksOf(view: View, width: number, room = 90): number[] {
  const least = ((view.to - view.from) * room) / Math.max(width, room);
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= least) ?? 10 * power;
  const ticks: number[] = [];
  for (let t = Math.ceil(view.from / step) * step; t <= view.to && ticks.length < 100; t += step) ticks.push(t);
  return ticks;
}

/** A time with digits enough for the step between two ticks: "1.25 us". */
export function sayTime(ns: number, step: number): string {
  const size = Math.max(Math.abs(ns), 1);
  const [unit, per] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["us", 1e3] : ["ns", 1];
  const places = Math.min(9, Math.max(0, Math.ceil(-Math.log10(Math.max(step, 1e-9) / (per as number)) - 1e-9)));
  return `${((ns / (per as number))).toFixed(places)}\u00a0${unit}`;
}

export const sayDuration = (ns: number) => formatValue(ns, "ns");

/** One sentence about what is pointed at. */
export function sayHit(trace: TraceDetail, reply: TimelineReply, hit: Hit): string {
  if (hit.kind === "value") return `${hit.row.label}: ${hit.text}.`;
  if (hit.kind === "cell") {
    return `${hit.row.label}: ${plural(hit.count, "slice begins", "slices begin")} from ${sayDuration(hit.from)} to ${sayDuration(hit.to)}, busy ${formatShare(hit.busy)}.`;
  }
  return `${saySlice(trace, reply, hit.slice)}.`;
}

export function saySlice(trace: TraceDetail, reply: TimelineReply, s: Slice): string {
  const unit = trace.unit_list[reply.lines[s.line]?.unit ?? -1];
  const call = callOf(reply, s.correlation);
  const words = [`${s.name} on ${unit?.name ?? "?"}`, `begins at ${sayDuration(s.begin)}`, s.end > s.begin ? `takes ${sayDuration(s.end - s.begin)}` : "a point"];
  if (s.unfinished) words.push("without an end");
  if (call && unit?.kind !== "host") words.push(`caused by ${call.name} at ${sayDuration(call.begin)}`);
  return words.join(", ");
}

/** How well the clocks are aligned, a sentence a clock that is not the reference. */
export function sayClocks(trace: TraceDetail): string[] {
  const host = trace.unit_list.some((u) => u.kind === "host");
  return trace.clocks.filter((c) => !c.reference).map((c) => {
    if (c.method === "clock_pairs") return `Clock ${c.name} is aligned by ${plural(c.knots, "pair")} of readings: its times are wrong by at most ${formatNumber(c.bound_ns ?? NaN, 3)} ns.`;
    if (c.method === "first clock_pair") return `Clock ${c.name} is aligned at one pair of readings, then runs at its nominal rate: its error is not known.`;
    return host ? `Clock ${c.name} is not aligned with the host: it counts from tick 0 at its nominal rate.` : `Clock ${c.name} runs at its nominal rate.`;
  });
}

/** A view around a slice: ten times its length, at least `least` ns, within the trace. */
export function around(s: { begin: number; end: number }, all: View, least: number): View {
  const wide = Math.min(all.to - all.from, Math.max((s.end - s.begin) * 10, least));
  const middle = (s.begin + s.end) / 2;
  const from = Math.min(Math.max(all.from, middle - wide / 2), all.to - wide);
  return { from, to: from + wide };
}

/** The part of time to ask for: the view with as much again on both sides, so that a pan shows something at once. */
export function windowFor(view: View, all: View): View {
  const wide = view.to - view.from;
  return { from: Math.max(all.from, Math.floor(view.from - wide)), to: Math.min(all.to, Math.ceil(view.to + wide)) };
}

/** Whether a reply shows the view finely enough: it covers it, and a cell is at most a few pixels wide. */
export function covers(reply: TimelineReply, view: View, width: number): boolean {
  if (reply.from > Math.ceil(view.from) || reply.to < Math.floor(view.to)) return false;
  if (reply.lines.every((l) => l.slices !== null) && reply.counters.every((c) => c.ranges === null)) return true;
  const cellPx = ((reply.to - reply.from) / reply.cells / (view.to - view.from)) * width;
  return cellPx <= 4;
}
