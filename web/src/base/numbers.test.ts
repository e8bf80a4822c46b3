import assert from "node:assert/strict";
import { test } from "node:test";
import { median, quantile, relChange } from "./numbers";

/* R 4.2, quantile(c(1, 2, 4, 8), c(.25, .5, .9), type = 7) gives 1.75 3.00 6.80. */
test("quantiles agree with R's type 7", () => {
  const v = [1, 2, 4, 8];
  assert.equal(quantile(v, 0.25), 1.75);
  assert.equal(quantile(v, 0.5), 3);
  assert.ok(Math.abs(quantile(v, 0.9) - 6.8) < 1e-12);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});

test("the median does not depend on order", () => {
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([4, 1, 2, 3]), 2.5);
});

test("a change needs something to relate to", () => {
  assert.equal(relChange(100, 110), 0.1);
  assert.ok(Number.isNaN(relChange(0, 1)));
  assert.ok(Number.isNaN(relChange(null, 1)));
});
