/* Marks behind and above the lines of the series chart: changes with their range, boundaries, levels, selection. */
import uPlot from "uplot";
import type { SeriesReply } from "../api/types";
import { readStatus } from "../base/verdict";
import { visible } from "../base/visible";
import { edgeBefore, xOf, type BrokenMark, type Plot, type Shown, type YMode } from "./columns";

export interface Palette {
  line: string; band: string; min: string; infra: string; grid: string; text: string; surface: string;
  bad: string; good: string; warn: string; accent: string; boundary: string;
}

export function palette(): Palette {
  const css = getComputedStyle(document.documentElement);
  const get = (name: string) => css.getPropertyValue(`--${name}`).trim();
  return {
    line: get("accent"), band: get("chart-band"), min: get("chart-min"), infra: get("muted"), grid: get("chart-grid"),
    text: get("muted"), surface: get("surface"), bad: get("bad"), good: get("good"), warn: get("warn"),
    accent: get("accent"), boundary: get("chart-boundary"),
  };
}

export interface Marks {
  reply: SeriesReply;
  plot: Plot;
  yMode: YMode;
  shown: Shown;
  selected: number | null;
  range: [number, number] | null;
  broken: readonly BrokenMark[];
}

type Box = { left: number; top: number; width: number; height: number };

function vertical(u: uPlot, x: number): number {
  return Math.round(u.valToPos(x, "x", true));
}

function clip(u: uPlot, draw: (ctx: CanvasRenderingContext2D, box: Box) => void): void {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx, bbox);
  ctx.restore();
}

const toneOf = (p: Palette, direction: string, status: string) =>
  status === "provisional" ? p.warn : direction === "improvement" ? p.good : p.bad;

/** Behind the lines: ranges of changes, the chosen range. */
export function drawBehind(u: uPlot, m: Marks, p: Palette): void {
  clip(u, (ctx, box) => {
    if (m.range) {
      const a = vertical(u, xOf(m.plot, m.range[0]));
      const b = vertical(u, xOf(m.plot, m.range[1]));
      ctx.globalAlpha = 0.14;
      ctx.fillStyle = p.accent;
      ctx.fillRect(a, box.top, Math.max(2, b - a), box.height);
    }
    for (const c of m.reply.changes) {
      const a = vertical(u, edgeBefore(m.plot, c.index_low));
      const b = vertical(u, xOf(m.plot, c.index_high));
      ctx.globalAlpha = 0.13;
      ctx.fillStyle = toneOf(p, c.direction, readStatus(c));
      ctx.fillRect(a, box.top, Math.max(3, b - a), box.height);
    }
  });
}

