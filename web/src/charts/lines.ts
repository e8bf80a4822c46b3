/* From the columns of GET /projects/{p}/plot to panels of lines that share one axis of commits. Pure. */
import type { Floats, PlotLine, PlotReply } from "../api/plot";
import { briefUnit, scaleFor, type Scale } from "../base/format";
import { firstAt } from "./raster";

export interface Drawn {
  /** Index into the reply's lines. */
  index: number;
  name: string;
  median: Float32Array;
  low: Float32Array;
  high: Float32Array;
  /** [column, value, ...] a result, in the unit of the panel. */
  samples: number[][];
  /** Columns at which the result is broken, with reasons. */
  broken: { column: number; reason: string }[];
}

export interface Panel {
  key: string;
  title: string;
  unit: string;
  lines: Drawn[];
  /** Lines without a value to which theirs could be related. */
  baseless: number;
}

export interface Lines { xs: Float64Array; panels: Panel[]; reply: PlotReply }

export type Layout = "overlaid" | "stacked";

const DIGITS = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((digit, value) => { DIGITS[digit.charCodeAt(0)] = value; });

/** 32-bit little-endian floats in base64, times a factor. Not by atob, whose text costs more than this. */
export function floats(text: string, factor = 1): Float32Array {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const count = Math.max(0, (text.length * 3) / 4 - padding) >> 2;
  const bytes = new Uint8Array((text.length >> 2) * 3 + 3 & ~3);
  for (let i = 0, at = 0; i + 3 < text.length; i += 4, at += 3) {
    const three = (DIGITS[text.charCodeAt(i)] as number) << 18 | (DIGITS[text.charCodeAt(i + 1)] as number) << 12
      | (DIGITS[text.charCodeAt(i + 2)] as number) << 6 | (DIGITS[text.charCodeAt(i + 3)] as number);
    bytes[at] = three >> 16;
    bytes[at + 1] = three >> 8;
    bytes[at + 2] = three;
  }
  return scale(new Float32Array(bytes.buffer, 0, count), factor);
}

/** The values of a column, times a factor; the reply's own are left as they are. */
export function column(reply: PlotReply, from: Floats, factor = 1): Float32Array {
  if (typeof from === "string") return floats(from, factor);
  const values = reply.arrays?.[from];
  if (!values) throw new RangeError(`the reply has no array ${from}`);
  return scale(values.slice(), factor);
}

/** In place. */
function scale(values: Float32Array, factor: number): Float32Array {
  if (factor !== 1) for (let i = 0; i < values.length; i++) values[i] = (values[i] as number) * factor;
  return values;
}

/** The part of a name that distinguishes a line: the group's value, or benchmark, metric and backend as far as they differ among the lines. */
export function nameOf(line: PlotLine, all: readonly PlotLine[], group: string | null): string {
  const differs = (pick: (l: PlotLine) => string | null) => all.some((l) => pick(l) !== pick(line));
  if (group) {
    const name = line.key === null ? `without ${group}` : `${group}=${line.key}`;
    return [name, differs((l) => l.metric) ? line.metric : null, group !== "machine_class" && differs((l) => l.machine_class) ? line.machine_class : null].filter((s) => s).join(" \u00b7 ");
  }
  return [line.benchmark, differs((l) => l.metric) ? line.metric : null, differs((l) => l.backend) ? line.backend : null,
    differs((l) => l.machine_class) ? line.machine_class : null].filter((s) => s).join(" \u00b7 ");
}

/** The value that is 100 %: the server's, where a commit was named, else the first one of the line. */
function baseOf(line: PlotLine, median: Float32Array, named: boolean): number {
  if (named) return line.base ?? NaN;
  for (const v of median) if (Number.isFinite(v) && v !== 0) return v;
  return NaN;
}

export function linesOf(reply: PlotReply, layout: Layout, relative: boolean, named: boolean, group: string | null): Lines {
  const panels: Panel[] = [];
  const places = new Map<string, Panel>();
  const broken = new Map<number, { column: number; reason: string }[]>();
  for (const b of reply.broken) broken.set(b.line, [...(broken.get(b.line) ?? []), { column: b.column, reason: b.reason }]);
  const raw = reply.lines.map((l) => column(reply, l.median));
  const top = new Map<string, number>();
  reply.lines.forEach((l, i) => {
    let most = top.get(l.unit) ?? 0;
    for (const v of raw[i] as Float32Array) if (Math.abs(v) > most) most = Math.abs(v);
    top.set(l.unit, most);
  });
  reply.lines.forEach((line, index) => {
    const median = raw[index] as Float32Array;
    const name = nameOf(line, reply.lines, group);
    const units: Scale = scaleFor(line.unit, top.get(line.unit) ?? 0);
    const base = relative ? baseOf(line, median, named) : 1;
    const unit = relative ? "%" : units.unit;
    const key = layout === "stacked" ? String(index) : unit === briefUnit(line.unit) ? line.unit : unit; /* of long units only the start is shown */
    let panel = places.get(key);
    if (!panel) {
      panel = { key, title: layout === "stacked" ? name : "", unit, lines: [], baseless: 0 };
      places.set(key, panel);
      panels.push(panel);
    }
    const factor = relative ? 100 / base : units.factor;
    if (!Number.isFinite(factor)) {
      panel.baseless++;
      return;
    }
    const shown = scale(median, factor);
    panel.lines.push({
      index, name, median: shown,
      low: line.low === null ? shown : column(reply, line.low, factor),
      high: line.high === null ? shown : column(reply, line.high, factor),
      samples: line.samples.map(([column, ...values]) => [column ?? 0, ...values.map((v) => (v ?? NaN) * factor)]),
      broken: broken.get(index) ?? [],
    });
  });
  return { xs: Float64Array.from(reply.columns.position), panels, reply };
}

