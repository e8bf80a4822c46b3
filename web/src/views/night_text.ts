/* Sentences about the result of a session. Pure. */
import type { Night, NightCommit, NightSeries, NightVerdict } from "../api/night";
import { formatChange, formatMinutes, formatShare, plural, shortId } from "../base/format";

const ORDER: readonly NightVerdict[] = ["slower", "faster", "broken", "undecided", "same", "identical", "not_measured"];

export type NightCounts = Record<NightVerdict, number>;

export function countsOf(night: Pick<Night, "commits">): NightCounts {
  const counts: NightCounts = { slower: 0, faster: 0, same: 0, undecided: 0, identical: 0, broken: 0, not_measured: 0 };
  for (const c of night.commits) counts[c.verdict]++;
  return counts;
}

/** Commits whose programs ran in this session. */
export function measuredOf(night: Pick<Night, "commits">): number {
  return night.commits.filter((c) => c.status === "measured").length;
}

const known = (list: readonly (number | null)[]) => list.filter((v): v is number => v !== null && Number.isFinite(v));

/** Addition to a verdict: "within 1.2 %", "needs 14 minutes"; "" for nothing. */
function detail(verdict: NightVerdict, commits: readonly NightCommit[]): string {
  if (verdict === "same") {
    const within = known(commits.map((c) => c.within));
    return within.length > 0 ? `within ${formatShare(Math.max(...within))}` : "";
  }
  if (verdict !== "undecided") return "";
  const needs = known(commits.map((c) => c.needs_s)).filter((v) => v > 0);
  /* One of them without an estimate: the sum would be too small. */
  return needs.length > 0 && needs.length === commits.length ? `needs ${formatMinutes(needs.reduce((a, b) => a + b, 0))}` : "";
}

const inBrackets = (word: string, more: string) => (more ? `${word} (${more})` : word);
const wordOf = (verdict: NightVerdict) => verdict.replace("_", " ");

/** "same (within 1.2 %)", "undecided (needs 14 minutes)", "slower". */
export function verdictText(commit: NightCommit): string {
  return inBrackets(wordOf(commit.verdict), detail(commit.verdict, [commit]));
}

/** "12 new commits: 1 slower, 10 same (within 1.2 %), 1 undecided (needs 14 minutes)." */
export function nightSentence(night: Pick<Night, "commits">): string {
  const head = plural(night.commits.length, "new commit");
  const parts = ORDER.flatMap((verdict) => {
    const of = night.commits.filter((c) => c.verdict === verdict);
    return of.length > 0 ? [inBrackets(`${of.length} ${wordOf(verdict)}`, detail(verdict, of))] : [];
  });
  return parts.length > 0 ? `${head}: ${parts.join(", ")}.` : `${head}.`;
}

/** "+3.6 % to +4.9 %"; "not known" where the values leave an end open. */
export function intervalText(low: number | null, high: number | null): string {
  return low === null || high === null || low <= -1 ? "not known" : `${formatChange(low)} to ${formatChange(high)}`;
}

/** "after 1111111111, up to 3333333333"; "" where the change is at its commit and nowhere else. */
export function placeText(b: { against: string; commit: string; place_after: string; place_until: string }): string {
  return b.place_after === b.against && b.place_until === b.commit ? "" : `after ${shortId(b.place_after)}, up to ${shortId(b.place_until)}`;
}

/** "42 of 60 minutes", "42 minutes, no limit". */
export function budgetText(night: Pick<Night, "budget_s" | "spent_s">): string {
  const minutes = (s: number) => Math.round(s / 60);
  return night.budget_s > 0 ? `${minutes(night.spent_s)} of ${plural(minutes(night.budget_s), "minute")}`
    : `${plural(minutes(night.spent_s), "minute")}, no limit`;
}

export function seriesName(s: Pick<NightSeries, "benchmark" | "metric" | "backend">): string {
  const headline = s.benchmark === "headline" || s.benchmark === "";
  return [headline ? s.metric : s.benchmark, headline ? "headline" : s.metric, s.backend].filter((t) => t).join(" \u00b7 ");
}

/** Tells a series from the others of its night; stays the same from load to load. */
export function seriesKey(s: Pick<NightSeries, "benchmark" | "metric" | "backend">): string {
  return [s.benchmark, s.metric, s.backend].join("|");
}
