import assert from "node:assert/strict";
import { test } from "node:test";
import { matcherText, readMatcher } from "./matcher";

const none = { benchmark: "", params: "", backend: "", machine_class: "", metric: "", direction: "", below: "" };

test("fields become a matcher, and a matcher a sentence", () => {
  const read = readMatcher({ ...none, benchmark: " gemm/* ", params: "dtype=bf16  m=6?", direction: "up", below: "3 %" });
  assert.deepEqual(read, { matcher: { benchmark: "gemm/*", params: { dtype: "bf16", m: "6?" }, direction: "up", max_change: 0.03 } });
  assert.equal(matcherText((read as { matcher: object }).matcher), "benchmark gemm/*, dtype=bf16, m=6?, value goes up, below 3.0\u00a0%");
});

test("an empty form and wrong fields are refused with the field's name", () => {
  assert.match((readMatcher(none) as { fault: string }).fault, /at least one field/);
  assert.match((readMatcher({ ...none, params: "dtype" }) as { fault: string }).fault, /Parameters: expected NAME=VALUE/);
  assert.match((readMatcher({ ...none, params: "=x" }) as { fault: string }).fault, /Parameters/);
  for (const below of ["0", "-1", "1001", "much"]) assert.match((readMatcher({ ...none, below }) as { fault: string }).fault, /Size: expected/);
});
