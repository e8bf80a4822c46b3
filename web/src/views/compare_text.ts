/* Sorting and wording of a comparison. Pure. */
import type { CompareReply, CompareRow } from "../api/types";
import { formatP, formatShare, plural } from "../base/format";
import type { Judgement } from "../base/verdict";

export type VerdictFilter = "" | "broken" | "regression" | "improvement" | "inconclusive" | "same";

const RANK: Record<string, number> = { broken: 0, regression: 1, inconclusive: 2, improvement: 3, same: 4 };

/** Order: broken rows, regressions (largest first), undecided rows, improvements, unchanged rows. */
export function worstFirst<R extends { verdict: string | null; rel_change: number | null; benchmark: string }>(rows: readonly R[]): R[] {
  const rank = (r: R) => RANK[r.verdict ?? ""] ?? 5;
  return [...rows].sort((x, y) => rank(x) - rank(y)
    || Math.abs(y.rel_change ?? 0) - Math.abs(x.rel_change ?? 0) || x.benchmark.localeCompare(y.benchmark, "en", { numeric: true }));
}

/** After a point's difference to the one before: the service's verdict, decided over all values of the two commits. */
export function verdictWords(reply: Pick<CompareReply, "rows">): string {
  const row = reply.rows[0];
  if (!row) return "";
  if (row.verdict === "same") return `: same within \u00b1${formatShare(row.margin_rel)}`;
  const tested = row.p_adjusted !== null && row.verdict !== "broken";
  return `: ${row.verdict}${tested ? `, p ${formatP(row.p_adjusted)} over all values` : ""}`;
}

/** The common scale of the interval bars: the largest estimate with some room, so that one wild interval does not flatten all others. */
export function limitOf(rows: readonly CompareRow[], margin: number): number {
  let top = margin * 2;
  for (const r of rows) if (r.rel_change !== null && Number.isFinite(r.rel_change)) top = Math.max(top, Math.abs(r.rel_change) * 1.25);
  return [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1].find((n) => n >= top) ?? top;
}

/** Differences between the machines of the two sides: "compiler: gcc 12 \u2192 gcc 13". */
export function differencesOf(reply: Pick<CompareReply, "differs">): string[] {
  return (reply.differs ?? []).map((d) => `${d.field}: ${d.a ?? "not recorded"} \u2192 ${d.b ?? "not recorded"}`);
}

/** Different machines or compilers, which nothing asked to compare; another backend is chosen. */
export function undecidedPair(reply: Pick<CompareReply, "differs" | "across">): boolean {
  return !reply.across && (reply.differs ?? []).some((d) => d.field !== "backend");
}

/** The runs that an undecided row needs, in the words of the command line; null: decided, or no number of runs is likely to decide it. */
export function moreText(r: Pick<CompareRow, "verdict" | "more_runs">): string | null {
  return r.verdict === "inconclusive" && r.more_runs ? `about ${plural(r.more_runs, "more run", "more runs")} a side expected` : null;
}

/** Where a broken row is broken, and why. */
export function brokenText(r: Pick<CompareRow, "broken" | "reason">): string {
  const where = (r.broken ?? []).map((side) => side.toUpperCase()).join(" and ");
  return `${where === "" ? "Broken" : `Broken in ${where}`}${r.reason ? `: ${r.reason}` : ""}`;
}

/** The first line: a mixed result is called mixed, unknown is never called the same. */
export function headlineOf(s: CompareReply["summary"], undecided = false): Judgement {
  const broken = s.broken ?? 0;
  const parts = [
    broken > 0 ? `${broken} broken` : "",
    s.regression > 0 ? plural(s.regression, "regression") : "",
    s.improvement > 0 ? plural(s.improvement, "improvement") : "",
    s.inconclusive > 0 ? `${s.inconclusive} inconclusive` : "",
    s.same > 0 ? `${s.same} the same` : "",
  ].filter((t) => t !== "");
  const word = parts.length === 0 ? "Nothing to compare" : parts.join(", ");
  if (broken > 0) return { tone: "bad", icon: "cross", word };
  if (undecided) return { tone: "warn", icon: "question", word: `Not decided: A and B were measured with different machines or compilers (${word.toLowerCase()})` };
  if (s.regression > 0) return { tone: "bad", icon: "alert", word };
  if (s.inconclusive > 0) return { tone: "warn", icon: "question", word };
  if (s.improvement > 0) return { tone: "good", icon: "check", word };
  return { tone: parts.length === 0 ? "quiet" : "good", icon: parts.length === 0 ? "flat" : "check", word };
}
