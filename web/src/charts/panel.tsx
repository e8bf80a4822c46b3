/* One panel of lines on a canvas, with a crosshair that panels share. Drawn by raster.ts; text and marks by the canvas. */
import { useEffect, useRef } from "preact/hooks";
import { formatNumber } from "../base/format";
import { visible } from "../base/visible";
import { attachGestures } from "./gestures";
import { nearestColumn, ticks, yRange, type Panel, type View } from "./lines";
import { clear, columnOf, drawLine, roomFor, rowOf, type Frame, type Room } from "./raster";

export type DragMode = "zoom" | "pan";

export interface PanelProps {
  panel: Panel;
  xs: Float64Array;
  view: View;
  height: number;
  width: number;
  log: boolean;
  drag: DragMode;
  theme: string;
  /** Column under the pointer in any panel. */
  column: number | null;
  /** Line of the reply to bring out; null: all alike. */
  bright: number | null;
  axis: boolean;
  label: string;
  onHover: (column: number | null, y: number, at: { left: number; top: number } | null) => void;
  onZoom: (at: number, factor: number) => void;
  onPan: (by: number) => void;
  onRange: (from: number, to: number) => void;
  onAll: () => void;
  onPick: (column: number, y: number) => void;
  onDrawn?: () => void;
}

export const LEFT = 66;
const RIGHT = 10;
const TOP = 8;
const AXIS = 24;

/** Eight hues that differ for the common kinds of colour blindness (Okabe and Ito), a set for each theme. */
const COLOURS: Record<string, [number, number, number][]> = {
  light: [[29, 91, 214], [178, 84, 0], [0, 122, 92], [168, 40, 118], [0, 116, 158], [122, 106, 8], [196, 46, 38], [86, 96, 112]],
  dark: [[116, 167, 255], [240, 150, 60], [64, 200, 160], [232, 130, 196], [86, 190, 235], [214, 196, 70], [255, 132, 120], [170, 180, 194]],
};
export const colourOf = (theme: string, index: number): [number, number, number] =>
  (COLOURS[theme] ?? COLOURS["light"] as [number, number, number][])[index % 8] as [number, number, number];

const rgbOf = (text: string): [number, number, number] => {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text.trim());
  return hex ? [parseInt(hex[1] as string, 16), parseInt(hex[2] as string, 16), parseInt(hex[3] as string, 16)] : [255, 255, 255];
};

const plain = (v: number) => (v === 0 ? "0" : formatNumber(v, 6).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""));

function paint(canvas: HTMLCanvasElement, p: PanelProps, room: { current: Room | null; width: number }): void {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const wide = Math.max(1, Math.round((p.width - LEFT - RIGHT) * ratio));
  const high = Math.max(1, Math.round((p.height - TOP - (p.axis ? AXIS : 6)) * ratio));
  if (canvas.width !== Math.round(p.width * ratio)) canvas.width = Math.round(p.width * ratio);
  if (canvas.height !== Math.round(p.height * ratio)) canvas.height = Math.round(p.height * ratio);
  const ctx = canvas.getContext("2d", { alpha: false });
  if (!ctx) return;
  const css = getComputedStyle(document.documentElement);
  const get = (name: string) => css.getPropertyValue(`--${name}`).trim();
  const image = ctx.createImageData(wide, high);
  const y = yRange(p.panel, p.xs, [p.view.from, p.view.to], p.log);
  const frame: Frame = { pixels: image.data, width: wide, height: high, x: [p.view.from, p.view.to], y, log: p.log, thick: (p.panel.lines.length > 24 ? 1.1 : 1.8) * ratio };
  clear(frame, rgbOf(get("surface")));
  const grid = rgbOf(get("chart-grid"));
  const marks = ticks(y[0], y[1], Math.max(2, Math.floor(high / ratio / 44)), p.log);
  for (const value of marks) {
    const row = Math.round(rowOf(frame, value));
    if (row < 0 || row >= high) continue;
    for (let x = 0; x < wide; x++) image.data.set([grid[0], grid[1], grid[2], 255], (row * wide + x) * 4);
  }
  if (!room.current || room.width !== wide) {
    room.current = roomFor(wide);
    room.width = wide;
  }
  const some = p.bright !== null && p.panel.lines.some((l) => l.index === p.bright);
  const many = p.panel.lines.length > 24 ? 0.7 : 1;
  for (const line of p.panel.lines) {
    if (some && line.index === p.bright) continue;
    drawLine(frame, p.xs, { ...line, rgb: colourOf(p.theme, line.index), alpha: some ? 0.18 : many }, room.current);
  }
  const bright = p.panel.lines.find((l) => l.index === p.bright);
  if (bright) drawLine({ ...frame, thick: 2.4 * ratio }, p.xs, { ...bright, rgb: colourOf(p.theme, bright.index), alpha: 1 }, room.current);

  ctx.fillStyle = get("surface");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.putImageData(image, Math.round(LEFT * ratio), Math.round(TOP * ratio));
  ctx.save();
  ctx.scale(ratio, ratio);
  ctx.font = '12px "Inter Variable", system-ui, sans-serif';
  ctx.fillStyle = get("muted");
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const value of marks) {
    const at = TOP + rowOf(frame, value) / ratio;
    if (at > TOP + (p.panel.title ? -1 : 14) && at < p.height - 4) ctx.fillText(plain(value), LEFT - 8, at);
  }
  if (!p.panel.title) {
    ctx.textAlign = "left";
    ctx.fillText(p.panel.unit, 4, TOP + 6);
  }
  if (p.axis) {
    ctx.textAlign = "center";
    ctx.textBaseline = "alphabetic";
    for (const value of ticks(p.view.from, p.view.to, Math.max(2, Math.floor(wide / ratio / 90)))) {
      if (Number.isInteger(value)) ctx.fillText(`#${plain(value)}`, LEFT + columnOf(frame, value) / ratio, p.height - 6);
    }
  }
  ctx.beginPath();
  ctx.rect(LEFT, 0, wide / ratio, p.height);
  ctx.clip();
  for (const line of p.panel.lines) {
    const faded = some && line.index !== p.bright;
    if (faded) continue;
    const [r, g, b] = colourOf(p.theme, line.index);
    ctx.fillStyle = `rgb(${r} ${g} ${b} / 55%)`;
    for (const [column, ...values] of line.samples) {
      const x = LEFT + columnOf(frame, p.xs[column ?? 0] as number) / ratio;
      for (const v of values) if (Number.isFinite(v)) ctx.fillRect(x - 1.5, TOP + rowOf(frame, v) / ratio - 1.5, 3, 3);
    }
    ctx.strokeStyle = `rgb(${r} ${g} ${b})`;
    ctx.lineWidth = 1.8;
    for (const mark of line.broken) { /* a cross at the lower edge: it has no value */
      const x = LEFT + columnOf(frame, p.xs[mark.column] as number) / ratio;
      const at = TOP + high / ratio - 6;
      ctx.beginPath();
      ctx.moveTo(x - 4, at - 4);
      ctx.lineTo(x + 4, at + 4);
      ctx.moveTo(x - 4, at + 4);
      ctx.lineTo(x + 4, at - 4);
      ctx.stroke();
    }
  }
  ctx.restore();
}

