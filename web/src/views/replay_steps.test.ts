import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bisection, BisectionReplay, Commit } from "../api/types";
import { likeliest, placesOf, posteriorAt, stepsOf } from "./replay_steps";

const replay: BisectionReplay = { bisection_id: 1, reason: null, commits_per_place: 1, places: ["a", "b", "c"], steps: [
  { n: 1, commit: "c", place: 2, state: "measured", value: 2, posterior: [0.2, 0.5, 0.3] },
  { n: 2, commit: "a", place: 0, state: "broken", value: null, posterior: null },
  { n: 3, commit: "b", place: 1, state: "measured", value: 1, posterior: [0.005, 0.99, 0.005] }] };
const report = { steps: [{ commit: "x", value: 1, confirm: false }, { commit: "y", value: null }, { commit: "x", value: 2, confirm: true }] } as unknown as Bisection;

test("steps are those of the replay, or of the report without the runs that check a culprit", () => {
  assert.deepEqual(stepsOf(report, replay).map((s) => s.commit), ["c", "a", "b"]);
  assert.deepEqual(stepsOf(report, { ...replay, steps: [] }).map((s) => s.state), ["measured", "could not be measured"]);
  assert.equal(stepsOf(report, null).length, 2);
});

test("a step without a posterior has that of the step before it", () => {
  const steps = stepsOf(report, replay);
  assert.deepEqual(posteriorAt(steps, 1), { at: 0, values: [0.2, 0.5, 0.3] });
  assert.equal(posteriorAt(steps, 2)?.at, 2);
  assert.equal(posteriorAt(steps.slice(1), 0), null);
  assert.deepEqual(likeliest(replay, [0.005, 0.99, 0.005]), [{ commit: "b", probability: 0.99 }]);
});

test("commits are in the order of the line, else of history, else as they came", () => {
  const steps = stepsOf(report, replay);
  assert.deepEqual(placesOf(steps, replay, []), ["a", "b", "c"]);
  const history = ["c", "b", "a"].map((id, position) => ({ id, position }) as Commit);
  assert.deepEqual(placesOf(steps, { ...replay, commits_per_place: 2 }, history), ["c", "b", "a"]);
  assert.deepEqual(placesOf(steps, null, []), ["c", "a", "b"]);
});
