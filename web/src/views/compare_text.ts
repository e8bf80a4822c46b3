/* Sorting and wording of a comparison. Pure. */
import type { CompareReply, CompareRow } from "../api/types";
import { formatChange, formatValue, plural, shortId } from "../base/format";
import type { Judgement } from "../base/verdict";

export type VerdictFilter = "" | "regression" | "improvement" | "inconclusive" | "same";

const RANK: Record<string, number> = { regression: 0, inconclusive: 1, improvement: 2, same: 3 };

/** Regressions first, the largest first; then what is not known, what got better, what is the same. */
export function worstFirst(rows: readonly CompareRow[]): CompareRow[] {
  return [...rows].sort((x, y) => (RANK[x.verdict] ?? 4) - (RANK[y.verdict] ?? 4)
    || Math.abs(y.rel_change) - Math.abs(x.rel_change) || x.benchmark.localeCompare(y.benchmark, "en", { numeric: true }));
}

/** The common scale of the interval bars: the largest estimate with some room, so that one wild interval does not flatten all others. */
export function limitOf(rows: readonly CompareRow[], margin: number): number {
  let top = margin * 2;
  for (const r of rows) if (Number.isFinite(r.rel_change)) top = Math.max(top, Math.abs(r.rel_change) * 1.25);
  return [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1].find((n) => n >= top) ?? top;
}

/** The first line: a mixed result is called mixed, unknown is never called the same. */
export function headlineOf(s: CompareReply["summary"]): Judgement {
  const parts = [
    s.regression > 0 ? plural(s.regression, "regression") : "",
    s.improvement > 0 ? plural(s.improvement, "improvement") : "",
    s.inconclusive > 0 ? `${s.inconclusive} inconclusive` : "",
    s.same > 0 ? `${s.same} the same` : "",
  ].filter((t) => t !== "");
  const word = parts.length === 0 ? "Nothing to compare" : parts.join(", ");
  if (s.regression > 0) return { tone: "bad", icon: "alert", word };
  if (s.inconclusive > 0) return { tone: "warn", icon: "question", word };
  if (s.improvement > 0) return { tone: "good", icon: "check", word };
  return { tone: parts.length === 0 ? "quiet" : "good", icon: parts.length === 0 ? "flat" : "check", word };
}

/** Pipes and line ends would break the table. */
const cell = (text: string) => text.replace(/[|\n\r]/g, " ").replace(/\u00a0/g, " ");

export function compareMarkdown(reply: CompareReply, rows: readonly CompareRow[]): string {
  const lines = [
    `**${headlineOf(reply.summary).word}** (\`${shortId(reply.a.commit)}\` to \`${shortId(reply.b.commit)}\`)`, "",
    "| benchmark | verdict | change | interval | A | B |", "|---|---|---:|---|---:|---:|",
    ...rows.map((r) => `| ${[
      [r.benchmark, r.metric, r.backend].filter((t) => t).join(" "), r.verdict, formatChange(r.rel_change),
      `${formatChange(r.rel_low)} to ${formatChange(r.rel_high)}`, formatValue(r.a.median, r.unit), formatValue(r.b.median, r.unit),
    ].map(cell).join(" | ")} |`),
  ];
  return lines.join("\n");
}
