/* One group of alerts: its size and cause, what to do with it, and its members. */
import { useEffect, useState } from "preact/hooks";
import { request } from "../api/client";
import type { GroupDetail } from "../api/groups";
import { shownProject } from "../api/projects";
import { mayTriage } from "../api/scopes";
import type { AlertDetail, GroupMember } from "../api/types";
import { useApi } from "../api/use";
import { Spark } from "../charts/spark";
import { effectRange, formatChange, formatNumber, formatShares, plural, shortId } from "../base/format";
import { navigate } from "../base/location";
import { href } from "../base/route";
import { judgeChange, judgeState } from "../base/verdict";
import { ActionButton } from "../widgets/action";
import { AlertBadge, Badge, StateBadge } from "../widgets/badge";
import { BenchName, CommitLink, Facts, Page, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { DriftCard } from "./drift";
import { AcceptLevel, whyNoLevel } from "./accept_level";
import { MeasureAlert } from "./measure";
import { Explained } from "./moved";
import { GroupHeat } from "./group_heat";
import { GroupChange, NamedCulprit, SuspectRole, type Chosen } from "./group_parts";
import { Suspects } from "./suspects";

/** How much, of how many series, and the worst of them. */
function Size(props: { group: GroupDetail }) {
  const g = props.group;
  const w = g.worst;
  const tone = judgeChange(g.lead.direction, g.rel_most ?? 1).tone;
  const range = effectRange(g.rel_least, g.rel_most);
  return (
    <div class={`levels tone-${tone}`}>
      <p class="levels-change">{g.rel_most === null ? <AlertBadge alert={g.lead} /> : <><b>{formatChange(g.rel_most)}</b> <Badge judged={judgeChange(g.lead.direction, g.rel_most)} /></>}</p>
      <p class="muted">{plural(g.series, "series", "series")} of {g.measured} measured there{range.includes(" to ") ? `, ${range}` : ""}</p>
      {w.rel_low !== null && w.rel_high !== null && <p class="muted">interval of the worst series: {formatChange(w.rel_low)} to {formatChange(w.rel_high)}</p>}
      <Spark values={g.spark} base={w.before} tone={tone} area />
      <p><BenchName benchmark={w.benchmark} metric={w.metric} backend={w.backend} to={href.series(w.series_id, { at: (g.lead.commit ?? g.lead.commit_high).slice(0, 12) })} /></p>
    </div>
  );
}

/** The commit with subject and author, or the change of toolchain or harness where no commit is the cause. */
function Cause(props: { group: GroupDetail }) {
  const a = props.group.lead;
  const s = a.suspect;
  const ends = <a href={href.compareRange(a.project, a.commit_low, a.commit_high)}>compare before and after</a>;
  const range = a.commit_low === a.commit_high ? <p class="muted">{ends}</p>
    : <p class="muted">from <CommitLink project={a.project} id={a.commit_low} /> to <CommitLink project={a.project} id={a.commit_high} />, {ends}</p>;
  if (a.drift) return <DriftCard alert={a as AlertDetail} drift={a.drift} />;
  return (
    <div class="levels cause">
      {a.boundary ? <p><b>{a.title}</b></p>
        : s ? <>
          <p class="cause-commit"><CommitLink project={a.project} id={s.commit} /> <SuspectRole suspect={s} /></p>
          <p class="cause-subject">{s.subject ?? "no subject"}</p>
          <p class="muted">{s.author ?? "unknown author"}</p>
        </> : <p>No commit is named.</p>}
      {range}
      {a.kind === "broken" && <p>Broken since <CommitLink project={a.project} id={a.commit ?? a.commit_high} />{a.reason ? `: ${a.reason}` : ""}</p>}
      {a.undone_by && <p>The level is back since <CommitLink project={a.project} id={a.undone_by} />.</p>}
      {a.kind !== "broken" && !a.boundary && <p class="muted">{a.title}</p>}
    </div>
  );
}

/** The members; chosen ones move into a group of their own. */
function Members(props: { group: GroupDetail }) {
  const { id, members } = props.group;
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const [reason, setReason] = useState("");
  const [fault, setFault] = useState("");
  const choose = (m: GroupMember, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(m.id);
    else next.delete(m.id);
    setChosen(next);
  };
  const why = mayTriage() ?? (members.length < 2 ? "a group of one alert cannot be split" : chosen.size === 0 ? "select the alerts that have another cause"
    : chosen.size === members.length ? "at least one alert must stay" : null);
  const split = () => {
    request<GroupDetail>("POST", `/groups/${id}/split`, { alerts: [...chosen], ...(reason.trim() ? { reason: reason.trim() } : {}) }).then((made) => navigate(href.group(made.id)),
      (error: unknown) => setFault(error instanceof Error ? error.message : String(error)));
  };
  return (
    <Section title={plural(members.length, "alert")} side={<ActionButton why={why} onClick={split}>Split off{chosen.size ? ` ${plural(chosen.size, "alert")}` : ""}</ActionButton>}>
      {fault && <p role="alert" class="said bad">{fault}</p>}
      {chosen.size > 0 && <label class="field grow"><span>Reason of the split; it stays in the history</span><input type="text" maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>}
      <Table caption="Alerts of the group" keys rows={members} keyOf={(m) => m.id} rowClass={(m) => (chosen.has(m.id) ? "current" : "")} columns={[
        { name: "Select", cell: (m) => <input type="checkbox" aria-label={`Select alert ${m.id}`} checked={chosen.has(m.id)} onChange={(e) => choose(m, e.currentTarget.checked)} /> },
        { name: "Alert", head: true, cell: (m) => <BenchName benchmark={m.benchmark} metric={m.metric} backend={m.backend} to={href.alert(m.id)} /> },
        { name: "Machine", cell: (m) => m.machine_class },
        { name: "Change", numeric: true, cell: (m) => (m.rel_change === null ? "\u2013" : formatChange(m.rel_change)) },
        { name: "Interval", numeric: true, wide: true, cell: (m) => (m.rel_low === null || m.rel_high === null ? "\u2013" : `${formatChange(m.rel_low)} to ${formatChange(m.rel_high)}`) },
        { name: "State", cell: (m) => <StateBadge state={m.state} /> },
      ]} />
    </Section>
  );
}

function History(props: { group: GroupDetail }) {
  const { history } = props.group;
  if (history.length === 0) return <Empty title="No entry yet" />;
  return (
    <ol class="history">{history.map((h, i) => (
      <li key={i}>
        <span>{h.from === h.to ? <b>note</b> : <StateBadge state={h.to} />}{h.from && h.from !== h.to ? <span class="muted"> from {judgeState(h.from).word}</span> : null} <span class="muted">{plural(h.alerts, "alert")}</span></span>
        <span>{h.reason}<NamedCulprit project={props.group.project} culprit={h.culprit} /></span>
        <small class="muted">{h.actor ?? "the service"} · <When time={h.at} /></small>
      </li>))}
    </ol>
  );
}

const ISSUE_STATES = { waiting: "will be made within a minute", open: "open", closed: "closed", gone: "was deleted at the forge" };

/** The group's issue at the forge, or the request for one. */
function Issue(props: { group: GroupDetail; reload: () => void }) {
  const { id, issue } = props.group;
  const [fault, setFault] = useState("");
  const ask = () => {
    request("POST", `/groups/${id}/issue`, {}).then(() => { setFault(""); props.reload(); },
      (error: unknown) => setFault(error instanceof Error ? error.message : String(error)));
  };
  const name = issue && `${issue.repo}${issue.number === null ? "" : ` #${issue.number}`}`;
  return (
    <div class="levels">
      {issue ? <p>{/^https?:\/\//.test(issue.url) ? <a href={issue.url} rel="noreferrer">{name}</a> : name}: {ISSUE_STATES[issue.state]}</p>
        : <p class="muted">perfci makes an issue in the project's repository, edits it when the group changes, and closes it when no alert of the group is open.</p>}
      {issue?.trouble && <p class="said bad">The last try failed: {issue.trouble}</p>}
      {fault && <p role="alert" class="said bad">{fault}</p>}
      <p><ActionButton why={mayTriage()} onClick={ask}>{!issue ? "File an issue" : issue.state === "gone" ? "Make it again" : "Update the issue"}</ActionButton></p>
    </div>
  );
}

/** The suspects of the alert with the highest worth: their probabilities are of all series of the group. */
function Details(props: { group: GroupDetail }) {
  const load = useApi<AlertDetail>(`/alerts/${props.group.lead.id}`, ["alert"]);
  return <View load={load} what="the alert">{(a) => (a.drift ? null : <Section title={a.culprit ? "Culprit and suspects" : a.boundary ? "No commit: what changed there" : "Suspects"}><Suspects alert={a} /></Section>)}</View>;
}

function Triaged(props: { group: GroupDetail; reload: () => void }) {
  const g = props.group;
  /* The state when the entry began. Until then the form follows the group. */
  const [seen, setSeen] = useState<string | null>(null);
  const chosen: Chosen = new Map([[g.id, seen ?? g.state]]);
  return (
    <div class="levels triage-group" onInput={() => setSeen(seen ?? g.state)}>
      <p><StateBadge state={g.state} /> {Object.keys(g.states).length > 1 && <span class="muted">{Object.entries(g.states).map(([s, n]) => `${n} ${judgeState(s).word}`).join(", ")}</span>}</p>
      <p class="muted">{g.assignee ? <>Assigned to <b>{g.assignee}</b></> : "No assignee"}{g.owner && <>, owner <b>{g.owner}</b></>}</p>
      {g.suppressed > 0 && <p><a href={href.suppressions(g.project)}>{g.suppressed === g.alerts ? "All its alerts are" : `${plural(g.suppressed, "alert")} of it ${g.suppressed === 1 ? "is" : "are"}`} hidden</a> by suppression rules.</p>}
      <GroupChange groups={[g]} chosen={chosen} onSaved={() => { setSeen(null); props.reload(); }} onRefused={props.reload} onSeen={() => setSeen(null)} />
    </div>
  );
}

export function GroupView(props: { id: string }) {
  const load = useApi<GroupDetail>(`/groups/${encodeURIComponent(props.id)}`, ["alert"]);
  const project = load.state === "data" ? load.data.project : null;
  useEffect(() => { if (project) shownProject.value = project; }, [project]);
  return (
    <View load={load} what="the group">
      {(g) => (
        <Page title={formatShares(g.summary)} side={<StateBadge state={g.state} />}
          lead={<>Group {g.id} · {g.branch} · opened <When time={g.opened_first} />{g.alerts > 1 && g.opened_last !== g.opened_first ? <>, last alert <When time={g.opened_last} /></> : null}</>}>
          <div class="group-first">
            <Section title="Size"><Size group={g} /></Section>
            <Section title="Cause"><Cause group={g} /></Section>
            <Section title="Triage"><Triaged group={g} reload={load.state === "data" ? load.reload : () => undefined} /></Section>
          </div>
          {g.lead.event_id ? <Explained id={g.lead.event_id} /> : null}
          <div class="split">
            <Section title="Find the commit"><MeasureAlert alert={g.lead} alerts={g.members.map((m) => m.id)} /></Section>
            <Section title="Accept the new level"><AcceptLevel path="/groups" body={{ groups: [{ id: g.id, seen: g.state }] }} accepted={g.lead.accepted ?? false} drift={g.lead.drift != null} no={whyNoLevel(g.lead.kind, g.direction === "recovery")}
              done={load.state === "data" ? load.reload : () => undefined} /></Section>
          </div>
          <Members group={g} />
          <GroupHeat group={g} />
          <Details group={g} />
          <div class="split">
            <Section title="History"><History group={g} /></Section>
            <Section title="Issue"><Issue group={g} reload={load.state === "data" ? load.reload : () => undefined} /></Section>
          </div>
          <Section title="Figures">
            <Facts facts={[
              ["Worth", g.worth === null ? "\u2013" : formatNumber(g.worth)], ["Alerts", String(g.alerts)], ["Series", `${g.series} of ${g.measured}`],
              ["Grouped by", g.placed ? "a person" : "the place of the change"], ["Lead alert", <a href={href.alert(g.lead.id)}>#{g.lead.id}</a>],
              ["Place", <code>{shortId(g.lead.commit ?? g.lead.commit_high)}</code>],
            ]} />
          </Section>
        </Page>
      )}
    </View>
  );
}