/** Lowest and highest value of the columns in view; null: none has one. Logarithmic: of the values above 0. */
export function extent(panel: Panel, xs: Float64Array, x: readonly [number, number], log: boolean): [number, number] | null {
  const from = firstAt(xs, x[0]);
  const to = firstAt(xs, x[1] + 1e-9);
  let low = Infinity;
  let high = -Infinity;
  for (const line of panel.lines) {
    for (let i = from; i < to; i++) {
      const a = line.low[i] as number;
      const b = line.high[i] as number;
      if (a < low && !(log && a <= 0)) low = a;
      if (b > high) high = b;
    }
    for (const [column, ...values] of line.samples) {
      if ((column ?? 0) < from || (column ?? 0) >= to) continue;
      for (const v of values) {
        if (v < low && !(log && v <= 0)) low = v;
        if (v > high) high = v;
      }
    }
  }
  return low <= high ? [low, high] : null;
}

/** The range of y for these values; a floor of 2 % keeps pure noise from filling the picture. */
export function rangeOf(values: readonly [number, number] | null, log: boolean): [number, number] {
  if (!values) return [log ? 0.1 : 0, 1];
  const [low, high] = values;
  if (log) return [low / 1.1, high * 1.1];
  const half = Math.max(((high - low) / 2) * 1.12, Math.abs(high + low) * 0.005) || 0.5;
  const middle = (low + high) / 2;
  return [low >= 0 ? Math.max(0, middle - half) : middle - half, middle + half];
}

/** The range of y for the columns in view. */
export const yRange = (panel: Panel, xs: Float64Array, x: readonly [number, number], log: boolean): [number, number] =>
  rangeOf(extent(panel, xs, x, log), log);

/** Round numbers within a range. */
export function ticks(low: number, high: number, most: number, log = false): number[] {
  if (!(high > low)) return [];
  if (log && high / low > 8) {
    const out: number[] = [];
    for (let e = Math.ceil(Math.log10(low)); e <= Math.floor(Math.log10(high)); e++) out.push(10 ** e);
    return out.slice(0, most);
  }
  const raw = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) ?? 10 * power;
  const out: number[] = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

/** The column nearest to x. */
export function nearestColumn(xs: Float64Array, x: number): number {
  const at = firstAt(xs, x);
  if (at >= xs.length) return xs.length - 1;
  return at > 0 && x - (xs[at - 1] as number) < (xs[at] as number) - x ? at - 1 : at;
}

/** The lines with a value at the column, those nearest to `y` first. */
export function nearestLines(panel: Panel, column: number, y: number, most: number): Drawn[] {
  const far = (l: Drawn) => Math.abs((l.median[column] as number) - y);
  return panel.lines.filter((l) => Number.isFinite(l.median[column] as number)).sort((a, b) => far(a) - far(b)).slice(0, most);
}

export interface View { from: number; to: number }

/** The view after zooming by `factor` around `at`, within `all`, and at least `least` wide. */
export function zoomed(view: View, at: number, factor: number, all: View, least = 2): View {
  const wide = Math.min(all.to - all.from, Math.max(least, (view.to - view.from) * factor));
  const share = (at - view.from) / (view.to - view.from || 1);
  return kept({ from: at - wide * share, to: at + wide * (1 - share) }, all);
}

/** Moves a view back into `all` without changing its width. */
export function kept(view: View, all: View): View {
  const wide = Math.min(view.to - view.from, all.to - all.from);
  const from = Math.min(Math.max(view.from, all.from), all.to - wide);
  return { from, to: from + wide };
}

/** Change from the first to the last value in view, relative; NaN without two values. */
export function changeIn(line: Drawn, from: number, to: number): number {
  let first = NaN;
  let last = NaN;
  for (let i = from; i < to; i++) {
    const v = line.median[i] as number;
    if (!Number.isFinite(v)) continue;
    if (Number.isNaN(first)) first = v;
    last = v;
  }
  return last / first - 1;
}
