import assert from "node:assert/strict";
import { test } from "node:test";
import type { NightCommit } from "../api/night";
import { budgetText, countsOf, intervalText, measuredOf, nightSentence, placeText, verdictText } from "./night_text";

const commit = (more: Partial<NightCommit>): NightCommit => ({
  commit: "a".repeat(40), status: "measured", reason: null, same_as: null, verdict: "same", within: 0.008, needs_s: null, worst: null, ...more,
});
const plain = (text: string) => text.replace(/\u00a0/g, " ");

test("the sentence counts each verdict, with the widest margin of the same and the minutes of the undecided", () => {
  const commits = [
    commit({ verdict: "slower", within: null }), commit({ within: 0.012 }), ...Array.from({ length: 9 }, () => commit({})),
    commit({ verdict: "undecided", within: null, needs_s: 830 }),
  ];
  assert.equal(plain(nightSentence({ commits })), "12 new commits: 1 slower, 1 undecided (needs 14 minutes), 10 same (within 1.2 %).");
  assert.equal(nightSentence({ commits: [commit({ verdict: "not_measured", status: "not_measured", within: null })] }), "1 new commit: 1 not measured.");
  assert.equal(nightSentence({ commits: [] }), "0 new commits.");
});

test("minutes are left out where one of the undecided has no estimate", () => {
  const undecided = (needs_s: number | null) => commit({ verdict: "undecided", within: null, needs_s });
  assert.equal(nightSentence({ commits: [undecided(60), undecided(61)] }), "2 new commits: 2 undecided (needs 3 minutes).");
  assert.equal(nightSentence({ commits: [undecided(60), undecided(null)] }), "2 new commits: 2 undecided.");
  assert.equal(verdictText(undecided(20)), "undecided (needs 1 minute)");
  assert.equal(verdictText(undecided(0)), "undecided");
  assert.equal(verdictText(undecided(null)), "undecided");
});

test("a verdict in words", () => {
  assert.equal(plain(verdictText(commit({ within: 0.0123 }))), "same (within 1.2 %)");
  assert.equal(verdictText(commit({ verdict: "slower", within: 0.01 })), "slower");
  assert.equal(verdictText(commit({ verdict: "not_measured", within: null })), "not measured");
});

test("identical and broken commits are counted, but not as measured", () => {
  const commits = [commit({}), commit({ verdict: "identical", status: "identical" }), commit({ verdict: "broken", status: "broken" })];
  assert.equal(measuredOf({ commits }), 1);
  assert.deepEqual([countsOf({ commits }).same, countsOf({ commits }).identical, countsOf({ commits }).broken], [1, 1, 1]);
});

test("a budget of zero is none", () => {
  assert.equal(budgetText({ budget_s: 1800, spent_s: 1512 }), "25 of 30 minutes");
  assert.equal(budgetText({ budget_s: 0, spent_s: 60 }), "1 minute, no limit");
});

test("a place is said where the change may be at other commits, too", () => {
  const at = { against: "1".repeat(40), commit: "2".repeat(40), place_after: "1".repeat(40), place_until: "2".repeat(40) };
  assert.equal(placeText(at), "");
  assert.equal(placeText({ ...at, place_until: "3".repeat(40) }), "after 1111111111, up to 3333333333");
  assert.equal(placeText({ ...at, place_after: "0".repeat(40) }), "after 0000000000, up to 2222222222");
});

test("an interval with an open end is not known", () => {
  assert.equal(plain(intervalText(-0.01, 0.02)), "\u22121.0 % to +2.0 %");
  assert.equal(intervalText(-1, null), "not known");
  assert.equal(intervalText(-1, 3), "not known");
});
