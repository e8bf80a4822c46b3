import assert from "node:assert/strict";
import { test } from "node:test";
import type { SeriesReply } from "../api/types";
import { ALPHA, MIN_CHANGE, STEPS, compareChanges, placeOf, triedChanges, valueAt } from "./tuning";

test("a slider's ends are the knob's, and every place comes back to itself", () => {
  for (const knob of [MIN_CHANGE, ALPHA]) {
    assert.equal(valueAt(knob, 0), null);
    assert.equal(valueAt(knob, 1), knob.least);
    assert.equal(valueAt(knob, STEPS), knob.most);
    for (let place = 1; place <= STEPS; place++) assert.equal(placeOf(knob, String(valueAt(knob, place))), place);
  }
  assert.equal(placeOf(MIN_CHANGE, null), 0);
  assert.equal(placeOf(MIN_CHANGE, "x"), 0);
  assert.equal(placeOf(MIN_CHANGE, "7"), STEPS);
});

const ids = ["a", "b", "c", "d"];
const stored = { index: 1, index_low: 1, index_high: 2, commit: "b", commit_low: "b", commit_high: "c", before: 1, after: 2,
  rel_change: 1, rel_low: 1, rel_high: 1, p: 0.01, direction: "regression", status: "confirmed", alert_id: 7 };
const reply = { columns: { commit: ids, position: [10, 12, 14, 16] }, changes: [stored] } as unknown as SeriesReply;
const found = (position: number, low: number, high: number, commit: string) => ({ position, position_low: low, position_high: high, commit,
  before: 1, after: 2, rel_change: 1, rel_low: 1, rel_high: 1, p: 0.01, direction: "regression", status: "confirmed" });

test("places in history become rows, also of commits that were not measured", () => {
  const [c] = triedChanges(reply, [found(12, 11, 13, "b")]);
  assert.ok(c);
  assert.deepEqual([c.index, c.index_low, c.index_high], [1, 1, 2]);
  assert.deepEqual([c.commit_low, c.commit_high, c.alert_id], ["b", "c", 7]);
  assert.equal(triedChanges(reply, [found(8, 8, 8, "z"), found(99, 99, 99, "y")]).length, 0);
});

test("changes are the same when their ranges meet", () => {
  const tried = triedChanges(reply, [found(16, 16, 16, "d")]);
  assert.deepEqual(compareChanges([stored], tried), { fresh: 1, gone: 1 });
  assert.deepEqual(compareChanges([stored], triedChanges(reply, [found(14, 13, 15, "c")])), { fresh: 0, gone: 0 });
});
