/* The alerts that a configuration would have raised, beside the stored one, against the labels of triage. */
import type { ProjectReplay } from "../api/detector";
import type { Series } from "../api/types";
import { useApi } from "../api/use";
import { compareReplays, figuresOf, type Found } from "../base/detector";
import { formatChange, formatP, formatShares, plural } from "../base/format";
import { href, withQuery } from "../base/route";
import type { Judgement } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { BenchName, CommitLink } from "../widgets/parts";
import { Empty } from "../widgets/state";
import { Table } from "../widgets/table";

export interface Replays { stored: ProjectReplay; edited: ProjectReplay; text: string }

const ROWS = 200;
const FOUND: Readonly<Record<Found, Judgement>> = {
  edited: { tone: "info", icon: "up", word: "only these settings" }, stored: { tone: "warn", icon: "down", word: "only the stored settings" }, both: { tone: "quiet", icon: "check", word: "both" } };
const LABELS: Readonly<Record<string, Judgement>> = {
  regression: { tone: "bad", icon: "alert", word: "regression" }, noise: { tone: "quiet", icon: "cross", word: "false alarm" } };

export function ReplayResult(props: { project: string; replays: Replays }) {
  const { stored, edited } = props.replays;
  const list = useApi<{ series: Series[] }>(withQuery(`/projects/${encodeURIComponent(props.project)}/series`, { limit: 1000 }));
  const names = new Map(list.state === "data" ? list.data.series.map((s): [number, Series] => [s.id, s]) : []);
  const before = new Map(figuresOf(stored));
  const found = compareReplays(stored, edited);
  const nameOf = (id: number) => {
    const s = names.get(id);
    return s ? <BenchName benchmark={s.benchmark} metric={s.metric} backend={s.backend} to={href.series(id)} /> : <a href={href.series(id)}>series {id}</a>;
  };
  return (
    <div role="region" aria-label="Result of the replay" class="replay-result">
      <p class="count">Branch {edited.branch}: {plural(edited.series, "series", "series")}, {plural(edited.points, "point")}. A label is a triage decision: noise and infrastructure are false alarms, every other state but untriaged is a regression.</p>
      <Table caption="Replay of the stored settings and of these" rows={figuresOf(edited)} keyOf={([name]) => name} columns={[
        { name: "Figure", head: true, cell: ([name]) => name },
        { name: "Stored settings", numeric: true, cell: ([name]) => formatShares(before.get(name) ?? "") },
        { name: "These settings", numeric: true, cell: ([, text]) => formatShares(text) },
      ]} />
      {found.length === 0 ? <Empty title="Neither configuration would have alerted" /> : (
        <>
          <p class="count under-table">{plural(found.filter((f) => f.found === "edited").length, "alert")} of these settings only, {found.filter((f) => f.found === "stored").length} of the stored ones only, {found.filter((f) => f.found === "both").length} of both{found.length > ROWS ? `; the first ${ROWS} are listed` : ""}.</p>
          <Table caption="Alerts of either configuration" rows={found.slice(0, ROWS)} keyOf={(f) => `${f.found} ${f.alert.series_id} ${f.alert.position} ${f.alert.direction}`} columns={[
            { name: "Series", head: true, cell: (f) => nameOf(f.alert.series_id) },
            { name: "Found by", cell: (f) => <Badge judged={FOUND[f.found]} /> },
            { name: "Label", cell: (f) => (f.alert.label ? <Badge judged={LABELS[f.alert.label] ?? { tone: "quiet", icon: "question", word: f.alert.label }} /> : <span class="muted">not triaged</span>) },
            { name: "Change", numeric: true, cell: (f) => formatChange(f.alert.rel_change) },
            { name: "p", numeric: true, wide: true, cell: (f) => formatP(f.alert.p) },
            { name: "Commit", cell: (f) => <CommitLink project={props.project} id={f.alert.commit} /> },
          ]} />
        </>
      )}
    </div>
  );
}
