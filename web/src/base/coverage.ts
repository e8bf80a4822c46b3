/* Signs of the coverage grid as runs, gaps and sentences; what a backfill job costs. Pure. */
import { formatDuration, parseTime, plural, shortId } from "./format";

export interface SignRun { sign: string; from: number; to: number }

const WORDS: Readonly<Record<string, string>> = { x: "measured", "!": "broken", "-": "missing", ".": "not there yet" };

export const signWord = (sign: string): string => WORDS[sign] ?? "unknown sign";

/** Neighbours of the same sign as one run; `from` and `to` are places in the text, the newest commit first. */
export function runsOf(cells: string): SignRun[] {
  const runs: SignRun[] = [];
  for (let i = 0; i < cells.length; i++) {
    const last = runs[runs.length - 1];
    const sign = cells[i] ?? "";
    if (last && last.sign === sign) last.to = i;
    else runs.push({ sign, from: i, to: i });
  }
  return runs;
}

/** Runs without a value that should have one: missing or broken. */
export const gapsOf = (cells: string): SignRun[] => runsOf(cells).filter((r) => r.sign === "-" || r.sign === "!");

/** "missing: 3 commits, 0c124b44c0 to 1360f43c2f", from the newest to the oldest. */
export function sayRun(run: SignRun, commits: readonly { id: string }[]): string {
  const [newest, oldest] = [commits[run.from]?.id, commits[run.to]?.id];
  if (run.from === run.to) return `${signWord(run.sign)}: ${shortId(newest)}`;
  return `${signWord(run.sign)}: ${plural(run.to - run.from + 1, "commit")}, ${shortId(newest)} to ${shortId(oldest)}`;
}

/** "of 50 commits: 44 measured, 4 missing, 2 broken"; signs that do not occur are left out. */
export function sayRow(cells: string): string {
  const counts = new Map<string, number>();
  for (const sign of cells) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  const parts = ["x", "-", "!", "."].filter((s) => counts.has(s)).map((s) => `${counts.get(s) ?? 0} ${signWord(s)}`);
  return `of ${plural(cells.length, "commit")}: ${parts.join(", ") || "none listed"}`;
}

interface CostRunner { state: string; machine_class: string; labels: Record<string, string> }
interface CostJob { kind: string; state: string; commit: string; started_at: string | null; finished_at: string | null; labels?: Record<string, string>; id: number }

const connected = (r: CostRunner) => r.state === "idle" || r.state === "busy";

/** Why no runner can measure for this class of machines; null: one can, or the runners are not known yet. */
export function whyNoRunner(runners: readonly CostRunner[] | null, machineClass: string): string | null {
  if (!runners) return null;
  if (!runners.some(connected)) return "no runner is connected";
  return runners.some((r) => connected(r) && (r.machine_class === machineClass || r.labels.machine_class === machineClass))
    ? null : `no connected runner is of class ${machineClass}`;
}

/** The unfinished backfill of this commit on this class; undefined: none. */
export const pendingFill = <J extends CostJob>(jobs: readonly J[], commit: string, machineClass: string): J | undefined =>
  jobs.find((j) => (j.state === "queued" || j.state === "leased") && j.commit === commit && j.labels?.machine_class === machineClass);

/** "about 12 min (median of 34 finished jobs), 3 jobs in the queue". */
export function fillCost(done: readonly CostJob[], queued: number): string {
  const took = (list: readonly CostJob[]) => list.map((j) => (parseTime(j.finished_at) - parseTime(j.started_at)) / 1000).filter((s) => s >= 0).sort((a, b) => a - b);
  const own = took(done.filter((j) => j.kind === "backfill"));
  const times = own.length > 0 ? own : took(done);
  const middle = times[Math.floor(times.length / 2)];
  const time = middle === undefined ? "duration unknown (no finished job)"
    : `about ${formatDuration(middle)} (median of ${plural(times.length, own.length > 0 ? "finished backfill job" : "finished job")})`;
  return `${time}, ${plural(queued, "job")} in the queue`;
}
