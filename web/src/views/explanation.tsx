/* Why a benchmark changed, and what limits it: the same values as `perfci explain`. */
import type { ExplainedMetric, ExplainedSide, Explanation, LimiterVerdict } from "../api/explanation";
import { useApi } from "../api/use";
import { Phases } from "../charts/phases";
import { PathStrip } from "../charts/path_strip";
import { Waterfall } from "../charts/waterfall";
import { formatChange, formatShare, formatValue, shortId } from "../base/format";
import { query } from "../base/location";
import { href, withQuery } from "../base/route";
import { Command, Page, Section } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

function Causes(props: { explanation: Explanation }) {
  const e = props.explanation, t = e.total;
  if (!t) return null;
  if (t.delta === 0) return <p>{t.same_stream ? "The totals are equal and the command streams are identical: there is nothing to explain." : "The totals are equal: there is nothing to explain."}</p>;
  return (
    <>
      <ol class="causes">{e.causes.map((c, i) => (
        <li key={i}>{c.text}{c.resource && <> It acts through <b>{c.resource}</b> ({c.ticks > 0 ? "+" : ""}{formatValue(c.ticks, "ticks")}).</>}</li>))}</ol>
      {t.same_stream && <p>The command streams are identical: the cause is the chip's file or the simulator.</p>}
    </>
  );
}

function Contributions(props: { explanation: Explanation }) {
  const e = props.explanation;
  if (!e.total || e.contributions.length === 0) return null;
  const delta = e.total.delta;
  return (
    <>
      <div class="chart-card"><Waterfall explanation={e} /></div>
      <details><summary>The contributions as a table</summary>
        <Table caption="Contributions to the difference" rows={e.contributions} keyOf={(c) => `${c.phase} ${c.resource}`} columns={[
          { name: "Resource", head: true, cell: (c) => c.resource ?? "not known" },
          { name: "Phase", cell: (c) => c.phase },
          { name: "Ticks", numeric: true, cell: (c) => `${c.ticks > 0 ? "+" : ""}${formatValue(c.ticks, "")}` },
          { name: e.metric, numeric: true, cell: (c) => formatValue(c.value, e.unit) },
          { name: "Of the difference", numeric: true, cell: (c) => (delta === 0 ? "\u2013" : formatShare(c.ticks / delta)) },
        ]} /></details>
    </>
  );
}

function Verdict(props: { name: string; verdict: LimiterVerdict }) {
  const v = props.verdict;
  if (v.inconclusive || !v.first) return <p><b>{props.name}</b>: inconclusive: {v.reason}</p>;
  const saved = (r: string | null) => (r ? formatShare(v.saving[r] ?? 0) : "");
  return (
    <div class="limiter-verdict">
      <p><b>{props.name}</b>: <b class={`resource-name resource-${v.first}`}>{v.first}</b>. If it took no time, the run would take {saved(v.first)} less
        {v.second ? `; the next one is ${v.second} (${saved(v.second)})` : ""}.{v.confidence === null ? "" : ` Confidence ${formatShare(v.confidence)}`}, from {v.view === "trace" ? "the run's trace" : "its counters"}.</p>
      {(v.causes.length > 0 || v.disagreement) && <ul>{v.causes.map((c) => <li key={c.id}>{c.text}</li>)}{v.disagreement && <li>{v.disagreement}</li>}</ul>}
    </div>
  );
}

function Metrics(props: { before: ExplainedSide | null; after: ExplainedSide }) {
  const { before, after } = props;
  const value = (m: ExplainedMetric | undefined) => (!m || m.value === null ? <span title={m?.reason}>not available</span> : formatValue(m.value, ""));
  if (!after.metrics.some((m) => m.value !== null)) return null;
  return (
    <details><summary>Utilisation: {after.metrics.length} metrics</summary>
      <Table caption="Utilisation" rows={after.metrics} keyOf={(m) => m.name} columns={[
        { name: "Metric", head: true, cell: (m) => m.title },
        ...(before ? [{ name: "Before", numeric: true, cell: (m: ExplainedMetric) => value(before.metrics.find((b) => b.name === m.name)) }] : []),
        { name: before ? "After" : "Value", numeric: true, cell: value },
        { name: "Unit", cell: (m) => m.unit },
        { name: "Peak", numeric: true, cell: (m) => (m.peak === null ? "\u2013" : formatValue(m.peak, "")) },
        { name: "Achievable", numeric: true, cell: (m) => (m.achievable === null ? "\u2013" : formatValue(m.achievable, "")) },
        { name: "Share of the peak", cell: (m) => (m.share === null ? "\u2013" : <span class="share"><i style={{ width: `${Math.min(1, m.share) * 100}%` }} /><span>{formatShare(m.share)}</span></span>) },
      ]} /></details>
  );
}

function Differences(props: { explanation: Explanation }) {
  const t = props.explanation.total;
  if (!t || t.differences.length === 0) return null;
  return (
    <details><summary>What differs in the records: {t.differences.length + t.differences_more} values</summary>
      <Table caption="Recorded values that differ" rows={t.differences} keyOf={(d) => d.name} columns={[
        { name: "Name", head: true, cell: (d) => <code title={d.name}>{d.name}</code> },
        { name: "Before", numeric: true, cell: (d) => d.before || "\u2013" },
        { name: "After", numeric: true, cell: (d) => d.after || "\u2013" },
        { name: "Change", numeric: true, cell: (d) => (d.rel_change === null ? "\u2013" : formatChange(d.rel_change)) },
      ]} />
      {t.differences_more > 0 && <p class="muted">{t.differences_more} smaller differences are not listed.</p>}
    </details>
  );
}

function PhaseGraph(props: { explanation: Explanation }) {
  const edges = props.explanation.phases ?? [];
  if (edges.length === 0) return null;
  return (
    <>
      <h3>Phases and what they wait for</h3>
      <div class="chart-card"><Phases explanation={props.explanation} /></div>
      <details><summary>The waits as a table</summary>
        <Table caption="Waits between phases" rows={edges} keyOf={(x) => `${x.from} ${x.to}`} columns={[
          { name: "Phase", head: true, cell: (x) => x.to },
          { name: "Waits for", cell: (x) => x.from },
          { name: "Waits", numeric: true, cell: (x) => formatValue(x.waits, "") },
        ]} /></details>
    </>
  );
}

function Guidance(props: { explanation: Explanation }) {
  const list = props.explanation.guidance;
  if (list.length === 0) return <p class="muted">No entry of the catalogue fits this run.</p>;
  return (
    <Table caption="What would help, the largest predicted gain first" rows={list} keyOf={(a) => a.id} columns={[
      { name: "Change", head: true, cell: (a) => a.change },
      { name: "Predicted gain", numeric: true, cell: (a) => <>{formatShare(a.gain)}<small class="n">{formatShare(a.low)} to {formatShare(a.high)}</small></> },
      { name: "Symptom", cell: (a) => a.symptom },
      { name: "Risk", cell: (a) => a.risk },
      { name: "Effort", cell: (a) => a.effort },
    ]} />
  );
}

/** The sections of an explanation, for a page of its own and for an alert. */
export function Explained(props: { explanation: Explanation; report: string }) {
  const e = props.explanation, { before, after } = e.runs;
  return (
    <div class="explained">
      <p>{e.claim}. Measured in {before && <><a href={href.run(before.run)}>run {shortId(before.run)}</a> and </>}<a href={href.run(after.run)}>run {shortId(after.run)}</a>.</p>
      {e.warnings.map((w, i) => <p key={i} role="note">{w}</p>)}
      {before && <Causes explanation={e} />}
      <Contributions explanation={e} />
      {before && <Verdict name="Limiter before" verdict={before.limiter} />}
      <Verdict name={before ? "Limiter after" : "Limiter"} verdict={after.limiter} />
      <PathStrip sides={[...(before ? [{ name: "before", path: before.path }] : []), { name: before ? "after" : "critical path", path: after.path }]} />
      <PhaseGraph explanation={e} />
      <h3>What would help</h3>
      <Guidance explanation={e} />
      <Metrics before={before} after={after} />
      <Differences explanation={e} />
      <details><summary>How to repeat</summary>{e.repeat.map((c) => <Command key={c} text={c} />)}</details>
      <p><a href={withQuery(props.report, { format: "html" })}>The report as one page</a></p>
    </div>
  );
}

/** The explanation of an alert's change, which is asked for with the page. */
export function AlertExplanation(props: { id: number }) {
  const path = `/alerts/${props.id}/explanation`;
  const load = useApi<Explanation>(path);
  if (load.state === "failed" && load.error.status === 404)
    return <p class="muted">{load.error.message}</p>;
  return <View load={load} what="the explanation">{(e) => <Explained explanation={e} report={`/api/v1${path}`} />}</View>;
}

/** /explain?before=RUN&after=RUN&benchmark=&backend=&metric= */
export function ExplainView() {
  const q = query.value;
  const asked = { before: q.get("before"), after: q.get("after"), benchmark: q.get("benchmark"), backend: q.get("backend"), metric: q.get("metric") };
  const path = asked.after ? withQuery("/explain", asked) : null;
  const load = useApi<Explanation>(path);
  return (
    <Page title="Explanation" lead={[asked.benchmark, asked.metric, asked.backend].filter((t) => t).join(" \u00b7 ")}>
      {path === null ? <Empty title="No run is named">Open this page from a comparison or from a run.</Empty>
      : <View load={load} what="the explanation">{(e) => <Section title={e.runs.before ? "What changed, and why" : "What limits it"}><Explained explanation={e} report={`/api/v1${path}`} /></Section>}</View>}
    </Page>
  );
}
