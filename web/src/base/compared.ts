/* The requests that the rows of a comparison lead to: the plot behind a row, and the runs that would decide undecided rows. Pure. */
import { formatDuration, plural } from "./format";

export interface ComparedSide { n: number; series_id?: number | null; backend?: string | null }
export interface ComparedRow {
  benchmark: string; metric: string; backend: string; machine_class?: string; verdict: string; more_runs?: number | null;
  fingerprint_differs: string[]; a: ComparedSide; b: ComparedSide;
}
export interface Between { branch: string | null; commits: number | null; backwards: boolean; sentence: string }

const quoted = (text: string) => `"${text.replace(/[\\"]/g, "\\$&")}"`;
const SELECT_MAX = 1000; /* bytes of an expression */
const COMMITS_MAX = 900; /* between both ends, each with a column and its samples */
const FAR_COLUMNS = 300; /* beyond: more than the small chart has pixels; commits share a column, and there are no samples */

/** The expression for the series of both sides; null: it is longer than the service takes. */
export function selectOf(row: ComparedRow): string | null {
  const backends = [...new Set([row.a.backend ?? row.backend, row.b.backend ?? row.backend])];
  const terms = [`benchmark=${quoted(row.benchmark)}`, `metric=${quoted(row.metric)}`, `backend=${backends.map(quoted).join(",")}`];
  if (row.machine_class && !row.fingerprint_differs.includes("machine_class")) terms.push(`machine_class=${quoted(row.machine_class)}`);
  const text = terms.join(" ");
  return new TextEncoder().encode(text).length <= SELECT_MAX ? text : null;
}

/** Members of the query for the plot between both ends; null: they have no plot together. */
export function plotQuery(row: ComparedRow, between: Between | undefined, a: string, b: string): Record<string, string> | null {
  const select = selectOf(row);
  if (!select || !between?.branch || between.commits === null) return null;
  const [from, to] = between.backwards ? [b, a] : [a, b];
  const ends = { branch: between.branch, select, from, to };
  return between.commits > COMMITS_MAX ? { ...ends, points: String(FAR_COLUMNS) } : { ...ends, points: "1000", samples: "true" };
}

export const REPEATS_MAX = 5; /* of each end in one order */
const FILTER_MAX = 4000;

export interface JobOrder {
  project: string; kind: "measure"; commit: string; branch: string; labels: Record<string, string>; filter?: string;
}
export interface Repeats {
  /** Undecided rows that have an estimate, and of them those that `runs` are expected to decide. */
  rows: number;
  decided: number;
  /** Undecided rows that no number of runs is likely to decide. */
  hopeless: number;
  /** Runs of each end on each pair of machine classes. */
  runs: number;
  /** The machine class that measures A and the class that measures B; they differ in a comparison of two classes. */
  machines: { a: string; b: string }[];
  filter: string | null;
}

const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The runs that the undecided rows need; null: no row is undecided. `differs`: of the comparison; a row's own class is that of A. */
export function repeatsOf(rows: readonly ComparedRow[], differs: readonly { field: string; b: string | null }[] = []): Repeats | null {
  const other = differs.find((d) => d.field === "machine_class")?.b ?? null;
  const open = rows.filter((r) => r.verdict === "inconclusive");
  if (open.length === 0) return null;
  const able = open.filter((r) => (r.more_runs ?? 0) > 0);
  const most = Math.max(0, ...able.map((r) => r.more_runs ?? 0));
  const runs = Math.min(REPEATS_MAX, most);
  const names = [...new Set(able.map((r) => r.benchmark))].sort();
  const filter = `^(${names.map(literal).join("|")})$`;
  return {
    rows: able.length, decided: able.filter((r) => (r.more_runs ?? 0) <= runs).length, hopeless: open.length - able.length, runs,
    machines: [...new Map(able.filter((r) => r.machine_class).map((r) => {
      const a = r.machine_class ?? "";
      const b = r.fingerprint_differs.includes("machine_class") && other ? other : a;
      return [`${a}\n${b}`, { a, b }] as const;
    })).values()].sort((x, y) => (x.a < y.a || (x.a === y.a && x.b < y.b) ? -1 : 1)),
    filter: filter.length <= FILTER_MAX ? filter : null,
  };
}

/** Jobs in the order in which they are queued. A and B alternate, so that a slow change of the machine's speed affects both.
 *  One job measures two backends of one commit. */
export function ordersOf(r: Repeats, project: string, branch: string, a: string, b: string): { order: JobOrder; side: string }[] {
  return r.machines.flatMap((of) => {
    const ends = a === b && of.a === of.b ? [[a, of.a] as const] : [[a, of.a] as const, [b, of.b] as const];
    return Array.from({ length: r.runs }, () => ends).flat().map(([commit, machine]) => ({
      side: `${machine}\n${commit}`,
      order: { project, kind: "measure" as const, commit, branch, labels: { machine_class: machine }, ...(r.filter ? { filter: r.filter } : {}) },
    }));
  });
}

/** "6 runs: 3 of each commit on epyc; about 12 min of runs (4 min each, as the newest jobs took)." `all`: number of jobs. `seconds`: of one job; null: none has ended. */
export function repeatText(r: Repeats, all: number, seconds: number | null): string {
  const time = seconds === null ? "duration unknown (no finished job yet)" : `about ${formatDuration(seconds * all)} (${formatDuration(seconds)} each, as the newest jobs took)`;
  const [one] = r.machines;
  const across = r.machines.some((m) => m.a !== m.b);
  const where = all === r.runs && one ? `${r.runs} of the commit on ${one.a}`
    : r.machines.length === 1 && one ? (across ? `${r.runs} of A on ${one.a} and ${r.runs} of B on ${one.b}` : `${r.runs} of each commit on ${one.a}`)
    : `${r.runs} of each commit on each of ${r.machines.length} ${across ? "pairs of " : ""}machine classes`;
  const some = r.decided < r.rows ? `; ${r.rows - r.decided} of ${plural(r.rows, "row")} need more than ${r.runs}` : "";
  return `${plural(all, "run")}: ${where}, ${time}. ${plural(r.decided, "row")} ${r.decided === 1 ? "is" : "are"} expected to be decided${some}.`;
}

/** The middle of the durations of finished jobs, in seconds; null: there is none. */
export function usualSeconds(jobs: readonly { state: string; started_at: string | null; finished_at: string | null }[]): number | null {
  const all = jobs.filter((j) => j.state === "done" && j.started_at && j.finished_at)
    .map((j) => (Date.parse(j.finished_at ?? "") - Date.parse(j.started_at ?? "")) / 1000).filter((s) => Number.isFinite(s) && s >= 0).sort((x, y) => x - y);
  return all.length ? all[Math.floor(all.length / 2)] ?? null : null;
}
