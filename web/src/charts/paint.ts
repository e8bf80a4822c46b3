/* Draws a panel: the lines by raster.ts into pixels, text and marks by the canvas. */
import { formatNumber } from "../base/format";
import { extent, rangeOf, ticks, type Panel, type View } from "./lines";
import { fits, moveOf, putStrip, shiftRows, stretchRows, type Move, type Strip } from "./moved";
import { clear, columnOf, drawLine, fillRow, roomFor, rowOf, type Axes, type Frame, type Room } from "./raster";

/** All that a picture of a panel depends on. */
export interface Look {
  panel: Panel;
  xs: Float64Array;
  view: View;
  height: number;
  width: number;
  log: boolean;
  theme: string;
  /** Line of the reply to bring out; null: all alike. */
  bright: number | null;
  axis: boolean;
}

export const LEFT = 66;
export const RIGHT = 10;
export const TOP = 8;
export const AXIS = 24;

/** If drawing all lines takes no longer than this, it is done in every frame. */
const FAST_MS = 5;

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

/** The pixels of the lines as they were drawn last, and room for drawing them: kept from frame to frame. */
export interface Picture {
  image: ImageData;
  /** The same, stretched: what is on view while it is zoomed. */
  stretched: ImageData | null;
  room: Room;
  /** The look of `image`: its range is the requested one, shifted by at most half a pixel. */
  of: Look;
  y: [number, number];
  /** The time that drawing all of it took. */
  ms: number;
}

const wordsOf = (image: ImageData) => new Int32Array(image.data.buffer);
const ratioNow = () => Math.min(2, window.devicePixelRatio || 1);

function sizeOf(p: Look): { wide: number; high: number; ratio: number } {
  const ratio = ratioNow();
  return {
    ratio,
    wide: Math.max(1, Math.round((p.width - LEFT - RIGHT) * ratio)),
    high: Math.max(1, Math.round((p.height - TOP - (p.axis ? AXIS : 6)) * ratio)),
  };
}

const marksOf = (y: [number, number], high: number, ratio: number, log: boolean) => ticks(y[0], y[1], Math.max(2, Math.floor(high / ratio / 44)), log);

/** Draws grid and lines into the pixels of the frame. */
function drawAll(frame: Frame, p: Look, colour: (name: string) => string, marks: readonly number[], room: Room, ratio: number): void {
  clear(frame, rgbOf(colour("surface")));
  const grid = rgbOf(colour("chart-grid"));
  for (const value of marks) {
    const row = Math.round(rowOf(frame, value));
    if (row >= 0 && row < frame.height) fillRow(frame, row, grid);
  }
  const some = p.bright !== null && p.panel.lines.some((l) => l.index === p.bright);
  const many = p.panel.lines.length > 24 ? 0.7 : 1;
  for (const line of p.panel.lines) {
    if (some && line.index === p.bright) continue;
    drawLine(frame, p.xs, { median: line.median, low: line.low, high: line.high, rgb: colourOf(p.theme, line.index), alpha: some ? 0.18 : many }, room);
  }
  const bright = p.panel.lines.find((l) => l.index === p.bright);
  if (bright) drawLine({ ...frame, thick: 2.4 * ratio }, p.xs, { median: bright.median, low: bright.low, high: bright.high, rgb: colourOf(p.theme, bright.index), alpha: 1 }, room);
}

const thickness = (p: Look, ratio: number) => (p.panel.lines.length > 24 ? 1.1 : 1.8) * ratio;

/** Draws these columns of the picture of `view` into its pixels. */
function fillStrip(image: ImageData, p: Look, view: View, y: [number, number], strip: Strip, colour: (name: string) => string): void {
  const { wide, high, ratio } = sizeOf(p);
  const width = strip.to - strip.from;
  if (width <= 0) return;
  const unit = (view.to - view.from) / wide;
  const pixels = new Uint8ClampedArray(4 * width * high);
  drawAll({ pixels, width, height: high, x: [view.from + strip.from * unit, view.from + strip.to * unit], y, log: p.log, thick: thickness(p, ratio) },
    p, colour, marksOf(y, high, ratio, p.log), roomFor(width), ratio);
  putStrip(wordsOf(image), wide, new Int32Array(pixels.buffer), strip);
}

/** The picture of the last frame, where it shows the same lines and all values that come into view. */
function movable(kept: Picture | null, p: Look): Move | null {
  const { wide, high } = sizeOf(p);
  const was = kept?.of;
  if (!kept || !was || kept.ms < FAST_MS || kept.image.width !== wide || kept.image.height !== high || was.panel !== p.panel || was.xs !== p.xs
    || was.log !== p.log || was.theme !== p.theme || was.bright !== p.bright) return null;
  const values = extent(p.panel, p.xs, [p.view.from, p.view.to], p.log);
  return fits(kept.y, values, rangeOf(values, p.log), p.log) ? moveOf(was.view, p.view, wide) : null;
}

