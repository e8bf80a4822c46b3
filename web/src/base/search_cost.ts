/* The expected cost of a search on the runners, in words. Pure. */
import { formatDuration, plural } from "./format";

/** POST /bisections with mode remote; with an alert, the service fills in what is missing. */
export interface SearchOrder {
  project: string; mode: "remote"; alert_id?: number; metric?: string; benchmark?: string; backend?: string; machine_class?: string; branch?: string;
  good?: string; bad?: string;
}
export interface Cost {
  commits: number; stored_runs: number; runs: number | null; builds: number | null; run_seconds: number | null; wait_seconds: number | null;
  seconds: number | null; runners: number; jobs_waiting: number;
}

/** "About 12 runs of 9 commits, 25 min; begins in 3 min (2 jobs waiting)." */
export function costText(c: Cost): string {
  const runs = c.runs === null ? "An unknown number of runs" : `About ${plural(Math.ceil(c.runs), "run")}`;
  const time = c.seconds === null ? "duration unknown (no finished job yet)" : formatDuration(c.seconds);
  const wait = c.wait_seconds === null ? "wait unknown" : c.wait_seconds < 1 ? "begins at once" : `begins in ${formatDuration(c.wait_seconds)}`;
  const stored = c.stored_runs > 0 ? `, uses ${plural(c.stored_runs, "stored run")}` : "";
  return `${runs} over ${plural(c.commits, "commit")}, ${time}${stored}; ${wait} (${plural(c.jobs_waiting, "job")} waiting, ${plural(c.runners, "runner")}).`;
}

/** Why the order cannot run; null: it can. */
export function canMeasure(c: Cost): string | null {
  return c.runners === 0 ? "no runner is connected that could measure" : null;
}

/** The search of an alert's range; null for a change that no single commit has made. */
export function orderOfAlert(a: { id: number; project: string; drift?: unknown; boundary?: unknown; kind?: string; commit_low: string; commit_high: string }): SearchOrder | null {
  return whyNoSearch(a) === null ? { project: a.project, mode: "remote", alert_id: a.id } : null;
}

/** Why an alert cannot be bisected; null: it can. */
export function whyNoSearch(a: { drift?: unknown; boundary?: unknown; kind?: string }): string | null {
  if (a.drift) return "a drift has no single culprit";
  if (a.boundary) return "a change of the tools explains it, not a commit";
  if (a.kind === "broken") return "a broken benchmark has no values to compare";
  return null;
}

/** The suspect against the commit before it. `parents`: of the suspect, as its page has them. */
export function verifyOrder(a: { id: number; project: string; suspect?: { commit: string } | null }, parents: readonly string[] | undefined): SearchOrder | null {
  const before = parents?.[0];
  return a.suspect && before ? { project: a.project, mode: "remote", alert_id: a.id, good: before, bad: a.suspect.commit } : null;
}

/** The search between two commits of a series. */
export function orderOfRange(s: { project?: string; metric: string; benchmark: string; backend: string; machine_class: string; branch: string }, good: string, bad: string): SearchOrder {
  return { project: s.project ?? "", mode: "remote", metric: s.metric, benchmark: s.benchmark, backend: s.backend, machine_class: s.machine_class, branch: s.branch, good, bad };
}

/** The largest regression whose new level begins behind row `a` and not behind row `b`. */
export function regressionIn<C extends { index: number; direction: string; rel_change: number }>(changes: readonly C[], a: number, b: number): C | null {
  const size = (c: C) => Math.abs(Math.log(Math.max(1e-9, 1 + c.rel_change)));
  return changes.filter((c) => c.direction === "regression" && c.index > a && c.index <= b).sort((x, y) => size(y) - size(x))[0] ?? null;
}
