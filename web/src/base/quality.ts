/* Figures of the alerts' quality as sentences; what is not decided or not done is named. Pure. */
import type { QualityRow, StepTimes } from "../api/quality";
import { formatDuration, formatShare, plural } from "./format";

const DAY = 86_400;

/** "3 h 20 min" up to two days, then "4.5 days". */
export function formatSpan(seconds: number): string {
  return seconds < 2 * DAY ? formatDuration(seconds) : `${(seconds / DAY).toFixed(1)}\u00a0days`;
}

/** "80.0 %", with the number that it is of; without a decided alert, that it is not known. */
export function sayPrecision(row: QualityRow): { value: string; of: string } {
  const decided = row.confirmed + row.false_alarms;
  if (row.precision === null) return { value: "not known", of: row.alerts === 0 ? "no alert" : "no alert is decided" };
  return { value: formatShare(row.precision), of: `${row.confirmed} of ${decided} decided` };
}

/** "2 untriaged, 1 withdrawn, 1 recovered"; "none". */
export function sayUndecided(row: QualityRow): string {
  const parts = ([["untriaged", row.untriaged], ["withdrawn", row.withdrawn], ["recovered", row.recovered]] as const)
    .filter(([, n]) => n > 0).map(([word, n]) => `${n} ${word}`);
  return parts.join(", ") || "none";
}

/** The median, and with it the 90th percentile and the alerts that have not come so far. */
export function sayStep(step: StepTimes, alerts: number): { value: string; more: string } {
  const without = alerts - step.n;
  if (step.median_s === null || step.p90_s === null) return { value: "not known", more: alerts === 0 ? "no alert" : `none of ${plural(alerts, "alert")}` };
  return { value: formatSpan(step.median_s), more: `p90 ${formatSpan(step.p90_s)}, n ${step.n}${without > 0 ? `, ${without} without` : ""}` };
}
