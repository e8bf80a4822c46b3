import assert from "node:assert/strict";
import { test } from "node:test";
import { newToken, tokenState } from "./tokens";

const now = Date.parse("2026-03-01T00:00:00Z");

test("a token ends when it is revoked or expires, not before", () => {
  assert.equal(tokenState({ revoked_at: null, expires_at: null }, now), "active");
  assert.equal(tokenState({ revoked_at: null, expires_at: "2026-03-02T00:00:00Z" }, now), "active");
  assert.equal(tokenState({ revoked_at: null, expires_at: "2026-03-01T00:00:00Z" }, now), "expired");
  assert.equal(tokenState({ revoked_at: "2026-02-01T00:00:00Z", expires_at: "2026-02-15T00:00:00Z" }, now), "revoked");
  /* A rotated token ends after its overlap. */
  assert.equal(tokenState({ revoked_at: "2026-03-08T00:00:00Z", expires_at: null }, now), "active");
});

test("a new token has a scope, and leaves out what was not chosen", () => {
  assert.deepEqual(newToken({ name: "ci", scopes: [], project: "", days: "30" }, now), { fault: "choose at least one scope" });
  assert.deepEqual(newToken({ name: " ", scopes: ["read"], project: "", days: "" }, now), { body: { scopes: ["read"] } });
  assert.deepEqual(newToken({ name: " ci ", scopes: ["read", "ingest"], project: "kernels", days: "30" }, now),
    { body: { name: "ci", scopes: ["read", "ingest"], project: "kernels", expires_at: "2026-03-31T00:00:00.000Z" } });
});
