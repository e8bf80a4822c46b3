import assert from "node:assert/strict";
import { test } from "node:test";
import type { RooflineCeiling, RooflinePoint, RooflineReply } from "../api/roofline";
import { ceilingName, decades, drawnCeilings, logScale, powers, rooflineOf, spread } from "./roofline";

const FRAME = { left: 0, right: 400, top: 0, bottom: 400 };
const ceiling = (over: Partial<RooflineCeiling>): RooflineCeiling => ({ machine_class: "m", name: "n", kind: "compute", unit: "FLOP/s", value: 1e9, dtype: "", level: "",
  capacity_bytes: null, backend: "", source: "measured", at: "2026-01-01T00:00:00Z", run_id: 1, ...over });
const point = (intensity: number | null, rate: number | null): RooflinePoint => ({ commit: "c", position: 1, run_id: 1, value: 1, operations: 1, bytes: 1, intensity, rate,
  limit: null, fraction: null, compute: 0, memory: 1, limited_by: null });
const reply = (ceilings: RooflineCeiling[], points: [RooflinePoint | null, RooflinePoint][]): RooflineReply => ({ branch: "main", a: null, b: null, a_how: null, b_how: null, statistic: "median",
  matched: points.length, unknown_fields: [], ceilings, unknown: [], left_out: 0,
  benchmarks: points.map(([a, b], i) => ({ series_id: i, benchmark: `b${i}`, params: null, metric: "time_ns", backend: "", machine_class: "m", unit: "ns", exact: false, a, b })) });

test("decades hold every positive value and are one at least", () => {
  assert.deepEqual(decades([3, null, 40]), [1, 100]);
  assert.deepEqual(decades([5]), [1, 10]);
  assert.deepEqual(decades([1]), [0.1, 10]); /* a value at the edge gets room */
  assert.equal(decades([0, null, -1]), null);
  assert.deepEqual(powers(0.1, 100), [0.1, 1, 10, 100]);
});

test("a dot's place is the logarithm of its intensity and rate", () => {
  const x = logScale(1, 100, 0, 400);
  assert.equal(x(10), 200);
  const r = rooflineOf(reply([ceiling({ value: 5e9 }), ceiling({ kind: "memory", value: 5e8 })], [[point(2, 2e8), point(20, 2e9)]]), FRAME);
  assert.ok(r);
  const [dot] = r.dots;
  assert.ok(dot?.from && dot.from.x < dot.x && dot.from.y > dot.y, "up and to the right");
  /* equal steps: both axes span whole decades of the same factor */
  assert.ok(Math.abs(dot.x - dot.from.x - (r.x(20) - r.x(2))) < 1e-9);
});

test("the memory's line ends where it meets the arithmetic's", () => {
  const r = rooflineOf(reply([ceiling({ value: 4e9 }), ceiling({ kind: "memory", name: "DRAM", value: 1e9 })], [[null, point(1, 5e8)]]), FRAME);
  const [flat, slope] = r?.lines ?? [];
  assert.ok(r && flat && slope);
  assert.equal(flat.y1, flat.y2);
  assert.ok(Math.abs(slope.x2 - r.x(4)) < 1e-6 && Math.abs(slope.y2 - r.y(4e9)) < 1e-6, "at 4 operations a byte");
});

test("ceilings of a run that no result of now refers to are not drawn, nor the same one twice", () => {
  const all = [ceiling({}), ceiling({ kind: "memory", name: "DRAM" }), ceiling({ run_id: 2, value: 7 }), ceiling({ kind: "memory", name: "DRAM" })];
  assert.deepEqual(drawnCeilings(reply(all, [[null, point(1, 1)]])), [0, 1]);
});

test("ceilings of one name on two classes of machines have different labels", () => {
  const [a, b, c] = [ceiling({ name: "DRAM" }), ceiling({ name: "DRAM", machine_class: "desk" }), ceiling({ name: "L2", machine_class: "desk" })];
  assert.ok(a && b && c);
  assert.deepEqual([a, b, c].map((one) => ceilingName([a, b, c], one)), ["DRAM, m", "DRAM, desk", "L2"]);
  assert.equal(ceilingName([a, ceiling({ name: "DRAM", run_id: 2 })], a), "DRAM", "the same class at another commit");
});

test("a result without a place has no dot, and none at all no picture", () => {
  const r = rooflineOf(reply([], [[null, point(1, 1e9)], [null, point(null, 2e9)]]), FRAME);
  assert.deepEqual(r?.dots.map((d) => d.index), [0]);
  assert.equal(rooflineOf(reply([], [[null, point(null, null)]]), FRAME), null);
});

test("labels keep their distance and stay inside", () => {
  assert.deepEqual(spread([10, 11, 50], 13, 0, 100), [10, 23, 50]);
  assert.deepEqual(spread([98, 99], 13, 0, 100), [87, 100]);
});
