/* From the API's columns to what the canvas draws: typed, scaled, in axis order, never copied again. Pure. */
import { scaleFor, parseTime, type Scale } from "../base/format";
import type { SeriesReply } from "../api/types";

export type XMode = "commits" | "time";
export type YMode = "linear" | "log" | "relative";
/** Quantity drawn for a point: its value, or its ratio to the series' anchor. */
export type Shown = "values" | "ratio";

export interface Plot {
  /** Ascending x: commit positions, or Unix seconds. */
  xs: number[];
  /** Shown values, after unit scaling; `line` leaves out infrastructure points, which `infra` holds. */
  line: (number | null)[];
  low: (number | null)[];
  high: (number | null)[];
  min: (number | null)[];
  infra: (number | null)[];
  /** order[i] is the row of the API's columns that is drawn at place i of this plot; place is its inverse. */
  order: number[];
  place: number[];
  /** Whether commits without a value lie between a place and the next one: no line joins the two. */
  gap: boolean[];
  scale: Scale;
}

/** A commit at which the benchmark gave no result, at its x. */
export interface BrokenMark { x: number; commit: string; subject: string; reason: string; run_id: number }

type Column = readonly (number | null)[];

/** Whether any point has a ratio to the anchor. */
export function hasRatios(reply: SeriesReply): boolean {
  return (reply.columns.ratio ?? []).some((v) => v !== null);
}

/** Values divided by this in relative mode: the first one that is drawn. */
function baseOf(middle: Column, infra: readonly boolean[]): number {
  return middle.find((v, i) => v !== null && v !== 0 && !infra[i]) ?? 1;
}

function axis(reply: SeriesReply, mode: XMode): number[] {
  const c = reply.columns;
  if (mode === "time") return c.time.map((t) => parseTime(t) / 1000);
  const positions = c.position;
  const rising = positions.every((p, i) => p !== null && (i === 0 || p > (positions[i - 1] ?? Infinity)));
  return rising ? positions.map((p) => p ?? 0) : positions.map((_, i) => i);
}

export function plotOf(reply: SeriesReply, xMode: XMode, yMode: YMode, shown: Shown = "values"): Plot {
  const c = reply.columns;
  const none: Column = [];
  const [middle, lows, highs, mins] = shown === "ratio" ? [c.ratio ?? none, c.ratio_low ?? none, c.ratio_high ?? none, none]
    : [c.median, c.low, c.high, c.min];
  const raw = axis(reply, xMode);
  const order = raw.map((_, i) => i);
  if (xMode === "time") order.sort((a, b) => (raw[a] ?? 0) - (raw[b] ?? 0) || a - b);
  const place = new Array<number>(order.length);
  order.forEach((row, i) => { place[row] = i; });

  let scale: Scale;
  if (yMode === "relative") {
    scale = { factor: 100 / baseOf(middle, c.infra), unit: "% of the first" };
  } else if (shown === "ratio") {
    scale = { factor: 1, unit: "ratio to the anchor" };
  } else {
    let top = 0;
    for (const v of c.median) if (v !== null && Math.abs(v) > top) top = Math.abs(v);
    scale = scaleFor(reply.series.unit, top);
  }
  const show = (v: number | null | undefined) => {
    if (v === null || v === undefined || !Number.isFinite(v)) return null;
    const shown = v * scale.factor;
    return yMode === "log" && shown <= 0 ? null : shown;
  };
  const pick = (column: Column, want: (row: number) => boolean) =>
    order.map((row) => (want(row) ? show(column[row]) : null));
  const clean = (row: number) => !c.infra[row];
  return {
    xs: order.map((row) => raw[row] ?? 0),
    line: pick(middle, clean),
    low: pick(lows, clean),
    high: pick(highs, clean),
    min: pick(mins, clean),
    infra: pick(middle, (row) => !clean(row)),
    order, place, scale, gap: order.map((row, i) => isGap(reply, row, order[i + 1])),
  };
}

