/*
 * The part of a drawn picture that can be used again when the view moves. 200 lines take 10 to 20 ms of a slow processor, which is
 * all of a frame; a moved picture and the strips that it leaves bare take 1 or 2. Pure.
 */
import type { View } from "./lines";

/** Pixel columns `from` to before `to`. */
export interface Strip { from: number; to: number }

export interface Move {
  /** Pixels by which the picture goes to the right, whole ones, when it keeps its size; else null: it is scaled. */
  shift: number | null;
  /** Where its left and right edge come to lie. */
  left: number;
  right: number;
  /** Columns that it leaves bare. */
  bare: Strip[];
}

/** More than this share drawn again is no gain over drawing all. */
const MOST_BARE = 0.4;
/** A picture that is stretched more shows its pixels. */
const MOST_STRETCH = 2;
/** Values may leave this much of the height unused until the picture is drawn again. */
const MOST_SLACK = 1.5;

/** How a picture of `was` becomes one of `now`, `width` pixels wide; null: draw all of it. */
export function moveOf(was: View, now: View, width: number): Move | null {
  const unit = (now.to - now.from) / width;
  const stretch = (was.to - was.from) / (now.to - now.from);
  if (!(unit > 0) || !(stretch < MOST_STRETCH)) return null;
  const same = Math.abs(stretch - 1) < 1e-6;
  const exact = (was.from - now.from) / unit;
  const left = same ? Math.round(exact) : exact;
  const right = same ? left + width : (was.to - now.from) / unit;
  const bare: Strip[] = [];
  if (left > 0) bare.push({ from: 0, to: Math.min(width, Math.ceil(left)) });
  if (right < width) bare.push({ from: Math.max(0, Math.floor(right)), to: width });
  if (bare.reduce((sum, b) => sum + b.to - b.from, 0) > MOST_BARE * width) return null;
  return { shift: same ? left : null, left, right, bare };
}

/** Whether a picture with the range `was` shows the values from `values`, for which `range` would be chosen, and not too flat. */
export function fits(was: readonly [number, number], values: readonly [number, number] | null, range: readonly [number, number], log: boolean): boolean {
  const height = (y: readonly [number, number]) => (log ? Math.log(y[1] / y[0]) : y[1] - y[0]);
  return values === null || (was[0] <= values[0] && was[1] >= values[1] && height(was) <= MOST_SLACK * height(range));
}

/** Moves all rows by whole pixels, to the right above 0. The columns that this leaves bare hold pixels of other rows. */
export function shiftRows(words: Int32Array, by: number): void {
  if (by > 0) words.copyWithin(by, 0, words.length - by);
  else words.copyWithin(0, -by);
}

/** Stretches rows of `width` pixels so that their edges come to lie at `left` and `right`; columns outside keep what they have. */
export function stretchRows(from: Int32Array, to: Int32Array, width: number, left: number, right: number): void {
  const begin = Math.max(0, Math.ceil(left));
  const end = Math.min(width, Math.floor(right));
  const places = new Int32Array(Math.max(0, end - begin));
  for (let c = 0; c < places.length; c++) places[c] = Math.min(width - 1, Math.max(0, Math.floor(((begin + c + 0.5 - left) * width) / (right - left))));
  for (let row = 0; row < from.length; row += width) {
    const at = row + begin;
    for (let c = 0; c < places.length; c++) to[at + c] = from[row + (places[c] as number)] as number;
  }
}

/** Puts the pixels of a strip in its place. */
export function putStrip(words: Int32Array, width: number, strip: Int32Array, at: Strip): void {
  const wide = at.to - at.from;
  for (let row = 0; row * wide < strip.length; row++) words.set(strip.subarray(row * wide, (row + 1) * wide), row * width + at.from);
}
