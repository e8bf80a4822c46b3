/* The chart as tables: its change points and all points. */
import { useState } from "preact/hooks";
import type { ChangePoint, SeriesReply } from "../api/types";
import { formatChange, formatInterval, formatP, formatRatio, formatValue, formatWhen, parseTime, plural, shortId } from "../base/format";
import { setQuery } from "../base/location";
import { href } from "../base/route";
import { hasRatios, spanText } from "../charts/columns";
import { ratioText } from "../charts/point_card";
import { judgeChange, readStatus } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { NightLink } from "./alert_blocks";
import { AlertOrWhy, CommitLink } from "../widgets/parts";
import { Table } from "../widgets/table";

export function ChangesTable(props: { reply: SeriesReply }) {
  const { reply } = props;
  const unit = reply.series.unit;
  const around = (low: number, high: number) => {
    const n = reply.columns.commit.length;
    const pad = Math.max(8, (high - low) * 2);
    setQuery({ zoom: spanText(reply, Math.max(0, low - pad), Math.min(n - 1, high + pad)), at: null });
  };
  return (
    <Table caption="Change points, newest first" className="dense" rows={[...reply.changes].reverse()} keyOf={(c) => c.index} columns={[
      { name: "Change", head: true, cell: (c) => <Badge judged={judgeChange(c.direction, c.rel_change, readStatus(c))} text={`${formatChange(c.rel_change)} ${judgeChange(c.direction, c.rel_change, readStatus(c)).word}`} /> },
      { name: "Interval", numeric: true, cell: (c) => `${formatChange(c.rel_low)} to ${formatChange(c.rel_high)}` },
      { name: "Before", numeric: true, wide: true, cell: (c) => formatValue(c.before, unit) },
      { name: "After", numeric: true, wide: true, cell: (c) => formatValue(c.after, unit) },
      { name: "First commit", cell: (c) => <CommitLink project={reply.series.project} id={c.commit} /> },
      { name: "Where (90 %)", cell: (c) => c.index_low === c.index_high ? "this commit"
        : <span><code>{shortId(c.commit_low)}</code> to <code>{shortId(c.commit_high)}</code></span> },
      { name: "p", numeric: true, wide: true, cell: (c) => formatP(c.p) },
      ...(reply.changes.some((c) => c.blocks) ? [{ name: "Evidence", cell: (c: ChangePoint) => c.blocks && reply.series.project
        ? <span class="bench"><NightLink project={reply.series.project} blocks={c.blocks} /><small>{plural(c.blocks.rounds, "round")}</small></span> : "single runs" }] : []),
      { name: "Alert", cell: (c) => <AlertOrWhy change={c} /> },
      { name: "Next", cell: (c) => <span class="row tight">
        <a href={href.compare(reply.series.project ?? null, reply.columns.commit[Math.max(0, c.index - 1)], c.commit)}>Compare</a>
        <button type="button" class="link" onClick={() => around(c.index_low, c.index_high)}>Zoom</button></span> },
    ]} />
  );
}

/** Commits at which the benchmark gave no result, newest first. */
export function BrokenTable(props: { reply: SeriesReply }) {
  const { reply } = props;
  return (
    <Table caption="Broken, newest first" rows={reply.broken ?? []} keyOf={(b) => b.commit} columns={[
      { name: "Commit", head: true, cell: (b) => <CommitLink project={reply.series.project} id={b.commit} /> },
      { name: "Subject", cell: (b) => <span class="clip" title={b.subject}>{b.subject}</span> },
      { name: "Time", wide: true, cell: (b) => formatWhen(parseTime(b.time)) },
      { name: "Reason", cell: (b) => b.reason },
      { name: "Run", cell: (b) => <a href={href.run(b.run_id)}>#{b.run_id}</a> },
    ]} />
  );
}

const PAGE = 50;

/** Every point, newest first, a page at a time: the text alternative of the chart. */
export function PointsTable(props: { reply: SeriesReply }) {
  const { reply } = props;
  const [shown, setShown] = useState(PAGE);
  const c = reply.columns;
  const unit = reply.series.unit;
  const rows = c.commit.map((_, i) => i).reverse();
  return (
    <details class="section points">
      <summary><h2>All {plural(rows.length, "point")} as a table</h2></summary>
      <Table caption="Points, newest first" className="dense" rows={rows.slice(0, shown)} keyOf={(i) => i} columns={[
        { name: "Commit", head: true, cell: (i) => <CommitLink project={reply.series.project} id={c.commit[i]} /> },
        { name: "Subject", cell: (i) => <span class="clip" title={c.subject[i] ?? ""}>{c.subject[i] ?? "\u2013"}</span> },
        { name: "Time", wide: true, cell: (i) => formatWhen(parseTime(c.time[i])) },
        { name: "Median", numeric: true, cell: (i) => formatValue(c.median[i], unit) },
        { name: "Interval", numeric: true, cell: (i) => {
          const [low, high] = [c.low[i] ?? null, c.high[i] ?? null];
          return low === null || high === null ? "\u2013" : formatInterval(low, high, unit);
        } },
        ...(hasRatios(reply) ? [{ name: "Ratio", numeric: true, cell: (i: number) => <span title={ratioText(reply, i)}>{formatRatio(c.ratio?.[i])}</span> }] : []),
        { name: "n", numeric: true, cell: (i) => c.n[i] ?? 0 },
        { name: "Run", cell: (i) => { const run = c.run_id[i] ?? null; return run === null ? "\u2013" : <a href={href.run(run)}>#{run}</a>; } },
        { name: "Note", cell: (i) => {
          const session = c.session?.[i];
          return <>{c.infra[i] ? "machine moved " : ""}{session && reply.series.project ? <a href={href.night(reply.series.project, session)}>night {session.slice(0, 8)}</a> : ""}</>;
        } },
      ]} />
      {shown < rows.length && <p class="more"><button type="button" class="button" onClick={() => setShown(shown + 10 * PAGE)}>Show more</button></p>}
    </details>
  );
}
