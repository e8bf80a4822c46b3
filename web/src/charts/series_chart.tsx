/* The large chart of a series: uPlot draws, the view owns every state (zoom, selection, range) and so the address does. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import uPlot from "uplot";
import type { SeriesReply } from "../api/types";
import { formatNumber } from "../base/format";
import { themeShown } from "../base/theme";
import { brokenMarks, markNear, nearest, plotOf, xOf, type BrokenMark, type Plot, type Shown, type XMode, type YMode } from "./columns";
import { attachGestures } from "./gestures";
import { kept, zoomed, type View } from "./lines";
import { drawAbove, drawBehind, palette, type Marks, type Palette } from "./marks";
import { BrokenCard, PointCard } from "./point_card";

export type DragMode = "zoom" | "pan" | "range";

export interface SeriesChartProps {
  reply: SeriesReply;
  xMode: XMode;
  yMode: YMode;
  /** Without it: values. */
  shown?: Shown;
  drag: DragMode;
  height: number;
  /** The reply is a part of the series: dragging sideways reaches rows before its first and behind its last. */
  beyond?: boolean;
  /** Rows at the ends of what is shown; null: everything. */
  zoom: [number, number] | null;
  selected: number | null;
  range: [number, number] | null;
  label: string;
  /** Words after a point's difference to the one before: what the comparison of the two says. */
  verdict?: (row: number) => ComponentChildren;
  onZoom: (zoom: [number, number] | null) => void;
  onSelect: (row: number | null) => void;
  onRange: (range: [number, number] | null) => void;
  /** Selecting a point opens another page. */
  leaves?: boolean;
  /** Keys, for charts that can be walked through; without it the chart is a picture. */
  onKey?: (event: KeyboardEvent) => void;
}

/** Room beside the first and the last point on view, as a share of what is on view. */
const PAD = 0.015;

function scaleOf(plot: Plot, zoom: [number, number] | null, broken: readonly BrokenMark[]): { min: number; max: number } {
  const first = Math.min(plot.xs[0] ?? 0, broken[0]?.x ?? Infinity);
  const last = Math.max(plot.xs[plot.xs.length - 1] ?? 1, broken[broken.length - 1]?.x ?? -Infinity);
  let [min, max] = [first, last];
  if (zoom) {
    const a = xOf(plot, zoom[0]);
    const b = xOf(plot, zoom[1]);
    [min, max] = [Math.min(a, b), Math.max(a, b)];
  }
  const pad = (max - min) * PAD || Math.max(0.5, Math.abs(max) * 1e-6);
  return { min: min - pad, max: max + pad };
}

function axes(p: Palette, xMode: XMode, plot: Plot): uPlot.Axis[] {
  const common = {
    stroke: p.text, font: '12px "Inter Variable", system-ui, sans-serif',
    grid: { stroke: p.grid, width: 1 }, ticks: { show: false }, border: { show: false },
  };
  const x: uPlot.Axis = { ...common, grid: { show: false }, gap: 6, size: 32 };
  if (xMode === "commits") {
    x.incrs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 100000];
    x.values = (_u, splits) => splits.map((v) => (Number.isInteger(v) ? `#${formatNumber(v, 15).replace(/\.0+$/, "")}` : ""));
  }
  return [x, {
    ...common, gap: 8, size: 68,
    values: (_u, splits) => splits.map((v) => (v === null ? "" : plain(v))),
    label: plot.scale.unit, labelSize: 18, labelGap: 0, labelFont: '500 12px "Inter Variable", system-ui, sans-serif',
  }];
}

const plain = (v: number) => (v === 0 ? "0" : formatNumber(v, 6).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""));

/** Row at x; outside of the rows it is counted on at their mean distance, so that it may be negative. */
function rowBeyond(plot: Plot, x: number): number {
  const last = plot.xs.length - 1;
  const [from, to] = [plot.xs[0] ?? 0, plot.xs[last] ?? 1];
  if (x >= from && x <= to) return plot.order[nearest(plot.xs, x)] ?? 0;
  return Math.round(((x - from) / (to - from || 1)) * last);
}

