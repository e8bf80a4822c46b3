import assert from "node:assert/strict";
import { test } from "node:test";
import { KEYS, PAGE_LETTERS, actionOf, rowAfter } from "./keys";

test("every page has a letter of its own", () => {
  const letters = Object.values(PAGE_LETTERS);
  assert.equal(new Set(letters).size, letters.length);
  assert.ok(letters.every((l) => /^[a-z]$/.test(l)));
});

test("a letter goes to a page only after g", () => {
  assert.deepEqual(actionOf("g", false), { do: "wait" });
  assert.deepEqual(actionOf("a", true), { do: "go", page: "Alerts" });
  assert.deepEqual(actionOf("j", true), { do: "go", page: "Jobs" });
  assert.deepEqual(actionOf("j", false), { do: "row", by: 1 });
  assert.deepEqual(actionOf("k", false), { do: "row", by: -1 });
  assert.equal(actionOf("a", false), null);
  assert.equal(actionOf("z", true), null);
  assert.equal(actionOf("Shift", true), null);
});

test("each listed key but Enter, which opens the focused link, has an action", () => {
  for (const [[key]] of KEYS) assert.equal(actionOf(key ?? "", false) === null, key === "Enter", key);
});

test("rows end at the first and the last", () => {
  assert.deepEqual([rowAfter(-1, 1, 3), rowAfter(-1, -1, 3), rowAfter(0, 1, 3), rowAfter(2, 1, 3), rowAfter(0, -1, 3), rowAfter(-1, 1, 0)], [0, 2, 1, 2, 0, -1]);
});