/** Neighbours in history have neighbouring positions. A bucket holds several commits and has no gaps. */
function isGap(reply: SeriesReply, row: number, next: number | undefined): boolean {
  const at = reply.columns.position;
  const [a, b] = [at[row], next === undefined ? null : at[next]];
  return !reply.bucketed && a !== null && a !== undefined && b !== null && b !== undefined && Math.abs(b - a) > 1;
}

/** Where the series is broken, on the axis of the plot; none where the axis does not show places in history. */
export function brokenMarks(reply: SeriesReply, plot: Plot, mode: XMode): BrokenMark[] {
  const c = reply.columns;
  const places = mode === "time" || c.position.every((p, i) => p === plot.xs[plot.place[i] ?? -1]);
  if (!places) return [];
  return (reply.broken ?? []).map((b) => ({ x: mode === "time" ? parseTime(b.time) / 1000 : b.position, commit: b.commit,
    subject: b.subject, reason: b.reason, run_id: b.run_id })).sort((a, b) => a.x - b.x);
}

/** The mark within `reach` of x; null: none. */
export function markNear(marks: readonly BrokenMark[], x: number, reach: number): BrokenMark | null {
  let best: BrokenMark | null = null;
  for (const m of marks) if (Math.abs(m.x - x) <= reach && (!best || Math.abs(m.x - x) < Math.abs(best.x - x))) best = m;
  return best;
}

/** x of a row; half a step before it, where a change happened between it and its predecessor. */
export function xOf(plot: Plot, row: number): number {
  return plot.xs[plot.place[row] ?? 0] ?? 0;
}

export function edgeBefore(plot: Plot, row: number): number {
  const at = plot.place[row] ?? 0;
  const x = plot.xs[at] ?? 0;
  const before = plot.xs[at - 1];
  return before === undefined ? x : (x + before) / 2;
}

/** Row whose commit starts with `id`; -1 when the series has none. */
export function rowOfCommit(reply: SeriesReply, id: string | null): number {
  return id ? reply.columns.commit.findIndex((c) => c.startsWith(id)) : -1;
}

/** The rows from the first to the last of these commits and `more` on both sides; null when the series has none of them. */
export function rowsAround(reply: SeriesReply, ids: readonly (string | null | undefined)[], more: number): [number, number] | null {
  const rows = ids.map((id) => rowOfCommit(reply, id ?? null)).filter((row) => row >= 0);
  return rows.length === 0 ? null : [Math.max(0, Math.min(...rows) - more), Math.min(reply.columns.commit.length - 1, Math.max(...rows) + more)];
}

/** "abc..def" as rows, in order; null when one of them is not in the series. */
export function parseSpan(reply: SeriesReply, text: string | null): [number, number] | null {
  const [a, b] = (text ?? "").split("..");
  const i = rowOfCommit(reply, a || null);
  const j = rowOfCommit(reply, b || null);
  return i < 0 || j < 0 ? null : i <= j ? [i, j] : [j, i];
}

export function spanText(reply: SeriesReply, from: number, to: number): string {
  const id = (row: number) => (reply.columns.commit[row] ?? "").slice(0, 12);
  return `${id(from)}..${id(to)}`;
}

/** The nearest measured row before `row`; -1 for none. Infrastructure points are no baseline. */
export function measuredBefore(reply: SeriesReply, row: number): number {
  const { median, infra } = reply.columns;
  for (let i = row - 1; i >= 0; i--) if (median[i] !== null && median[i] !== undefined && !infra[i]) return i;
  return -1;
}

/** Place of the point nearest to x. `xs` ascending and not empty. */
export function nearest(xs: readonly number[], x: number): number {
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((xs[middle] ?? 0) <= x) low = middle;
    else high = middle;
  }
  return x - (xs[low] ?? 0) <= (xs[high] ?? 0) - x ? low : high;
}
