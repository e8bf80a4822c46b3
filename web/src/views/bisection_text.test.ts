import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bisection, Culprit } from "../api/types";
import { agreementOf, budgetText, countsText, differenceText, setText } from "./bisection_text";

const search = (more: Partial<Bisection>): Bisection => ({
  id: 1, project: "p", metric: "t_ns", benchmark: null, backend: null, good: "a", bad: "b", verdict: "inconclusive", culprits: [],
  runs: 40, builds: 6, commits_measured: 6, seconds: 9, alert_id: null, ...more,
});
const set = (more: Partial<Culprit>): Culprit => ({ commits: ["a", "b"], probability: 1, rel_change: 0.1, rel_low: 0.1, rel_high: 0.1, ...more });

test("a budget that ended says what is left, in the words of the command line", () => {
  const left = { stopped: "budget", budget_runs: 40, candidates: 12, likeliest: { commit: "0123456789abcdef", probability: 0.414 }, probability_none: 0.01, expected_more_runs: 8.2 };
  assert.match(budgetText(search(left)) ?? "", /^Budget of 40 runs used; 12 candidates remain; most likely 0123456789 \(probability 0\.41\); 9 more runs expected\.$/);
  assert.match(budgetText(search({ ...left, probability_none: 0.9 })) ?? "", /no regression shown so far \(probability of none 0\.90\)/);
  assert.equal(budgetText(search({ stopped: null })), null);
});

test("no regression comes with the interval that shows it, and an open one with what is missing", () => {
  const difference = { rel_change: 0.004, rel_low: -0.01, rel_high: 0.018, margin: 0.02, within: true, more_runs: 0 };
  const said = (more: Partial<Bisection>) => (differenceText(search({ difference, ...more })) ?? "").replace(/\u2212/g, "-").replace(/\u00a0|\u202f/g, " ");
  assert.equal(said({ verdict: "no-regression" }), "The ends differ by +0.4 % (-1.0 % to +1.8 %), margin 2.0 %.");
  assert.match(said({ difference: { ...difference, within: false, more_runs: 13.2 } }), /margin 2\.0 %; about 14 more runs expected\.$/);
  assert.match(said({ difference: { ...difference, within: false, more_runs: null } }), /no number of further runs is likely to decide it\.$/);
  assert.match(said({ verdict: "no-regression", difference: { ...difference, rel_change: 0, rel_low: 0, rel_high: 0, margin: 0 } }), /by 0\.0 %, without noise\.$/);
  assert.equal(differenceText(search({ verdict: "found", difference })), null);
  assert.equal(differenceText(search({})), null);
  const budget = { stopped: "budget", budget_runs: 40, probability_none: 0.9, expected_more_runs: 14, difference: { ...difference, within: false, more_runs: 14 } };
  assert.match(budgetText(search(budget)) ?? "", /^Budget of 40 runs used; the ends differ by .*; about 14 more runs expected\.$/);
});

test("a set says why it is one", () => {
  assert.equal(setText(set({ commits: ["a"] })), null);
  assert.match(setText(set({ unmeasurable: true })) ?? "", /cannot be measured/);
  assert.match(setText(set({ unmeasurable: false })) ?? "", /hardly narrow/);
});

test("stored runs are not counted as measured", () => {
  const counts = { stored: 6, measured: 0, broken: 2, failed: 0, timed_out: 0, waiting: 0 };
  assert.equal(countsText(search({ counts })), "0 newly measured, 6 stored runs used, 2 broken");
  assert.equal(countsText(search({ counts: null })), null);
});

test("the effect of a search agrees with its alert when the intervals overlap, else the difference has its possible reasons", () => {
  const c: Culprit = { commits: ["f".repeat(40)], probability: 0.99, rel_change: -0.1, rel_low: -0.12, rel_high: -0.08 };
  const alert = { rel_change: -0.11, rel_low: -0.13, rel_high: -0.12, machine_class: "m1", metric: "t_ns", backend: "cpu", benchmark: "gemm", commit: "f".repeat(40), culprit: null, kind: "step" };
  const b = search({ metric: "t_ns", backend: "cpu", benchmark: "gemm", machine_class: "m1" });
  assert.equal(agreementOf(b, c, alert).agrees, true); /* they touch */
  const apart = { ...alert, rel_change: -0.2, rel_low: -0.21, rel_high: -0.19 };
  const plain = agreementOf(b, c, apart);
  assert.equal(plain.agrees, false);
  assert.match(plain.text, /Possible reasons: the alert compares levels over runs of many sessions/);
  const other = agreementOf({ ...b, machine_class: "m2", backend: "hip" }, c, { ...apart, commit: "a".repeat(40) }).text;
  for (const reason of [/of m1, those of the search of m2/, /about gemm t_ns cpu, the search about gemm t_ns hip/, /places the change at aaaaaaaaaa/]) assert.match(other, reason);
  assert.equal(agreementOf(b, c, { ...alert, kind: "drift" }).agrees, null);
  assert.equal(agreementOf(b, c, { ...alert, rel_low: null as unknown as number }).agrees, null);
});