export function PanelChart(props: PanelProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const room = useRef<{ current: Room | null; width: number }>({ current: null, width: 0 });
  const now = useRef(props);
  now.current = props;
  const seen = useRef(false);
  const dirty = useRef(true);
  const frame = useRef(0);
  const draw = () => {
    dirty.current = true;
    if (!seen.current || frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      if (!dirty.current || !canvas.current) return;
      dirty.current = false;
      paint(canvas.current, now.current, room.current);
      now.current.onDrawn?.();
    });
  };
  useEffect(draw, [props.panel, props.xs, props.view.from, props.view.to, props.height, props.width, props.log, props.theme, props.bright]);
  useEffect(() => {
    const host = canvas.current;
    if (!host) return undefined;
    const watch = new IntersectionObserver((entries) => {
      seen.current = entries.some((e) => e.isIntersecting);
      if (seen.current && dirty.current) draw();
    }, { rootMargin: "200px" });
    watch.observe(host);
    const x = (clientX: number) => {
      const { view, width } = now.current;
      const box = host.getBoundingClientRect();
      const share = (clientX - box.left - LEFT) / (width - LEFT - RIGHT);
      return view.from + share * (view.to - view.from);
    };
    const y = (clientY: number) => {
      const { panel, xs, view, log, height, axis } = now.current;
      const box = host.getBoundingClientRect();
      const [low, high] = yRange(panel, xs, [view.from, view.to], log);
      const share = 1 - (clientY - box.top - TOP) / (height - TOP - (axis ? AXIS : 6));
      return log ? low * (high / low) ** share : low + share * (high - low);
    };
    const band = host.parentElement?.querySelector<HTMLElement>(".panel-band") ?? null;
    const showBand = (from: number, to: number) => {
      if (!band) return;
      band.hidden = from === to;
      band.style.left = `${Math.min(from, to)}px`;
      band.style.width = `${Math.abs(to - from)}px`;
    };
    const stop = attachGestures(host, {
      x, pans: () => now.current.drag === "pan",
      onZoom: (at, factor) => now.current.onZoom(at, factor),
      onPan: (by) => now.current.onPan(by),
      onAll: () => now.current.onAll(),
      onDrag: (span, done) => {
        const left = host.getBoundingClientRect().left;
        if (span && !done) return showBand(span.from - left, span.to - left);
        showBand(0, 0);
        if (span) now.current.onRange(x(Math.min(span.from, span.to)), x(Math.max(span.from, span.to)));
      },
      leaves: true,
      onPress: (e) => now.current.onPick(nearestColumn(now.current.xs, x(e.clientX)), y(e.clientY)),
    });
    const move = (e: PointerEvent) => {
      const box = host.getBoundingClientRect();
      const column = nearestColumn(now.current.xs, x(e.clientX));
      now.current.onHover(column >= 0 ? column : null, y(e.clientY), { left: e.clientX - box.left, top: e.clientY - box.top });
    };
    const leave = () => now.current.onHover(null, 0, null);
    host.addEventListener("pointermove", move);
    host.addEventListener("pointerleave", leave);
    return () => {
      watch.disconnect();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
      stop();
      host.removeEventListener("pointermove", move);
      host.removeEventListener("pointerleave", leave);
    };
  }, []);
  const { view, width, column, xs } = props;
  const at = column === null ? null : LEFT + (((xs[column] as number) - view.from) / (view.to - view.from)) * (width - LEFT - RIGHT);
  return (
    <div class="panel" role="img" aria-label={props.label}>
      {props.panel.title && <p class="panel-title">{visible(props.panel.title)} <small>{props.panel.unit}</small></p>}
      <div class="panel-box" style={{ height: `${props.height}px` }}>
        <canvas ref={canvas} style={{ width: `${props.width}px`, height: `${props.height}px` }} data-drag={props.drag} />
        <span class="panel-band" hidden />
        {at !== null && at >= LEFT && at <= width - RIGHT && <span class="panel-cross" style={{ left: `${at}px` }} />}
      </div>
    </div>
  );
}
