import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunDocument } from "../api/types";
import { columnOf } from "../charts/blocks";
import { ratioSpan } from "../charts/ratios";
import { marksOf, visitsOf } from "./night_order";

const run = (visits: [number, number][]): RunDocument => ({
  run_id: 1, id: "r", suite: "s", started_at: "", finished_at: "", machine: { name: "m", fingerprint: {} },
  measurements: [
    { benchmark: "sort", metric: "time_ns", backend: "", unit: "ns", direction: "lower", status: "ok", visits },
    { benchmark: "other", metric: "time_ns", backend: "", unit: "ns", direction: "lower", status: "ok", visits: [[9, 9]] },
  ],
});

test("visits come in the order of time, of one series, and only of builds that are drawn", () => {
  const s = { benchmark: "sort", metric: "time_ns", backend: "" };
  const visits = visitsOf([{ commit: "b", run: run([[0, 1], [1, 0]]) }, { commit: "a", run: run([[0, 0], [1, 1]]) }, { commit: "x", run: run([[0, 2]]) }], s, ["a", "b"]);
  assert.deepEqual(visits.map((v) => [v.build, v.block, v.position]), [[0, 0, 0], [1, 0, 1], [1, 1, 0], [0, 1, 1]]);
});

test("anchor and last judged commit have letters, also where they are one", () => {
  assert.deepEqual(marksOf(["a", "b", "c", "d"], { anchor: "a", base: "b" }), ["A", "L", "1", "2"]);
  assert.deepEqual(marksOf(["a", "c"], { anchor: "a", base: "a" }), ["A", "1"]);
});

test("rounds are set apart, the blocks of one are not", () => {
  const step = (b: number) => columnOf(b + 1) - columnOf(b);
  assert.ok(step(0) < step(1));
  assert.equal(step(0), step(2));
});

test("one wide interval does not hide the others", () => {
  const row = (ratio: number, low: number, high: number) => ({ name: "", word: "", tone: "", ratio, low, high });
  const [low, high] = ratioSpan([row(1.02, 1.01, 1.03), row(1, 0.2, 9)]);
  assert.ok(low > 0.85 && high < 1.15, `${low} ${high}`);
  assert.ok(low < 1 && high > 1.03);
});
