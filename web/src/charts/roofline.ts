/* Places of benchmarks and ceilings on two logarithmic axes: operations a second over operations a byte. Pure. */
import type { RooflineCeiling, RooflinePoint, RooflineReply } from "../api/roofline";
import { isInside, placesOf, type Part, type Place } from "./roofline_part";

/** A logarithmic scale onto pixels. */
export interface LogScale { (value: number): number; low: number; high: number }

export function logScale(low: number, high: number, from: number, to: number): LogScale {
  const [a, b] = [Math.log10(low), Math.log10(high)];
  return Object.assign((v: number) => from + ((Math.log10(v) - a) / (b - a)) * (to - from), { low, high });
}

/** Powers of ten that hold all values, at least one decade; null: no value is positive. */
export function decades(values: readonly (number | null)[]): [number, number] | null {
  const logs = values.filter((v): v is number => v !== null && v > 0 && Number.isFinite(v)).map(Math.log10);
  if (logs.length === 0) return null;
  const low = Math.floor(Math.min(...logs) - 0.05);
  return [10 ** low, 10 ** Math.max(Math.ceil(Math.max(...logs) + 0.05), low + 1)];
}

export interface Dot {
  /** Of the benchmark in the reply. */
  index: number;
  x: number;
  y: number;
  /** In decades. */
  place: Place;
  /** Of the part that is on view. */
  inside: boolean;
  /** Where the other commit's result is; null: there is none. */
  from: { x: number; y: number } | null;
}

export interface Line {
  /** Of the ceiling in the reply. */
  index: number;
  x1: number; y1: number; x2: number; y2: number;
  label: { x: number; y: number; anchor: "start" | "end" };
}

export interface Roofline { x: LogScale; y: LogScale; dots: Dot[]; lines: Line[] }

export interface Frame { left: number; right: number; top: number; bottom: number }

type Placed = RooflinePoint & { intensity: number; rate: number };
const placed = (p: RooflinePoint | null): p is Placed => p !== null && p.intensity !== null && p.rate !== null;

