/* Single alerts of a project, newest first; open ones unless asked otherwise. Groups of them are the usual view. */
import { currentProject } from "../api/projects";
import type { Alert } from "../api/types";
import { usePages } from "../api/use";
import { formatValue, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { ALERT_STATES, judgeState } from "../base/verdict";
import { AlertBadge, StateBadge, TwoSpeeds } from "../widgets/badge";
import { Select } from "../widgets/field";
import { BenchName, Clamped, CommitLink, Page, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { Candidates } from "./candidates";
import { HiddenAlerts } from "./hidden_alerts";
import { DriftRange } from "./drift";
import { SuspectRole } from "./group_parts";
import { Groups } from "./groups";
import { Explained, Moved } from "./moved";

const CHOICES: [string, string][] = [
  ["open", "open"], ["all", "all"], ...ALERT_STATES.map((s): [string, string] => [s, judgeState(s).word]),
];

/** Size, kind and levels. */
function Change(props: { alert: Alert }) {
  const a = props.alert;
  const kind = [a.kind ?? "step", a.blocks ? "in blocks" : ""].filter((t) => t).join(", ");
  return (
    <span class="stacked"><span><AlertBadge alert={a} words /> <TwoSpeeds machines={a.two_speeds} /></span>
      {a.reason ? <Clamped text={a.reason} /> : <small class="muted">{kind}: {formatValue(a.before, a.unit)} to {formatValue(a.after, a.unit)}</small>}</span>
  );
}

/** The culprit or the suspect with subject and author, or the change of toolchain or harness where no commit is the cause. */
function Cause(props: { alert: Alert }) {
  const a = props.alert;
  if (a.drift) return <span class="muted">{a.title}: <DriftRange project={a.project} drift={a.drift} /></span>;
  if (a.boundary) return <span class="muted"><Clamped text={a.title ?? ""} /></span>;
  const range = a.commit_low === a.commit_high ? shortId(a.commit_high) : `${shortId(a.commit_low)} to ${shortId(a.commit_high)}`;
  return (
    <span class="stacked">
      <span>{a.suspect && (a.culprit || a.suspect.bisection_id) ? <><CommitLink project={a.project} id={a.suspect.commit} /> <SuspectRole suspect={a.suspect} /></> : <span class="muted">{range}</span>}</span>
      {a.suspect && <Clamped text={`${a.suspect.subject ?? ""}${a.suspect.author ? ` (${a.suspect.author})` : ""}`} />}
    </span>
  );
}

function SingleAlerts() {
  const project = currentProject.value;
  const state = query.value.get("state") ?? "open";
  const asked = state === "all" ? null : state;
  const event = query.value.get("event"); /* of the machine that explains them */
  const { load, more, loadingMore } = usePages<{ alerts: Alert[]; next_cursor?: string | null }, Alert>(
    withQuery("/alerts", { project, state: asked, event, limit: 200 }), (r) => r.alerts, ["alert"]);
  return (
    <Page title="Alerts" lead="Single alerts, newest first." side={<a href={href.alerts(project)}>Groups of alerts</a>}>
      <div class="filters"><Select label="State" value={state} options={CHOICES} onChange={(v) => setQuery({ state: v === "open" ? null : v })} /></div>
      {event && /^[0-9]{1,15}$/.test(event) ? <Explained id={Number(event)} /> : <Moved project={project} />}
      {!event && <HiddenAlerts project={project} />}
      <View load={load} what="alerts">
        {(rows) => {
          if (rows.length === 0) {
            return <Empty title={state === "open" ? "No open alert" : "No alert in this state"}>
              {state === "open" && <p>No change point needs triage. <a href={withQuery("/alerts", { project, view: "alerts", state: "all" })}>Show closed ones</a></p>}</Empty>;
          }
          return (
            <>
              <Table caption="Alerts, newest first" keys rows={rows} keyOf={(a) => a.id} columns={[
                { name: "Alert", head: true, cell: (a) => <BenchName benchmark={a.benchmark} metric={a.metric} backend={a.backend} to={href.alert(a.id)} /> },
                { name: "Change", cell: (a) => <Change alert={a} /> },
                { name: "Cause", cell: (a) => <Cause alert={a} /> },
                { name: "Together", wide: true, cell: (a) => a.group && a.group.series > 1 ? <Clamped text={`group ${a.group.id}: ${a.group.summary}`} /> : "" },
                { name: "State", cell: (a) => <StateBadge state={a.state} /> },
                { name: "Opened", cell: (a) => <When time={a.created_at} /> },
              ]} />
              {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
            </>
          );
        }}
      </View>
      {!event && <Candidates project={project} />}
    </Page>
  );
}

/** Groups, or single alerts where the address asks for them or for those of one event. */
export function Alerts() {
  const q = query.value;
  return q.get("view") === "alerts" || q.get("event") ? <SingleAlerts /> : <Groups />;
}
