/* Two commits against each other: a three-way verdict a benchmark, worst first, with the evidence. */
import { useEffect, useState } from "preact/hooks";
import { currentProject, projects } from "../api/projects";
import type { CompareReply, CompareRow, CompareSide, OnlyRow } from "../api/types";
import { useApi } from "../api/use";
import { Forest } from "../charts/forest";
import { formatChange, formatInterval, formatP, formatShare, formatValue, plural, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { judgeVerdict } from "../base/verdict";
import { VerdictBadge } from "../widgets/badge";
import { Choice, Search, Select } from "../widgets/field";
import { Icon } from "../widgets/icons";
import { BenchName, Command, Page, Section } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { ComparedCodeSection } from "./compared_code";
import { askedQuery, Ends, EndsFound, ExportLinks, Means } from "./compare_parts";
import { CompareRepeat } from "./compare_repeat";
import { CompareRowChart } from "./compare_row_chart";
import { brokenText, differencesOf, headlineOf, limitOf, moreText, undecidedPair, worstFirst, type VerdictFilter } from "./compare_text";
import { CompareHeat } from "./heatmap";

/* The newest run of each side; a comparison of runs that are gone has none. */
function Why(props: { row: CompareRow; reply: CompareReply }) {
  const { row: r, reply } = props, before = reply.a.runs.at(-1), after = reply.b.runs.at(-1);
  if (!before || !after || r.verdict === "broken" || r.benchmark === "headline") return null;
  return <small><a href={href.explain({ before, after, benchmark: r.benchmark, backend: r.backend, metric: r.metric })}>Why?</a></small>;
}

function Side(props: { name: string; side: CompareSide; unit: string }) {
  const { side, unit } = props;
  return <span title={formatInterval(side.low, side.high, unit)}><small>{props.name}</small> {formatValue(side.median, unit)} <small>n {side.n}</small></span>;
}

function Rows(props: { caption: string; rows: CompareRow[]; limit: number; margin: number; reply: CompareReply; project: string | null }) {
  const { limit } = props;
  const to = (r: CompareRow) => (r.series_id === null ? {} : { to: href.series(r.series_id, { at: props.reply.b.commit.slice(0, 12) }) });
  return (
    <Table caption={props.caption} className="compare-table" rows={props.rows} keyOf={(r) => `${r.benchmark} ${r.metric} ${r.backend} ${r.machine_class ?? ""}`} columns={[
      { name: "Benchmark", head: true, cell: (r) => <><BenchName benchmark={r.benchmark} metric={r.metric} backend={r.backend} {...to(r)} />
        {r.verdict === "broken" && <small class="differs" title={brokenText(r)}><Icon name="cross" /> {brokenText(r)}</small>}
        {r.machine_moved && <small class="differs"><Icon name="alert" /> the machine moved during the runs of one side</small>}
        {r.verdict !== "broken" && r.fingerprint_differs.length > 0 && <small class="differs"><Icon name="alert" /> measured with another {r.fingerprint_differs.join(", ")}</small>}</> },
      { name: "Verdict", cell: (r) => <><VerdictBadge verdict={r.verdict} rel={r.rel_change} />
        {moreText(r) && <small class="differs">{moreText(r)}</small>}<Why row={r} reply={props.reply} /></> },
      { name: "Change", numeric: true, cell: (r) => <b>{formatChange(r.rel_change)}</b> },
      { name: `Interval (\u00b1${+(limit * 100).toPrecision(3)}\u00a0%)`, cell: (r) => r.rel_change === null || r.rel_low === null || r.rel_high === null ? "\u2013" : (
        <span class="forest-cell"><Forest low={r.rel_low} value={r.rel_change} high={r.rel_high} margin={props.margin} limit={limit} tone={judgeVerdict(r.verdict, r.rel_change).tone} />
          <small>{formatChange(r.rel_low)} to {formatChange(r.rel_high)}</small></span>) },
      { name: "From A to B, samples", cell: (r) => r.verdict === "broken" ? "\u2013" : <CompareRowChart row={r} reply={props.reply} project={props.project} tone={judgeVerdict(r.verdict, r.rel_change).tone} /> },
      { name: "A, B", numeric: true, cell: (r) => <span class="sides"><Side name="A" side={r.a} unit={r.unit} /><Side name="B" side={r.b} unit={r.unit} /></span> },
      { name: "Noise, p adjusted", numeric: true, wide: true, cell: (r) => <>{r.noise_rel === null ? "\u2013" : <>{r.noise_rel === 0 ? "none" : `\u00b1${formatShare(r.noise_rel)}`}{r.between_rel ? <small class="n">runs {`\u00b1${formatShare(r.between_rel)}`}</small> : null}{r.reproducibility && <small class="n">{r.reproducibility}</small>}</>}
        {r.p_adjusted !== null && <small class="n" title={`not adjusted: ${formatP(r.p)}`}>p {formatP(r.p_adjusted)}</small>}</> },
    ]} />
  );
}

function Only(props: { title: string; rows: (OnlyRow | string)[] }) {
  if (props.rows.length === 0) return null;
  return (
    <Section title={props.title}>
      <ul class="paths">{props.rows.slice(0, 100).map((r, i) => <li key={i}><code>{typeof r === "string" ? r : [r.benchmark, r.metric, r.backend].filter((t) => t).join(" \u00b7 ")}</code></li>)}</ul>
    </Section>
  );
}

/** Undecided rows, folded: what they need comes first. */
function Undecided(props: { rows: CompareRow[]; limit: number; reply: CompareReply; project: string | null; open: boolean }) {
  const [open, setOpen] = useState(props.open);
  useEffect(() => setOpen(props.open), [props.open]);
  if (props.rows.length === 0) return null;
  return (
    <details class="undecided" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary><h2>{plural(props.rows.length, "row")} not decided</h2></summary>
      {open && props.project && <CompareRepeat reply={props.reply} project={props.project} />}
      {open && <Rows caption="Rows that are not decided" rows={props.rows} limit={props.limit} margin={props.reply.margin_rel} reply={props.reply} project={props.project} />}
    </details>
  );
}

/** The heat map of the comparison; its benchmarks are read when it is opened. */
function Heat(props: { reply: CompareReply; rows: CompareRow[]; project: string }) {
  const open = query.value.get("map") === "1";
  return (
    <details class="compare-heat" open={open} onToggle={(e) => { if (e.currentTarget.open !== open) setQuery({ map: e.currentTarget.open ? "1" : null }, true); }}>
      <summary><h2>Heat map: shapes and types</h2></summary>
      {open && <CompareHeat project={props.project} rows={props.rows} at={props.reply.b.commit} />}
    </details>
  );
}

function Result(props: { reply: CompareReply; project: string | null }) {
  const { reply, project } = props;
  const q = query.value;
  const verdict = (q.get("verdict") ?? "") as VerdictFilter;
  const text = (q.get("q") ?? "").toLowerCase();
  const backends = [...new Set(reply.rows.map((r) => r.backend))].sort();
  const backend = q.get("backend") ?? "";
  const rows = worstFirst(reply.rows).filter((r) => (!verdict || r.verdict === verdict)
    && (!backend || r.backend === backend) && `${r.benchmark} ${r.metric} ${r.backend}`.toLowerCase().includes(text));
  const [open, decided] = [rows.filter((r) => r.verdict === "inconclusive"), rows.filter((r) => r.verdict !== "inconclusive")];
  const limit = limitOf(rows, reply.margin_rel);
  const s = reply.summary;
  const differs = differencesOf(reply);
  const hidden = (reply.a.hidden ?? 0) + (reply.b.hidden ?? 0);
  const head = headlineOf(s, undecidedPair(reply));
  const means = reply.means ?? [];
  return (
    <>
      <div class={`verdict tone-${head.tone}`} role="status">
        <Icon name={head.icon} />
        <div><b>{head.word}</b>
          {differs.length > 0 && <p class="differs"><Icon name="alert" /> A and B differ in {differs.join("; ")}</p>}
          <EndsFound reply={reply} project={project} />
          <p>Within ±{formatShare(reply.margin_rel)} counts as the same.</p>
          {hidden > 0 && <p>{plural(hidden, "result")} in quarantine {hidden === 1 ? "is" : "are"} hidden and not compared.</p>}</div>
      </div>
      {means.length > 0 && <Section title="Geometric means" side={<span class="muted">ratio B / A over the rows of a kernel; headlines and the canary are not part of it</span>}><Means means={means} /></Section>}
      {project && reply.rows.length > 0 && <Heat reply={reply} rows={rows} project={project} />}
      <div class="filters">
        <Choice<VerdictFilter> label="Verdicts shown" value={verdict} onChange={(v) => setQuery({ verdict: v })} options={[
          ["", `All ${reply.rows.length}`], ...((s.broken ?? 0) > 0 ? [["broken", `Broken ${s.broken}`] as ["broken", string]] : []), ["regression", `Regressions ${s.regression}`], ["improvement", `Improvements ${s.improvement}`],
          ["inconclusive", `Inconclusive ${s.inconclusive}`], ["same", `Same ${s.same}`]]} />
        <Search label="Find benchmark" value={q.get("q") ?? ""} onChange={(v) => setQuery({ q: v }, true)} />
        {backends.length > 1 && <Select label="Backend" value={backend} options={[["", "all"], ...backends.map((b): [string, string] => [b, b])]} onChange={(v) => setQuery({ backend: v })} />}
      </div>
      {rows.length === 0 && <Empty title={reply.rows.length === 0 ? "Nothing was measured at both ends" : "Nothing fits these filters"} />}
      {decided.length > 0 && <Rows caption="Benchmarks, worst first" rows={decided} limit={limit} margin={reply.margin_rel} reply={reply} project={project} />}
      <Undecided rows={open} limit={limit} reply={reply} project={project} open={verdict === "inconclusive"} />
      <ComparedCodeSection code={reply} />
      <Only title="Only measured in A" rows={reply.only_a} />
      <Only title="Only measured in B" rows={reply.only_b} />
      <Section title="Export">
        <ExportLinks project={project} />
        <Command text={`perfci compare ${shortId(reply.a.commit)} ${shortId(reply.b.commit)}`} what="Command: measure both again, interleaved" />
      </Section>
    </>
  );
}

export function Compare() {
  const a = query.value.get("a") ?? "";
  const b = query.value.get("b") ?? "";
  const project = currentProject.value;
  const load = useApi<CompareReply>(a && b && project ? withQuery("/compare", askedQuery(project, query.value)) : null);
  return (
    <Page title="Compare" lead="Every benchmark measured at both ends, with a verdict and its evidence.">
      <Ends />
      {a && b && (project !== null || projects.value.state !== "data") ? <View load={load} what="the comparison">{(reply) => <Result reply={reply} project={project} />}</View>
        : <Empty title="Choose two commits">
          <p>Enter them above, choose them {project ? <a href={href.commits(project)}>in the history</a> : "in the history"}, or select a range in the chart of a series.</p></Empty>}
    </Page>
  );
}
