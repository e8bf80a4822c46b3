/* Draws the rows of a timeline on a canvas. Text passes through visible(), as all text of the pages does. */
import type { TimelineReply } from "../api/trace";
import { visible } from "../base/visible";
import type { View } from "./lines";
import { counterSpan, sayTime, ticksOf, type Row } from "./timeline";

export interface DrawOptions {
  width: number;
  height: number;
  /** Height, in pixels, of the rows that are scrolled out above the upper edge. */
  scroll: number;
  /** Slices with this correlation id are outlined; 0: none. */
  correlation: number;
  /** Slices with other names are faded; null: all are shown alike. Lower case. */
  find: string | null;
}

/** The page's colour of a name such as "--ink". */
export type Colours = (name: string) => string;

const AXIS = 22;
export const axisHeight = AXIS;

export function drawTimeline(c: CanvasRenderingContext2D, reply: TimelineReply, rows: readonly Row[], view: View, colours: Colours, o: DrawOptions): void {
  const x = (ns: number) => ((ns - view.from) / (view.to - view.from)) * o.width;
  c.clearRect(0, 0, o.width, o.height);
  const ticks = ticksOf(view, o.width);
  const step = ticks.length > 1 ? (ticks[1] as number) - (ticks[0] as number) : view.to - view.from;
  c.fillStyle = colours("--chart-grid");
  for (const t of ticks) c.fillRect(Math.round(x(t)), AXIS, 1, o.height - AXIS);
  c.save();
  c.beginPath();
  c.rect(0, AXIS, o.width, o.height - AXIS);
  c.clip();
  for (const row of rows) {
    const top = AXIS + row.top - o.scroll;
    if (top > o.height || top + row.height < AXIS) continue;
    if (row.kind === "line") drawLine(c, reply, row, top, x, colours, o);
    else if (row.kind === "counter") drawCounter(c, reply, row, top, x, colours, o);
  }
  c.restore();
  drawAxis(c, ticks, step, x, colours, o);
}

function drawAxis(c: CanvasRenderingContext2D, ticks: number[], step: number, x: (ns: number) => number, colours: Colours, o: DrawOptions): void {
  c.fillStyle = colours("--muted");
  c.font = `11.5px ${colours("--sans")}`;
  c.textBaseline = "middle";
  c.textAlign = "left";
  for (const t of ticks) {
    const text = sayTime(t, step);
    const at = Math.round(x(t));
    if (at + c.measureText(text).width + 4 <= o.width) c.fillText(text, at + 4, AXIS / 2);
    c.fillRect(at, AXIS - 6, 1, 6);
  }
}

function drawLine(c: CanvasRenderingContext2D, reply: TimelineReply, row: Row, top: number, x: (ns: number) => number, colours: Colours, o: DrawOptions): void {
  const line = reply.lines[row.at];
  if (!line) return;
  const colour = colours(row.colour);
  c.fillStyle = colours("--sunken");
  c.fillRect(0, top, o.width, row.height);
  if (line.cells) {
    const wide = (reply.to - reply.from) / reply.cells;
    c.fillStyle = colour;
    line.cells.at.forEach((at, i) => {
      const left = x(reply.from + at * wide);
      const right = x(reply.from + (at + 1) * wide);
      if (right < 0 || left > o.width) return;
      const high = Math.max(1.5, ((line.cells?.busy[i] as number) / 1000) * row.height);
      c.fillRect(left, top + row.height - high, Math.max(1, right - left), high);
    });
    return;
  }
  const s = line.slices;
  if (!s) return;
  const fits = o.find === null ? null : reply.names.map((n) => n.toLowerCase().includes(o.find as string));
  c.font = `11.5px ${colours("--sans")}`;
  c.textBaseline = "middle";
  c.textAlign = "left";
  for (let i = 0; i < s.begin.length; i++) {
    const left = x(s.begin[i] as number);
    const right = Math.max(left + 1, x(s.end[i] as number));
    if (right < 0 || left > o.width) continue;
    const from = Math.max(left, -2);
    const wide = Math.min(right, o.width + 2) - from;
    const bright = !fits || fits[s.name[i] as number];
    c.globalAlpha = bright ? (line.kind === "slices" ? 1 : 0.55) : 0.18;
    c.fillStyle = colour;
    c.fillRect(from, top + (line.kind === "points" ? 3 : 0), wide, row.height - (line.kind === "points" ? 6 : 0));
    c.globalAlpha = 1;
    if (wide > 3) { /* neighbours stay apart */
      c.fillStyle = colours("--surface");
      c.fillRect(right - 0.75, top, 0.75, row.height);
    }
    if (o.correlation !== 0 && s.correlation[i] === o.correlation) {
      c.strokeStyle = colours("--ink");
      c.lineWidth = 2;
      c.strokeRect(from + 1, top + 1, Math.max(1, wide - 2), row.height - 2);
    }
    if (wide > 34 && bright && line.kind !== "points") drawName(c, visible(reply.names[s.name[i] as number] ?? ""), from, top, wide, row.height, colours, line.kind === "slices");
  }
}

function drawName(c: CanvasRenderingContext2D, name: string, left: number, top: number, wide: number, high: number, colours: Colours, solid: boolean): void {
  c.save();
  c.beginPath();
  c.rect(left, top, wide - 2, high);
  c.clip();
  c.fillStyle = solid ? colours("--surface") : colours("--ink");
  c.fillText(name, Math.max(left, 0) + 4, top + high / 2 + 0.5);
  c.restore();
}

function drawCounter(c: CanvasRenderingContext2D, reply: TimelineReply, row: Row, top: number, x: (ns: number) => number, colours: Colours, o: DrawOptions): void {
  const counter = reply.counters[row.at];
  if (!counter) return;
  const [low, high] = counterSpan(reply, row.at);
  const y = (v: number) => top + row.height - ((v - low) / (high - low)) * (row.height - 2);
  c.fillStyle = colours("--sunken");
  c.fillRect(0, top, o.width, row.height);
  c.fillStyle = colours(row.colour);
  const bar = (from: number, to: number, lowest: number, highest: number) => {
    const left = Math.max(0, x(from));
    const right = Math.min(o.width, x(to));
    if (right <= left) return;
    c.globalAlpha = 0.35;
    c.fillRect(left, y(highest), right - left, top + row.height - y(highest));
    c.globalAlpha = 1;
    c.fillRect(left, y(highest), Math.max(1, right - left), Math.max(1.5, y(lowest) - y(highest)));
  };
  if (counter.values) {
    let held = counter.before;
    let since = reply.from;
    counter.values.ns.forEach((ns, i) => {
      if (held !== null) bar(since, ns, held, held);
      held = counter.values?.value[i] ?? null;
      since = ns;
    });
    if (held !== null) bar(since, reply.to, held, held);
    return;
  }
  const wide = (reply.to - reply.from) / reply.cells;
  const r = counter.ranges;
  r?.at.forEach((at, i) => {
    const until = r.at[i + 1] ?? reply.cells;
    const [a, b] = [r.low[i] ?? null, r.high[i] ?? null];
    if (a !== null && b !== null) bar(reply.from + at * wide, reply.from + until * wide, a, b);
  });
}
