/* The steps of a bisection for its replay. Pure: nothing is computed that the server has not sent. */
import type { Bisection, BisectionReplay, Commit } from "../api/types";

export interface ReplayStep { commit: string; value: number | null; state: string; place: number | null; posterior: number[] | null }

/** Those of the replay; of a report, which has no replay, those that it came with. Runs that check a culprit are none. */
export function stepsOf(b: Bisection, replay: BisectionReplay | null): ReplayStep[] {
  if (replay && replay.steps.length > 0) return replay.steps.map(({ commit, value, state, place, posterior }) => ({ commit, value, state, place, posterior }));
  return (b.steps ?? []).filter((s) => !s.confirm && s.state !== "asked")
    .map((s) => ({ commit: s.commit, value: s.value, state: s.value === null ? s.state && s.state !== "measured" ? s.state : "could not be measured" : "measured", place: null, posterior: null }));
}

/** The newest posterior at a step: of a long search not every step has one. */
export function posteriorAt(steps: readonly ReplayStep[], at: number): { at: number; values: number[] } | null {
  for (let i = at; i >= 0; i--) {
    const values = steps[i]?.posterior;
    if (values) return { at: i, values };
  }
  return null;
}

/** The three most probable places above 1 %. */
export function likeliest(replay: BisectionReplay, values: readonly number[]): { commit: string; probability: number }[] {
  return replay.places.map((commit, i) => ({ commit, probability: values[i] ?? 0 })).filter((p) => p.probability > 0.01)
    .sort((a, b) => b.probability - a.probability).slice(0, 3);
}

/** Measured commits in history order where it is known, else as they came. */
export function placesOf(steps: readonly ReplayStep[], replay: BisectionReplay | null, commits: readonly Commit[]): string[] {
  const ids = [...new Set(steps.map((s) => s.commit))];
  const position = new Map<string, number>(commits.map((c) => [c.id, c.position]));
  if (replay?.commits_per_place === 1) replay.places.forEach((id, i) => position.set(id, i));
  return ids.every((id) => position.has(id)) ? ids.sort((x, y) => (position.get(x) ?? 0) - (position.get(y) ?? 0)) : ids;
}
