import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineReply, TraceDetail, TraceUnit } from "../api/trace";
import { around, callOf, counterAt, counterSpan, covers, hitAt, rowsOf, sayClocks, sayHit, saySlice, sayTime, slicesIn, ticksOf, windowFor } from "./timeline";

const unit = (name: string, kind: string, over: Partial<TraceUnit> = {}): TraceUnit => ({ name, id: 1, kind, device: 0, clock: 0, overlaps: false, records: 1, left_out: 0, unmatched: 0, dropped: 0, ...over });
const clock = (over: object) => ({ name: "core", nominal_hz: 1e9, width_bits: 48, reference: false, method: "clock_pairs" as const, offset_ns: 0, knots: 5, bound_ns: 512, pairs_left_out: 0, ...over });
const trace: TraceDetail = {
  id: 3, project: "p", run_id: 1, run: "r", commit: "c", benchmark: null, title: "", digest: "", size: 1, records: 9, span_ns: 1000, units: 4, actor: "", stored_at: "",
  begin_ns: 0, details: 0, values_left_out: 0, metadata: [], counters: [],
  clocks: [clock({ name: "host", reference: true }), clock({})],
  unit_list: [unit("tensor", "tensor"), unit("main", "host"), unit("dma", "dma", { overlaps: true, device: 1 }), unit("counters", "counters")],
};
const columns = (list: [number, number, number, number][]) => ({ begin: list.map((s) => s[0]), end: list.map((s) => s[1]), name: list.map((s) => s[2]), correlation: list.map((s) => s[3]), unfinished: [] as number[] });
const reply: TimelineReply = {
  span_ns: 1000, from: 0, to: 1000, cells: 10, names: ["launch", "gemm", "tile", "dma"],
  lines: [
    { unit: 0, kind: "slices", number: 0, total: 1, shown: 1, slices: columns([[200, 800, 1, 7]]), cells: null },
    { unit: 0, kind: "slices", number: 1, total: 90, shown: 90, slices: null, cells: { at: [2, 3], count: [40, 50], busy: [500, 1000] } },
    { unit: 0, kind: "points", number: 0, total: 1, shown: 1, slices: columns([[300, 300, 2, 0]]), cells: null },
    { unit: 1, kind: "slices", number: 0, total: 1, shown: 1, slices: columns([[100, 150, 0, 7]]), cells: null },
    { unit: 2, kind: "slices", number: 1, total: 1, shown: 1, slices: columns([[400, 410, 3, 7]]), cells: null },
  ],
  calls: { ...columns([[100, 150, 0, 7]]), line: [3] },
  counters: [
    { unit: 3, name: "bytes", measure: "B", before: 5, values: { ns: [100, 500], value: [10, null] }, ranges: null },
    { unit: 0, name: "time in state busy", measure: "ticks", before: null, values: null, ranges: { at: [2, 5], low: [1, 4], high: [3, 4] } },
  ],
  found: null,
};
const all = { waits: true, points: true, counters: true };

test("rows: the host first, then devices, each with its counters last", () => {
  const { rows, height } = rowsOf(trace, reply, all);
  assert.deepEqual(rows.map((r) => r.label), ["Host", "main", "Device 0", "tensor", "tensor, level 2", "tensor: points", "bytes", "tensor: time in state busy", "Device 1", "dma (2)"]);
  assert.ok(rows.every((r, i) => i === 0 || r.top >= (rows[i - 1]?.top ?? 0) + (rows[i - 1]?.height ?? 0)));
  assert.ok(height >= (rows.at(-1)?.top ?? 0) + (rows.at(-1)?.height ?? 0));
  assert.deepEqual(rowsOf(trace, reply, { waits: true, points: false, counters: false }).rows.map((r) => r.label), ["Host", "main", "Device 0", "tensor", "tensor, level 2", "Device 1", "dma (2)"]);
});

