/* The matcher of a suppression rule as text, and the form's fields as a matcher. Pure. */
import type { Matcher } from "../api/suppressions";
import { formatShare } from "./format";

export interface MatcherFields { benchmark: string; params: string; backend: string; machine_class: string; metric: string; direction: string; below: string }

/** "benchmark gemm/*, dtype=bf16, below 3.0 %". */
export function matcherText(m: Matcher): string {
  const parts: string[] = [];
  if (m.benchmark) parts.push(`benchmark ${m.benchmark}`);
  for (const [name, value] of Object.entries(m.params ?? {})) parts.push(`${name}=${value}`);
  if (m.backend) parts.push(`backend ${m.backend}`);
  if (m.machine_class) parts.push(`machine ${m.machine_class}`);
  if (m.metric) parts.push(`metric ${m.metric}`);
  if (m.direction) parts.push(`value goes ${m.direction}`);
  if (m.max_change) parts.push(`below ${formatShare(m.max_change)}`);
  return parts.join(", ");
}

/** The matcher of the fields, or the sentence that says which one is wrong. `below` is in per cent. */
export function readMatcher(f: MatcherFields): { matcher: Matcher } | { fault: string } {
  const matcher: Matcher = {};
  const params: Record<string, string> = {};
  for (const word of f.params.split(/\s+/).filter((w) => w)) {
    const at = word.indexOf("=");
    if (at < 1 || at === word.length - 1) return { fault: `Parameters: expected NAME=VALUE, got \u201c${word}\u201d.` };
    params[word.slice(0, at)] = word.slice(at + 1);
  }
  if (Object.keys(params).length > 0) matcher.params = params;
  for (const key of ["benchmark", "backend", "machine_class", "metric"] as const) if (f[key].trim()) matcher[key] = f[key].trim();
  if (f.direction === "up" || f.direction === "down") matcher.direction = f.direction;
  if (f.below.trim()) {
    const share = Number(f.below.trim().replace(/\s*%$/, "")) / 100;
    if (!(share > 0 && share <= 10)) return { fault: `Size: expected a number of per cent above 0 and up to 1000, got \u201c${f.below.trim()}\u201d.` };
    matcher.max_change = share;
  }
  if (Object.keys(matcher).length === 0) return { fault: "Fill in at least one field: a rule that fits every alert hides them all." };
  return { matcher };
}
