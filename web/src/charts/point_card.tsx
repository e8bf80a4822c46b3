/* A point of a series: commit, value, and its comparison with the point before. */
import type { ComponentChildren } from "preact";
import type { SeriesReply } from "../api/types";
import { formatChange, formatInterval, formatRatio, formatValue, formatWhen, parseTime, plural, shortId } from "../base/format";
import { relChange } from "../base/numbers";
import { measuredBefore, type BrokenMark, type Shown } from "./columns";

/** "1.0312 (1.0271 to 1.0353) of the anchor 1360f43c2f"; "" where the point has no ratio. */
export function ratioText(reply: SeriesReply, row: number): string {
  const c = reply.columns;
  const ratio = c.ratio?.[row] ?? null;
  if (ratio === null) return "";
  const [low, high] = [c.ratio_low?.[row] ?? null, c.ratio_high?.[row] ?? null];
  const interval = low === null || high === null ? "" : ` (${formatRatio(low)} to ${formatRatio(high)})`;
  return `${formatRatio(ratio)}${interval} of the anchor ${shortId(reply.series.anchor)}`;
}

/** Why the change at this point has no alert, in the service's words; "" where there is none, or an alert. */
export function silenceAt(reply: SeriesReply, row: number): string {
  return reply.changes.find((c) => c.index === row)?.why_no_alert?.sentence ?? "";
}

/** How the point was measured: "blocks, night 3f3f3f3f"; "" for single runs. */
export function evidenceText(reply: SeriesReply, row: number): string {
  const session = reply.columns.session?.[row];
  return session ? `block evidence, night ${session.slice(0, 8)}` : "";
}

/** How far the point was reproduced: "reproduced: confirmed"; "" for a bucket. */
export function reproducedText(reply: SeriesReply, row: number): string {
  const word = reply.columns.reproducibility?.[row];
  return word ? `reproduced: ${word}` : "";
}

/** One sentence for screen readers, and for the text beside the chart. */
export function describePoint(reply: SeriesReply, row: number): string {
  const c = reply.columns;
  const unit = reply.series.unit;
  const value = c.median[row];
  const before = measuredBefore(reply, row);
  const rel = before < 0 ? NaN : relChange(c.median[before], value);
  const words = [
    `Commit ${shortId(c.commit[row])}`, c.subject[row] ?? "", `by ${c.author[row] ?? "unknown"}`,
    value === null || value === undefined ? "not measured" : `median ${formatValue(value, unit)}`,
  ];
  if (Number.isFinite(rel)) words.push(`${formatChange(rel)} to the point before`);
  words.push(ratioText(reply, row), evidenceText(reply, row), reproducedText(reply, row));
  if (silenceAt(reply, row)) words.push(`no alert: ${silenceAt(reply, row)}`);
  if (c.infra[row]) words.push("kept out of detection: the machine moved");
  return words.filter((w) => w !== "").join(", ") + ".";
}

const CARD = 316;

/** A commit at which the benchmark is broken: the reason, above its mark. */
export function BrokenCard(props: { mark: BrokenMark; x: number; width: number; height: number }) {
  const { mark } = props;
  const left = props.x + 18 + CARD < props.width ? props.x + 18 : Math.max(4, props.x - CARD - 18);
  return (
    <div class="point-card" role="status" style={{ left: `${left}px`, bottom: "48px", maxWidth: `${CARD}px` }}>
      <div class="point-subject">{mark.subject || "(no subject)"}</div>
      <div class="point-meta"><code>{shortId(mark.commit)}</code> has no value: broken in run #{mark.run_id}</div>
      <div class="point-meta">{mark.reason}</div>
    </div>
  );
}

export function PointCard(props: { reply: SeriesReply; of: Shown; row: number; x: number; y: number; width: number; verdict?: (row: number) => ComponentChildren }) {
  const { reply, row } = props;
  const c = reply.columns;
  const unit = reply.series.unit;
  const value = c.median[row] ?? null;
  const low = c.low[row] ?? null;
  const high = c.high[row] ?? null;
  const before = measuredBefore(reply, row);
  const shown = props.of === "ratio" ? c.ratio ?? [] : c.median;
  const rel = before < 0 ? NaN : relChange(shown[before], shown[row]);
  const wide = props.width > CARD + 60;
  const left = !wide ? 8 : props.x + 18 + CARD < props.width ? props.x + 18 : Math.max(4, props.x - CARD - 18);
  return (
    <div class="point-card" style={{ left: `${left}px`, top: `${Math.max(4, props.y - 60)}px`, width: wide ? `${CARD}px` : "auto" }}>
      <div class="point-subject">{c.subject[row] ?? "(no subject)"}</div>
      <div class="point-meta"><code>{shortId(c.commit[row])}</code> {c.author[row]} · {formatWhen(parseTime(c.time[row]))}</div>
      <div class="point-value">{props.of === "ratio" ? formatRatio(c.ratio?.[row]) : formatValue(value, unit)}</div>
      {props.of === "values" && low !== null && high !== null && <div class="point-meta">{formatInterval(low, high, unit)} · {plural(c.n[row] ?? 0, "sample")}</div>}
      {Number.isFinite(rel) && <div class="point-meta">{formatChange(rel)} to the point before{props.of === "values" && props.verdict?.(row)}</div>}
      {ratioText(reply, row) && <div class="point-meta">{ratioText(reply, row)}{props.of === "ratio" ? `; ${formatValue(value, unit)}` : ""}</div>}
      {evidenceText(reply, row) && <div class="point-meta point-evidence">{evidenceText(reply, row)}</div>}
      {reproducedText(reply, row) && <div class="point-meta">{reproducedText(reply, row)}</div>}
      {silenceAt(reply, row) && <div class="point-meta">No alert: {silenceAt(reply, row)}</div>}
      {c.infra[row] && <div class="point-meta">Hollow: the machine moved, kept out of detection</div>}
    </div>
  );
}
