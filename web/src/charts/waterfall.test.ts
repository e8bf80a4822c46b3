import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explanation } from "../api/explanation";
import { byResource } from "./path_strip";
import { leftEdge, stepsOf } from "./waterfall";

const total = { basis: "path" as const, before: 1000, after: 1300, delta: 300, same_chip: true, same_stream: false, same_simulator: true, differences: [], differences_more: 0 };

function explained(ticks: number[]): Explanation {
  return { total, contributions: ticks.map((t, i) => ({ resource: i % 2 ? "memory" : "compute", phase: `p${i}`, value: t, ticks: t })) } as unknown as Explanation;
}

test("the steps lead from the total before to the total after", () => {
  const steps = stepsOf(explained([400, -100]));
  assert.deepEqual(steps.map((s) => [s.from, s.to]), [[0, 1000], [1000, 1400], [1400, 1300], [0, 1300]]);
  assert.equal(steps[2]?.resource, "memory");
});

test("contributions past the fourteenth are one step, and nothing is lost", () => {
  const steps = stepsOf(explained([...Array(14).fill(10), 100, 60]));
  assert.equal(steps.length, 17);
  assert.deepEqual([steps[15]?.name, steps[15]?.from, steps[15]?.to, steps[15]?.value], ["all others", 1140, 1300, 160]);
});

test("a small difference between large totals does not begin at zero", () => {
  assert.equal(leftEdge(stepsOf(explained([400, -100]))), 900);
  assert.equal(leftEdge([{ name: "", resource: "none", from: 0, to: 10, value: 10, total: true }]), 10);
});

test("ticks are summed by resource in the order of the vocabulary", () => {
  const parts = [{ resource: "memory", phase: "a", ticks: 5 }, { resource: "compute", phase: "a", ticks: 2 }, { resource: "memory", phase: "b", ticks: 4 }, { resource: "dma", phase: "b", ticks: 0 }];
  assert.deepEqual(byResource(parts), [{ resource: "compute", ticks: 2 }, { resource: "memory", ticks: 9 }]);
});
