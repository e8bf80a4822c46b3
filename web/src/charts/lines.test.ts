import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlotLine, PlotReply } from "../api/plot";
import { changeIn, floats, kept, linesOf, nearestColumn, nearestLines, ticks, yRange, zoomed } from "./lines";

const pack = (values: number[]) => Buffer.from(Float32Array.from(values).buffer).toString("base64");
const line = (over: Partial<PlotLine> = {}): PlotLine => ({
  series_id: 1, key: null, benchmark: "gemm/a", params: {}, metric: "time_ns", backend: "cpu", machine_class: "m", unit: "ns", direction: "lower",
  members: 1, points: 3, partial: 0, moved: 0, base: null, median: pack([1000, NaN, 3000]), low: null, high: null, samples: [], ...over,
});
const reply = (lines: PlotLine[], over: Partial<PlotReply> = {}): PlotReply => ({
  branch: "main", matched: lines.length, left_out: 0, places: 3, unknown: [], samples: false,
  columns: { commit: ["a", "b", "c"], position: [1, 5, 9], time: [], subject: [] }, lines, broken: [], ...over,
});

test("base64 floats are read, gaps included", () => {
  const got = floats(pack([1.5, NaN, -2]));
  assert.deepEqual([...got], [1.5, NaN, -2]);
});

test("arrays of the reply are read by number, and not changed by the unit of the panel", () => {
  const arrays = [[1000, NaN, 3000], [500, NaN, 3000], [1000, NaN, 4000]].map((a) => Float32Array.from(a));
  const all = reply([line({ median: 0, low: 1, high: 2 }), line({ median: 0 })], { arrays });
  for (let again = 0; again < 2; again++) {
    const got = linesOf(all, "overlaid", false, false, null).panels[0]?.lines;
    assert.deepEqual(got?.map((l) => [[...l.median], [...l.low], [...l.high]]),
      [[[1, NaN, 3], [0.5, NaN, 3], [1, NaN, 4]], [[1, NaN, 3], [1, NaN, 3], [1, NaN, 3]]]);
  }
  assert.throws(() => linesOf(reply([line({ median: 3 })], { arrays }), "overlaid", false, false, null), RangeError);
});

test("overlaid lines share a panel a unit, stacked ones have one each", () => {
  const all = [line(), line({ benchmark: "gemm/b" }), line({ unit: "TFLOP/s", metric: "gemm_tflops" })];
  const over = linesOf(reply(all), "overlaid", false, false, null);
  assert.deepEqual(over.panels.map((p) => p.lines.length), [2, 1]);
  assert.equal(over.panels[0]?.unit, "us");
  assert.deepEqual([...(over.panels[0]?.lines[0]?.median ?? [])], [1, NaN, 3]);
  assert.equal(linesOf(reply(all), "stacked", false, false, null).panels.length, 3);
  assert.equal(linesOf(reply(all), "overlaid", true, false, null).panels.length, 1, "relative values have one unit");
});

test("long units that begin alike have a panel each", () => {
  const all = ["tokens for each second", "tokens for each minute"].map((unit) => line({ unit }));
  assert.equal(linesOf(reply(all), "overlaid", false, false, null).panels.length, 2);
});

test("relative values: to the first value, or to the named commit's; without one the line is left out", () => {
  const [a] = linesOf(reply([line()]), "overlaid", true, false, null).panels;
  assert.deepEqual([...(a?.lines[0]?.median ?? [])], [100, NaN, 300]);
  const [b] = linesOf(reply([line({ base: 2000 }), line({ base: null })]), "overlaid", true, true, null).panels;
  assert.deepEqual([...(b?.lines[0]?.median ?? [])], [50, NaN, 150]);
  assert.equal(b?.baseless, 1);
});

