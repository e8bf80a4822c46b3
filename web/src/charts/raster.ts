/*
 * Draws many lines into pixels. A canvas needs 5 to 10 ms for a path of 1,000 segments without a graphics processor; 200
 * of them leave no frame for panning. Here each line is one vertical span a pixel column, so the work is that of the
 * pixels that are covered. Pure.
 */
export interface RasterLine {
  /** Values in the unit of the panel; NaN: no value. All of the length of xs. */
  median: Float32Array;
  low: Float32Array;
  high: Float32Array;
  rgb: [number, number, number];
  alpha: number;
}

/** Where values lie. */
export interface Axes {
  /** Device pixels. */
  width: number;
  height: number;
  /** x at the left and right edge, y at the lower and upper edge. */
  x: [number, number];
  y: [number, number];
  log: boolean;
}

export interface Frame extends Axes {
  /** RGBA, opaque. */
  pixels: Uint8ClampedArray;
  /** Thickness of a line in device pixels. */
  thick: number;
}

/** One word a pixel, its bytes in the order of RGBA on little-endian machines, as all browsers' are. */
const wordsOf = (frame: Frame) => new Int32Array(frame.pixels.buffer, frame.pixels.byteOffset, frame.width * frame.height);
const wordOf = (rgb: readonly [number, number, number]) => (255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0];

export function clear(frame: Frame, rgb: [number, number, number]): void {
  wordsOf(frame).fill(wordOf(rgb));
}

/** A row of one colour, such as a line of the grid. */
export function fillRow(frame: Frame, row: number, rgb: [number, number, number]): void {
  wordsOf(frame).fill(wordOf(rgb), row * frame.width, (row + 1) * frame.width);
}

/** Pixel row of a value, 0 at the upper edge; outside of the frame for values outside of y. */
export function rowOf(frame: Axes, value: number): number {
  const [low, high] = frame.y;
  const share = frame.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return (1 - share) * frame.height;
}

export function columnOf(frame: Axes, x: number): number {
  return ((x - frame.x[0]) / (frame.x[1] - frame.x[0])) * frame.width;
}

/** A colour in fixed point: red and blue in one word, green in another, so that a pixel is blended by two multiplications. */
interface Ink { words: Int32Array; width: number; height: number; rb: number; g: number }

/** Blends one pixel; share: 0 to 256. */
function dot(ink: Ink, at: number, share: number): void {
  const { words, rb, g } = ink;
  const old = words[at] as number;
  words[at] = -16777216 /* opaque */
    | ((((Math.imul(old & 0xff00ff, 256 - share) + Math.imul(rb, share)) | 0) + 0x800080) >>> 8 & 0xff00ff)
    | ((((Math.imul(old & 0xff00, 256 - share) + Math.imul(g, share)) | 0) + 0x8000) >>> 8 & 0xff00);
}

/** Blends the rows from `top` to `bottom` (fractions count) of one pixel column; share: 0 to 256. */
function span(ink: Ink, column: number, top: number, bottom: number, share: number): void {
  const { words, width, height } = ink;
  const from = top > 0 ? top : 0;
  const to = bottom < height ? bottom : height;
  if (!(to > from)) return;
  let row = from | 0;
  const last = Math.ceil(to) - 1;
  let at = row * width + column;
  if (row === last) {
    dot(ink, at, Math.round((to - from) * share));
    return;
  }
  if (row < from) {
    dot(ink, at, Math.round((row + 1 - from) * share));
    row++;
    at += width;
  }
  const rest = last + 1 - to;
  const end = rest > 0 ? last : last + 1;
  const keep = 256 - share;
  const rb = Math.imul(ink.rb, share) + 0x800080 | 0;
  const g = Math.imul(ink.g, share) + 0x8000 | 0;
  for (; row < end; row++, at += width) {
    const old = words[at] as number;
    words[at] = -16777216 | ((Math.imul(old & 0xff00ff, keep) + rb | 0) >>> 8 & 0xff00ff) | ((Math.imul(old & 0xff00, keep) + g | 0) >>> 8 & 0xff00);
  }
  if (rest > 0) dot(ink, at, Math.round((1 - rest) * share));
}

