/* Sentences about how a bisection ended. Pure functions, so that they can be tested without a page. */
import type { Alert, Bisection, Culprit } from "../api/types";
import { formatChange, formatShare, plural, shortId } from "../base/format";

/** "Budget of 40 runs used; 12 candidates remain; …", as the command line says it; null: no budget ended it. */
export function budgetText(b: Bisection): string | null {
  if (b.stopped !== "budget") return null;
  const more = Math.ceil(b.expected_more_runs ?? 0);
  const none = b.probability_none ?? 0;
  if (none > 0.5 && b.difference) return `Budget of ${plural(b.budget_runs ?? 0, "run")} used; ${differenceText(b, true) ?? ""}`;
  const left = none > 0.5 ? `no regression shown so far (probability of none ${none.toFixed(2)})`
    : `${plural(b.candidates ?? 0, "candidate")} ${b.candidates === 1 ? "remains" : "remain"}; most likely ${shortId(b.likeliest?.commit)} (probability ${(b.likeliest?.probability ?? 0).toFixed(2)})`;
  return `Budget of ${plural(b.budget_runs ?? 0, "run")} used; ${left}; ${plural(more, "more run", "more runs")} expected.`;
}

/** "The ends differ by +0.4 % (…), margin 2.0 %; about 14 more runs expected."; null: not known, or a step was found. `inside`: of a sentence. */
export function differenceText(b: Bisection, inside = false): string | null {
  const d = b.difference;
  if (!d || (b.verdict !== "no-regression" && b.verdict !== "inconclusive") || b.culprits.length > 0) return null;
  const interval = d.margin ? ` (${formatChange(d.rel_low)} to ${formatChange(d.rel_high)}), margin ${formatShare(d.margin)}` : ", without noise";
  const by = d.rel_change === null ? "an amount that too few runs show" : formatChange(d.rel_change) + interval;
  const more = d.within ? "" : d.more_runs === null ? "; no number of further runs is likely to decide it"
    : `; about ${plural(Math.ceil(d.more_runs), "more run", "more runs")} expected`;
  return `${inside ? "the" : "The"} ends differ by ${by}${more}.`;
}

/** Why the result is a set of commits; null for one commit. */
export function setText(c: Culprit): string | null {
  if (c.commits.length < 2) return null;
  return c.unmeasurable ?? true ? "No run can tell these apart: the commits between cannot be measured."
    : "Another run would hardly narrow these down.";
}

/** Number of steps by result; results without a step are left out. */
export function countsText(b: Bisection): string | null {
  const n = b.counts;
  if (!n) return null;
  const rest: [number, string][] = [[n.stored, "stored runs used"], [n.failed, "failed"], [n.broken, "broken"], [n.timed_out, "timed out"], [n.waiting, "under way"]];
  return [`${n.measured} newly measured`, ...rest.filter(([k]) => k > 0).map(([k, what]) => `${k} ${what}`)].join(", ");
}

type Compared = Pick<Alert, "rel_change" | "rel_low" | "rel_high" | "machine_class" | "metric" | "backend" | "benchmark" | "commit" | "culprit" | "kind">;

/** Whether the sizes of a culprit and of the search's alert agree, by their 95 % intervals, and possible reasons when they do not. */
export function agreementOf(b: Bisection, c: Culprit, a: Compared): { agrees: boolean | null; text: string } {
  if (a.kind === "drift") return { agrees: null, text: "a drift has no step to compare the effect with." };
  if (![a.rel_change, a.rel_low, a.rel_high].every((v) => Number.isFinite(v))) return { agrees: null, text: "the alert states no size of the change." };
  const there = `${formatChange(a.rel_change)} (${formatChange(a.rel_low)} to ${formatChange(a.rel_high)})`;
  if (c.rel_low <= a.rel_high && a.rel_low <= c.rel_high) return { agrees: true, text: `the effect agrees with the alert's ${there}; the intervals overlap.` };
  const reasons: string[] = [];
  if (b.machine_class && b.machine_class !== a.machine_class) reasons.push(`the alert's results are of ${a.machine_class}, those of the search of ${b.machine_class}`);
  if (b.metric !== a.metric || (b.benchmark && a.benchmark && b.benchmark !== a.benchmark) || (b.backend && b.backend !== a.backend)) {
    reasons.push(`the alert is about ${[a.benchmark, a.metric, a.backend].filter((t) => t).join(" ")}, the search about ${[b.benchmark, b.metric, b.backend].filter((t) => t).join(" ")}`);
  }
  const blamed = a.culprit ?? a.commit;
  if (blamed && !c.commits.includes(blamed)) reasons.push(`the alert places the change at ${shortId(blamed)}`);
  reasons.push("the alert compares levels over runs of many sessions, the search compares runs of single commits");
  return { agrees: false, text: `the effect differs from the alert's ${there}; the intervals do not overlap. Possible reasons: ${reasons.join("; ")}.` };
}
