import assert from "node:assert/strict";
import { test } from "node:test";
import type { RooflineCeiling, RooflinePoint, RooflineReply } from "../api/roofline";
import { ceilingName, decades, drawnCeilings, logScale, rooflineOf, spread, wholeOf } from "./roofline";
import { outsideOf, powers, type Part } from "./roofline_part";

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

const PART_OF = [ceiling({ value: 4e9 }), ceiling({ kind: "memory", name: "DRAM", value: 1e9 })];
const close = (got: number | undefined, expected: number) => assert.ok(got !== undefined && Math.abs(got - expected) < 1e-6, `got ${got}, expected ${expected}`);

test("everything is on view without a part; the same part gives the same picture", () => {
  const r = reply(PART_OF, [[point(0.3, 2e8), point(1, 5e8)]]);
  const all = wholeOf(r);
  assert.deepEqual(all, { x: { from: -1, to: 1 }, y: { from: 8, to: 10 } }, "results of both commits, the flat ceiling and the ridge at 4");
  const [without, whole] = [rooflineOf(r, FRAME), rooflineOf(r, FRAME, all)];
  assert.deepEqual([without?.dots, without?.lines], [whole?.dots, whole?.lines]);
  assert.equal(wholeOf(reply(PART_OF, [[null, point(null, 1)]])), null);
});

test("ceilings end at the frame of a part, and those outside of it are not drawn", () => {
  const r = reply(PART_OF, [[null, point(1, 5e8)]]);
  const lines = (part: Part) => rooflineOf(r, FRAME, part)?.lines ?? [];
  /* the slope enters at the left, the ridge is in the middle of x */
  const [flat, slope] = lines({ x: { from: Math.log10(2), to: Math.log10(8) }, y: { from: 9, to: 10 } });
  assert.ok(flat && slope);
  assert.deepEqual([flat.x1, flat.x2], [0, 400]);
  close(flat.y1, 400 * (1 - Math.log10(4)));
  close(slope.x1, 0);
  close(slope.y1, 400 * (1 - Math.log10(2)));
  close(slope.x2, 200);
  /* through the bottom, and out at the top below the flat one */
  const [through, none] = lines({ x: { from: -1, to: 1 }, y: { from: 8.5, to: 9 } });
  assert.ok(through && !none, "the flat one is above");
  assert.equal(through.index, 1);
  close(through.x1, 100);
  close(through.y1, 400);
  close(through.x2, 200);
  close(through.y2, 0);
  assert.deepEqual(lines({ x: { from: 0.7, to: 1 }, y: { from: 8, to: 9.5 } }), [], "right of the ridge, below the flat one");
  for (const l of lines({ x: { from: 0.3, to: 0.6 }, y: { from: 9.3, to: 9.7 } })) {
    for (const at of [l.x1, l.x2, l.y1, l.y2, l.label.x, l.label.y]) assert.ok(at >= 0 && at <= 400, `${at} is in the frame`);
  }
});

test("the label of a slope that begins at the right is to the left of it", () => {
  const r = reply(PART_OF, [[null, point(1, 5e8)]]);
  const label = (from: number) => rooflineOf(r, FRAME, { x: { from, to: from + 1 }, y: { from: 9, to: 10 } })?.lines[1]?.label;
  assert.deepEqual([label(-0.2)?.anchor, label(-0.8)?.anchor], ["start", "end"]);
  /* That of a line which begins at the bottom is moved up: then it is right of the line. */
  const up = label(-0.2);
  assert.ok(up && up.y === 396);
  close(up.x, 80 + 4 + 14);
});

test("a dot outside of the part is not inside, and is counted", () => {
  const r = reply(PART_OF, [[null, point(0.2, 2e8)], [null, point(1, 5e8)], [null, point(null, 1e9)], [null, point(0, 0)]]);
  const part = { x: { from: -0.5, to: 0.5 }, y: { from: 8, to: 9 } };
  assert.deepEqual(rooflineOf(r, FRAME, part)?.dots.map((d) => [d.index, d.inside]), [[0, false], [1, true]]);
  assert.equal(outsideOf(r, part), 1);
  assert.equal(outsideOf(r, { ...part, y: { from: 9, to: 10 } }), 2, "both axes count");
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
