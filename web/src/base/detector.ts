/* The detector's settings with meaning, unit and default; the form's texts and the document; replays side by side. Pure. */
import type { DetectorConfig, DetectorRule, ProjectReplay, ReplayedAlert } from "../api/detector";

export interface Setting { name: string; meaning: string; unit: string; range: string; standard: string }

export const SETTINGS: readonly Setting[] = [
  { name: "fdr", meaning: "False discovery rate: the share of alerts that may be mistaken, among the series of one commit and over the commits of a branch", unit: "share, in %", range: "0.0001 to 50", standard: "5 %" },
  { name: "min_change", meaning: "Smallest change that counts: smaller relative changes are never shown", unit: "relative change, in %", range: "0.0001 to 1000", standard: "0.5 %, or the noise of a point where that is less; none for exact metrics" },
  { name: "alpha", meaning: "Expected false changes of a series in which nothing changes", unit: "changes a series", range: "0.000000001 to 0.5", standard: "0.01" },
  { name: "judged", meaning: "Whether the series has alerts at all", unit: "yes or no", range: "yes, no", standard: "yes" },
];

export const GLOBS = ["benchmark", "metric", "backend", "machine_class", "branch"] as const;
export type Glob = (typeof GLOBS)[number];
export type RuleFields = Record<Glob, string> & { min_change: string; alpha: string; judged: "" | "true" | "false" };
export interface DetectorFields { fdr: string; rules: RuleFields[] }

export const BLANK_RULE: RuleFields = { benchmark: "", metric: "", backend: "", machine_class: "", branch: "", min_change: "", alpha: "", judged: "" };

/** A share as a percentage without rounding errors: 0.07 as "7". */
const percent = (share: number | undefined): string => (share === undefined ? "" : String(Number((share * 100).toPrecision(12))));

export function fieldsOf(config: DetectorConfig): DetectorFields {
  return { fdr: percent(config.fdr), rules: config.rules.map((r) => ({
    benchmark: r.benchmark ?? "", metric: r.metric ?? "", backend: r.backend ?? "", machine_class: r.machine_class ?? "", branch: r.branch ?? "",
    min_change: percent(r.min_change), alpha: r.alpha === undefined ? "" : String(r.alpha), judged: r.judged === undefined ? "" : r.judged ? "true" : "false" })) };
}

function numberOf(text: string, low: number, high: number): number | null {
  const value = Number(text.trim());
  return text.trim() !== "" && value >= low && value <= high ? value : null;
}
const share = (value: number) => Number((value / 100).toPrecision(12));

/** The document of the form, or its first fault. */
export function readDetector(fields: DetectorFields): { detector: DetectorConfig } | { fault: string } {
  const detector: DetectorConfig = { rules: [] };
  if (fields.fdr.trim()) {
    const fdr = numberOf(fields.fdr, 0.0001, 50);
    if (fdr === null) return { fault: `fdr: expected 0.0001 to 50 %, got "${fields.fdr.trim()}"` };
    detector.fdr = share(fdr);
  }
  for (const [i, f] of fields.rules.entries()) {
    const rule: DetectorRule = {};
    for (const glob of GLOBS) if (f[glob].trim()) rule[glob] = f[glob].trim();
    if (f.min_change.trim()) {
      const least = numberOf(f.min_change, 0.0001, 1000);
      if (least === null) return { fault: `rule ${i + 1}: smallest change: expected 0.0001 to 1000 %, got "${f.min_change.trim()}"` };
      rule.min_change = share(least);
    }
    if (f.alpha.trim()) {
      const alpha = numberOf(f.alpha, 1e-9, 0.5);
      if (alpha === null) return { fault: `rule ${i + 1}: alpha: expected 1e-9 to 0.5, got "${f.alpha.trim()}"` };
      rule.alpha = alpha;
    }
    if (f.judged) rule.judged = f.judged === "true";
    if (rule.min_change === undefined && rule.alpha === undefined && rule.judged === undefined) return { fault: `rule ${i + 1}: it sets nothing; fill in a setting or remove the rule` };
    detector.rules.push(rule);
  }
  return { detector };
}

/** Members in a fixed order, so that equal configurations have equal texts. */
export const textOf = (config: DetectorConfig): string => JSON.stringify(readDetector(fieldsOf(config)));

const meet = (a: ReplayedAlert, b: ReplayedAlert) =>
  a.series_id === b.series_id && a.direction === b.direction && a.position_low <= b.position_high && b.position_low <= a.position_high;

export type Found = "both" | "edited" | "stored";

/** Alerts of two replays: those of either, and which of them found each; the same when their ranges meet. */
export function compareReplays(stored: ProjectReplay, edited: ProjectReplay): { alert: ReplayedAlert; found: Found }[] {
  const gone = stored.alerts.filter((s) => !edited.alerts.some((e) => meet(s, e))).map((alert) => ({ alert, found: "stored" as Found }));
  const now = edited.alerts.map((alert) => ({ alert, found: (stored.alerts.some((s) => meet(s, alert)) ? "both" : "edited") as Found }));
  const rank: Record<Found, number> = { edited: 0, stored: 1, both: 2 };
  return [...now, ...gone].sort((a, b) => rank[a.found] - rank[b.found] || b.alert.position - a.alert.position);
}

/** Figures of a replay as rows: name, and the text for it. */
export function figuresOf(r: ProjectReplay): readonly (readonly [string, string])[] {
  const part = (value: number | null, why: string) => (value === null ? `not known: ${why}` : `${(value * 100).toFixed(1)} %`);
  const none = "no alert found has a triage label";
  return [
    ["Alerts", String(r.alerts.length)],
    ["Change points", String(r.changes)],
    ["Labelled regressions found", `${r.labels.regressions_found} of ${r.labels.regressions}`],
    ["Labelled false alarms found", `${r.labels.noise_found} of ${r.labels.noise}`],
    ["Alerts without a label", String(r.unlabelled)],
    ["Precision", part(r.precision, none)],
    ["Recall", part(r.recall, "no regression is labelled")],
    ["F1", part(r.f1, r.labels.regressions === 0 ? "no regression is labelled" : none)],
  ];
}
