/* The sentence above the benchmark's other series. It says only what the rows below it show; the alert's stored evidence
 * may be older than they are. Pure. */
import type { Witness } from "../api/types";
import { plural } from "../base/format";

const count = (n: number) => plural(n, "other series of this benchmark", "other series of this benchmark");

export function witnessText(evidence: string | undefined, list: readonly Pick<Witness, "moved" | "exact">[]): string {
  const of = (moved: string) => list.filter((w) => w.moved === moved);
  const [worse, better, still] = [of("worse"), of("better"), of("still")];
  const parts: string[] = [];
  if (evidence === "exact" || worse.some((w) => w.exact)) parts.push("A metric without noise changed, so the code is the cause.");
  if (worse.length > 0) parts.push(`${count(worse.length)} became worse, too.`);
  if (better.length > 0) parts.push(`${count(better.length)} became better.`);
  if (still.length > 0) parts.push(`No change was found in ${count(still.length)}${worse.length + better.length > 0 ? "" : " measured on both sides"}.`);
  if (list.length === 0) parts.push("No other series of this benchmark exists.");
  return parts.join(" ");
}