/** Ceilings that some result at b refers to, and those of the same kind and set: what held at a is not drawn again. */
export function drawnCeilings(reply: RooflineReply): number[] {
  const runs = new Set<number>();
  for (const r of reply.benchmarks) for (const at of [r.b.compute, r.b.memory]) {
    const c = at === null ? undefined : reply.ceilings[at];
    if (c) runs.add(c.run_id);
  }
  const seen = new Set<string>();
  return reply.ceilings.map((_, i) => i).filter((i) => {
    const c = reply.ceilings[i] as RooflineCeiling;
    const key = `${c.machine_class}\n${c.name}\n${c.value}`;
    if (!runs.has(c.run_id) || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** The text beside a ceiling's line: with its class of machines where another class has a ceiling of that name. */
export function ceilingName(all: readonly RooflineCeiling[], c: RooflineCeiling): string {
  return all.some((o) => o.name === c.name && o.machine_class !== c.machine_class) ? `${c.name}, ${c.machine_class}` : c.name;
}

/** Moves labels, sorted by their height, apart by at least `gap`, within the frame. */
export function spread(ys: readonly number[], gap: number, top: number, bottom: number): number[] {
  const order = ys.map((_, i) => i).sort((i, k) => (ys[i] as number) - (ys[k] as number));
  const out = [...ys];
  let last = top - gap;
  for (const i of order) {
    out[i] = Math.max(out[i] as number, last + gap);
    last = out[i] as number;
  }
  let next = bottom + gap;
  for (const i of [...order].reverse()) {
    out[i] = Math.min(out[i] as number, next - gap);
    next = out[i] as number;
  }
  return out;
}

/** The line of a ceiling within the axes; null: it is outside of them. `flat`: the highest arithmetic beside it. */
function lineOf(c: RooflineCeiling, flat: number, x: LogScale, y: LogScale): Omit<Line, "index" | "label"> | null {
  if (c.kind === "compute") {
    if (c.value < y.low || c.value > y.high) return null;
    return { x1: x(x.low), y1: y(c.value), x2: x(x.high), y2: y(c.value) };
  }
  const from = Math.max(x.low, y.low / c.value);
  const to = Math.min(x.high, Math.min(flat, y.high) / c.value);
  if (!(to > from)) return null;
  return { x1: x(from), y1: y(c.value * from), x2: x(to), y2: y(c.value * to) };
}

/** Ceilings that are drawn, by their places in the reply, and for each the flat ones that may end its slope. */
function ceilingsOf(reply: RooflineReply) {
  const all = drawnCeilings(reply).map((index) => ({ index, c: reply.ceilings[index] as RooflineCeiling }));
  return all.map((one) => ({ ...one, over: all.map((o) => o.c).filter((f) => f.kind === "compute" && f.machine_class === one.c.machine_class && f.backend === one.c.backend).map((f) => f.value) }));
}

/** Everything: all results, flat ceilings and ridges. Null: no benchmark has a place. */
export function wholeOf(reply: RooflineReply): Part | null {
  const both = reply.benchmarks.flatMap((r) => [r.a, r.b]).filter(placed);
  const ceilings = ceilingsOf(reply);
  const ridges = ceilings.filter(({ c }) => c.kind === "memory").flatMap(({ c, over }) => over.map((flat) => flat / c.value));
  const wide = decades([...both.map((p) => p.intensity), ...ridges]);
  const high = decades([...both.map((p) => p.rate), ...ceilings.filter(({ c }) => c.kind === "compute").map(({ c }) => c.value)]);
  if (both.length === 0 || !wide || !high) return null;
  return { x: { from: Math.log10(wide[0]), to: Math.log10(wide[1]) }, y: { from: Math.log10(high[0]), to: Math.log10(high[1]) } };
}

/** Beside the line's lower end; near the right edge to the left of it, where there is room. */
function labelOf(c: RooflineCeiling, line: Omit<Line, "index" | "label">, frame: Frame): Line["label"] {
  if (c.kind === "compute") return { x: line.x2, y: line.y2 - 4, anchor: "end" };
  return line.x1 < frame.left + 0.6 * (frame.right - frame.left) ? { x: line.x1 + 5, y: line.y1 + 13, anchor: "start" } : { x: line.x1 - 5, y: line.y1 + 13, anchor: "end" };
}

/** `part`: what is on view; dots outside of it have places outside of the frame. Null: no benchmark has a place. */
export function rooflineOf(reply: RooflineReply, frame: Frame, part: Part | null = wholeOf(reply)): Roofline | null {
  if (!part) return null;
  const x = logScale(10 ** part.x.from, 10 ** part.x.to, frame.left, frame.right);
  const y = logScale(10 ** part.y.from, 10 ** part.y.to, frame.bottom, frame.top);
  const lines = ceilingsOf(reply).flatMap(({ index, c, over }): (Line & { kind: string })[] => {
    const line = lineOf(c, over.length ? Math.max(...over) : Infinity, x, y);
    return line ? [{ index, kind: c.kind, ...line, label: labelOf(c, line, frame) }] : [];
  });
  const apart = (kind: string, bottom: number) => {
    const some = lines.filter((l) => l.kind === kind);
    spread(some.map((l) => l.label.y), 13, frame.top + 10, bottom).forEach((at, i) => { (some[i] as Line).label.y = at; });
  };
  apart("compute", frame.bottom);
  apart("memory", frame.bottom - 4);
  /* A label that was moved up is right of its line. */
  for (const { kind, label, x1, y1, x2, y2 } of lines) if (kind === "memory" && label.anchor === "start") label.x = Math.max(label.x, x1 + 4 + ((y1 - label.y + 10) * (x2 - x1)) / (y1 - y2));
  const places = placesOf(reply);
  const dots = reply.benchmarks.flatMap(({ a, b }, index): Dot[] => {
    const place = places[index];
    if (!place || !placed(b)) return [];
    return [{ index, x: x(b.intensity), y: y(b.rate), place, inside: isInside(place, part), from: placed(a) ? { x: x(a.intensity), y: y(a.rate) } : null }];
  });
  return { x, y, dots, lines };
}
