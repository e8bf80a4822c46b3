import assert from "node:assert/strict";
import { test } from "node:test";
import { axesOf, byValue, heatOf, pairOf, sayCell, stepOf, windowOf, withoutCell, type HeatBenchmark, type HeatRow } from "./heat";

const bench = (dtype: string, k: string): HeatBenchmark => ({ benchmark: `gemm/${dtype}/k${k}`, backend: "cpu", params: { dtype, k } });
const row = (dtype: string, k: string, verdict: string, rel_change: number | null, over: Partial<HeatRow> = {}): HeatRow =>
  ({ series_id: 1, benchmark: `gemm/${dtype}/k${k}`, metric: "time_ns", backend: "cpu", verdict, direction: "lower", rel_change, ...over });

test("a cell is coloured by the verdict, not by the size of the change", () => {
  const all = [bench("bf16", "512"), bench("bf16", "4096"), bench("f32", "512"), bench("f32", "4096")];
  const map = heatOf(all, [row("bf16", "4096", "regression", 0.08), row("f32", "512", "inconclusive", 0.3), row("f32", "4096", "broken", null)], "k", "dtype");
  assert.deepEqual(map.rows, ["512", "4096"]);
  assert.deepEqual(map.columns, ["bf16", "f32"]);
  assert.deepEqual(map.cells.map((r) => r.map((c) => c?.kind)), [["none", "quiet"], ["worse", "broken"]]);
  assert.equal(map.cells[1]?.[0]?.step, 3);
  assert.equal(map.cells[0]?.[1]?.step, 0, "not significant has no colour");
});

test("a combination that no benchmark has is empty, one that was not measured is not", () => {
  const map = heatOf([bench("bf16", "512"), bench("f32", "4096")], [], "k", "dtype");
  assert.equal(map.cells[0]?.[1], null);
  assert.equal(map.cells[0]?.[0]?.kind, "none");
});

test("a cell without a row opens a series of its benchmark, one with rows that of its row", () => {
  const all = [{ ...bench("bf16", "512"), series_id: 41 }, { ...bench("f32", "512"), series_id: 42 }, { ...bench("int8", "512"), series_id: 43 }];
  const rows = [row("f32", "512", "same", 0, { series_id: 7 }), row("int8", "512", "broken", null, { series_id: 8 })];
  assert.deepEqual(heatOf(all, rows, "k", "dtype").cells[0]?.map((c) => [c?.kind, c?.series]), [["none", 41], ["quiet", 7], ["broken", 8]]);
  assert.deepEqual(heatOf(all, rows, "k", "dtype", "calm").cells[0]?.map((c) => [c?.kind, c?.series]), [["calm", 41], ["quiet", 7], ["broken", 8]]);
  /* several benchmarks in a cell: one that was not measured does not take the place of one that was */
  assert.deepEqual(heatOf(all, rows, "k", "kernel").cells[0]?.map((c) => [c?.kind, c?.series, c?.count, c?.absent]), [["quiet", 7, 3, 2]]);
});

test("of several series the worst decides, and the others are counted", () => {
  const all = [bench("bf16", "512")];
  const rows = [row("bf16", "512", "improvement", -0.4, { series_id: 7 }), row("bf16", "512", "regression", 0.03, { series_id: 8, metric: "b" }),
    row("bf16", "512", "broken", null, { series_id: 9, metric: "c" }), row("bf16", "512", "regression", 0.01, { series_id: 10, metric: "d" })];
  const cell = heatOf(all, rows, "k", "dtype").cells[0]?.[0];
  assert.ok(cell);
  assert.deepEqual([cell.kind, cell.series, cell.count, cell.absent], ["worse", 8, 4, 1]);
  assert.equal(sayCell(cell, "k=512", "bf16", "+3.0 %"), "k=512, bf16: +3.0 %, worse; largest of 4 series; 1 of them broken or not measured");
});

test("shape is every other parameter, in the order of numbers", () => {
  const map = heatOf([bench("bf16", "4096"), bench("bf16", "512")], [], "shape", "dtype");
  assert.deepEqual(map.rows, ["k=512", "k=4096"]);
  assert.deepEqual(axesOf([bench("bf16", "1")]), ["shape", "dtype", "k", "kernel", "backend", "benchmark"]);
  assert.deepEqual(["b", "10", "9", "a2", "a10"].sort(byValue), ["9", "10", "a2", "a10", "b"]);
});

test("the first map has a pair of axes that benchmarks have", () => {
  const bare: HeatBenchmark = { benchmark: "gemm", backend: "cpu", params: null };
  const typed = [bench("bf16", "512"), bench("f32", "512")];
  assert.deepEqual(pairOf(typed, null, null), ["shape", "dtype"]);
  assert.deepEqual(pairOf([{ ...bare, params: { k: "8" } }], null, null), ["shape", "kernel"]);
  assert.deepEqual(pairOf([bare], null, null), ["benchmark", "backend"]);
  assert.deepEqual(pairOf([...typed, bare, bare, bare], null, null), ["benchmark", "backend"], "most benchmarks, not some");
  assert.deepEqual(pairOf(typed, "k", null), ["k", "dtype"]);
  assert.deepEqual(pairOf(typed, null, "k"), ["benchmark", "k"], "no parameter is left for the shape");
  assert.deepEqual(pairOf([], null, null), ["shape", "dtype"]);
  for (const all of [typed, [bare]]) assert.ok(heatOf(all, [], ...pairOf(all, null, null)).rows.length > 0);
});

test("steps of the colour scale", () => {
  assert.deepEqual([0.019, -0.02, 0.05, -0.149, 0.15].map(stepOf), [1, 2, 3, 3, 4]);
});

test("a window of a large map has what is in view, some around it, and counts the rest", () => {
  assert.deepEqual(windowOf(100, 28, 0, 280, 4), { from: 0, until: 14, after: 86 });
  assert.deepEqual(windowOf(100, 28, 1400, 280, 4), { from: 46, until: 64, after: 36 });
  assert.deepEqual(windowOf(100, 28, 99999, 280, 4), { from: 95, until: 100, after: 0 }, "the map became shorter than the place of its box");
  assert.deepEqual(windowOf(0, 28, 0, 280, 4), { from: 0, until: 0, after: 0 });
  assert.deepEqual(windowOf(5, 28, 0, 1, null), { from: 0, until: 5, after: 0 });
});

test("a map of a group's alerts has a sign of its own for benchmarks without one", () => {
  const map = heatOf([bench("bf16", "512"), bench("f32", "512")], [row("bf16", "512", "regression", 0.08)], "k", "dtype", "calm");
  assert.deepEqual(map.cells[0]?.map((c) => [c?.kind, c?.count, c?.absent]), [["worse", 1, 0], ["calm", 1, 0]]);
});

test("rows without a place on the map are counted", () => {
  const all = [bench("bf16", "512"), { benchmark: "norm", backend: "cpu", params: { dtype: "f32" } }];
  const rows = [row("bf16", "512", "same", 0), { ...row("f32", "1", "same", 0), benchmark: "norm" }, row("int8", "9", "same", 0)];
  assert.equal(withoutCell(all, rows, "k", "dtype"), 2, "no k; not known");
  assert.equal(withoutCell(all, rows, "kernel", "dtype"), 1);
});
