import assert from "node:assert/strict";
import { test } from "node:test";
import { clear, drawLine, roomFor, type Frame, type RasterLine } from "./raster";

const frame = (width: number, height: number, x: [number, number], y: [number, number]): Frame =>
  ({ pixels: new Uint8ClampedArray(width * height * 4), width, height, x, y, log: false, thick: 1 });
const line = (median: number[], low = median, high = median): RasterLine =>
  ({ median: Float32Array.from(median), low: Float32Array.from(low), high: Float32Array.from(high), rgb: [0, 0, 0], alpha: 1 });
/** Darkness 0..255 of a pixel on white. */
const dark = (f: Frame, x: number, y: number) => 255 - (f.pixels[(y * f.width + x) * 4] as number);
const drawn = (f: Frame, xs: number[], l: RasterLine) => {
  clear(f, [255, 255, 255]);
  drawLine(f, xs, l, roomFor(f.width));
  return Array.from({ length: f.width }, (_, x) => Math.max(...Array.from({ length: f.height }, (_x, y) => dark(f, x, y))));
};

test("a flat line covers its row over all columns", () => {
  const f = frame(10, 5, [0, 10], [0, 5]);
  drawn(f, [0, 10], line([2.5, 2.5]));
  for (let x = 0; x < 10; x++) assert.equal(dark(f, x, 2), 255, `column ${x}`);
  assert.equal(dark(f, 4, 1), 0);
});

test("a gap stays a gap, and a value between two gaps is a dot", () => {
  const f = frame(40, 5, [0, 8], [0, 4]);
  const columns = drawn(f, [0, 1, 2, 3, 4, 5, 6, 7, 8], line([2, 2, NaN, NaN, 2, NaN, NaN, 2, 2]));
  assert.ok((columns[2] as number) > 200, "joined");
  for (const x of [8, 12, 16, 24, 30]) assert.equal(columns[x], 0, `column ${x} lies in a gap`);
  assert.ok((columns[20] as number) > 200, "the dot");
  assert.ok((columns[38] as number) > 200, "joined again");
});

test("a spike among more columns than pixels stays visible", () => {
  const f = frame(10, 100, [0, 1000], [0, 100]);
  const xs = Array.from({ length: 1001 }, (_, i) => i);
  const ys = xs.map((i) => (i === 555 ? 90 : 10));
  drawn(f, xs, line(ys));
  assert.ok(dark(f, 5, 20) > 200, "the column of the spike is covered up to it");
  assert.equal(dark(f, 4, 20), 0);
  const high = xs.map((i) => (i === 255 ? 90 : 10));
  drawn(f, xs, line(xs.map(() => 10), xs.map(() => 10), high));
  assert.ok(dark(f, 2, 20) > 40, "the highest value within a column is shown, paler");
  assert.equal(dark(f, 3, 20), 0);
});

test("a band within the line's own thickness is left out; one that reaches farther is drawn whole", () => {
  const [flat, f] = [frame(10, 9, [0, 10], [0, 9]), frame(10, 9, [0, 10], [0, 9])];
  const thin = (low: number, high: number): RasterLine => ({ ...line([4.5, 4.5, 4.5], [low, low, low], [high, high, high]), alpha: 0.5 });
  drawn(flat, [0, 5, 10], { ...line([4.5, 4.5, 4.5]), alpha: 0.5 });
  drawn(f, [0, 5, 10], thin(4.1, 4.9));
  assert.deepEqual(f.pixels, flat.pixels);
  drawn(f, [0, 5, 10], thin(4.1, 6.5));
  assert.ok(dark(f, 5, 3) > 0, "above the line");
  assert.ok(dark(f, 5, 4) > dark(flat, 5, 4), "under it");
  drawn(f, [0, 5, 10], thin(2.5, 4.9));
  assert.ok(dark(f, 5, 6) > 0, "below the line");
});

test("what lies outside of the frame is not drawn and harms nothing", () => {
  const f = frame(10, 10, [4, 6], [0, 1]);
  const columns = drawn(f, [0, 5, 10], line([0.5, 0.5, 0.5]));
  assert.ok(columns.every((d) => d > 100), "the row lies between two pixels");
  drawn(f, [0, 5, 10], line([50, 50, -50]));
  assert.equal(drawn(f, [0, 1], line([0.5, 0.5])).some((d) => d > 0), false);
});
