import assert from "node:assert/strict";
import { test } from "node:test";
import { fillCost, gapsOf, pendingFill, runsOf, sayRow, sayRun, whyNoRunner } from "./coverage";

const plain = (text: string) => text.replace(/\u00a0/g, " ");
const commits = ["a", "b", "c", "d", "e"].map((c) => ({ id: c.repeat(40) }));
const job = (more: object) => ({ id: 1, kind: "nightly", state: "done", commit: "a", labels: {}, started_at: "2026-02-01T00:00:00Z", finished_at: "2026-02-01T00:10:00Z", ...more });
const runner = (more: object) => ({ state: "idle", machine_class: "m", labels: {}, ...more });

test("neighbours of one sign are one run, and gaps are the missing and the broken ones", () => {
  assert.deepEqual(runsOf("xx-!."), [{ sign: "x", from: 0, to: 1 }, { sign: "-", from: 2, to: 2 }, { sign: "!", from: 3, to: 3 }, { sign: ".", from: 4, to: 4 }]);
  assert.deepEqual(gapsOf("xx-!.").map((g) => g.sign), ["-", "!"]);
  assert.deepEqual(runsOf(""), []);
});

test("a run names its commits, the newest first", () => {
  assert.equal(sayRun({ sign: "-", from: 1, to: 3 }, commits), "missing: 3 commits, bbbbbbbbbb to dddddddddd");
  assert.equal(sayRun({ sign: "!", from: 0, to: 0 }, commits), "broken: aaaaaaaaaa");
});

test("a row counts each sign that occurs", () => {
  assert.equal(sayRow("x-x!x"), "of 5 commits: 3 measured, 1 missing, 1 broken");
  assert.equal(sayRow("."), "of 1 commit: 1 not there yet");
});

test("a backfill needs a connected runner of the class, by its class or its label", () => {
  assert.equal(whyNoRunner(null, "m"), null);
  assert.equal(whyNoRunner([runner({ state: "silent" })], "m"), "no runner is connected");
  assert.equal(whyNoRunner([runner({ machine_class: "n" })], "m"), "no connected runner is of class m");
  assert.equal(whyNoRunner([runner({ machine_class: "n", labels: { machine_class: "m" } })], "m"), null);
  assert.equal(whyNoRunner([runner({ state: "busy" })], "m"), null);
});

test("a fill that waits already is found by commit and class", () => {
  const waiting = job({ id: 9, state: "queued", labels: { machine_class: "m" } });
  assert.equal(pendingFill([waiting], "a", "m")?.id, 9);
  assert.equal(pendingFill([waiting], "a", "n"), undefined);
  assert.equal(pendingFill([{ ...waiting, state: "done" }], "a", "m"), undefined);
});

test("the cost is the median of backfill jobs, else of any job, else unknown", () => {
  assert.equal(plain(fillCost([], 0)), "duration unknown (no finished job), 0 jobs in the queue");
  assert.equal(plain(fillCost([job({})], 1)), "about 10 min (median of 1 finished job), 1 job in the queue");
  assert.equal(plain(fillCost([job({}), job({ kind: "backfill", finished_at: "2026-02-01T00:02:00Z" })], 2)), "about 2 min (median of 1 finished backfill job), 2 jobs in the queue");
});
