/* Groups of alerts: what got slower, how much, and by which commit; several are triaged at once. */
import { useState } from "preact/hooks";
import { request } from "../api/client";
import { mayTriage } from "../api/scopes";
import { ownersOf, type Group, type GroupsReply, type Improvement, type OwnersReply } from "../api/groups";
import type { PlotNames } from "../api/plot";
import { currentProject } from "../api/projects";
import { useApi, usePages } from "../api/use";
import { Spark } from "../charts/spark";
import type { Value } from "../base/completion";
import { effectRange, formatChange, formatShares, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { ALERT_STATES, judgeChange, judgeState } from "../base/verdict";
import { ActionButton } from "../widgets/action";
import { Badge, StateBadge } from "../widgets/badge";
import { ValueFilter } from "../widgets/expression";
import { Choice, Search, Select } from "../widgets/field";
import { Clamped, CommitLink, Page, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { Candidates } from "./candidates";
import { HiddenAlerts } from "./hidden_alerts";
import { Moved } from "./moved";
import { GROUPS_MAX, GroupCause, GroupChange, GroupSize, type Chosen } from "./group_parts";

type Direction = "regression" | "improvement" | "recovery";
const DIRECTIONS: [Direction, string][] = [["regression", "Regressions"], ["improvement", "Improvements"], ["recovery", "Recoveries"]];
const STATES: [string, string][] = [
  ["open", "open"], ["all", "all"], ...ALERT_STATES.map((s): [string, string] => [s, judgeState(s).word]),
];
/** Filters of the address, by their names in the API, and the field of the series that has their values. */
const FILTERS = [["kernel", "Kernel", "kernel"], ["backend", "Backend", "backend"], ["machine", "Machine", "machine_class"], ["owner", "Owner", null], ["assignee", "Assignee", null]] as const;
/** Persons: the server searches them only for a token, and no improvement has any. */
const PERSONS: readonly string[] = ["owner", "assignee"];

function Filters(props: { direction: Direction; project: string | null; assignees: readonly string[] }) {
  const q = query.value;
  const own = props.project === null ? null : `/projects/${encodeURIComponent(props.project)}`;
  const names = useApi<PlotNames>(own && `${own}/plot/names`, ["run"]);
  const owners = useApi<OwnersReply>(own && `${own}/owners`);
  const valuesOf = (name: string, field: string | null): readonly Value[] => {
    if (name === "owner") return ownersOf(owners.state === "data" ? owners.data : null).map((value) => ({ value, series: null }));
    if (name === "assignee") return props.assignees.map((value) => ({ value, series: null }));
    return (names.state === "data" ? names.data.names.find((n) => n.name === field)?.values : null) ?? [];
  };
  return (
    <div class="filters">
      <Choice label="Direction" value={props.direction} options={DIRECTIONS} onChange={(v) => setQuery({ direction: v === "regression" ? null : v })} />
      {props.direction !== "improvement" && <>
        <Select label="State" value={q.get("state") ?? (props.direction === "recovery" ? "all" : "open")} options={STATES} onChange={(v) => setQuery({ state: v })} />
        <Select label="Order" value={q.get("sort") ?? "worth"} options={[["worth", "by worth"], ["newest", "newest first"]]} onChange={(v) => setQuery({ sort: v === "worth" ? null : v })} />
      </>}
      <Search label="Search groups" value={q.get("q") ?? ""} onChange={(v) => setQuery({ q: v }, true)} />
      {FILTERS.filter(([name]) => !PERSONS.includes(name) || props.direction !== "improvement").map(([name, label, field]) => (
        <ValueFilter key={name} label={label} value={q.get(name) ?? ""} values={valuesOf(name, field)} onChange={(v) => { if (v !== (q.get(name) ?? "")) setQuery({ [name]: v }); }} />))}
    </div>
  );
}

/** Moves the chosen groups into the one with the highest worth, which is the first of them. */
function Merge(props: { rows: readonly Group[]; chosen: Chosen; reason: string; done: () => void }) {
  const [fault, setFault] = useState("");
  const ids = props.rows.filter((g) => props.chosen.has(g.id)).map((g) => g.id);
  const [into, ...rest] = ids;
  const why = mayTriage() ?? (rest.length === 0 ? "select two groups or more to merge them" : null);
  const merge = () => {
    request("POST", `/groups/${into ?? 0}/merge`, { groups: rest, ...(props.reason ? { reason: props.reason } : {}) }).then(() => { setFault(""); props.done(); },
      (error: unknown) => setFault(error instanceof Error ? error.message : String(error)));
  };
  return <><ActionButton why={why} quiet onClick={merge}>{rest.length ? `Merge into group ${into ?? 0}` : "Merge"}</ActionButton>{fault && <p role="alert" class="said bad">{fault}</p>}</>;
}

function Rows(props: { rows: readonly Group[]; reload: () => void }) {
  const [saved, setSaved] = useState<ReadonlyMap<number, Group>>(new Map()); /* answers to changes, shown until the list is read again */
  const rows = props.rows.map((g) => { const s = saved.get(g.id); return s && s.updated_at > g.updated_at ? s : g; });
  const [ticked, setChosen] = useState<Chosen>(new Map());
  /* A group that left the list, by a filter or by another person's change, must not be changed unseen. */
  const chosen: Chosen = new Map([...ticked].filter(([id]) => rows.some((g) => g.id === id)));
  const choose = (g: Group, on: boolean) => {
    const next = new Map(chosen);
    if (on) next.set(g.id, g.state);
    else next.delete(g.id);
    setChosen(next);
  };
  const first = rows.slice(0, GROUPS_MAX);
  const all = first.length > 0 && first.every((g) => chosen.has(g.id));
  const done = () => { setChosen(new Map()); props.reload(); };
  return (
    <>
      <div class="action-bar" role="group" aria-label="Change the selected groups">
        <label class="check"><input type="checkbox" checked={all} onChange={(e) => setChosen(e.currentTarget.checked ? new Map(first.map((g) => [g.id, g.state])) : new Map())} /> {chosen.size ? `${plural(chosen.size, "group")} selected` : rows.length > GROUPS_MAX ? `Select the first ${GROUPS_MAX}` : "Select all"}</label>
        <GroupChange groups={rows} chosen={chosen} onSaved={(groups) => { setSaved(new Map(groups.map((g) => [g.id, g]))); done(); }} onRefused={props.reload} onSeen={setChosen} more={(reason) => <Merge rows={rows} chosen={chosen} reason={reason} done={done} />} />
      </div>
      <Table caption="Groups of alerts" keys className="groups" rows={rows} keyOf={(g) => g.id} rowClass={(g) => (chosen.has(g.id) ? "current" : "")} columns={[
        { name: "Select", cell: (g) => <input type="checkbox" aria-label={`Select group ${g.id}`} checked={chosen.has(g.id)} onChange={(e) => choose(g, e.currentTarget.checked)} /> },
        { name: "Group", head: true, cell: (g) => <span class="bench"><a href={href.group(g.id)} class="clamped" title={g.summary}>{formatShares(g.summary)}</a>
          <small class="clamped">worst: {g.worst.benchmark || g.worst.metric} {g.worst.backend}</small></span> },
        { name: "Change", cell: (g) => <GroupSize group={g} /> },
        { name: "Cause", cell: (g) => <GroupCause group={g} /> },
        { name: "Worst series", wide: true, cell: (g) => <Spark values={g.spark} base={g.worst.before} tone={judgeChange(g.lead.direction, g.rel_most ?? 1).tone} /> },
        { name: "State", cell: (g) => <span class="stacked"><StateBadge state={g.state} />{g.assignee && <small class="clamped" title={g.assignee}>{g.assignee}</small>}
          {g.owner && <small class="clamped" title={`owner ${g.owner}`}>owner {g.owner}</small>}{g.suppressed > 0 && <small class="muted">{g.suppressed} hidden</small>}</span> },
        { name: "Opened", cell: (g) => <When time={g.opened_first} /> },
      ]} />
    </>
  );
}

function Improvements(props: { rows: readonly Improvement[] }) {
  return (
    <Table caption="Improvements by commit, newest first" keys className="groups" rows={props.rows} keyOf={(i) => `${i.commit} ${i.branch}`} columns={[
      { name: "Improvement", head: true, cell: (i) => <span class="bench"><a href={href.commit(i.project, i.commit)} class="clamped" title={i.summary}>{formatShares(i.summary)}</a><small class="clamped">best: {i.best.benchmark} {i.best.backend}</small></span> },
      { name: "Change", cell: (i) => <span class="stacked"><span><Badge judged={judgeChange("improvement", i.rel_most)} text={formatChange(i.rel_most)} /></span>{i.series > 1 && <small class="muted">{effectRange(i.rel_least, i.rel_most)}</small>}<small class="muted">{i.series} series</small></span> },
      { name: "Cause", cell: (i) => <span class="stacked"><CommitLink project={i.project} id={i.commit} /><Clamped text={`${i.subject} (${i.author})`} /></span> },
      { name: "Best series", wide: true, cell: (i) => <Spark values={i.spark} base={i.best.before} tone="good" /> },
      { name: "Found", cell: (i) => <When time={i.opened_first} /> },
    ]} />
  );
}

export function Groups() {
  const project = currentProject.value;
  const q = query.value;
  const asked = q.get("direction");
  const direction: Direction = asked === "improvement" || asked === "recovery" ? asked : "regression";
  const state = q.get("state") ?? (direction === "recovery" ? "all" : "open");
  const filters = Object.fromEntries(["kernel", "backend", "machine", "q"].map((name) => [name, q.get(name)]));
  const { load, more, loadingMore } = usePages<GroupsReply, Group | Improvement>(
    withQuery("/groups", { project, direction, limit: 100, ...filters,
      ...(direction === "improvement" ? {} : { state: state === "all" ? null : state, sort: q.get("sort"), assignee: q.get("assignee"), owner: q.get("owner") }) }),
    (r) => (direction === "improvement" ? r.improvements : r.groups), ["alert"]);
  const shown = direction !== "improvement" && load.state === "data" ? load.data as Group[] : [];
  const assignees = [...new Set(shown.flatMap((g) => (g.assignee ? [g.assignee] : [])))].sort();
  const none = { regression: state === "open" ? "No open alert" : "No group in this state", improvement: "No improvement", recovery: "No recovery" }[direction];
  return (
    <Page title="Alerts" lead="Groups of alerts with one cause." side={<a href={withQuery("/alerts", { project, view: "alerts" })}>Single alerts</a>}>
      <Filters direction={direction} project={project} assignees={assignees} />
      {direction === "regression" && <><Moved project={project} /><HiddenAlerts project={project} /></>}
      <View load={load} what="groups">
        {(rows) => rows.length === 0
          ? <Empty title={none}>{direction === "regression" && state === "open" && <p>No change point needs triage. <a href={withQuery("/alerts", { project, state: "all" })}>Show closed ones</a></p>}</Empty>
          : <>
            {direction === "improvement" ? <Improvements rows={rows as Improvement[]} /> : <Rows rows={rows as Group[]} reload={load.state === "data" ? load.reload : () => undefined} />}
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>}
      </View>
      {direction === "regression" && <Candidates project={project} />}
    </Page>
  );
}
