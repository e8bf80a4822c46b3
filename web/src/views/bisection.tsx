/* One bisection: the verdict, and the steps that led to it. */
import { useEffect } from "preact/hooks";
import { shownProject } from "../api/projects";
import type { BisectStep, Bisection, Commit } from "../api/types";
import { useApi } from "../api/use";
import { Steps, type StepDot } from "../charts/steps";
import { formatChange, formatDuration, formatCertainty, formatValue, plural, shortId } from "../base/format";
import { href, withQuery } from "../base/route";
import { Badge, StateBadge } from "../widgets/badge";
import { Command, CommitLink, Facts, Page, Section } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { budgetText, countsText, differenceText, setText } from "./bisection_text";
import { Search } from "./search";
import { Verdicts } from "./verdicts";

/** Measured commits in history order where it is known, else as they came. */
function placesOf(b: Bisection, commits: readonly Commit[]): string[] {
  const position = new Map(commits.map((c) => [c.id, c.position]));
  const ids = [...new Set((b.steps ?? []).map((s) => s.commit))];
  return ids.every((id) => position.has(id)) ? ids.sort((x, y) => (position.get(x) ?? 0) - (position.get(y) ?? 0)) : ids;
}

function StepTable(props: { caption: string; b: Bisection; unit: string; steps: readonly BisectStep[] }) {
  const { b } = props;
  const guilty = new Set(b.culprits.flatMap((c) => c.commits));
  return (
    <Table caption={props.caption} rows={props.steps.map((s, i) => ({ ...s, i }))} keyOf={(s) => s.i} columns={[
      { name: "Step", head: true, cell: (s) => s.i + 1 },
      { name: "Commit", cell: (s) => <CommitLink project={b.project} id={s.commit} /> },
      { name: b.metric, numeric: true, cell: (s) => s.value === null ? (s.state === "asked" ? "under way" : "could not be measured") : formatValue(s.value, props.unit) },
      { name: "Build", numeric: true, cell: (s) => s.build },
      ...(props.steps.some((s) => s.repro) ? [{ name: "Again", wide: true, cell: (s: BisectStep) => <code>{s.repro}</code> }] : []),
      { name: "Note", cell: (s) => [guilty.has(s.commit) ? "culprit" : "", s.stored ? "stored before" : "", s.runner ?? "", s.reason ?? ""].filter((t) => t).join(", ") },
    ]} />
  );
}

function Plot(props: { b: Bisection; unit: string; history: readonly Commit[] }) {
  const { b } = props;
  const steps = (b.steps ?? []).filter((s) => !s.confirm);
  const fresh = (b.steps ?? []).filter((s) => s.confirm);
  if (steps.length === 0) return <Empty title="The report came without its steps" />;
  const places = placesOf(b, props.history);
  const guilty = new Set(b.culprits.flatMap((c) => c.commits));
  const dots = steps.map((s, i): StepDot => ({ place: places.indexOf(s.commit), step: i + 1, value: s.value, culprit: guilty.has(s.commit) }));
  const hit = places.flatMap((p, i) => (guilty.has(p) ? [i] : []));
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Plot of the steps">
        <Steps dots={dots} places={places.map((p) => p.slice(0, 7))} unit={props.unit}
          culprit={hit.length > 0 ? [hit[0] ?? 0, hit[hit.length - 1] ?? 0] : null}
          label={`${plural(dots.length, "measurement")} of ${plural(places.length, "commit")}; the table below holds the same numbers.`} />
      </div>
      <StepTable caption="Steps" b={b} unit={props.unit} steps={steps} />
      {fresh.length > 0 && (
        <details class="section">
          <summary>New interleaved pairs that check the culprit: {plural(fresh.length, "run")}, the commit before the culprit and the culprit, interleaved</summary>
          <StepTable caption="New interleaved pairs" b={b} unit={props.unit} steps={fresh} />
        </details>)}
    </>
  );
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
            {b.mode === "remote" && <Search b={b} reload={load.state === "data" ? load.reload : () => undefined} />}
            <Section title={b.culprits.length === 1 ? "Culprit" : "Culprits"}>
              {b.culprits.length === 0 ? <Empty title={b.state === "running" ? "No commit is named yet" : "No commit is named"} /> : <div class="cards">{b.culprits.map((c, i) => (
                <article key={i} class="card">
                  {c.commits.map((id) => <h3 key={id}><CommitLink project={b.project} id={id} /> {history.find((h) => h.id === id)?.subject}</h3>)}
                  {setText(c) && <p class="muted">{setText(c)}</p>}
                  <p class="metric-value">{formatChange(c.rel_change)}</p>
                  <p><Badge judged={{ tone: c.probability >= 0.95 ? "bad" : "warn", icon: c.probability >= 0.95 ? "check" : "question", word: `${formatCertainty(c.probability)} certain` }} /></p>
                  <p class="muted">{formatChange(c.rel_low)} to {formatChange(c.rel_high)}</p>
                </article>))}</div>}
            </Section>
            <Verdicts b={b} />
            <Section title="Steps"><Plot b={b} unit={unit} history={history} /></Section>
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
