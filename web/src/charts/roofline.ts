/* Places of benchmarks and ceilings on two logarithmic axes: operations a second over operations a byte. Pure. */
import type { RooflineCeiling, RooflinePoint, RooflineReply } from "../api/roofline";

/** A logarithmic scale from whole powers of ten onto pixels. */
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

export function powers(low: number, high: number): number[] {
  const out: number[] = [];
  for (let e = Math.round(Math.log10(low)); e <= Math.round(Math.log10(high)); e++) out.push(10 ** e);
  return out;
}

export interface Dot {
  /** Of the benchmark in the reply. */
  index: number;
  x: number;
  y: number;
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

/** Null: no benchmark has a place. */
export function rooflineOf(reply: RooflineReply, frame: Frame): Roofline | null {
  const both = reply.benchmarks.flatMap((r) => [r.a, r.b]).filter(placed);
  const ceilings = drawnCeilings(reply).map((i) => [i, reply.ceilings[i] as RooflineCeiling] as const);
  const flats = ceilings.filter(([, c]) => c.kind === "compute");
  const ridges = ceilings.filter(([, c]) => c.kind === "memory").flatMap(([, m]) => flats.filter(([, f]) => f.machine_class === m.machine_class && f.backend === m.backend).map(([, f]) => f.value / m.value));
  const wide = decades([...both.map((p) => p.intensity), ...ridges]);
  const high = decades([...both.map((p) => p.rate), ...flats.map(([, c]) => c.value)]);
  if (both.length === 0 || !wide || !high) return null;
  const x = logScale(wide[0], wide[1], frame.left, frame.right);
  const y = logScale(high[0], high[1], frame.bottom, frame.top);
  const lines: Line[] = [];
  for (const [index, c] of ceilings) {
    const over = flats.filter(([, f]) => f.machine_class === c.machine_class && f.backend === c.backend).map(([, f]) => f.value);
    const line = lineOf(c, over.length ? Math.max(...over) : Infinity, x, y);
    if (line) lines.push({ index, ...line, label: c.kind === "compute" ? { x: line.x2, y: line.y2 - 4, anchor: "end" } : { x: line.x1 + 5, y: line.y1 + 13, anchor: "start" } });
  }
  const flatLines = lines.filter((l) => l.label.anchor === "end");
  spread(flatLines.map((l) => l.label.y), 13, frame.top + 10, frame.bottom).forEach((at, i) => { (flatLines[i] as Line).label.y = at; });
  const slopes = lines.filter((l) => l.label.anchor === "start");
  spread(slopes.map((l) => l.label.y), 13, frame.top + 10, frame.bottom - 4).forEach((at, i) => { (slopes[i] as Line).label.y = at; });
  const dots = reply.benchmarks.map((r, index): Dot | null => placed(r.b)
    ? { index, x: x(r.b.intensity), y: y(r.b.rate), from: placed(r.a) ? { x: x(r.a.intensity), y: y(r.a.rate) } : null } : null).filter((d): d is Dot => d !== null);
  return { x, y, dots, lines };
}
