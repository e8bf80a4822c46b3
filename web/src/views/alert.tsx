/* One alert: the change, its suspects and its history. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { shownProject } from "../api/projects";
import type { Alert, AlertDetail, SeriesReply } from "../api/types";
import { useApi } from "../api/use";
import { rowsAround } from "../charts/columns";
import { SeriesChart } from "../charts/series_chart";
import { formatChange, formatP, formatValue, formatWhen, parseTime, plural, shortId } from "../base/format";
import { navigate } from "../base/location";
import { href } from "../base/route";
import { judgeChange } from "../base/verdict";
import { AlertBadge, Badge, StateBadge, TwoSpeeds } from "../widgets/badge";
import { BenchName, CommitLink, Facts, Page, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { BlockEvidence } from "./alert_blocks";
import { AcceptLevel, whyNoLevel } from "./accept_level";
import { AlertTraces } from "./alert_traces";
import { DriftCard } from "./drift";
import { AlertExplanation } from "./explanation";
import { MeasureAlert } from "./measure";
import { NamedCulprit } from "./group_parts";
import { Explained } from "./moved";
import { Suspects } from "./suspects";
import { Triage } from "./triage";
import { witnessText } from "./witness_text";

function Levels(props: { alert: AlertDetail }) {
  const a = props.alert;
  const top = Math.max(a.before, a.after) || 1;
  const bar = (name: string, value: number, tone: string) => (
    <div class="level"><span>{name}</span>
      <svg class={`level-bar tone-${tone}`} viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect width={Math.max(0.5, (value / top) * 100)} height="10" rx="1" /></svg>
      <b>{formatValue(value, a.unit)}</b></div>
  );
  const judged = judgeChange(a.direction, a.rel_change);
  return (
    <div class={`levels tone-${judged.tone}`}>
      <p class="levels-change"><b>{formatChange(a.rel_change)}</b> <Badge judged={judged} /></p>
      <p class="muted">{formatChange(a.rel_low)} to {formatChange(a.rel_high)}, p {formatP(a.p)}</p>
      {bar("Before", a.before, "quiet")}
      {bar("After", a.after, judged.tone)}
    </div>
  );
}

/** A benchmark without results: since when, and why. */
function Broken(props: { alert: AlertDetail }) {
  const a = props.alert;
  return (
    <div class="levels tone-bad">
      <p class="levels-change"><AlertBadge alert={a} /></p>
      <p>Broken since <CommitLink project={a.project} id={a.commit ?? a.commit_high} />{a.reason ? `: ${a.reason}` : ""}</p>
      {a.undone_by && <p>Measured again since <CommitLink project={a.project} id={a.undone_by} />.</p>}
    </div>
  );
}

/** A commit to open the series at. */
const place = (a: Alert) => (a.commit ?? a.commit_high).slice(0, 12);

/** The series around the change. */
function Around(props: { alert: AlertDetail }) {
  const a = props.alert;
  const load = useApi<SeriesReply>(`/series/${a.series_id}?points=5000`, ["run"]);
  const [moved, setMoved] = useState<[number, number] | null | undefined>(undefined); /* undefined: around the change */
  return (
    <View load={load} what="the series">
      {(reply) => {
        const n = reply.columns.commit.length;
        if (n === 0) return <Empty title="The series has no point" />;
        /* From end to end of the range and of what is known in it: a search can put many runs between the ends. */
        const zoom = rowsAround(reply, [a.commit_low, a.culprit, a.commit, a.commit_high], 30);
        return <SeriesChart reply={reply} xMode="commits" yMode="linear" drag="zoom" height={260} zoom={moved === undefined ? zoom : moved} selected={null} leaves range={null}
          label={a.commit ? `The series around commit ${shortId(a.commit)}` : "The series around the drift"} onZoom={setMoved}
          onSelect={(row) => { if (row !== null) navigate(href.commit(a.project, reply.columns.commit[row] ?? "")); }} onRange={() => undefined} />;
      }}
    </View>
  );
}

