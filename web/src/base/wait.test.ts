import assert from "node:assert/strict";
import { test } from "node:test";
import { formatWait } from "./wait";

const plain = (s: string) => s.replace(/\u00a0/g, " ");

test("a wait is a range, coarser the longer it is", () => {
  assert.equal(plain(formatWait({ seconds: 95, low: 62, high: 185 })), "in 1 min to 3 min");
  assert.equal(plain(formatWait({ seconds: 4000, low: 3000, high: 9000 })), "in 50 min to 2 h 30 min");
  assert.equal(plain(formatWait({ seconds: 300, low: 290, high: 320 })), "in about 5 min");
});

test("a job that begins now is next, and an unknown wait is an empty text", () => {
  assert.equal(formatWait({ seconds: 0, low: 0, high: 0 }), "next");
  assert.equal(formatWait(null), "");
  assert.equal(formatWait(undefined), "");
});
