/* What a bisection's page says about how the search ended: pure, so that it can be tested without a page. */
import type { Bisection, Culprit } from "../api/types";
import { plural, shortId } from "../base/format";

/** "Budget of 40 runs used; 12 candidates remain; …", as the command line says it; null: no budget ended it. */
export function budgetText(b: Bisection): string | null {
  if (b.stopped !== "budget") return null;
  const more = Math.ceil(b.expected_more_runs ?? 0);
  const none = b.probability_none ?? 0;
  const left = none > 0.5 ? `no regression shown so far (probability of none ${none.toFixed(2)})`
    : `${plural(b.candidates ?? 0, "candidate")} ${b.candidates === 1 ? "remains" : "remain"}; most likely ${shortId(b.likeliest?.commit)} (probability ${(b.likeliest?.probability ?? 0).toFixed(2)})`;
  return `Budget of ${plural(b.budget_runs ?? 0, "run")} used; ${left}; ${plural(more, "more run", "more runs")} expected.`;
}

/** Why several commits stand together; null for one commit. */
export function setText(c: Culprit): string | null {
  if (c.commits.length < 2) return null;
  return c.unmeasurable ?? true ? "No run can tell these apart: the commits between cannot be measured."
    : "Another run would hardly narrow these down.";
}

/** Steps by what became of them; kinds without any are left out. */
export function countsText(b: Bisection): string | null {
  const n = b.counts;
  if (!n) return null;
  const rest: [number, string][] = [[n.stored, "stored runs used"], [n.failed, "failed"], [n.broken, "broken"], [n.timed_out, "timed out"], [n.waiting, "under way"]];
  return [`${n.measured} newly measured`, ...rest.filter(([k]) => k > 0).map(([k, what]) => `${k} ${what}`)].join(", ");
}