function drawWhole(p: Look, old: Picture | null, colour: (name: string) => string): Picture {
  const begin = performance.now();
  const { wide, high, ratio } = sizeOf(p);
  const fitting = old?.image.width === wide && old.image.height === high ? old : null;
  const image = fitting?.image ?? new ImageData(wide, high);
  const room = fitting?.room ?? roomFor(wide);
  const y = rangeOf(extent(p.panel, p.xs, [p.view.from, p.view.to], p.log), p.log);
  drawAll({ pixels: image.data, width: wide, height: high, x: [p.view.from, p.view.to], y, log: p.log, thick: thickness(p, ratio) }, p, colour, marksOf(y, high, ratio, p.log), room, ratio);
  return { image, stretched: fitting?.stretched ?? null, room, of: p, y, ms: performance.now() - begin };
}

/**
 * Moves the picture in its own pixels, or stretches it into others. Not by drawing a canvas on a canvas: without a
 * graphics processor each such call copies the whole picture, and the next putImageData waits for it.
 */
function moveTo(picture: Picture, p: Look, move: Move, colour: (name: string) => string): { image: ImageData; view: View } {
  const { wide } = sizeOf(p);
  if (move.shift === null) {
    const image = picture.stretched ?? new ImageData(wide, picture.image.height);
    picture.stretched = image;
    stretchRows(wordsOf(picture.image), wordsOf(image), wide, move.left, move.right);
    for (const strip of move.bare) fillStrip(image, p, p.view, picture.y, strip, colour);
    return { image, view: p.view };
  }
  const unit = (p.view.to - p.view.from) / wide;
  const from = picture.of.view.from - move.shift * unit;
  const view = { from, to: from + wide * unit };
  shiftRows(wordsOf(picture.image), move.shift);
  for (const strip of move.bare) fillStrip(picture.image, p, view, picture.y, strip, colour);
  picture.of = { ...p, view };
  return { image: picture.image, view };
}

/**
 * Draws what `p` says. While the view moves (`moving`), the last picture is moved in place of drawing all lines again,
 * where that takes long: then `exact` is false, and the caller draws once more when the view has come to rest.
 */
export function paint(canvas: HTMLCanvasElement, p: Look, old: Picture | null, moving: boolean): { picture: Picture | null; exact: boolean } {
  const { ratio } = sizeOf(p);
  if (canvas.width !== Math.round(p.width * ratio)) canvas.width = Math.round(p.width * ratio);
  if (canvas.height !== Math.round(p.height * ratio)) canvas.height = Math.round(p.height * ratio);
  const ctx = canvas.getContext("2d", { alpha: false });
  if (!ctx) return { picture: old, exact: true };
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(`--${name}`).trim();
  const move = moving ? movable(old, p) : null;
  const picture = move && old ? old : drawWhole(p, old, colour);
  const { image, view } = move ? moveTo(picture, p, move, colour) : { image: picture.image, view: p.view };
  ctx.fillStyle = colour("surface");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.putImageData(image, Math.round(LEFT * ratio), Math.round(TOP * ratio));
  drawText(ctx, { ...p, view }, picture.y);
  return { picture, exact: !move };
}

/** Numbers of the axes, samples and broken results, over the lines. */
function drawText(ctx: CanvasRenderingContext2D, p: Look, y: [number, number]): void {
  const { wide, high, ratio } = sizeOf(p);
  const frame: Axes = { width: wide, height: high, x: [p.view.from, p.view.to], y, log: p.log };
  const css = getComputedStyle(document.documentElement);
  const some = p.bright !== null && p.panel.lines.some((l) => l.index === p.bright);
  ctx.save();
  ctx.scale(ratio, ratio);
  ctx.font = '12px "Inter Variable", system-ui, sans-serif';
  ctx.fillStyle = css.getPropertyValue("--muted").trim();
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const value of marksOf(y, high, ratio, p.log)) {
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
    ctx.beginPath();
    for (const mark of line.broken) { /* a cross at the lower edge: it has no value */
      const x = LEFT + columnOf(frame, p.xs[mark.column] as number) / ratio;
      const at = TOP + high / ratio - 6;
      if (x < LEFT - 4 || x > LEFT + wide / ratio + 4) continue;
      ctx.moveTo(x - 4, at - 4);
      ctx.lineTo(x + 4, at + 4);
      ctx.moveTo(x - 4, at + 4);
      ctx.lineTo(x + 4, at - 4);
    }
    ctx.stroke();
  }
  ctx.restore();
}
