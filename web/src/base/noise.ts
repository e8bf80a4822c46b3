/* The noise of the series of each class of machines, and the text of a machine's event. Pure. */
import type { MachineEvent, Series } from "../api/types";
import { formatShare, plural } from "./format";

export interface ClassNoise { series: number; known: number; exact: number; median: number | null; p90: number | null; canaries: Series[] }

/** Linear between the two nearest ranks, as percentile_cont of SQL. */
function percentile(sorted: readonly number[], share: number): number | null {
  const at = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return low === undefined || high === undefined ? null : low + (high - low) * (at - Math.floor(at));
}

/** By class: noise of its series without exact metrics, headline metrics and the canary, which are counted or listed separately. */
export function noiseOf(series: readonly Series[]): Map<string, ClassNoise> {
  const classes = new Map<string, ClassNoise & { values: number[] }>();
  for (const s of series) {
    const c = classes.get(s.machine_class) ?? { series: 0, known: 0, exact: 0, median: null, p90: null, canaries: [], values: [] };
    classes.set(s.machine_class, c);
    if (s.benchmark === "canary") { c.canaries.push(s); continue; }
    if (s.headline) continue;
    if (s.exact) { c.exact += 1; continue; }
    c.series += 1;
    if (s.noise_rel !== null) c.values.push(s.noise_rel);
  }
  return new Map([...classes].map(([name, { values, ...c }]) => {
    const sorted = values.sort((a, b) => a - b);
    return [name, { ...c, known: sorted.length, median: percentile(sorted, 0.5), p90: percentile(sorted, 0.9) }];
  }));
}

/** "median 0.6 %, p90 1.8 % (41 series; 3 without a noise yet, 12 exact)". */
export function sayNoise(n: ClassNoise): string {
  if (n.median === null || n.p90 === null) return n.series + n.exact === 0 ? "no series" : `not known: none of ${plural(n.series, "series", "series")} has enough points${n.exact ? `; ${n.exact} exact` : ""}`;
  const rest = [n.series > n.known ? `${n.series - n.known} without a noise yet` : "", n.exact ? `${n.exact} exact` : ""].filter((t) => t).join(", ");
  return `median ${formatShare(n.median)}, p90 ${formatShare(n.p90)} (${plural(n.known, "series", "series")}${rest ? `; ${rest}` : ""})`;
}

const LEAST_VALUES = 5; /* fewer show no noise */
/** Median of the differences of neighbours of normal noise, in units of its standard deviation. */
const NEIGHBOURS = 0.954;

export interface MachineCanary { level: number | null; noise: number | null; out: number; of: number }

/** Level and relative noise of a machine by its canary's newest values, without runs that are kept out of detection. A level that drifts is no noise: neighbours are compared. */
export function machineCanary(median: readonly number[], infra: readonly boolean[]): MachineCanary {
  const kept = median.filter((_, i) => !infra[i]);
  const sorted = (values: number[]) => values.sort((a, b) => a - b);
  const level = percentile(sorted([...kept]), 0.5);
  const apart = percentile(sorted(kept.slice(1).map((v, i) => Math.abs(v - (kept[i] ?? v)))), 0.5);
  const noise = level === null || apart === null || level <= 0 || kept.length < LEAST_VALUES ? null : apart / NEIGHBOURS / level;
  return { level, noise, out: median.length - kept.length, of: median.length };
}

/** The event of a machine in one sentence. */
export function sayEvent(e: MachineEvent): string {
  if (e.kind === "canary") return `outside of its canary\u2019s band for ${plural(e.runs ?? 0, "run")}, which are kept out of detection`;
  const size = e.loss !== undefined && e.loss !== null ? `${formatShare(e.loss)} slower` : "moved";
  return `${size} in ${e.moved ?? 0} of ${plural(e.judged ?? 0, "series", "series")}${e.cause ? `: ${e.cause}` : ""}${e.dismissed_by ? `; dismissed by ${e.dismissed_by}` : ""}`;
}
