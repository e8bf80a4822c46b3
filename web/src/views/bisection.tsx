/* One bisection: the final evidence, then the search step by step, then its table. */
import { useEffect } from "preact/hooks";
import { shownProject } from "../api/projects";
import type { AlertDetail, BisectStep, Bisection, Commit } from "../api/types";
import { useApi } from "../api/use";
import { formatChange, formatDuration, formatCertainty, formatValue, plural, shortId } from "../base/format";
import { href, withQuery } from "../base/route";
import { Badge, StateBadge } from "../widgets/badge";
import { Command, CommitLink, Facts, Page, Section } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { agreementOf, budgetText, countsText, differenceText, setText } from "./bisection_text";
import { Replay } from "./replay";
import { Search } from "./search";
import { Verdicts } from "./verdicts";

function StepTable(props: { caption: string; b: Bisection; unit: string; steps: readonly BisectStep[] }) {
  const { b } = props;
  const guilty = new Set(b.culprits.flatMap((c) => c.commits));
  return (
    <Table caption={props.caption} rows={props.steps.map((s, i) => ({ ...s, i }))} keyOf={(s) => s.i} columns={[
      { name: "Step", head: true, cell: (s) => s.i + 1 },
      { name: "Commit", cell: (s) => <CommitLink project={b.project} id={s.commit} /> },
      { name: b.metric, numeric: true, cell: (s) => s.value === null ? (s.state === "asked" ? "under way" : "could not be measured") : formatValue(s.value, props.unit) },
      { name: "Build", numeric: true, cell: (s) => s.build },
      ...(props.steps.some((s) => s.repro) ? [{ name: "Again", wide: true, cell: (s: BisectStep) => <code class="clip" title={s.repro ?? ""}>{s.repro}</code> }] : []),
      { name: "Note", cell: (s) => [guilty.has(s.commit) ? "culprit" : "", s.stored ? "stored before" : "", s.runner ?? "", s.reason ?? ""].filter((t) => t).join(", ") },
    ]} />
  );
}

function Tables(props: { b: Bisection; unit: string }) {
  const { b } = props;
  const steps = (b.steps ?? []).filter((s) => !s.confirm);
  const fresh = (b.steps ?? []).filter((s) => s.confirm);
  return (
    <>
      {steps.length > 0 && (
        <details class="section">
          <summary>Table of {plural(steps.length, "step")}</summary>
          <StepTable caption="Steps" b={b} unit={props.unit} steps={steps} />
        </details>)}
      {fresh.length > 0 && (
        <details class="section">
          <summary>New interleaved pairs that check the culprit: {plural(fresh.length, "run")}, the commit before the culprit and the culprit, interleaved</summary>
          <StepTable caption="New interleaved pairs" b={b} unit={props.unit} steps={fresh} />
        </details>)}
    </>
  );
}

/** Whether the search and its alert state the same size. */
function Agreement(props: { b: Bisection; alert: number }) {
  const load = useApi<AlertDetail>(`/alerts/${props.alert}`, ["alert"]);
  const culprit = props.b.culprits[0];
  if (!culprit || load.state === "loading") return null;
  if (load.state === "failed") return <p class="said bad" role="status">Alert #{props.alert} cannot be compared: {load.error.message}</p>;
  const said = agreementOf(props.b, culprit, load.data);
  return <p class={said.agrees === false ? "said bad agreement" : "agreement"} role="note"><a href={href.alert(props.alert)}>Alert #{props.alert}</a>: {said.text}</p>;
}

const UNITS: Record<string, string> = { tflops: "TFLOP/s", gbps: "GB/s", ns: "ns", cycles: "cycles", bytes: "bytes" };

export function BisectionView(props: { id: string }) {
  const load = useApi<Bisection>(`/bisections/${encodeURIComponent(props.id)}`, ["alert", "bisection"]);
  const project = load.state === "data" ? load.data.project : null;
  useEffect(() => { if (project) shownProject.value = project; }, [project]);
  const known = useApi<{ commits: Commit[] }>(project === null ? null : withQuery(`/projects/${encodeURIComponent(project)}/commits`, { limit: 1000 }));
  const history = known.state === "data" ? known.data.commits : [];
  return (
    <View load={load} what="the bisection">
      {(b) => {
        const unit = b.unit ?? UNITS[b.metric.split("_").pop() ?? ""] ?? "";
        const bench = b.benchmark && b.benchmark !== "headline" ? ` --benchmark ${b.benchmark}` : "";
        return (
          <Page title={`Bisection ${b.id}: ${b.benchmark ?? b.metric}`} side={<StateBadge state={b.verdict ?? b.state ?? "running"} />}
            lead={<>{[b.metric, b.backend].filter((t) => t).join(" \u00b7 ")} from <CommitLink project={b.project} id={b.good} /> (good) to <CommitLink project={b.project} id={b.bad} /> (bad)</>}>
            {b.failure && <p class="said bad" role="status"><CommitLink project={b.project} id={b.failure.commit} /> {b.failure.state.replace("_", " ")}{b.failure.job_id === null ? "" : ` (job ${b.failure.job_id})`}: {b.failure.reason}</p>}
            {budgetText(b) && <p role="status">{budgetText(b)}</p>}
            {!budgetText(b) && differenceText(b) && <p role="status">{differenceText(b)}</p>}
            <Section title={b.culprits.length === 1 ? "Culprit" : "Culprits"}>
              {b.culprits.length === 0 ? <Empty title={b.state === "running" ? "No commit is named yet" : "No commit is named"} /> : <div class="cards">{b.culprits.map((c, i) => (
                <article key={i} class="card">
                  {c.commits.map((id) => <h3 key={id}><CommitLink project={b.project} id={id} /> {history.find((h) => h.id === id)?.subject}</h3>)}
                  {setText(c) && <p class="muted">{setText(c)}</p>}
                  <p class="metric-value">{formatChange(c.rel_change)}</p>
                  <p><Badge judged={{ tone: c.probability >= 0.95 ? "bad" : "warn", icon: c.probability >= 0.95 ? "check" : "question", word: `${formatCertainty(c.probability)} certain` }} /></p>
                  <p class="muted">{formatChange(c.rel_low)} to {formatChange(c.rel_high)}</p>
                </article>))}</div>}
              {b.culprits.length > 0 && (b.alert_id === null ? <p class="muted">No alert belongs to this search.</p> : <Agreement b={b} alert={b.alert_id} />)}
            </Section>
            {b.mode === "remote" && <Search b={b} reload={load.state === "data" ? load.reload : () => undefined} />}
            <Verdicts b={b} />
            <Replay b={b} unit={unit} history={history} />
            <Tables b={b} unit={unit} />
            <Section title="Cost">
              <Facts facts={[["Runs", String(b.runs)], ["Builds", String(b.builds)], ["Commits measured", String(b.commits_measured)], ["Time", formatDuration(b.seconds)],
                ...(countsText(b) ? [["Steps", countsText(b)] as [string, string]] : []),
                ["Alert", b.alert_id === null ? "none" : <a href={href.alert(b.alert_id)}>#{b.alert_id}</a>]]} />
              {b.repro && <Command text={b.repro} what="Command: the same comparison here" />}
              <Command text={`perfci bisect --metric ${b.metric}${bench}${b.backend ? ` --backend ${b.backend}` : ""} --good ${shortId(b.good)} --bad ${shortId(b.bad)}`} what="Command: repeat it" />
            </Section>
          </Page>
        );
      }}
    </View>
  );
}
