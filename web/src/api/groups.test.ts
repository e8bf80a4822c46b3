import assert from "node:assert/strict";
import { test } from "node:test";
import { ownersOf } from "./groups";

test("owners are the names behind the patterns of both texts, each once", () => {
  const text = "# all\n* @org/all ada@people.example\n/src/gemm/ @mara # with a note\n[Section]\n/docs/\n";
  assert.deepEqual(ownersOf({ rules: "kernel:gemm @mara @ji", codeowners: { path: "CODEOWNERS", commit: "c", text } }),
    ["none", "@ji", "@mara", "@org/all", "ada@people.example"]);
  assert.deepEqual(ownersOf({ rules: "", codeowners: null }), ["none"]);
  assert.deepEqual(ownersOf(null), ["none"]);
});
