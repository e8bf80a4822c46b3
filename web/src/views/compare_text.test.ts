import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommitValue, CompareReply, CompareRow } from "../api/types";
import { brokenText, differencesOf, headlineOf, limitOf, moreText, undecidedPair, verdictWords, worstFirst } from "./compare_text";

const row = (benchmark: string, verdict: string, rel: number): CompareRow => ({
  series_id: 1, benchmark, metric: "time_ns", backend: "cpu", unit: "ns", direction: "lower",
  a: { median: 100, low: 99, high: 101, n: 9 }, b: { median: 100 * (1 + rel), low: 99, high: 101, n: 9 },
  rel_change: rel, rel_low: rel - 0.01, rel_high: rel + 0.01, p: 0.01, p_adjusted: 0.04, margin_rel: 0.01, verdict, noise_rel: 0.01, fingerprint_differs: [],
});

test("the worst stands first, the same last", () => {
  const rows = [row("s", "same", 0), row("i", "improvement", -0.3), row("r2", "regression", 0.05), row("u", "inconclusive", 0.04), row("r1", "regression", 0.2), row("b", "broken", 0)];
  assert.deepEqual(worstFirst(rows).map((r) => r.benchmark), ["b", "r1", "r2", "u", "i", "s"]);
});

test("bars share a round scale", () => {
  assert.equal(limitOf([row("a", "same", 0.03)], 0.01), 0.05);
  assert.equal(limitOf([], 0.01), 0.02);
  assert.equal(limitOf([row("a", "regression", 4)], 0.01), 5);
});

test("what is not known is never told as good", () => {
  assert.equal(headlineOf({ regression: 0, improvement: 3, same: 0, inconclusive: 1 }).tone, "warn");
  assert.equal(headlineOf({ regression: 1, improvement: 3, same: 0, inconclusive: 0 }).word, "1 regression, 3 improvements");
  assert.equal(headlineOf({ regression: 0, improvement: 0, same: 4, inconclusive: 0 }).tone, "good");
  assert.equal(headlineOf({ regression: 0, improvement: 0, same: 0, inconclusive: 0 }).word, "Nothing to compare");
});

test("broken and other machines come before any verdict", () => {
  assert.deepEqual(headlineOf({ regression: 1, improvement: 0, same: 2, inconclusive: 0, broken: 1 }), { tone: "bad", icon: "cross", word: "1 broken, 1 regression, 2 the same" });
  assert.match(headlineOf({ regression: 1, improvement: 0, same: 0, inconclusive: 0 }, true).word, /^Not decided/);
  assert.equal(headlineOf({ regression: 0, improvement: 0, same: 4, inconclusive: 0 }, true).tone, "warn");
  assert.equal(brokenText({ broken: ["b"], reason: "wrong result" }), "Broken in B: wrong result");
  assert.equal(moreText({ verdict: "inconclusive", more_runs: 12 }), "about 12 more runs a side expected");
  assert.equal(moreText({ verdict: "inconclusive", more_runs: 1 }), "about 1 more run a side expected");
  assert.equal(moreText({ verdict: "inconclusive", more_runs: null }), null);
  assert.equal(moreText({ verdict: "same", more_runs: null }), null);
  assert.equal(brokenText({ broken: ["a", "b"], reason: null }), "Broken in A and B");
  assert.deepEqual(differencesOf({ differs: [{ field: "compiler", a: "gcc 12", b: null }] }), ["compiler: gcc 12 \u2192 not recorded"]);
});

test("another machine leaves a comparison undecided, another backend does not", () => {
  const differs = (field: string) => [{ field, a: "x", b: "y" }];
  assert.equal(undecidedPair({ differs: differs("compiler"), across: false }), true);
  assert.equal(undecidedPair({ differs: differs("compiler"), across: true }), false);
  assert.equal(undecidedPair({ differs: differs("backend"), across: false }), false);
  assert.equal(undecidedPair({}), false);
});

const answer = (row: Partial<CompareRow>) => ({ rows: [{ verdict: "same", p_adjusted: 0.4, margin_rel: 0.02, ...row }] }) as unknown as CompareReply;
const value = (benchmark: string, verdict: string | null, rel: number | null) => ({ benchmark, verdict, rel_change: rel }) as unknown as CommitValue;

test("a point carries the comparison's verdict, with the margin or the adjusted p", () => {
  assert.equal(verdictWords(answer({})), ": same within \u00b12.0\u00a0%");
  assert.match(verdictWords(answer({ verdict: "regression", p_adjusted: 0.003 })), /^: regression, p .*over all values$/);
  assert.equal(verdictWords(answer({ verdict: "regression", p_adjusted: null })), ": regression"); /* exact */
  assert.equal(verdictWords(answer({ verdict: "broken" })), ": broken");
  assert.equal(verdictWords({ rows: [] } as unknown as CompareReply), "");
});

test("values of a commit are sorted by the service's verdicts, not by their medians", () => {
  const rows = [value("s", "same", 0.009), value("n", null, null), value("i", "improvement", -0.3), value("u", "inconclusive", 0.2), value("r", "regression", 0.05)];
  assert.deepEqual(worstFirst(rows).map((v) => v.benchmark), ["r", "u", "i", "s", "n"]);
});
