import assert from "node:assert/strict";
import { test } from "node:test";
import type { MachineEvent, Series } from "../api/types";
import { machineCanary, noiseOf, sayEvent, sayNoise } from "./noise";

const series = (more: Partial<Series>): Series => ({ id: 1, benchmark: "gemm/a", metric: "time_ns", backend: "cpu", machine_class: "m", branch: "main", unit: "ns", direction: "lower",
  exact: false, headline: false, points: 9, last: null, change: null, noise_rel: 0.01, ...more });
const plain = (text: string) => text.replace(/\u00a0/g, " ");
const event = (more: Partial<MachineEvent>): MachineEvent => ({ id: 1, project: "p", kind: "canary", machine_class: "m", machine: "a", opened_at: "", closed_at: null, ...more });

test("the noise of a class is that of its measured series; the canary is separate", () => {
  const noise = noiseOf([series({ noise_rel: 0.01 }), series({ noise_rel: 0.02 }), series({ noise_rel: 0.06 }), series({ noise_rel: null }), series({ exact: true, noise_rel: 0 }),
    series({ headline: true, noise_rel: 0.5 }), series({ benchmark: "canary", noise_rel: 0.4 }), series({ machine_class: "n", noise_rel: null })]);
  const m = noise.get("m");
  assert.ok(m);
  assert.deepEqual([m.series, m.known, m.exact, m.median, m.canaries.length], [4, 3, 1, 0.02, 1]);
  assert.ok(Math.abs((m.p90 ?? 0) - 0.052) < 1e-12);
  assert.equal(plain(sayNoise(m)), "median 2.0 %, p90 5.2 % (3 series; 1 without a noise yet, 1 exact)");
  assert.equal(sayNoise(noise.get("n") ?? m), "not known: none of 1 series has enough points");
});

test("an event names its size, or its runs", () => {
  assert.equal(sayEvent(event({ runs: 3 })), "outside of its canary\u2019s band for 3 runs, which are kept out of detection");
  assert.equal(plain(sayEvent(event({ kind: "step", loss: 0.062, moved: 39, judged: 41, cause: "kernel: 6.1 -> 6.5", dismissed_by: "ann" }))),
    "6.2 % slower in 39 of 41 series: kernel: 6.1 -> 6.5; dismissed by ann");
});

test("a machine's noise is that of neighbours, without runs that are kept out", () => {
  const kept = machineCanary([100, 101, 500, 100, 101, 100], [false, false, true, false, false, false]);
  assert.deepEqual([kept.level, kept.out, kept.of], [100, 1, 6]);
  assert.ok(Math.abs((kept.noise ?? 0) - 1 / 0.954 / 100) < 1e-12);
  const drift = machineCanary([10, 20, 30, 40, 50, 60].map((v) => 1000 + v), Array(6).fill(false));
  assert.ok(Math.abs((drift.noise ?? 0) - 10 / 0.954 / 1035) < 1e-12, "the differences of neighbours, not the spread");
  assert.equal(machineCanary([1, 2, 3, 4], Array(4).fill(false)).noise, null);
  assert.deepEqual(machineCanary([5, 6], [true, true]), { level: null, noise: null, out: 2, of: 2 });
});