/** Evidence from history, bisections and new pairs, and why these may differ. */
function Effects(props: { alert: AlertDetail }) {
  const list = props.alert.effects ?? [];
  if (list.length < 2) return null;
  return (
    <Section title="Size by source">
      {props.alert.effects_differ && <p role="note">{props.alert.effects_differ}</p>}
      <Table caption="Size of the change by source" rows={list} keyOf={(e) => `${e.source} ${e.bisection_id} ${e.commit}`} columns={[
        { name: "Source", head: true, cell: (e) => e.source },
        { name: "Bisection", numeric: true, cell: (e) => (e.bisection_id === null ? "\u2013" : <a href={href.bisection(e.bisection_id)}>#{e.bisection_id}</a>) },
        { name: "Commit", cell: (e) => (e.commit === null ? "\u2013" : <CommitLink project={props.alert.project} id={e.commit} />) },
        { name: "Change", numeric: true, cell: (e) => formatChange(e.rel_change) },
        { name: "Interval", numeric: true, cell: (e) => `${formatChange(e.rel_low)} to ${formatChange(e.rel_high)}` },
        { name: "n", numeric: true, cell: (e) => e.n },
      ]} />
    </Section>
  );
}

/** Results of the benchmark's other series at the same place. */
function Witnesses(props: { alert: AlertDetail }) {
  const list = props.alert.witnesses ?? [];
  const word: Record<string, string> = { worse: "also worse", better: "better", still: "no change found", unknown: "not measured on both sides" };
  return (
    <>
      <p>{witnessText(props.alert.evidence, list)}</p>
      {list.length > 0 && <Table caption="Other series of this benchmark" rows={list.slice(0, 50)} keyOf={(w) => w.series_id} columns={[
        { name: "Metric", head: true, cell: (w) => <a href={href.series(w.series_id)}>{w.metric}</a> },
        { name: "Backend", cell: (w) => w.backend },
        { name: "Here", cell: (w) => word[w.moved] ?? w.moved },
        { name: "Change", numeric: true, cell: (w) => (w.rel_change === null ? "\u2013" : formatChange(w.rel_change)) },
        { name: "Noise", cell: (w) => (w.exact ? "none" : "") },
      ]} />}
    </>
  );
}

/** The alerts that probably have the same cause. */
function Members(props: { alert: AlertDetail }) {
  const list = props.alert.members ?? [];
  if (list.length < 2) return null;
  return (
    <Section title="Alerts of the same group" side={<span class="muted">{props.alert.group?.summary ?? ""}</span>}>
      <Table caption="Alerts of the same group" rows={list.slice(0, 50)} keyOf={(m) => m.id} columns={[
        { name: "Alert", head: true, cell: (m) => <BenchName benchmark={m.benchmark} metric={m.metric} backend={m.backend} to={href.alert(m.id)} /> },
        { name: "Machine", cell: (m) => m.machine_class },
        { name: "Change", numeric: true, cell: (m) => (m.rel_change === null ? "\u2013" : formatChange(m.rel_change)) },
        { name: "State", cell: (m) => <StateBadge state={m.state} /> },
      ]} />
    </Section>
  );
}

function History(props: { alert: AlertDetail }) {
  const { history } = props.alert;
  if (history.length === 0) return <p class="muted">No entry yet.</p>;
  return (
    <ol class="history">{history.map((h, i) => (
      <li key={i}>
        <span>{h.to ? <StateBadge state={h.to} /> : <b>note</b>}{h.from ? <span class="muted"> from {h.from.replace(/_/g, " ")}</span> : null}</span>
        <span>{h.reason}<NamedCulprit project={props.alert.project} culprit={h.culprit ?? null} /></span>
        <small class="muted">{h.actor ?? "the service"} · <When time={h.at} /></small>
      </li>))}
    </ol>
  );
}

export function AlertView(props: { id: string }) {
  const load = useApi<AlertDetail>(`/alerts/${encodeURIComponent(props.id)}`, ["alert"]);
  const project = load.state === "data" ? load.data.project : null;
  useEffect(() => { if (project) shownProject.value = project; }, [project]);
  return (
    <View load={load} what="the alert">
      {(a) => {
        const headline = a.benchmark === "headline" || a.benchmark === "";
        return (
          <Page title={`Alert ${a.id}: ${headline ? a.metric : a.benchmark}`} side={<StateBadge state={a.state} />}
            lead={<>{[headline ? "headline" : a.metric, a.backend, a.machine_class].filter((t) => t).join(" \u00b7 ")} · {a.group_id != null && <><a href={href.group(a.group_id)}>Group {a.group_id}</a> · </>}opened <When time={a.created_at} /></>}>
            {(a.two_speeds ?? []).length > 0 && <p class="two-speeds"><TwoSpeeds machines={a.two_speeds} /></p>}
            {a.suppression && <p role="note">Hidden until {formatWhen(parseTime(a.suppression.expires_at))} by <a href={href.suppressions(a.project, { rule: a.suppression.id })}>rule {a.suppression.id}</a> of {a.suppression.owner}: {a.suppression.reason}</p>}
            <div class="split narrow-first">
              <Section title={a.kind === "broken" ? "Broken benchmark" : a.kind === "drift" ? "Slow drift" : "Change"}>{a.kind === "broken" ? <Broken alert={a} /> : <Levels alert={a} />}</Section>
              <Section title="The series around it" side={<a href={href.series(a.series_id, { at: place(a) })}>Open the series</a>}><div class="chart-card"><Around alert={a} /></div></Section>
            </div>
            {a.event_id ? <Explained id={a.event_id} /> : null}
            {a.drift ? <Section title="No single culprit"><DriftCard alert={a} drift={a.drift} /></Section>
            : <Section title={a.culprit ? "Culprit and suspects" : a.boundary ? "No commit: what changed there" : "Suspects"} side={<span class="muted">{plural(a.range.length, "commit")} between the last good and the first {a.kind === "broken" ? "broken result" : "bad level"}</span>}>
              {a.boundary && <p><b>{a.title}</b></p>}
              <Suspects alert={a} />
            </Section>}
            <div class="split">
              <Section title="Find the commit"><MeasureAlert alert={a} alerts={[a.id]} /></Section>
              <Section title="Accept the new level"><AcceptLevel path={`/alerts/${a.id}`} body={{ seen: a.state }} accepted={a.accepted ?? false} drift={a.drift != null} no={whyNoLevel(a.kind, !!a.undone_by)} done={load.state === "data" ? load.reload : () => undefined} /></Section>
            </div>
            {(a.kind ?? "step") === "step" && <Section title="What changed inside, and why"><AlertExplanation id={a.id} /></Section>}
            {(a.kind ?? "step") === "step" && <Section title="Traces"><AlertTraces alert={a.id} project={a.project} /></Section>}
            <Members alert={a} />
            <div class="split">
              <Section title="Triage"><Triage alert={a} done={load.state === "data" ? load.reload : () => undefined} /></Section>
              <Section title="History"><History alert={a} /></Section>
            </div>
            <Effects alert={a} />
            <Section title="Evidence">
              <BlockEvidence alert={a} />
              <Witnesses alert={a} />
              <Facts facts={[
                ["Series", <BenchName benchmark={a.benchmark} metric={a.metric} backend={a.backend} to={href.series(a.series_id)} />],
                ["Levels", `${formatValue(a.before, a.unit)} to ${formatValue(a.after, a.unit)}`],
                ["Kind", a.title ?? a.kind ?? "step"],
                ["Reproduced", a.reproducibility ?? "\u2013"],
                ...(a.hidden ? [["Hidden", `${plural(a.hidden, "result")} of its series in quarantine`] as [string, ComponentChildren]] : []),
                ...(a.commit ? [[a.boundary ? "New level since" : "First measured at the new level", <CommitLink project={a.project} id={a.commit} />] as [string, ComponentChildren]] : []),
                ["Compare", <a href={href.compareRange(a.project, a.commit_low, a.commit_high)}>before and after</a>], ["Note", a.note || "none"],
                ...(a.owner ? [["Owner", a.owner] as [string, ComponentChildren]] : []),
              ]} />
            </Section>
          </Page>
        );
      }}
    </View>
  );
}
