import assert from "node:assert/strict";
import { test } from "node:test";
import { ordersOf, plotQuery, repeatsOf, repeatText, selectOf, usualSeconds, type ComparedRow } from "./compared";

const row = (more: Partial<ComparedRow> = {}): ComparedRow => ({
  benchmark: "gemm/f32/m64", metric: "time_ns", backend: "cpu-avx2", machine_class: "epyc", verdict: "inconclusive", more_runs: 2, fingerprint_differs: [],
  a: { n: 25, backend: "cpu-avx2" }, b: { n: 25, backend: "cpu-avx2" }, ...more,
});
const between = { branch: "main", commits: 26, backwards: false, sentence: "" };

test("an expression names the series of both sides, with quotes escaped", () => {
  assert.equal(selectOf(row({ benchmark: 'a"b\\c' })), 'benchmark="a\\"b\\\\c" metric="time_ns" backend="cpu-avx2" machine_class="epyc"');
  assert.match(selectOf(row({ a: { n: 1, backend: "cpu-scalar" } })) ?? "", /backend="cpu-scalar","cpu-avx2"/);
  assert.doesNotMatch(selectOf(row({ fingerprint_differs: ["machine_class"] })) ?? "", /machine_class/);
  assert.equal(selectOf(row({ benchmark: "\u00e9".repeat(500) })), null); /* over 1,000 bytes */
});

test("ends that are not on one line have no plot; backwards ones change places", () => {
  assert.deepEqual([plotQuery(row(), between, "a", "b")?.["from"], plotQuery(row(), between, "a", "b")?.["to"]], ["a", "b"]);
  assert.equal(plotQuery(row(), { ...between, backwards: true }, "a", "b")?.["from"], "b");
  assert.equal(plotQuery(row(), { ...between, branch: null, commits: null }, "a", "b"), null);
  assert.equal(plotQuery(row(), undefined, "a", "b"), null);
});

test("ends far apart have a plot of few columns without samples", () => {
  const [near, far] = [900, 901].map((commits) => plotQuery(row(), { ...between, commits }, "a", "b"));
  assert.deepEqual([near?.["points"], near?.["samples"]], ["1000", "true"]);
  assert.deepEqual([far?.["points"], far?.["samples"], far?.["from"], far?.["to"]], ["300", undefined, "a", "b"]);
});

test("repeats are of undecided rows with an estimate, at most five of an end", () => {
  assert.equal(repeatsOf([row({ verdict: "same" })]), null);
  const r = repeatsOf([row(), row({ benchmark: "b.c", more_runs: 9 }), row({ benchmark: "d", more_runs: null }), row({ verdict: "regression", more_runs: 4 })]);
  assert.deepEqual(r, { rows: 2, decided: 1, hopeless: 1, runs: 5, machines: [{ a: "epyc", b: "epyc" }], filter: "^(b\\.c|gemm/f32/m64)$" });
  assert.equal(repeatsOf([row({ more_runs: null })])?.runs, 0);
});

test("jobs alternate the ends, and name machine class, branch and benchmarks", () => {
  const r = repeatsOf([row()]);
  assert.ok(r);
  const orders = ordersOf(r, "p", "main", "a", "b");
  assert.deepEqual(orders.map((o) => o.order.commit), ["a", "b", "a", "b"]);
  assert.deepEqual(orders[0]?.order, { project: "p", kind: "measure", commit: "a", branch: "main", labels: { machine_class: "epyc" }, filter: "^(gemm/f32/m64)$" });
  assert.equal(repeatText(r, orders.length, 60).replace(/\u00a0/g, " "), "4 runs: 2 of each commit on epyc, about 4 min (1 min each, as the newest jobs took). 1 row is expected to be decided.");
  assert.match(repeatText(r, orders.length, null), /duration unknown/);
});

test("ends on two machine classes are measured each on its own; two backends of one commit by one job", () => {
  const r = repeatsOf([row({ machine_class: "rack", fingerprint_differs: ["cpu", "machine_class"] })], [{ field: "cpu", b: "x" }, { field: "machine_class", b: "desk" }]);
  assert.ok(r);
  const orders = ordersOf(r, "p", "main", "a", "b");
  assert.deepEqual(orders.map(({ order }) => [order.commit, order.labels["machine_class"]]), [["a", "rack"], ["b", "desk"], ["a", "rack"], ["b", "desk"]]);
  assert.match(repeatText(r, orders.length, null), /^4 runs: 2 of A on rack and 2 of B on desk, /);
  assert.deepEqual(ordersOf(r, "p", "main", "a", "a").map(({ order }) => order.labels["machine_class"]), ["rack", "desk", "rack", "desk"]); /* the same commit on both */
  const backends = repeatsOf([row({ fingerprint_differs: ["backend"] })], [{ field: "backend", b: "hip" }]);
  assert.ok(backends);
  const same = ordersOf(backends, "p", "main", "a", "a");
  assert.deepEqual(same.map(({ order }) => [order.commit, order.labels["machine_class"]]), [["a", "epyc"], ["a", "epyc"]]);
  assert.match(repeatText(backends, same.length, null), /^2 runs: 2 of the commit on epyc, /);
});

test("the usual duration is the middle one of finished jobs", () => {
  const job = (s: number, state = "done") => ({ state, started_at: "2026-01-01T00:00:00Z", finished_at: new Date(Date.UTC(2026, 0, 1, 0, 0, s)).toISOString() });
  assert.equal(usualSeconds([job(10), job(30), job(20), job(900, "failed")]), 20);
  assert.equal(usualSeconds([]), null);
});
