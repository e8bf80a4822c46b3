import assert from "node:assert/strict";
import { test } from "node:test";
import { binned } from "./belief";

const line = (n: number) => Array.from({ length: n }, (_, i) => ({ id: String(i), probability: i === 7 ? 0.5 : 0.5 / (n - 1) }));

test("a short line has a bar a commit", () => {
  const bars = binned(line(10), 300);
  assert.equal(bars.length, 10);
  assert.equal(bars[7]?.probability, 0.5);
});

test("a long line shares bars and loses nothing", () => {
  const bars = binned(line(1000), 300);
  assert.ok(bars.length <= 300);
  assert.equal(bars[bars.length - 1]?.last, 999);
  assert.ok(Math.abs(bars.reduce((sum, b) => sum + b.probability, 0) - 1) < 1e-9);
});

test("no line, no bars", () => assert.deepEqual(binned([], 300), []));