/** Horizontal strokes: the level before the first change, and after each. */
function drawLevels(u: uPlot, m: Marks, p: Palette, ctx: CanvasRenderingContext2D): void {
  const { changes } = m.reply;
  const first = changes[0];
  if (!first) return;
  const n = m.plot.xs.length;
  const stroke = (from: number, to: number, value: number) => {
    const y = u.valToPos(value * m.plot.scale.factor, "y", true);
    if (!Number.isFinite(y)) return;
    ctx.beginPath();
    ctx.moveTo(from, y);
    ctx.lineTo(to, y);
    ctx.stroke();
  };
  ctx.strokeStyle = p.text;
  ctx.globalAlpha = 0.75;
  ctx.lineWidth = 1.25 * uPlot.pxRatio;
  ctx.setLineDash([5 * uPlot.pxRatio, 4 * uPlot.pxRatio]);
  stroke(vertical(u, m.plot.xs[0] ?? 0), vertical(u, edgeBefore(m.plot, first.index)), first.before);
  changes.forEach((c, i) => {
    const next = changes[i + 1];
    const end = next ? edgeBefore(m.plot, next.index) : (m.plot.xs[n - 1] ?? 0);
    stroke(vertical(u, edgeBefore(m.plot, c.index)), vertical(u, end), c.after);
  });
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

/** Intervals of ratios: each is of its own fit, so no band joins them. */
function drawWhiskers(u: uPlot, m: Marks, p: Palette, ctx: CanvasRenderingContext2D): void {
  const cap = 3 * uPlot.pxRatio;
  ctx.strokeStyle = p.line;
  ctx.lineWidth = 1.25 * uPlot.pxRatio;
  ctx.beginPath();
  m.plot.xs.forEach((at, i) => {
    const [low, high] = [m.plot.low[i], m.plot.high[i]];
    if (low === null || low === undefined || high === null || high === undefined) return;
    const x = vertical(u, at) + 0.5;
    const [top, bottom] = [u.valToPos(high, "y", true), u.valToPos(low, "y", true)];
    ctx.moveTo(x, top);
    ctx.lineTo(x, bottom);
    for (const y of [top, bottom]) {
      ctx.moveTo(x - cap, y);
      ctx.lineTo(x + cap, y);
    }
  });
  ctx.stroke();
}

/** A flag at the top of a change: the arrow tells the sign, the word is in the table below the chart. */
function drawFlag(ctx: CanvasRenderingContext2D, x: number, top: number, up: boolean, colour: string, hollow: boolean): void {
  const s = 5.5 * uPlot.pxRatio;
  const y = top + s + 2 * uPlot.pxRatio;
  ctx.beginPath();
  ctx.moveTo(x - s, up ? y + s * 0.7 : y - s * 0.7);
  ctx.lineTo(x + s, up ? y + s * 0.7 : y - s * 0.7);
  ctx.lineTo(x, up ? y - s * 0.8 : y + s * 0.8);
  ctx.closePath();
  ctx.lineWidth = 1.5 * uPlot.pxRatio;
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  if (hollow) ctx.stroke();
  else ctx.fill();
}

/** Above the lines: boundaries, change markers, the selected point. */
export function drawAbove(u: uPlot, m: Marks, p: Palette): void {
  const px = uPlot.pxRatio;
  clip(u, (ctx, box) => {
    const bottom = box.top + box.height;
    ctx.lineWidth = px;
    ctx.strokeStyle = p.boundary;
    ctx.fillStyle = p.boundary;
    ctx.font = `500 ${11 * px}px "Inter Variable", system-ui, sans-serif`;
    ctx.textAlign = "left";
    for (const b of m.reply.boundaries) {
      const x = vertical(u, edgeBefore(m.plot, b.index)) + 0.5;
      ctx.setLineDash([2 * px, 3 * px]);
      ctx.beginPath();
      ctx.moveTo(x, box.top);
      ctx.lineTo(x, bottom);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.fillText(visible(b.fields.join(", ")), x + 5 * px, bottom - 7 * px);
    }
    /* The levels of changes are values; they have no place among ratios. */
    if (m.shown === "values") drawLevels(u, m, p, ctx);
    else drawWhiskers(u, m, p, ctx);
    for (const c of m.reply.changes) {
      const x = vertical(u, edgeBefore(m.plot, c.index)) + 0.5;
      const colour = toneOf(p, c.direction, readStatus(c));
      ctx.strokeStyle = colour;
      ctx.lineWidth = 1.5 * px;
      ctx.beginPath();
      ctx.moveTo(x, box.top + 14 * px);
      ctx.lineTo(x, bottom);
      ctx.stroke();
      drawFlag(ctx, x, box.top, c.rel_change > 0, colour, readStatus(c) === "provisional");
    }
    for (const b of m.broken) drawBroken(ctx, vertical(u, b.x), box, p);
    if (m.selected !== null) drawSelected(u, m, p, ctx, box);
  });
}

/** A cross at the foot of the plot: at that commit there is no value. */
function drawBroken(ctx: CanvasRenderingContext2D, x: number, box: Box, p: Palette): void {
  const s = 4 * uPlot.pxRatio;
  const y = box.top + box.height - 2.5 * s;
  ctx.beginPath();
  ctx.moveTo(x - s, y - s);
  ctx.lineTo(x + s, y + s);
  ctx.moveTo(x - s, y + s);
  ctx.lineTo(x + s, y - s);
  ctx.lineWidth = 2 * uPlot.pxRatio;
  ctx.strokeStyle = p.bad;
  ctx.stroke();
}

function drawSelected(u: uPlot, m: Marks, p: Palette, ctx: CanvasRenderingContext2D, box: Box): void {
  const px = uPlot.pxRatio;
  const row = m.selected ?? 0;
  const x = vertical(u, xOf(m.plot, row));
  const place = m.plot.place[row] ?? 0;
  const value = m.plot.line[place] ?? m.plot.infra[place];
  ctx.strokeStyle = p.accent;
  ctx.lineWidth = px;
  ctx.globalAlpha = 0.6;
  ctx.beginPath();
  ctx.moveTo(x + 0.5, box.top);
  ctx.lineTo(x + 0.5, box.top + box.height);
  ctx.stroke();
  ctx.globalAlpha = 1;
  if (value === null || value === undefined) return;
  const y = u.valToPos(value, "y", true);
  ctx.beginPath();
  ctx.arc(x, y, 6 * px, 0, 2 * Math.PI);
  ctx.fillStyle = p.surface;
  ctx.fill();
  ctx.lineWidth = 2.5 * px;
  ctx.stroke();
}
