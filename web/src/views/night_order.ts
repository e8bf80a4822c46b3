/* Visits of a session's builds from its stored runs. Pure. */
import type { Night, NightSeries } from "../api/night";
import type { RunDocument } from "../api/types";
import type { BlockVisit } from "../charts/blocks";
import { shortId } from "../base/format";

export interface BuildRun { commit: string; run: RunDocument }

/** "A" the anchor, "L" the last judged commit, the new ones by number. */
export function marksOf(builds: readonly string[], night: Pick<Night, "anchor" | "base">): string[] {
  let n = 0;
  return builds.map((c) => (c === night.anchor ? "A" : c === night.base ? "L" : String(++n)));
}

/** The visits of one series, in the order of time. */
export function visitsOf(runs: readonly BuildRun[], s: Pick<NightSeries, "benchmark" | "metric" | "backend">, builds: readonly string[]): BlockVisit[] {
  const visits = runs.flatMap(({ commit, run }) => run.measurements
    .filter((m) => m.benchmark === s.benchmark && m.metric === s.metric && m.backend === s.backend)
    .flatMap((m) => (m.visits ?? []).map(([block, position]): BlockVisit => ({
      build: builds.indexOf(commit), block, position, title: `${shortId(commit)}: block ${block + 1}, visit ${position + 1}`,
    }))));
  return visits.filter((v) => v.build >= 0).sort((a, b) => a.block - b.block || a.position - b.position);
}
