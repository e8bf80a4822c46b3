import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProjectReplay, ReplayedAlert } from "../api/detector";
import { BLANK_RULE, compareReplays, fieldsOf, figuresOf, readDetector, textOf } from "./detector";

const alert = (position: number, more: Partial<ReplayedAlert> = {}): ReplayedAlert => ({ series_id: 1, label: null, position, position_low: position - 1, position_high: position + 1,
  commit: "c", before: 1, after: 2, rel_change: 1, rel_low: 1, rel_high: 1, p: 0.1, direction: "regression", status: "confirmed", ...more });
const replay = (alerts: ReplayedAlert[], more: Partial<ProjectReplay> = {}): ProjectReplay => ({ branch: "main", series: 1, points: 9, changes: 3, alerts, unlabelled: 0,
  labels: { regressions: 2, noise: 1, regressions_found: 1, noise_found: 0 }, precision: 1, recall: 0.5, f1: 2 / 3, ...more });

test("a configuration survives the form", () => {
  const config = { fdr: 0.07, rules: [{ benchmark: "gemm/*", min_change: 0.0029 }, { metric: "time_ns", alpha: 1e-7, judged: false }] };
  assert.deepEqual(readDetector(fieldsOf(config)), { detector: config });
  assert.deepEqual(readDetector(fieldsOf({ rules: [] })), { detector: { rules: [] } });
  assert.equal(textOf({ rules: [{ alpha: 0.1, benchmark: "x" }] }), textOf({ rules: [{ benchmark: "x", alpha: 0.1 }] }));
});

test("a value out of range is a fault that names the rule and the value", () => {
  assert.deepEqual(readDetector({ fdr: "51", rules: [] }), { fault: 'fdr: expected 0.0001 to 50 %, got "51"' });
  assert.deepEqual(readDetector({ fdr: "", rules: [{ ...BLANK_RULE, alpha: "0.1" }, { ...BLANK_RULE, min_change: "x" }] }),
    { fault: 'rule 2: smallest change: expected 0.0001 to 1000 %, got "x"' });
  assert.deepEqual(readDetector({ fdr: "", rules: [{ ...BLANK_RULE, benchmark: "gemm/*" }] }), { fault: "rule 1: it sets nothing; fill in a setting or remove the rule" });
});

test("alerts of two replays are the same when series, direction and ranges meet", () => {
  const found = compareReplays(replay([alert(10), alert(50)]), replay([alert(11), alert(90), alert(50, { series_id: 2 })]));
  assert.deepEqual(found.map((f) => [f.alert.position, f.found]), [[90, "edited"], [50, "edited"], [50, "stored"], [11, "both"]]);
});

test("a figure without labels says why it is not known", () => {
  const figures = new Map(figuresOf(replay([], { precision: null, recall: null, f1: null, labels: { regressions: 0, noise: 0, regressions_found: 0, noise_found: 0 } })));
  assert.equal(figures.get("Precision"), "not known: no alert found has a triage label");
  assert.equal(figures.get("Recall"), "not known: no regression is labelled");
  assert.equal(new Map(figuresOf(replay([]))).get("F1"), "66.7 %");
});