/** First column whose x is at least `x`. */
export function firstAt(xs: ArrayLike<number>, x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if ((xs[mid] as number) < x) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** Room of one line, used again for the next one: highest and lowest row a pixel column, and where the values lie. */
export interface Room {
  top: Float32Array; bottom: Float32Array; bandTop: Float32Array; bandBottom: Float32Array;
  /** Of the values first to last of xs in this frame: their x in pixels. Lines of a frame share them. */
  places: Float64Array; first: number; last: number; of: { xs: ArrayLike<number> | null; from: number; to: number };
}

export function roomFor(width: number): Room {
  const make = () => new Float32Array(width);
  return { top: make(), bottom: make(), bandTop: make(), bandBottom: make(), places: new Float64Array(0), first: 0, last: -1, of: { xs: null, from: 0, to: 0 } };
}

function place(frame: Frame, xs: ArrayLike<number>, room: Room): void {
  const [from, to] = frame.x;
  if (room.of.xs === xs && room.of.from === from && room.of.to === to) return;
  room.of = { xs, from, to };
  room.first = Math.max(0, firstAt(xs, from) - 1);
  room.last = Math.min(xs.length - 1, firstAt(xs, to));
  room.places = new Float64Array(Math.max(0, room.last + 1 - room.first));
  for (let i = room.first; i <= room.last; i++) room.places[i - room.first] = columnOf(frame, xs[i] as number);
}

function cover(top: Float32Array, bottom: Float32Array, column: number, a: number, b: number): void {
  const [low, high] = a < b ? [a, b] : [b, a];
  if (low < (top[column] as number)) top[column] = low;
  if (high > (bottom[column] as number)) bottom[column] = high;
}

/** The part of a segment in each pixel column that it crosses. */
function segment(room: Room, width: number, x0: number, y0: number, x1: number, y1: number): void {
  if (x1 < 0 || x0 >= width) return;
  const from = x0 > 0 ? x0 | 0 : 0;
  const to = x1 < width ? x1 | 0 : width - 1;
  const { top, bottom } = room;
  const slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
  let begin = y0 + ((x0 > from ? x0 : from) - x0) * slope;
  for (let c = from; c <= to; c++) {
    const end = c + 1 < x1 ? y0 + (c + 1 - x0) * slope : y1;
    if (begin < end) {
      if (begin < (top[c] as number)) top[c] = begin;
      if (end > (bottom[c] as number)) bottom[c] = end;
    } else {
      if (end < (top[c] as number)) top[c] = end;
      if (begin > (bottom[c] as number)) bottom[c] = begin;
    }
    begin = end;
  }
}

/** A line joins neighbours that both have values; a value without such a neighbour is a dot. */
export function drawLine(frame: Frame, xs: ArrayLike<number>, line: RasterLine, room: Room): void {
  const { width, height, thick } = frame;
  const { median, low, high } = line;
  place(frame, xs, room);
  const { top, bottom, bandTop, bandBottom, places, first, last } = room;
  top.fill(Infinity);
  bottom.fill(-Infinity);
  const bands = low !== median || high !== median;
  let banded = false;
  const scale = frame.log ? 1 : height / (frame.y[1] - frame.y[0]);
  let px = 0;
  let py = NaN;
  for (let i = first; i <= last; i++) {
    const x = places[i - first] as number;
    const value = median[i] as number;
    const y = frame.log ? rowOf(frame, value) : height - (value - frame.y[0]) * scale;
    if (y - y === 0) { /* a number: neither NaN nor infinite */
      if (py - py === 0) segment(room, width, px, py, x, y);
      else if (i + 1 > last || !Number.isFinite(median[i + 1] as number)) { /* a dot */
        const r = thick * 1.3;
        for (let c = Math.floor(x - r); c <= Math.floor(x + r); c++) {
          if (c >= 0 && c < width) cover(top, bottom, c, y - r / 2, y + r / 2);
        }
      }
      if (bands && high[i] !== low[i] && x >= 0 && x < width) {
        if (!banded) {
          bandTop.fill(Infinity);
          bandBottom.fill(-Infinity);
          banded = true;
        }
        cover(bandTop, bandBottom, x | 0, rowOf(frame, high[i] as number), rowOf(frame, low[i] as number));
      }
    }
    px = x;
    py = y;
  }
  const ink: Ink = { words: wordsOf(frame), width, height, rb: (line.rgb[2] << 16) | line.rgb[0], g: line.rgb[1] << 8 };
  const share = Math.round(line.alpha * 256);
  const pale = Math.round(line.alpha * 0.28 * 256);
  for (let c = 0; c < width; c++) {
    const from = (top[c] as number) - thick / 2;
    const to = (bottom[c] as number) + thick / 2;
    /* A band within the line would be seen through it only: of 200 lines most are such, and each span costs as much as the line's. */
    if (banded && ((bandTop[c] as number) < from || (bandBottom[c] as number) > to)) span(ink, c, bandTop[c] as number, bandBottom[c] as number, pale);
    if (from < Infinity) span(ink, c, from, to, share);
  }
}
