/* What one commit did: every value against its parent, worst first. */
import type { CommitDetail, CommitValue } from "../api/types";
import { useApi } from "../api/use";
import { formatInterval, formatValue, plural, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { relChange } from "../base/numbers";
import { href } from "../base/route";
import { directionOf, judgeChange } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { Choice } from "../widgets/field";
import { BenchName, Command, CommitLink, Facts, Page, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

/** How much worse, so that sorting puts the worst first and the best last. */
const harm = (v: CommitValue) => {
  const rel = relChange(v.parent_median, v.median);
  return Number.isFinite(rel) ? (directionOf(rel, v.direction) === "regression" ? Math.abs(rel) : -Math.abs(rel)) : -Infinity;
};

/** Outside the interval of its own measurement: a difference worth a look, not yet a verdict. */
const moved = (v: CommitValue) => v.parent_median !== null && v.low !== null && v.high !== null
  && (v.parent_median < v.low || v.parent_median > v.high);

function Delta(props: { value: CommitValue }) {
  const v = props.value;
  const rel = relChange(v.parent_median, v.median);
  if (!Number.isFinite(rel)) return <span class="muted">parent not measured</span>;
  const text = `${rel < 0 ? "\u2212" : "+"}${(Math.abs(rel) * 100).toFixed(2)}\u00a0%`;
  if (!moved(v)) return <Badge judged={{ tone: "quiet", icon: "flat", word: "" }} text={`${text} within its interval`} />;
  const direction = directionOf(rel, v.direction);
  const judged = judgeChange(direction, rel);
  return <Badge judged={judged} text={`${text} ${direction === "regression" ? "worse" : "better"}`} />;
}

function Values(props: { project: string; commit: CommitDetail }) {
  const { values } = props.commit;
  const show = query.value.get("show") === "moved" ? "moved" : "all";
  const rows = values.filter((v) => show === "all" || moved(v)).sort((a, b) => harm(b) - harm(a));
  if (values.length === 0) return <Empty title="Not measured yet"><Command text={`perfci run --commit ${shortId(props.commit.id)}`} what="Command: measure this commit" /></Empty>;
  return (
    <>
      <div class="filters">
        <Choice<"all" | "moved"> label="Values shown" value={show} options={[["all", `All ${values.length}`], ["moved", `Moved ${values.filter(moved).length}`]]}
          onChange={(v) => setQuery({ show: v === "all" ? null : v }, true)} />
      </div>
      {rows.length === 0 ? <Empty title="No value left its interval" /> : (
        <Table caption="Values against the parent commit, worst first" rows={rows} keyOf={(v) => v.series_id} columns={[
          { name: "Benchmark", head: true, cell: (v) => <BenchName benchmark={v.benchmark} metric={v.metric} backend={v.backend} to={href.series(v.series_id, { at: props.commit.id.slice(0, 12) })} /> },
          { name: "Parent", numeric: true, cell: (v) => formatValue(v.parent_median, v.unit) },
          { name: "Here", numeric: true, cell: (v) => formatValue(v.median, v.unit) },
          { name: "Interval", numeric: true, cell: (v) => v.low === null || v.high === null ? "\u2013" : formatInterval(v.low, v.high, v.unit) },
          { name: "n", numeric: true, cell: (v) => v.n },
          { name: "Against parent", cell: (v) => <Delta value={v} /> },
        ]} />
      )}
    </>
  );
}

export function CommitView(props: { project: string; id: string }) {
  const load = useApi<CommitDetail>(`/projects/${encodeURIComponent(props.project)}/commits/${encodeURIComponent(props.id)}`, ["run", "alert"]);
  return (
    <View load={load} what="the commit">
      {(c) => {
        const parent = c.parents[0];
        return (
          <Page title={c.subject || shortId(c.id)} lead={<><code>{shortId(c.id)}</code> · {[c.author, ...(c.tags ?? [])].join(" \u00b7 ")} · <When time={c.time} /></>}
            side={parent ? <a class="button primary" href={href.compare(props.project, parent, c.id)}>Compare with parent</a> : undefined}>
            <Section title="Values"><Values project={props.project} commit={c} /></Section>
            <div class="split">
              <Section title="Runs">
                {c.runs.length === 0 ? <Empty title="No run of this commit" /> : <Table caption="Runs of this commit" rows={c.runs} keyOf={(r) => r.run_id} columns={[
                  { name: "Run", head: true, cell: (r) => <a href={href.run(r.run_id)}>#{r.run_id}</a> },
                  { name: "Suite", cell: (r) => r.suite },
                  { name: "Values", numeric: true, cell: (r) => r.measurements },
                  { name: "When", cell: (r) => <When time={r.started_at} /> },
                ]} />}
              </Section>
              <Section title="The commit">
                <Facts facts={[
                  ["Full id", <code class="breakable">{c.id}</code>],
                  [c.parents.length > 1 ? "Parents" : "Parent", c.parents.length === 0 ? "none" : c.parents.map((p) => <span key={p}><CommitLink project={props.project} id={p} /> </span>)],
                  ["Touched", plural(c.paths.length, "path")],
                ]} />
                <ul class="paths">{c.paths.slice(0, 40).map((p) => <li key={p}><code>{p}</code></li>)}
                  {c.paths.length > 40 && <li class="muted">and {c.paths.length - 40} more</li>}</ul>
              </Section>
            </div>
          </Page>
        );
      }}
    </View>
  );
}
