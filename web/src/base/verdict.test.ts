import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeChange, readStatus } from "./verdict";

test("a change without an alert is watched", () => {
  assert.equal(readStatus({ status: "provisional", alertable: false }), "provisional");
  assert.equal(readStatus({ status: "provisional", alertable: true }), "confirmed");
  assert.equal(readStatus({ status: "confirmed", alertable: true }), "confirmed");
  assert.equal(readStatus({ status: "provisional" }), "provisional"); /* of a replay */
});

test("a regression with an alert reads as one", () => {
  const read = (alertable: boolean) => judgeChange("regression", -0.12, readStatus({ status: "provisional", alertable }));
  assert.equal(read(true).word, "regression");
  assert.equal(read(true).tone, "bad");
  assert.equal(read(false).word, "watching: regression");
});
