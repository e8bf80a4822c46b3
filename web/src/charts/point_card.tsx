/* What a point of a series is: commit, value, and how it compares with the one before. */
import type { ComponentChildren } from "preact";
import type { SeriesReply } from "../api/types";
import { formatChange, formatInterval, formatValue, formatWhen, parseTime, plural, shortId } from "../base/format";
import { relChange } from "../base/numbers";
import { measuredBefore } from "./columns";

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
  if (c.infra[row]) words.push("kept out of detection: the machine moved");
  return words.filter((w) => w !== "").join(", ") + ".";
}

const CARD = 316;

export function PointCard(props: { reply: SeriesReply; row: number; x: number; y: number; width: number; verdict?: (row: number) => ComponentChildren }) {
  const { reply, row } = props;
  const c = reply.columns;
  const unit = reply.series.unit;
  const value = c.median[row] ?? null;
  const low = c.low[row] ?? null;
  const high = c.high[row] ?? null;
  const before = measuredBefore(reply, row);
  const rel = before < 0 ? NaN : relChange(c.median[before], value);
  const wide = props.width > CARD + 60;
  const left = !wide ? 8 : props.x + 18 + CARD < props.width ? props.x + 18 : Math.max(4, props.x - CARD - 18);
  return (
    <div class="point-card" style={{ left: `${left}px`, top: `${Math.max(4, props.y - 60)}px`, width: wide ? `${CARD}px` : "auto" }}>
      <div class="point-subject">{c.subject[row] ?? "(no subject)"}</div>
      <div class="point-meta"><code>{shortId(c.commit[row])}</code> {c.author[row]} · {formatWhen(parseTime(c.time[row]))}</div>
      <div class="point-value">{formatValue(value, unit)}</div>
      {low !== null && high !== null && <div class="point-meta">{formatInterval(low, high, unit)} · {plural(c.n[row] ?? 0, "sample")}</div>}
      {Number.isFinite(rel) && <div class="point-meta">{formatChange(rel)} to the point before{props.verdict?.(row)}</div>}
      {c.infra[row] && <div class="point-meta">Hollow: the machine moved, kept out of detection</div>}
    </div>
  );
}
