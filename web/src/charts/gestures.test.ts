import assert from "node:assert/strict";
import { test } from "node:test";
import { wheelFactor } from "./gestures";

test("turning the wheel up zooms in, turning it down zooms out by the same factor; one event zooms by at most e", () => {
  assert.ok(Math.abs(wheelFactor(-100, 0) * wheelFactor(100, 0) - 1) < 1e-12);
  assert.ok(wheelFactor(-100, 0) < 1);
  assert.equal(wheelFactor(10_000, 0), Math.E);
  assert.equal(wheelFactor(-10_000, 0), 1 / Math.E);
  assert.ok(Math.abs(wheelFactor(3, 1) - wheelFactor(99, 0)) < 1e-12, "3 lines are 99 pixels");
});
