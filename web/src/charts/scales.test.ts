import assert from "node:assert/strict";
import { test } from "node:test";
import { atLeast, extent, linear, pathOf, ticks } from "./scales";

test("a scale maps ends to ends, and a flat span to the middle", () => {
  const s = linear(10, 20, 0, 100);
  assert.equal(s(10), 0);
  assert.equal(s(15), 50);
  assert.equal(s(20), 100);
  assert.equal(linear(5, 5, 0, 100)(5), 50);
});

test("the extent skips what is no number", () => {
  assert.deepEqual(extent([3, null, NaN, -1, undefined, Infinity]), [-1, 3]);
  assert.deepEqual(extent([]), [0, 1]);
});

test("noise is not blown up to fill the picture", () => {
  assert.deepEqual(atLeast(99.9, 100.1, 0.02), [99, 101]);
  assert.deepEqual(atLeast(50, 150, 0.02), [50, 150]);
  assert.deepEqual(atLeast(0, 0, 0.02), [-0.5, 0.5]);
});

test("ticks are round and inside", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.13, 0.87, 4).map((t) => +t.toFixed(6)), [0.2, 0.4, 0.6, 0.8]);
  assert.deepEqual(ticks(3, 3, 4), [3]);
});

test("a gap lifts the pen", () => {
  assert.equal(pathOf([0, 1, 2, 3], [1, 2, null, 4]), "M0.0 1.0L1.0 2.0M3.0 4.0");
});