/** Rows at the ends of a scale, two or more; `beyond`: there may be rows before the first and behind the last. */
function rowsOf(plot: Plot, { from, to }: View, beyond: boolean): [number, number] {
  const pad = ((to - from) / (1 + 2 * PAD)) * PAD;
  const [a, b] = [rowBeyond(plot, from + pad), rowBeyond(plot, to - pad)];
  if (a !== b && beyond) return a < b ? [a, b] : [b, a];
  const last = plot.xs.length - 1;
  const [low, high] = [Math.max(0, Math.min(a, b, last - 1)), Math.min(last, Math.max(a, b, 1))];
  return low < high ? [low, high] : [Math.max(0, low - 1), Math.min(last, high + 1)];
}

/** Every point as a dot while there is room for dots. */
const roomForDots = (u: uPlot, _s: number, i0: number, i1: number) => i1 - i0 < u.bbox.width / uPlot.pxRatio / 9;

/** A point between two gaps has no line: it is always a dot. */
function dotsOf(plot: Plot): uPlot.Series.Points.Filter {
  const alone = plot.xs.flatMap((_, i) => ((i === 0 || plot.gap[i - 1]) && (plot.gap[i] ?? true) && plot.line[i] !== null ? [i] : []));
  return (_u, _s, show) => (show ? null : alone);
}

/** Pixels between points that no line joins. Kept out points are no gaps. */
const gapsOf = (plot: Plot): uPlot.Series.GapsRefiner => (u, _s, from, to) => {
  const out: [number, number][] = [];
  for (let i = from; i < to; i++) {
    if (plot.gap[i]) out.push([Math.round(u.valToPos(plot.xs[i] ?? 0, "x", true)) + 1, Math.round(u.valToPos(plot.xs[i + 1] ?? 0, "x", true)) - 1]);
  }
  return out;
};

function series(p: Palette, plot: Plot): uPlot.Series[] {
  const gaps = gapsOf(plot);
  const edge = { stroke: "transparent", points: { show: false }, gaps };
  return [
    {},
    { ...edge, scale: "y" },
    { ...edge, scale: "y" },
    { scale: "y", stroke: p.min, width: 1, gaps, points: { show: false } },
    { scale: "y", stroke: p.line, width: 2, gaps, points: { show: roomForDots, filter: dotsOf(plot), size: 6, fill: p.line, stroke: p.line, width: 0 } },
    { scale: "y", stroke: p.infra, width: 0, paths: () => null,
      points: { show: true, size: 8, width: 1.5, fill: p.surface, stroke: p.infra } },
  ];
}

/** Thousands of points in a thousand pixels would be one thick bar: thinner strokes keep the shape readable. */
function thinWhenDense(u: uPlot): void {
  const line = u.series[4];
  const min = u.series[3];
  const { min: low, max: high } = u.scales["x"] ?? {};
  if (!line || !min || typeof low !== "number" || typeof high !== "number") return;
  const xs = u.data[0] as number[];
  const dense = (nearest(xs, high) - nearest(xs, low)) / Math.max(1, u.bbox.width / uPlot.pxRatio);
  line.width = dense > 0.7 ? 0.8 : 2;
  min.width = dense > 0.7 ? 0.35 : 1;
}

/** y follows what the x range shows; a floor of 2 % keeps pure noise from filling the picture. */
function yRange(yMode: YMode): uPlot.Scale.Range {
  return (_u, low, high) => {
    if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
    if (yMode === "log") return [low / 1.15, high * 1.15];
    const half = Math.max(((high - low) / 2) * 1.18, Math.abs(high + low) * 0.005) || 0.5;
    const middle = (low + high) / 2;
    return [low >= 0 ? Math.max(0, middle - half) : middle - half, middle + half];
  };
}

