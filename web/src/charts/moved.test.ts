import assert from "node:assert/strict";
import { test } from "node:test";
import { fits, moveOf, putStrip, shiftRows, stretchRows } from "./moved";
import { clear, drawLine, roomFor, type Frame, type RasterLine } from "./raster";

test("a panned picture moves by whole pixels and leaves a strip bare", () => {
  assert.deepEqual(moveOf({ from: 0, to: 100 }, { from: 10, to: 110 }, 200), { shift: -20, left: -20, right: 180, bare: [{ from: 180, to: 200 }] });
  assert.deepEqual(moveOf({ from: 0, to: 100 }, { from: -10.1, to: 89.9 }, 200), { shift: 20, left: 20, right: 220, bare: [{ from: 0, to: 20 }] });
  assert.deepEqual(moveOf({ from: 0, to: 100 }, { from: 0, to: 100 }, 200)?.bare, []);
});

test("a zoomed picture is scaled; where it does not reach is bare", () => {
  const closer = moveOf({ from: 0, to: 100 }, { from: 20, to: 90 }, 700);
  assert.equal(closer?.shift, null);
  assert.deepEqual([closer?.left, closer?.right, closer?.bare], [-200, 800, []]);
  const farther = moveOf({ from: 0, to: 100 }, { from: -10, to: 115 }, 1000);
  assert.deepEqual([farther?.left, farther?.right, farther?.bare], [80, 880, [{ from: 0, to: 80 }, { from: 880, to: 1000 }]]);
});

test("columns that a scaled picture covers in part are drawn", () => {
  const move = moveOf({ from: 0, to: 100 }, { from: -10.3, to: 110.1 }, 1000);
  assert.deepEqual(move?.bare, [{ from: 0, to: 86 }, { from: 916, to: 1000 }], JSON.stringify(move));
});

test("a far move, or one of another scale, draws all lines", () => {
  assert.equal(moveOf({ from: 0, to: 100 }, { from: 50, to: 150 }, 200), null, "half of it is bare");
  assert.equal(moveOf({ from: 0, to: 100 }, { from: 0, to: 40 }, 200), null, "its pixels would show");
  assert.equal(moveOf({ from: 0, to: 100 }, { from: 0, to: 250 }, 200), null);
  assert.equal(moveOf({ from: 0, to: 100 }, { from: 5, to: 5 }, 200), null);
});

test("a picture fits while it shows every value, and its height is used", () => {
  assert.ok(fits([0, 10], [1, 9], [0.5, 9.5], false));
  assert.ok(!fits([0, 10], [1, 10.1], [0.5, 10.6], false), "a value would be cut off");
  assert.ok(!fits([0, 10], [-0.1, 9], [-0.6, 9.5], false));
  assert.ok(!fits([0, 10], [4, 6], [3.8, 6.2], false), "too flat");
  assert.ok(fits([1, 1000], [2, 900], [1.8, 990], true));
  assert.ok(fits([1, 1000], [2.2, 450], [2, 500], true), "on a logarithmic axis most of it is used");
  assert.ok(!fits([1, 1000], [20, 50], [18, 55], true), "too flat on a logarithmic axis");
  assert.ok(fits([0, 10], null, [0, 1], false), "nothing is in view");
});

test("a strip has the pixels that the whole picture has there", () => {
  const [width, height, count] = [200, 60, 90];
  const xs = Float64Array.from({ length: count }, (_, i) => i * 1.7);
  const values = xs.map((_, i) => (i % 13 === 5 ? NaN : 30 + 25 * Math.sin(i)));
  const median = Float32Array.from(values);
  const line: RasterLine = { median, low: median.map((v) => v - 3), high: median.map((v) => v + 3), rgb: [200, 40, 0], alpha: 0.7 };
  const draw = (from: number, to: number): Frame => {
    const wide = to - from;
    const f: Frame = { pixels: new Uint8ClampedArray(wide * height * 4), width: wide, height, x: [10.013 + from * 0.5, 10.013 + to * 0.5], y: [0, 60], log: false, thick: 1.1 };
    clear(f, [255, 255, 255]);
    drawLine(f, xs, line, roomFor(wide));
    return f;
  };
  const whole = draw(0, width);
  for (const [from, to] of [[0, 30], [30, 31], [77, 140], [170, 200]] as const) {
    const strip = draw(from, to);
    for (let y = 0; y < height; y++) for (let x = from; x < to; x++) for (let b = 0; b < 4; b++) {
      const a = strip.pixels[(y * (to - from) + x - from) * 4 + b] as number;
      const w = whole.pixels[(y * width + x) * 4 + b] as number;
      assert.ok(Math.abs(a - w) <= 1, `column ${x}, row ${y}, byte ${b}: ${a}, not ${w}`);
    }
  }
});

/** Two rows of four pixels. */
const rows = () => Int32Array.from([1, 2, 3, 4, 5, 6, 7, 8]);

test("rows move by whole pixels; what is bare is filled by a strip", () => {
  const right = rows();
  shiftRows(right, 1);
  putStrip(right, 4, Int32Array.from([90, 91]), { from: 0, to: 1 });
  assert.deepEqual([...right], [90, 1, 2, 3, 91, 5, 6, 7]);
  const left = rows();
  shiftRows(left, -2);
  putStrip(left, 4, Int32Array.from([90, 91, 92, 93]), { from: 2, to: 4 });
  assert.deepEqual([...left], [3, 4, 90, 91, 7, 8, 92, 93]);
});

test("rows are stretched between their edges, and nothing beside them is written", () => {
  const out = new Int32Array(8).fill(-1);
  stretchRows(rows(), out, 4, -2, 6); /* twice as wide: the middle two pixels */
  assert.deepEqual([...out], [2, 2, 3, 3, 6, 6, 7, 7]);
  out.fill(-1);
  stretchRows(rows(), out, 4, 1, 3); /* half as wide */
  assert.deepEqual([...out], [-1, 2, 4, -1, -1, 6, 8, -1]);
});
