/* One commit: every value against its parent, worst first. */
import type { CommitChange, CommitDetail, CommitValue } from "../api/types";
import { useApi } from "../api/use";
import { formatChange, formatInterval, formatP, formatShare, formatValue, plural, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { href } from "../base/route";
import { judgeChange, judgeVerdict, readStatus } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { Choice } from "../widgets/field";
import { AlertOrWhy, BenchName, Command, CommitLink, Facts, Page, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { headlineOf, worstFirst } from "./compare_text";
import { InNights } from "./nights";

/** The service's verdict, over all values of the commit. */
const moved = (v: CommitValue) => v.verdict === "regression" || v.verdict === "improvement";

function Delta(props: { value: CommitValue }) {
  const v = props.value;
  if (v.verdict === null || v.rel_change === null) return <span class="muted">{v.verdict ?? "parent not measured"}</span>;
  return (
    <span title={v.rel_low === null || v.rel_high === null ? "" : `${formatChange(v.rel_low)} to ${formatChange(v.rel_high)}`}>
      <Badge judged={judgeVerdict(v.verdict, v.rel_change)} text={`${formatChange(v.rel_change)} ${judgeVerdict(v.verdict, v.rel_change).word}`} /></span>
  );
}

function Values(props: { project: string; commit: CommitDetail }) {
  const { values } = props.commit;
  const show = query.value.get("show") === "moved" ? "moved" : "all";
  const rows = worstFirst(values.filter((v) => show === "all" || moved(v)));
  const against = props.commit.against_parent;
  if (values.length === 0) return <Empty title="Not measured yet"><Command text={`perfci run --commit ${shortId(props.commit.id)}`} what="Command: measure this commit" /></Empty>;
  return (
    <>
      {against && <p role="status">{headlineOf(against.summary).word} against the parent <CommitLink project={props.project} id={against.commit} />. Within ±{formatShare(against.margin_rel)} counts as the same where the project sets no other margin; decided over all values together.</p>}
      <div class="filters">
        <Choice<"all" | "moved"> label="Values shown" value={show} options={[["all", `All ${values.length}`], ["moved", `Moved ${values.filter(moved).length}`]]}
          onChange={(v) => setQuery({ show: v === "all" ? null : v }, true)} />
      </div>
      {rows.length === 0 ? <Empty title="No value moved" /> : (
        <Table caption="Values against the parent commit, worst first" rows={rows} keyOf={(v) => v.series_id} columns={[
          { name: "Benchmark", head: true, cell: (v) => <BenchName benchmark={v.benchmark} metric={v.metric} backend={v.backend} to={href.series(v.series_id, { at: props.commit.id.slice(0, 12) })} /> },
          { name: "Parent", numeric: true, cell: (v) => formatValue(v.parent_median, v.unit) },
          { name: "Here", numeric: true, cell: (v) => formatValue(v.median, v.unit) },
          { name: "Interval", numeric: true, cell: (v) => v.low === null || v.high === null ? "\u2013" : formatInterval(v.low, v.high, v.unit) },
          { name: "n", numeric: true, cell: (v) => v.n },
          { name: "Against parent", cell: (v) => <Delta value={v} /> },
          { name: "p adjusted", numeric: true, wide: true, cell: (v) => v.p_adjusted === null ? "\u2013" : formatP(v.p_adjusted) },
        ]} />
      )}
    </>
  );
}

/** Change points that begin at this commit, with their alerts; where there is none, the service's reason. */
function Changes(props: { changes: readonly CommitChange[] }) {
  return (
    <Table caption="Change points at this commit" rows={props.changes} keyOf={(c) => `${c.series_id} ${c.branch}`} columns={[
      { name: "Series", head: true, cell: (c) => <BenchName benchmark={c.benchmark} metric={c.metric} backend={c.backend} to={href.series(c.series_id)} /> },
      { name: "Change", cell: (c) => <Badge judged={judgeChange(c.direction, c.rel_change, readStatus(c))} text={`${formatChange(c.rel_change)} ${judgeChange(c.direction, c.rel_change, readStatus(c)).word}`} /> },
      { name: "Interval", numeric: true, cell: (c) => `${formatChange(c.rel_low)} to ${formatChange(c.rel_high)}` },
      { name: "p", numeric: true, wide: true, cell: (c) => formatP(c.p) },
      { name: "Machine", wide: true, cell: (c) => c.machine_class },
      { name: "Alert", cell: (c) => <AlertOrWhy change={c} /> },
    ]} />
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
            {(c.broken ?? []).length > 0 && <Section title="Broken here" side={<span class="muted">{plural((c.broken ?? []).length, "benchmark")} without a result</span>}>
              <Table caption="Benchmarks that are broken at this commit" rows={c.broken ?? []} keyOf={(b) => `${b.benchmark} ${b.backend} ${b.machine_class}`} columns={[
                { name: "Benchmark", head: true, cell: (b) => <BenchName benchmark={b.benchmark} metric={b.metric} backend={b.backend} /> },
                { name: "Machines", cell: (b) => b.machine_class },
                { name: "Reason", cell: (b) => b.reason },
                { name: "Run", cell: (b) => <a href={href.run(b.run_id)}>#{b.run_id}</a> },
              ]} />
            </Section>}
            <InNights project={props.project} commit={c.id} />
            {(c.changes ?? []).length > 0 && <Section title="Changes" side={<span class="muted">{plural((c.changes ?? []).length, "change point")} here</span>}><Changes changes={c.changes ?? []} /></Section>}
            <Section title="Values"><Values project={props.project} commit={c} /></Section>
              <Section title="Runs">
                {c.runs.length === 0 ? <Empty title="No run of this commit" /> : <Table caption="Runs of this commit" rows={c.runs} keyOf={(r) => r.run_id} columns={[
                  { name: "Run", head: true, cell: (r) => <a href={href.run(r.run_id)}>#{r.run_id}</a> },
                  { name: "Suite", cell: (r) => <span class="clip" title={r.suite}>{r.suite}</span> },
                  { name: "Values", numeric: true, wide: true, cell: (r) => r.measurements },
                  { name: "Reproduced", wide: true, cell: (r) => <>{r.quarantined ? "hidden" : r.reproducibility ?? "\u2013"}{r.unsandboxed && <small class="n">not isolated</small>}</> },
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
          </Page>
        );
      }}
    </View>
  );
}