export function SeriesChart(props: SeriesChartProps) {
  const { reply, xMode, yMode, height } = props;
  const what = props.shown ?? "values";
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  const [hover, setHover] = useState<{ row: number; x: number; y: number } | null>(null);
  const [onBroken, setOnBroken] = useState<{ mark: BrokenMark; x: number } | null>(null);
  const [, setDrawn] = useState(0);
  const plot = useMemo(() => plotOf(reply, xMode, yMode, what), [reply, xMode, yMode, what]);
  const broken = useMemo(() => brokenMarks(reply, plot, xMode), [reply, plot, xMode]);
  const theme = themeShown.value;
  const now = useRef({ ...props, plot });
  now.current = { ...props, plot };

  useEffect(() => {
    const host = box.current;
    if (!host) return undefined;
    const colours = palette();
    const marks = (): Marks => ({
      reply, plot, yMode, shown: what, selected: now.current.selected, range: now.current.range, broken,
    });
    const rowAt = (u: uPlot, left: number) => plot.order[nearest(plot.xs, u.posToVal(left, "x"))] ?? 0;
    const u = new uPlot({
      width: host.clientWidth, height, padding: [6, 10, 0, 0],
      legend: { show: false },
      scales: { x: { time: xMode === "time" }, y: { distr: yMode === "log" ? 3 : 1, range: yRange(yMode) } },
      axes: axes(colours, xMode, plot),
      series: series(colours, plot),
      bands: what === "ratio" ? [] : [{ series: [2, 1], fill: colours.band }],
      cursor: {
        y: false, drag: { x: false, y: false, setScale: false },
        bind: { mousedown: () => null, mouseup: () => null, dblclick: () => null }, /* gestures.ts */
        points: { size: 9, stroke: colours.surface, width: 2, fill: colours.line, show: true },
        focus: { prox: -1 },
      },
      hooks: {
        drawClear: [(c) => thinWhenDense(c)],
        drawAxes: [(c) => drawBehind(c, marks(), colours)],
        draw: [(c) => {
          drawAbove(c, marks(), colours);
          if (now.current.selected !== null) setDrawn((n) => n + 1); /* the card moves with its point */
        }],
        setCursor: [(c) => {
          const at = c.cursor.idx;
          const left = c.cursor.left ?? -1;
          const mark = left < 0 ? null : markNear(broken, c.posToVal(left, "x"), Math.abs(c.posToVal(left + 7, "x") - c.posToVal(left, "x")));
          setOnBroken(mark && { mark, x: c.valToPos(mark.x, "x") });
          if (mark) return setHover(null);
          if (at === null || at === undefined || left < 0) return setHover(null);
          const row = plot.order[at] ?? 0;
          const shown = plot.line[at] ?? plot.infra[at];
          if (shown === null || shown === undefined) return setHover(null);
          setHover({ row, x: c.valToPos(plot.xs[at] ?? 0, "x"), y: c.valToPos(shown, "y") });
        }],
      },
    }, [plot.xs, plot.low, plot.high, plot.min, plot.line, plot.infra] as uPlot.AlignedData, host);
    chart.current = u;
    u.setScale("x", scaleOf(plot, now.current.zoom, broken));

    const all = (): View => {
      if (now.current.beyond) return { from: -Infinity, to: Infinity };
      const { min, max } = scaleOf(plot, null, broken);
      return { from: min, to: max };
    };
    const view = (): View => ({ from: u.scales["x"]?.min ?? 0, to: u.scales["x"]?.max ?? 1 });
    const show = (v: View) => u.setScale("x", { min: v.from, max: v.to });
    const least = (2 * ((plot.xs[plot.xs.length - 1] ?? 1) - (plot.xs[0] ?? 0))) / Math.max(2, plot.xs.length - 1);
    const left = (clientX: number) => Math.max(0, Math.min(u.over.clientWidth, clientX - u.over.getBoundingClientRect().left));
    const x = (clientX: number) => u.posToVal(clientX - u.over.getBoundingClientRect().left, "x");
    const before: (number | null)[] = [null, null]; /* selected before the last two presses: a double click selects nothing */
    const stopGestures = attachGestures(u.over, {
      x, pans: () => now.current.drag === "pan", leaves: now.current.leaves === true,
      onZoom: (at, factor) => show(zoomed(view(), at, factor, all(), least)),
      onPan: (by) => show(kept({ from: view().from + by, to: view().to + by }, all())),
      onRest: () => now.current.onZoom(rowsOf(plot, view(), now.current.beyond === true)),
      onAll: () => {
        if (!now.current.leaves) now.current.onSelect(before[0] ?? null);
        if (!now.current.beyond) show(all());
        now.current.onZoom(null);
      },
      onDrag: (span, done) => {
        const [a, b] = span ? [left(Math.min(span.from, span.to)), left(Math.max(span.from, span.to))] : [0, 0];
        u.setSelect({ left: done ? 0 : a, top: 0, width: done ? 0 : b - a, height: done ? 0 : u.over.clientHeight }, false);
        if (!done || b - a < 6) return;
        const [p, q] = [rowAt(u, a), rowAt(u, b)];
        if (p === q) return;
        if (now.current.drag === "range") now.current.onRange([Math.min(p, q), Math.max(p, q)]);
        else now.current.onZoom([Math.min(p, q), Math.max(p, q)]);
      },
      onPress: (e) => {
        if (plot.xs.length === 0) return;
        before.push(now.current.selected);
        before.shift();
        const row = rowAt(u, left(e.clientX));
        now.current.onSelect(now.current.selected === row ? null : row);
      },
    });
    const watch = new ResizeObserver(() => {
      if (host.clientWidth > 0 && host.clientWidth !== u.width) u.setSize({ width: host.clientWidth, height });
    });
    watch.observe(host);
    return () => {
      watch.disconnect();
      stopGestures();
      u.destroy();
      chart.current = null;
      setHover(null);
      setOnBroken(null);
    };
  }, [reply, plot, xMode, yMode, what, height, theme]);

  const zoomKey = props.zoom ? props.zoom.join() : "";
  useEffect(() => {
    chart.current?.setScale("x", scaleOf(plot, now.current.zoom, broken));
  }, [zoomKey]);
  useEffect(() => {
    if (chart.current) chart.current.over.dataset["drag"] = props.drag;
  }, [props.drag, reply, xMode, yMode, what, height, theme]);
  useEffect(() => {
    chart.current?.redraw(false, false);
  }, [props.selected, props.range?.[0], props.range?.[1]]);

  const u = chart.current;
  const shown = hover ?? pinned(u, plot, props.selected);
  return (
    <div class="chart" aria-label={props.label} {...(props.onKey
      ? { role: "application" as const, tabIndex: 0, "aria-roledescription": "chart", "aria-describedby": "chart-keys", onKeyDown: props.onKey }
      : { role: "img" as const })}>
      <div ref={box} class="chart-box" style={{ height: `${height}px` }} />
      {onBroken && u && <BrokenCard mark={onBroken.mark} x={onBroken.x + u.over.offsetLeft} width={u.width} height={height} />}
      {shown && u && !onBroken && <PointCard reply={reply} of={what} row={shown.row} x={shown.x + u.over.offsetLeft} y={shown.y} width={u.width} {...(props.verdict ? { verdict: props.verdict } : {})} />}
    </div>
  );
}

/** Pixel position of the selected point, when it is in view. */
function pinned(u: uPlot | null, plot: Plot, row: number | null): { row: number; x: number; y: number } | null {
  if (!u || row === null) return null;
  const place = plot.place[row] ?? 0;
  const value = plot.line[place] ?? plot.infra[place];
  const x = u.valToPos(plot.xs[place] ?? 0, "x");
  if (value === null || value === undefined || x < 0 || x > u.over.clientWidth) return null;
  return { row, x, y: u.valToPos(value, "y") };
}
