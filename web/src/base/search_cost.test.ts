import assert from "node:assert/strict";
import { test } from "node:test";
import { canMeasure, costText, orderOfAlert, orderOfRange, regressionIn, verifyOrder, whyNoSearch, type Cost } from "./search_cost";

const cost: Cost = { commits: 9, stored_runs: 0, runs: 11.2, builds: 4, run_seconds: 60, wait_seconds: 180, seconds: 1500, runners: 2, jobs_waiting: 1 };
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, " ");

test("runs, minutes and the wait are in one sentence", () => {
  assert.equal(plain(costText(cost)), "About 12 runs over 9 commits, 25 min; begins in 3 min (1 job waiting, 2 runners).");
});

test("what is not known is said", () => {
  assert.equal(plain(costText({ ...cost, runs: null, seconds: null, wait_seconds: null, stored_runs: 3 })),
    "An unknown number of runs over 9 commits, duration unknown (no finished job yet), uses 3 stored runs; wait unknown (1 job waiting, 2 runners).");
  assert.match(costText({ ...cost, wait_seconds: 0 }), /; begins at once \(/);
});

test("without a runner nothing can be measured", () => {
  assert.equal(canMeasure({ ...cost, runners: 0 }), "no runner is connected that could measure");
  assert.equal(canMeasure(cost), null);
});

test("a drift, a change of tools and a broken benchmark have no search", () => {
  const alert = { id: 7, project: "p", commit_low: "a", commit_high: "b" };
  assert.deepEqual(orderOfAlert(alert), { project: "p", mode: "remote", alert_id: 7 });
  for (const other of [{ drift: {} }, { boundary: [] }, { kind: "broken" }]) {
    assert.equal(orderOfAlert({ ...alert, ...other }), null);
    assert.notEqual(whyNoSearch(other), null);
  }
});

test("a suspect is verified against its first parent", () => {
  const alert = { id: 7, project: "p", suspect: { commit: "c" } };
  assert.deepEqual(verifyOrder(alert, ["b", "x"]), { project: "p", mode: "remote", alert_id: 7, good: "b", bad: "c" });
  assert.equal(verifyOrder(alert, undefined), null);
  assert.equal(verifyOrder({ ...alert, suspect: null }, ["b"]), null);
});

test("the largest regression whose new level begins within a range is verified", () => {
  const change = (index: number, rel_change: number, direction = "regression") => ({ index, rel_change, direction });
  const all = [change(5, 0.02), change(9, -0.5), change(12, 0.9, "improvement"), change(20, 0.3)];
  assert.equal(regressionIn(all, 0, 10)?.index, 9); /* a halved rate is a larger change than one by 30 % */
  assert.equal(regressionIn(all, 0, 30)?.index, 9);
  assert.equal(regressionIn(all, 4, 5)?.index, 5); /* the new level begins at its end */
  assert.equal(regressionIn(all, 5, 8), null); /* it began with the first row */
  assert.equal(regressionIn(all, 10, 15), null);
});

test("the search of a range is of its series alone", () => {
  assert.deepEqual(orderOfRange({ project: "p", metric: "m", benchmark: "b", backend: "x", machine_class: "c", branch: "main" }, "1", "2"),
    { project: "p", mode: "remote", metric: "m", benchmark: "b", backend: "x", machine_class: "c", branch: "main", good: "1", bad: "2" });
});
