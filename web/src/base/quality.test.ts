import assert from "node:assert/strict";
import { test } from "node:test";
import type { QualityRow } from "../api/quality";
import { formatSpan, sayPrecision, sayStep, sayUndecided } from "./quality";

const none = { n: 0, median_s: null, p90_s: null };
const row = (more: Partial<QualityRow>): QualityRow => ({ alerts: 0, confirmed: 0, false_alarms: 0, untriaged: 0, withdrawn: 0, recovered: 0, precision: null, triage: none, culprit: none, fix: none, ...more });
const plain = (text: string) => text.replace(/\u00a0/g, " ");

test("precision comes with the number of decided alerts, or says why it is not known", () => {
  const said = sayPrecision(row({ alerts: 9, confirmed: 4, false_alarms: 1, untriaged: 4, precision: 0.8 }));
  assert.deepEqual([plain(said.value), said.of], ["80.0 %", "4 of 5 decided"]);
  assert.deepEqual(sayPrecision(row({ alerts: 3, untriaged: 3 })), { value: "not known", of: "no alert is decided" });
  assert.deepEqual(sayPrecision(row({})), { value: "not known", of: "no alert" });
});

test("undecided alerts are named by kind", () => {
  assert.equal(sayUndecided(row({ untriaged: 2, recovered: 1 })), "2 untriaged, 1 recovered");
  assert.equal(sayUndecided(row({ confirmed: 2 })), "none");
});

test("a duration comes with its percentile, its number and the alerts without one", () => {
  assert.deepEqual(Object.values(sayStep({ n: 5, median_s: 10_800, p90_s: 259_200 }, 6)).map(plain), ["3 h", "p90 3.0 days, n 5, 1 without"]);
  assert.deepEqual(Object.values(sayStep({ n: 6, median_s: 60, p90_s: 90 }, 6)).map(plain), ["1 min", "p90 1 min 30 s, n 6"]);
  assert.deepEqual(sayStep(none, 6), { value: "not known", more: "none of 6 alerts" });
  assert.equal(plain(formatSpan(172_800)), "2.0 days");
});
