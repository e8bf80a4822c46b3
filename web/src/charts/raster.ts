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

export interface Frame {
  /** Device pixels, RGBA, opaque. */
  pixels: Uint8ClampedArray;
  width: number;
  height: number;
  /** x at the left and right edge, y at the lower and upper edge. */
  x: [number, number];
  y: [number, number];
  log: boolean;
  /** Thickness of a line in device pixels. */
  thick: number;
}

export function clear(frame: Frame, rgb: [number, number, number]): void {
  const word = (255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0];
  new Uint32Array(frame.pixels.buffer, frame.pixels.byteOffset, frame.width * frame.height).fill(word >>> 0);
}

/** Pixel row of a value, 0 at the upper edge; outside of the frame for values outside of y. */
export function rowOf(frame: Frame, value: number): number {
  const [low, high] = frame.y;
  const share = frame.log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  return (1 - share) * frame.height;
}

export function columnOf(frame: Frame, x: number): number {
  return ((x - frame.x[0]) / (frame.x[1] - frame.x[0])) * frame.width;
}

/** Blends the rows from `top` to `bottom` (fractions count) of one pixel column. */
function span(frame: Frame, column: number, top: number, bottom: number, rgb: [number, number, number], alpha: number): void {
  const { pixels, width, height } = frame;
  const from = Math.max(0, top);
  const to = Math.min(height, bottom);
  const [r, g, b] = rgb;
  for (let row = Math.floor(from); row < to; row++) {
    const cover = (Math.min(row + 1, to) - Math.max(row, from)) * alpha;
    const at = (row * width + column) * 4;
    pixels[at] = (pixels[at] as number) + (r - (pixels[at] as number)) * cover;
    pixels[at + 1] = (pixels[at + 1] as number) + (g - (pixels[at + 1] as number)) * cover;
    pixels[at + 2] = (pixels[at + 2] as number) + (b - (pixels[at + 2] as number)) * cover;
  }
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

/** Room of one line, used again for the next one: highest and lowest row a pixel column. */
export interface Room { top: Float32Array; bottom: Float32Array; bandTop: Float32Array; bandBottom: Float32Array }

export function roomFor(width: number): Room {
  const make = () => new Float32Array(width);
  return { top: make(), bottom: make(), bandTop: make(), bandBottom: make() };
}

function cover(top: Float32Array, bottom: Float32Array, column: number, a: number, b: number): void {
  if (a < (top[column] as number)) top[column] = a;
  if (b < (top[column] as number)) top[column] = b;
  if (a > (bottom[column] as number)) bottom[column] = a;
  if (b > (bottom[column] as number)) bottom[column] = b;
}

/** The part of a segment in each pixel column that it crosses. */
function segment(room: Room, width: number, x0: number, y0: number, x1: number, y1: number): void {
  const from = Math.max(0, Math.floor(x0));
  const to = Math.min(width - 1, Math.floor(x1));
  if (from > to) return;
  const slope = x1 > x0 ? (y1 - y0) / (x1 - x0) : 0;
  for (let c = from; c <= to; c++) {
    const a = Math.max(x0, c);
    const b = Math.min(x1, c + 1);
    cover(room.top, room.bottom, c, y0 + (a - x0) * slope, x1 > x0 ? y0 + (b - x0) * slope : y1);
  }
}

/** A line joins neighbours that both have values; a value without such a neighbour is a dot. */
export function drawLine(frame: Frame, xs: ArrayLike<number>, line: RasterLine, room: Room): void {
  const { width, thick } = frame;
  const { median, low, high } = line;
  room.top.fill(Infinity);
  room.bottom.fill(-Infinity);
  room.bandTop.fill(Infinity);
  room.bandBottom.fill(-Infinity);
  const first = Math.max(0, firstAt(xs, frame.x[0]) - 1);
  const last = Math.min(xs.length - 1, firstAt(xs, frame.x[1]));
  let banded = false;
  let px = 0;
  let py = NaN;
  let joined = true;
  for (let i = first; i <= last; i++) {
    const x = columnOf(frame, xs[i] as number);
    const y = rowOf(frame, median[i] as number);
    if (Number.isFinite(y)) {
      if (Number.isFinite(py)) segment(room, width, px, py, x, y);
      else if (i + 1 > last || !Number.isFinite(median[i + 1] as number)) joined = false;
      if (!joined) {
        const r = thick * 1.3;
        for (let c = Math.floor(x - r); c <= Math.floor(x + r); c++) {
          if (c >= 0 && c < width) cover(room.top, room.bottom, c, y - r / 2, y + r / 2);
        }
        joined = true;
      }
      const column = Math.floor(x);
      if (high[i] !== low[i] && column >= 0 && column < width) {
        banded = true;
        cover(room.bandTop, room.bandBottom, column, rowOf(frame, high[i] as number), rowOf(frame, low[i] as number));
      }
    }
    px = x;
    py = y;
  }
  for (let c = 0; c < width; c++) {
    const bandTop = room.bandTop[c] as number;
    if (banded && bandTop < Infinity) span(frame, c, bandTop, room.bandBottom[c] as number, line.rgb, line.alpha * 0.28);
    const top = room.top[c] as number;
    if (top < Infinity) span(frame, c, top - thick / 2, (room.bottom[c] as number) + thick / 2, line.rgb, line.alpha);
  }
}
