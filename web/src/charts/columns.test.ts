import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeriesReply } from "../api/types";
import { brokenMarks, edgeBefore, hasRatios, markNear, measuredBefore, nearest, parseSpan, plotOf, rowOfCommit, rowsAround, spanText, xOf } from "./columns";

function reply(): SeriesReply {
  const commit = ["aaaa000011112222", "bbbb000011112222", "cccc000011112222", "dddd000011112222"];
  return {
    series: {
      id: 1, benchmark: "gemm", metric: "gemm_tflops", backend: "cpu-avx2", machine_class: "m", branch: "main",
      unit: "TFLOP/s", direction: "higher", exact: false, headline: false, points: 4, last: null, change: null,
      noise_rel: 0.01,
    },
    columns: {
      commit, time: [400, 100, 200, 300], subject: commit, author: commit, position: [1, 2, 5, 6],
      median: [0.05, 0.06, 0.01, null], low: [0.04, 0.05, 0.005, null], high: [0.06, 0.07, 0.02, null],
      min: [0.04, 0.05, 0.005, null], n: [5, 5, 5, 0], run_id: [1, 2, 3, 4], fingerprint: ["f", "f", "f", "f"],
      infra: [false, false, true, false],
    },
    changes: [], boundaries: [], bucketed: false,
  };
}

test("values are scaled once, infrastructure points stand apart", () => {
  const p = plotOf(reply(), "commits", "linear");
  assert.equal(p.scale.unit, "GFLOP/s");
  assert.deepEqual(p.line, [50, 60, null, null]);
  assert.deepEqual(p.infra, [null, null, 10, null]);
});

test("positions make the axis, so that unmeasured commits leave a gap", () => {
  assert.deepEqual(plotOf(reply(), "commits", "linear").xs, [1, 2, 5, 6]);
});

test("positions that do not rise fall back to the index", () => {
  const r = reply();
  r.columns.position = [1, null, 3, 4];
  assert.deepEqual(plotOf(r, "commits", "linear").xs, [0, 1, 2, 3]);
});

test("the time axis is sorted and finds its rows again", () => {
  const p = plotOf(reply(), "time", "linear");
  assert.deepEqual(p.xs, [100, 200, 300, 400]);
  assert.deepEqual(p.order, [1, 2, 3, 0]);
  assert.equal(xOf(p, 0), 400);
  assert.equal(edgeBefore(p, 2), 150);
  assert.equal(edgeBefore(p, 1), 100);
});

test("a logarithmic axis has no place for zero", () => {
  const r = reply();
  r.columns.low[0] = 0;
  assert.equal(plotOf(r, "commits", "log").low[0], null);
});

test("relative mode divides by the first value", () => {
  const line = plotOf(reply(), "commits", "relative").line;
  assert.equal(line[0], 100);
  assert.ok(Math.abs((line[1] ?? 0) - 120) < 1e-9);
});

test("ratios are drawn as they are, with their intervals, and points without one leave a gap", () => {
  const r = reply();
  assert.equal(hasRatios(r), false);
  Object.assign(r.columns, { ratio: [null, 1.02, null, 1], ratio_low: [null, 1.01, null, 1], ratio_high: [null, 1.03, null, 1] });
  assert.equal(hasRatios(r), true);
  const p = plotOf(r, "commits", "linear", "ratio");
  assert.deepEqual([p.line, p.low, p.high], [[null, 1.02, null, 1], [null, 1.01, null, 1], [null, 1.03, null, 1]]);
  assert.deepEqual(p.min, [null, null, null, null]);
  assert.deepEqual(p.scale, { factor: 1, unit: "ratio to the anchor" });
  assert.ok(Math.abs((plotOf(r, "commits", "relative", "ratio").line[3] ?? 0) - 100 / 1.02) < 1e-9);
});

test("ranges travel through the address as short ids, in either order", () => {
  const r = reply();
  assert.equal(spanText(r, 1, 3), "bbbb00001111..dddd00001111");
  assert.deepEqual(parseSpan(r, "dddd..bbbb"), [1, 3]);
  assert.equal(parseSpan(r, "dddd..nope"), null);
  assert.equal(parseSpan(r, null), null);
  assert.equal(rowOfCommit(r, "cccc"), 2);
});

test("the level before skips points that are no baseline", () => {
  assert.equal(measuredBefore(reply(), 3), 1);
  assert.equal(measuredBefore(reply(), 0), -1);
});

test("the nearest point is found by bisection", () => {
  assert.equal(nearest([1, 2, 5, 6], 3.4), 1);
  assert.equal(nearest([1, 2, 5, 6], 3.6), 2);
  assert.equal(nearest([1, 2, 5, 6], 99), 3);
  assert.equal(nearest([7], 0), 0);
});

test("commits without a value leave a gap; a bucket stands for several commits and leaves none", () => {
  assert.deepEqual(plotOf(reply(), "commits", "linear").gap, [false, true, false, false]);
  assert.deepEqual(plotOf({ ...reply(), bucketed: true }, "commits", "linear").gap, [false, false, false, false]);
  const r = reply();
  r.columns.position = [1, null, 3, 4];
  assert.deepEqual(plotOf(r, "commits", "linear").gap, [false, false, false, false]);
  /* by time the rows are 100 (2), 200 (5), 300 (6), 400 (1) */
  assert.deepEqual(plotOf(reply(), "time", "linear").gap, [true, false, true, false]);
});

test("broken commits have marks at their place in history or in time, found within reach", () => {
  const at = (position: number, time: string) => ({ commit: "ffff", subject: "s", position, time, reason: "segmentation fault", run_id: 9 });
  const r = { ...reply(), broken: [at(7, "1970-01-01T00:08:20Z"), at(4, "1970-01-01T00:02:30Z")] };
  const marks = brokenMarks(r, plotOf(r, "commits", "linear"), "commits");
  assert.deepEqual(marks.map((m) => m.x), [4, 7]);
  assert.deepEqual(brokenMarks(r, plotOf(r, "time", "linear"), "time").map((m) => m.x), [150, 500]);
  assert.equal(markNear(marks, 4.4, 0.5)?.x, 4);
  assert.equal(markNear(marks, 5.4, 0.5), null);
  r.columns.position = [1, null, 3, 4]; /* the axis shows rows, not places */
  assert.deepEqual(brokenMarks(r, plotOf(r, "commits", "linear"), "commits"), []);
  assert.deepEqual(brokenMarks(reply(), plotOf(reply(), "commits", "linear"), "commits"), []);
});

test("the rows around some commits reach from the first of them to the last", () => {
  const r = reply();
  assert.deepEqual(rowsAround(r, ["cccc", "bbbb", undefined, "nope"], 0), [1, 2]);
  assert.deepEqual(rowsAround(r, ["cccc"], 1), [1, 3]);
  assert.deepEqual(rowsAround(r, ["aaaa", "dddd"], 30), [0, 3]);
  assert.equal(rowsAround(r, [null, "nope"], 30), null);
});
