/* Every alert of a project, newest first; open ones unless asked otherwise. */
import { currentProject } from "../api/projects";
import type { Alert } from "../api/types";
import { usePages } from "../api/use";
import { formatValue, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { ALERT_STATES, judgeState } from "../base/verdict";
import { AlertBadge, StateBadge, TwoSpeeds } from "../widgets/badge";
import { Select } from "../widgets/field";
import { BenchName, CommitLink, Page, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { Candidates } from "./candidates";
import { DriftRange } from "./drift";
import { Explained, Moved } from "./moved";

const CHOICES: [string, string][] = [
  ["open", "open"], ["all", "all"], ...ALERT_STATES.map((s): [string, string] => [s, judgeState(s).word]),
];

export function Alerts() {
  const project = currentProject.value;
  const state = query.value.get("state") ?? "open";
  const asked = state === "all" ? null : state;
  const event = query.value.get("event"); /* of the machine that explains them */
  const { load, more, loadingMore } = usePages<{ alerts: Alert[]; next_cursor?: string | null }, Alert>(
    withQuery("/alerts", { project, state: asked, event, limit: 200 }), (r) => r.alerts, ["alert"]);
  return (
    <Page title="Alerts" lead="Changes worth a person’s time.">
      <div class="filters"><Select label="State" value={state} options={CHOICES} onChange={(v) => setQuery({ state: v === "open" ? null : v })} /></div>
      {event && /^[0-9]{1,15}$/.test(event) ? <Explained id={Number(event)} /> : <Moved project={project} />}
      <View load={load} what="alerts">
        {(rows) => {
          if (rows.length === 0) {
            return <Empty title={state === "open" ? "No open alert" : "No alert in this state"}>
              {state === "open" && <p>Every series stands at a level that someone has seen. <a href={href.alerts(project, "all")}>Show closed ones</a></p>}</Empty>;
          }
          return (
            <>
              <Table caption="Alerts, newest first" rows={rows} keyOf={(a) => a.id} columns={[
                { name: "Alert", head: true, cell: (a) => <BenchName benchmark={a.benchmark} metric={a.metric} backend={a.backend} to={href.alert(a.id)} /> },
                { name: "Change", cell: (a) => <><AlertBadge alert={a} words /> <TwoSpeeds machines={a.two_speeds} />{a.reason && <small class="differs">{a.reason}</small>}</> },
                { name: "Before", numeric: true, wide: true, cell: (a) => formatValue(a.before, a.unit) },
                { name: "After", numeric: true, wide: true, cell: (a) => formatValue(a.after, a.unit) },
                { name: "Kind", cell: (a) => <>{a.kind ?? "step"}{a.blocks && <small class="n">in blocks</small>}</> },
                { name: "Culprit", cell: (a) => a.drift ? <span class="muted">{a.title}: <DriftRange project={a.project} drift={a.drift} /></span> : a.boundary ? <span class="muted">{a.title}</span> : a.culprit ? <CommitLink project={a.project} id={a.culprit} />
                  : <span class="muted">{a.commit_low === a.commit_high ? shortId(a.commit_high) : `${shortId(a.commit_low)} to ${shortId(a.commit_high)}`}</span> },
                { name: "Suspect", wide: true, cell: (a) => a.suspect ? `${a.suspect.subject ?? ""}${a.suspect.author ? ` (${a.suspect.author})` : ""}` : "" },
                { name: "Together", wide: true, cell: (a) => a.group && a.group.series > 1 ? `group ${a.group.id}: ${a.group.summary}` : "" },
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
