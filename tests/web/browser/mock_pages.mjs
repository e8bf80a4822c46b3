// Coverage and quality for the mock: a grid of benchmarks by commits with gaps and what closes them; figures of triage.
import { coverageOf } from "./mock_plot.mjs";

/** Ids that differ in their first digits. */
export const id = (n) => (Math.imul(n + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0").repeat(5);

const CLASSES = ["Intel Xeon Platinum 8481C", "arm"];

/** Newest first: a broken commit, gaps of one and of three, and a benchmark that came later. */
const cellsOf = (n, commits) => Array.from({ length: commits }, (_, i) => (n % 5 === 4 && i > commits / 2 ? "."
  : n % 3 === 1 && i === 2 ? "!" : n % 2 === 0 && (i === 4 || (i >= 8 && i <= 10)) ? "-" : "x")).join("");

/** GET /projects/{p}/coverage. state.rows: number of rows, paged as the service does; one commit: as of the heat map. */
export function coverage(url, state, rows) {
  const q = url.searchParams;
  if (q.get("commits") === "1") return coverageOf(rows);
  const count = Number(q.get("commits") ?? 50);
  const all = Array.from({ length: state.empty ? 0 : state.rows ?? 12 }, (_, n) => ({
    series_id: 100 + n, benchmark: `gemm/${["bf16", "f16", "f32"][n % 3]}/m64n64k${256 << (n % 6)}${n > 11 ? `/case${n}` : ""}`, params: {}, backend: n % 2 ? "cpu-avx2" : "cpu-scalar",
    machine_class: CLASSES[n % 4 === 3 ? 1 : 0], cells: cellsOf(n, count) }))
    .map((r) => ({ ...r, missing: r.cells.split("-").length - 1 }))
    .filter((r) => ["benchmark", "backend", "machine_class"].every((m) => !q.get(m) || q.get(m) === r[m]));
  const at = (i, sign) => all.filter((r) => r.cells[i] === sign).length;
  const commits = Array.from({ length: all.length ? count : 0 }, (_, i) => ({ id: id(119 - i), position: 120 - i, time: new Date(1.77e12 - i * 6e5).toISOString(),
    subject: i === 4 ? "<b>exe\u202egnp.</b> tile sizes" : `change number ${119 - i}`, measured: at(i, "x"), missing: at(i, "-") }));
  const [from, limit] = [Number(q.get("cursor") ?? 0), Number(q.get("limit") ?? 100)];
  return { branch: "main", commits, rows: all.slice(from, from + limit), next_cursor: from + limit < all.length ? from + limit : null,
    fills: commits.filter((c) => c.missing).flatMap((c) => (state.rows ? [...CLASSES, "s390x"] : [CLASSES[0]]).map((machine_class) => ({ commit: c.id, machine_class, missing: c.missing }))).concat(commits[4] ? [{ commit: commits[4].id, machine_class: "riscv", missing: 1 }] : []),
    never: all.length ? [{ benchmark: "gemm/f16/m64n64k512", backend: "accel:pfc-server", machine_class: "arm" }] : [] };
}

const times = (n, median_s = null, p90_s = null) => ({ n, median_s, p90_s });
const figures = (confirmed, false_alarms, untriaged, more) => ({ alerts: confirmed + false_alarms + untriaged, confirmed, false_alarms, untriaged, withdrawn: 0, recovered: 0,
  precision: confirmed + false_alarms ? confirmed / (confirmed + false_alarms) : null, triage: times(0), culprit: times(0), fix: times(0), ...more });

/** GET /projects/{p}/quality. */
export function quality(url, state) {
  const total = figures(12, 3, 4, { alerts: 22, withdrawn: 2, recovered: 1, triage: times(15, 5400, 90_000), culprit: times(9, 21_600, 400_000), fix: times(8, 200_000, 900_000) });
  return { months: Number(url.searchParams.get("months") ?? 12), total: state.empty ? figures(0, 0, 0) : total, more_kernels: false, truncated: Boolean(state.truncated),
    by_month: state.empty ? [] : [{ month: "2026-02", ...figures(0, 0, 4) }, { month: "2026-01", ...total, alerts: 18, untriaged: 0 }],
    by_kernel: state.empty ? [] : [{ kernel: "gemm", ...figures(10, 3, 4, { triage: times(13, 5400, 90_000) }) }, { kernel: "<b>exe\u202egnp.</b>", ...figures(2, 0, 0) }] };
}

/** The canary of one class of machines, with its newest values. */
export const canaries = (state) => ({ next_cursor: null, series: state.empty ? [] : [{ id: 190, benchmark: "canary", metric: "time_ns", backend: "cpu", machine_class: CLASSES[0],
  branch: "main", unit: "ns", direction: "lower", exact: false, headline: false, points: 80, last: { commit: id(1), time: "2026-02-27T03:06:51Z", median: 812_345 }, change: null, noise_rel: 0.0042,
  spark: Array.from({ length: 60 }, (_, i) => 812_345 * (1 + 0.004 * Math.sin(i))) }] });

/** The same canary on two machines of the class, one of them slower and once kept out. */
export const machineCanaries = (state) => ({ canaries: state.empty ? [] : [["lab-07", 812_000, false], ["lab-08", 893_000, true]].map(([machine, level, out]) => ({
  series_id: 190, machine_class: CLASSES[0], machine, metric: "time_ns", backend: "cpu", branch: "main", unit: "ns",
  time: [0, 1, 2, 3, 4, 5].map((h) => `2026-02-27T0${5 - Math.min(h, 5)}:00:00Z`), median: [0, 1, 0, 1, 0, 1].map((d) => level * (1 + d * 0.01)), infra: [false, false, out, false, false, false] })) });
