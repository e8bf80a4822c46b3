import assert from "node:assert/strict";
import { test } from "node:test";
import type { PlotReply } from "../api/plot";
import type { CompareRow } from "../api/types";
import { pictured } from "./compare_row_chart";

const floats = (values: number[]) => Buffer.from(Float32Array.from(values).buffer).toString("base64");
const row = { series_id: 7, a: { series_id: 7 }, b: { series_id: 8 } } as unknown as CompareRow;

/** Two series over columns a, m and b of `places` commits. */
const reply = (places: number): PlotReply => ({
  places, columns: { commit: ["a", "m", "b"] },
  lines: [
    { series_id: 7, points: 2, median: floats([1, 2, NaN]), samples: [[0, 1, 1.5], [1, 9]] },
    { series_id: 8, points: 901, median: floats([NaN, 4, 5]), samples: [[2, 5, null, 6]] },
  ],
}) as unknown as PlotReply;

test("a row shows the newer side's line, gaps included, and the samples of both ends", () => {
  const near = pictured(reply(3), row, "a", "b");
  assert.deepEqual(near, { values: [null, 4, 5], a: [1, 1.5], b: [5, 6], shared: false, results: 901 });
});

test("ends over 900 commits apart have columns of several commits, which the text says", () => {
  const far = pictured({ ...reply(1200), lines: reply(1200).lines.map((l) => ({ ...l, samples: [] })) }, row, "a", "b");
  assert.deepEqual([far.shared, far.results, far.a, far.b], [true, 901, [], []]);
});

test("a side without a line in the answer has no samples", () => {
  const none = pictured({ ...reply(3), lines: [] }, row, "a", "b");
  assert.deepEqual(none, { values: [], a: [], b: [], shared: false, results: 0 });
});