test("names leave out what all lines share", () => {
  const names = (lines: PlotLine[], group: string | null = null) => linesOf(reply(lines), "stacked", false, false, group).panels.map((p) => p.title);
  assert.deepEqual(names([line(), line({ benchmark: "gemm/b" })]), ["gemm/a", "gemm/b"]);
  assert.deepEqual(names([line(), line({ backend: "hip" })]), ["gemm/a \u00b7 cpu", "gemm/a \u00b7 hip"]);
  assert.deepEqual(names([line({ key: "bf16" }), line({ key: null })], "dtype"), ["dtype=bf16", "without dtype"]);
  assert.deepEqual(names([line({ key: "bf16" }), line({ key: "bf16", machine_class: "desk" })], "dtype"), ["dtype=bf16 \u00b7 m", "dtype=bf16 \u00b7 desk"]);
  assert.deepEqual(names([line({ key: "m" }), line({ key: "desk", machine_class: "desk" })], "machine_class"), ["machine_class=m", "machine_class=desk"]);
});

test("broken results belong to their line", () => {
  const got = linesOf(reply([line(), line()], { broken: [{ line: 1, column: 2, position: 9, run_id: 4, reason: "no build" }] }), "overlaid", false, false, null);
  assert.deepEqual(got.panels[0]?.lines.map((l) => l.broken), [[], [{ column: 2, reason: "no build" }]]);
});

test("y covers the columns in view, with their extremes", () => {
  const [p] = linesOf(reply([line({ low: pack([500, NaN, 3000]), high: pack([1000, NaN, 4000]) })]), "overlaid", false, false, null).panels;
  assert.ok(p);
  const xs = Float64Array.from([1, 5, 9]);
  const all = yRange(p, xs, [0, 10], false);
  assert.ok(all[0] <= 0.5 && all[1] >= 4, String(all));
  const part = yRange(p, xs, [0, 4], false);
  assert.ok(part[1] < 2, String(part));
  assert.deepEqual(yRange(p, xs, [5, 5], false), [0, 1], "a gap alone");
  assert.ok(yRange(p, xs, [0, 10], true)[0] > 0);
});

test("ticks are round and within the range", () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(0.5, 2000, 9, true), [1, 10, 100, 1000]);
  assert.deepEqual(ticks(1, 1, 5), []);
});

test("nearest column and lines", () => {
  const xs = Float64Array.from([1, 5, 9]);
  assert.deepEqual([-3, 2, 3.5, 8, 99].map((x) => nearestColumn(xs, x)), [0, 0, 1, 2, 2]);
  const [p] = linesOf(reply([line({ benchmark: "far" }), line({ benchmark: "near", median: pack([2000, 1, 1]) })]), "overlaid", false, false, null).panels;
  assert.ok(p);
  assert.deepEqual(nearestLines(p, 0, 2.1, 5).map((l) => l.name), ["near", "far"]);
  assert.deepEqual(nearestLines(p, 1, 0, 5).map((l) => l.name), ["near"], "a gap has no value");
});

test("zoom keeps the place under the pointer and stays within the data", () => {
  const all = { from: 0, to: 100 };
  assert.deepEqual(zoomed({ from: 0, to: 100 }, 50, 0.5, all), { from: 25, to: 75 });
  assert.deepEqual(zoomed({ from: 0, to: 10 }, 0, 100, all), { from: 0, to: 100 });
  const close = zoomed({ from: 40, to: 44 }, 42, 0.01, all);
  assert.equal(close.to - close.from, 2);
  assert.deepEqual(kept({ from: 95, to: 115 }, all), { from: 80, to: 100 });
  assert.deepEqual(kept({ from: -5, to: 15 }, all), { from: 0, to: 20 });
});

test("the change in view goes from the first to the last value", () => {
  const [p] = linesOf(reply([line()]), "overlaid", false, false, null).panels;
  const l = p?.lines[0];
  assert.ok(l);
  assert.equal(changeIn(l, 0, 3), 2);
  assert.ok(Number.isNaN(changeIn(l, 1, 2)));
});
