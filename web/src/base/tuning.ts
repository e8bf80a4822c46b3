/* The detector's settings as sliders, and what a replay found as rows of the chart. Pure. */
import type { ChangePoint, ReplayedChange, SeriesReply } from "../api/types";

export const STEPS = 60;

export interface Knob { name: "min_change" | "alpha"; least: number; most: number }

export const MIN_CHANGE: Knob = { name: "min_change", least: 0.0005, most: 0.5 };
export const ALPHA: Knob = { name: "alpha", least: 1e-6, most: 0.5 };

/** Slider place to value, in equal ratios and two digits; place 0 is the detector's own choice. */
export function valueAt(knob: Knob, place: number): number | null {
  if (place <= 0) return null;
  const ratio = (Math.min(place, STEPS) - 1) / (STEPS - 1);
  return Number((knob.least * (knob.most / knob.least) ** ratio).toPrecision(2));
}

/** The place nearest to a value; 0 for none, or for text that is no value. */
export function placeOf(knob: Knob, text: string | null): number {
  const value = Number(text);
  if (!text || !(value > 0)) return 0;
  const ratio = Math.log(value / knob.least) / Math.log(knob.most / knob.least);
  return Math.min(STEPS, Math.max(1, 1 + Math.round(ratio * (STEPS - 1))));
}

/** First row at or after a place in history; the number of rows when there is none. */
function rowAt(reply: SeriesReply, position: number): number {
  const rows = reply.columns.position;
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle] ?? 0) < position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A replay's changes as the chart and the table take them; those outside the rows on view are left out. */
export function triedChanges(reply: SeriesReply, found: readonly ReplayedChange[]): ChangePoint[] {
  const { commit, position } = reply.columns;
  const last = commit.length - 1;
  const [from, to] = [position[0] ?? 0, position[last] ?? -1];
  return found.filter((c) => c.position >= from && c.position <= to).map((c) => {
    const index = rowAt(reply, c.position);
    const low = Math.min(index, rowAt(reply, c.position_low));
    const high = Math.min(last, Math.max(index, rowAt(reply, c.position_high)));
    const stored = reply.changes.find((s) => s.commit === c.commit);
    return {
      index, index_low: low, index_high: high, commit: c.commit, commit_low: commit[low] ?? c.commit,
      commit_high: commit[high] ?? c.commit, before: c.before, after: c.after, rel_change: c.rel_change,
      rel_low: c.rel_low, rel_high: c.rel_high, p: c.p, direction: c.direction, status: c.status,
      alert_id: stored?.alert_id ?? null,
    };
  });
}

/** How many changes are new, and how many of the stored ones are not found: the same when their ranges meet. */
export function compareChanges(stored: readonly ChangePoint[], tried: readonly ChangePoint[]): { fresh: number; gone: number } {
  const meet = (a: ChangePoint, b: ChangePoint) =>
    a.direction === b.direction && a.index_low <= b.index_high && b.index_low <= a.index_high;
  return {
    fresh: tried.filter((t) => !stored.some((s) => meet(s, t))).length,
    gone: stored.filter((s) => !tried.some((t) => meet(s, t))).length,
  };
}