test("what is pointed at: a slice, a thin one beside the pointer, a cell, a value, nothing", () => {
  const { rows } = rowsOf(trace, reply, all);
  const y = (label: string) => (rows.find((r) => r.label === label)?.top ?? -1) + 2;
  const hit = (ns: number, label: string, slack = 0) => hitAt(reply, rows, ns, y(label), slack);
  assert.equal(sayHit(trace, reply, hit(250, "tensor") as NonNullable<ReturnType<typeof hit>>), "gemm on tensor, begins at 200\u00a0ns, takes 600\u00a0ns, caused by launch at 100\u00a0ns.");
  assert.equal(hit(900, "tensor"), null);
  assert.equal(hit(420, "dma (2)"), null);
  assert.equal(hit(420, "dma (2)", 15)?.kind, "slice");
  const cell = hit(250, "tensor, level 2");
  assert.deepEqual(cell && cell.kind === "cell" && [cell.from, cell.to, cell.count, cell.busy], [200, 300, 40, 0.5]);
  assert.equal(hit(950, "tensor, level 2"), null);
  assert.equal(hit(300, "bytes")?.kind, "value");
  assert.equal(hitAt(reply, rows, 300, y("Host"), 9), null);
});

test("a counter's value holds until the next one; a cell has its range", () => {
  assert.deepEqual([counterAt(reply, 0, 50), counterAt(reply, 0, 100), counterAt(reply, 0, 499), counterAt(reply, 0, 600)], ["5\u00a0B", "10\u00a0B", "10\u00a0B", ""]);
  assert.deepEqual([counterAt(reply, 1, 100), counterAt(reply, 1, 250), counterAt(reply, 1, 700)], ["", "1\u00a0ticks to 3\u00a0ticks", "4\u00a0ticks"]);
  assert.deepEqual(counterSpan(reply, 0), [0, 10]);
});

test("slices in view are in order of time, with the number of those that only cells show", () => {
  const { rows } = rowsOf(trace, reply, all);
  const { slices, merged } = slicesIn(reply, rows, { from: 140, to: 350 });
  assert.deepEqual(slices.map((s) => [s.name, s.begin]), [["launch", 100], ["gemm", 200], ["tile", 300]]);
  assert.equal(merged, 90);
  assert.equal(callOf(reply, 7)?.name, "launch");
  assert.equal(callOf(reply, 8), null);
  assert.equal(saySlice(trace, reply, slices[2] as (typeof slices)[number]), "tile on tensor, begins at 300\u00a0ns, a point");
});

test("ticks have steps of 1, 2 or 5, and times the digits of the step", () => {
  assert.deepEqual(ticksOf({ from: 0, to: 1000 }, 500), [0, 200, 400, 600, 800, 1000]);
  assert.deepEqual(ticksOf({ from: 1_990_000, to: 2_030_000 }, 400).slice(0, 3), [1_990_000, 2_000_000, 2_010_000]);
  assert.deepEqual([sayTime(2_000_000, 5000), sayTime(1_500, 100), sayTime(7, 1), sayTime(0, 200)], ["2.000\u00a0ms", "1.5\u00a0us", "7\u00a0ns", "0\u00a0ns"]);
});

test("how clocks are aligned is said, and when nothing is known", () => {
  assert.deepEqual(sayClocks(trace), ["Clock core is aligned by 5 pairs of readings: its times are wrong by at most 512 ns."]);
  const nominal = { ...trace, clocks: [clock({ name: "host", reference: true }), clock({ method: "nominal", knots: 0, bound_ns: null })] } as TraceDetail;
  assert.deepEqual(sayClocks(nominal), ["Clock core is not aligned with the host: it counts from tick 0 at its nominal rate."]);
});

test("a view around a slice stays within the trace; a reply covers a view that it shows finely enough", () => {
  const whole = { from: 0, to: 1000 };
  assert.deepEqual(around({ begin: 400, end: 410 }, whole, 50), { from: 355, to: 455 });
  assert.deepEqual(around({ begin: 0, end: 10 }, whole, 50), { from: 0, to: 100 });
  assert.deepEqual(windowFor({ from: 400, to: 500 }, whole), { from: 300, to: 600 });
  assert.equal(covers(reply, { from: 0, to: 1000 }, 30), true);
  assert.equal(covers(reply, { from: 0, to: 1000 }, 900), false, "a cell of 90 pixels");
  assert.equal(covers({ ...reply, from: 100 }, { from: 0, to: 1000 }, 30), false);
  const single = { ...reply, lines: reply.lines.filter((l) => l.slices), counters: [] };
  assert.equal(covers(single, { from: 10, to: 20 }, 900), true);
});
