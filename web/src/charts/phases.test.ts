import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explanation } from "../api/explanation";
import { lineOf, phasesOf } from "./phases";

const explained = {
  phases: [{ from: "load_a", to: "matmul_sum", waits: 12 }, { from: "matmul_sum", to: "load_a", waits: 9 }, { from: "matmul_sum", to: "store_sum", waits: 3 }],
  runs: { before: null, after: { path: [
    { phase: "matmul_sum", resource: "weights", ticks: 5 }, { phase: "matmul_sum", resource: "compute", ticks: 40 }, { phase: "load_b", resource: "dma", ticks: 7 }] } },
} as unknown as Explanation;

test("phases are in the columns of loads, work and stores, with their ticks and their largest resource", () => {
  assert.deepEqual(phasesOf(explained).map((p) => [p.name, p.column, p.row, p.ticks, p.resource]), [
    ["matmul_sum", 1, 0, 45, "compute"], ["load_b", 0, 0, 7, "dma"], ["load_a", 0, 1, 0, "none"], ["store_sum", 2, 0, 0, "none"]]);
});

test("a result goes from the right side of a box to the left side of the next, a free buffer back", () => {
  const [work, , load] = phasesOf(explained);
  assert.ok(work && load);
  assert.match(lineOf(load, work), /^M204 86C/);
  assert.match(lineOf(work, load), /^M350 36C.* 206 100$/);
});
