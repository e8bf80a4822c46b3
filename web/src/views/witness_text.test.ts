import assert from "node:assert/strict";
import { test } from "node:test";
import { witnessText } from "./witness_text";

const rows = (...moved: string[]) => moved.map((m) => ({ moved: m, exact: false }));

test("no sentence contradicts a row below it", () => {
  /* Stored as "alone" before the other metric moved, or because it moved the other way. */
  assert.equal(witnessText("alone", rows("better", "still")),
    "1 other series of this benchmark became better. No change was found in 1 other series of this benchmark.");
  assert.equal(witnessText("alone", rows("worse")), "1 other series of this benchmark became worse, too.");
  assert.equal(witnessText("corroborated", rows("still", "still")), "No change was found in 2 other series of this benchmark measured on both sides.");
  assert.equal(witnessText("alone", rows("unknown")), "");
  assert.equal(witnessText("single", []), "No other series of this benchmark exists.");
});

test("an exact metric is named when the alert or a row that became worse is exact", () => {
  assert.match(witnessText("exact", []), /without noise changed/);
  assert.match(witnessText("alone", [{ moved: "worse", exact: true }]), /without noise changed.*became worse, too/);
  assert.doesNotMatch(witnessText("alone", [{ moved: "better", exact: true }]), /so the code/);
});
