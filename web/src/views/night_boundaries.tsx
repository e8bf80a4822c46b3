/* A commit against the one before it, series by series; one commit is open at a time, and the address names it. */
import { useEffect, useRef } from "preact/hooks";
import type { NightBoundary, NightDetail, NightSeries } from "../api/night";
import { formatChange, formatP, plural, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { href } from "../base/route";
import { judgeNight } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { BenchName, CommitLink, Section } from "../widgets/parts";
import { Table } from "../widgets/table";
import { seriesLink, type Subjects } from "./night";
import { intervalText, placeText, seriesKey } from "./night_text";

interface Row { series: NightSeries; b: NightBoundary }

const rank = (verdict: string) => ["regression", "improvement", "undecided", "same"].indexOf(verdict);

/** Order: changed series first, then by size of the change. */
export function rowsOf(night: Pick<NightDetail, "series">, commit: string): Row[] {
  const rows = night.series.flatMap((series) => series.boundaries.filter((b) => b.commit === commit).map((b) => ({ series, b })));
  return rows.sort((x, y) => rank(x.b.verdict) - rank(y.b.verdict) || Math.abs(y.b.rel_change ?? 0) - Math.abs(x.b.rel_change ?? 0));
}

function SeriesTable(props: { project: string; rows: readonly Row[]; commit: string }) {
  return (
    <Table caption={`Series at ${shortId(props.commit)} against ${shortId(props.rows[0]?.b.against)}`} rows={props.rows} keyOf={(r) => seriesKey(r.series)} columns={[
      { name: "Series", head: true, cell: (r) => <BenchName benchmark={r.series.benchmark} metric={r.series.metric} backend={r.series.backend} to={seriesLink(r.series, props.commit)} /> },
      { name: "Verdict", cell: (r) => <Badge judged={judgeNight(r.b.verdict)} /> },
      { name: "Change", numeric: true, cell: (r) => formatChange(r.b.rel_change) },
      { name: "Interval", numeric: true, cell: (r) => intervalText(r.b.rel_low, r.b.rel_high) },
      { name: "Against", cell: (r) => <CommitLink project={props.project} id={r.b.against} /> },
      { name: "Test", wide: true, cell: (r) => <>{r.b.test}{placeText(r.b) ? <small class="n">{placeText(r.b)}</small> : null}</> },
      { name: "p", numeric: true, wide: true, cell: (r) => formatP(r.b.p) },
      { name: "p adjusted", numeric: true, cell: (r) => formatP(r.b.p_adjusted) },
      { name: "Rounds", numeric: true, cell: (r) => <>{r.b.rounds}{r.b.needs_rounds ? <small class="n">needs {r.b.needs_rounds} more</small> : null}</> },
      { name: "Alert", cell: (r) => (r.b.alert_id === null ? "" : <a href={href.alert(r.b.alert_id)}>#{r.b.alert_id}</a>) },
    ]} />
  );
}

export function Boundaries(props: { project: string; night: NightDetail; subjects: Subjects }) {
  const { night } = props;
  const chosen = query.value.get("commit") ?? "";
  const of = night.commits.map((c) => ({ c, rows: rowsOf(night, c.commit) })).filter((o) => o.rows.length > 0);
  const shown = useRef<HTMLElement>(null);
  useEffect(() => {
    shown.current?.scrollIntoView({ block: "nearest" });
    shown.current?.focus({ preventScroll: true });
  }, [chosen, of.length]);
  if (of.length === 0) return null;
  return (
    <Section title="Series by commit">
      <div class="stack">{of.map(({ c, rows }) => {
        const open = chosen !== "" && c.commit.startsWith(chosen);
        return (
          <details key={c.commit} class="card boundary" open={open}
            onToggle={(e) => { if (e.currentTarget.open !== open) setQuery({ commit: e.currentTarget.open ? c.commit.slice(0, 12) : null }, true); }}>
            <summary {...(open ? { ref: shown } : {})}><code>{shortId(c.commit)}</code> <span class="boundary-subject">{props.subjects.get(c.commit)}</span>
              <Badge judged={judgeNight(c.verdict)} /> <span class="muted">{plural(rows.length, "series", "series")}</span></summary>
            {open && <SeriesTable project={props.project} rows={rows} commit={c.commit} />}
          </details>
        );
      })}</div>
    </Section>
  );
}
