/* Parts of a group's row and of its page: size, cause, and a change of several groups at once. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { Group, GroupsChange } from "../api/groups";
import type { Alert } from "../api/types";
import { effectRange, plural, shortId } from "../base/format";
import { href } from "../base/route";
import { ALERT_STATES, judgeState } from "../base/verdict";
import { mayTriage } from "../api/scopes";
import { AlertBadge, StateBadge } from "../widgets/badge";
import { ActionButton } from "../widgets/action";
import { Icon } from "../widgets/icons";
import { Clamped, CommitLink } from "../widgets/parts";
import { DriftRange } from "./drift";

/** The largest effect, and how many series have one. */
export function GroupSize(props: { group: Group }) {
  const g = props.group;
  const worst = { kind: g.lead.kind ?? "step", direction: g.lead.direction, rel_change: g.rel_most ?? g.lead.rel_change };
  const range = effectRange(g.rel_least, g.rel_most);
  return (
    <span class="stacked">
      <span><AlertBadge alert={worst} /></span>
      {range.includes(" to ") && <small class="muted">{range}</small>}
      <small class="muted">{g.series} of {g.measured} series{g.alerts > g.series ? `, ${plural(g.alerts, "alert")}` : ""}</small>
    </span>
  );
}

/** The commit that an entry of a history named as the culprit, or that it named none any longer. */
export function NamedCulprit(props: { project: string; culprit: string | null }) {
  if (props.culprit === null) return null;
  return <span class="muted"> {props.culprit === "" ? "the culprit was taken back" : <>culprit: <CommitLink project={props.project} id={props.culprit} /></>}</span>;
}

/** The role of the commit: confirmed, found by a search but not confirmed, or the most likely one. */
export function SuspectRole(props: { suspect: NonNullable<Alert["suspect"]>; range?: string }) {
  const s = props.suspect;
  if (s.named) return <b>culprit</b>;
  if (s.bisection_id) return <span>found by <a href={href.bisection(s.bisection_id)}>search #{s.bisection_id}</a>, not confirmed</span>;
  return <span class="muted" title={props.range ? `range ${props.range}` : undefined}>suspect</span>;
}

/** The culprit or the suspect with subject and author, or what changed in place of a commit. */
export function GroupCause(props: { group: Group }) {
  const a = props.group.lead;
  if (a.drift) return <span class="muted">{a.title}: <DriftRange project={a.project} drift={a.drift} /></span>;
  if (a.boundary) return <span class="muted"><Clamped text={a.title ?? ""} /></span>;
  const range = a.commit_low === a.commit_high ? shortId(a.commit_high) : `${shortId(a.commit_low)} to ${shortId(a.commit_high)}`;
  const s = a.suspect;
  return (
    <span class="stacked">
      <span>{s ? <><CommitLink project={a.project} id={s.commit} /> <SuspectRole suspect={s} range={range} /></> : <span class="muted">{range}</span>}</span>
      {s && <Clamped text={`${s.subject ?? "no subject"}${s.author ? ` (${s.author})` : ""}`} />}
    </span>
  );
}

/** Groups that one change may name. */
export const GROUPS_MAX = 100;

/** A group as the person has seen it: its state then is sent along with every change. */
export type Chosen = ReadonlyMap<number, string>;

/** Other changes since: each group with the state that it has now, beside the entry of this form. */
function Conflicts(props: { groups: readonly Group[]; chosen: Chosen; state: string; keep: () => void; replace: () => void }) {
  const moved = props.groups.filter((g) => props.chosen.has(g.id) && props.chosen.get(g.id) !== g.state);
  if (moved.length === 0) return null;
  return (
    <div class="conflict" role="alert">
      <p><Icon name="alert" /> {plural(moved.length, "group")} changed while this form was open.</p>
      <ul>{moved.map((g) => <li key={g.id}>Group {g.id}: now <StateBadge state={g.state} />, your entry <StateBadge state={props.state} /></li>)}</ul>
      <div class="row"><button type="button" class="button" onClick={props.keep}>Keep what is there</button>
        <button type="button" class="button" onClick={props.replace}>Replace by {judgeState(props.state).word}</button></div>
    </div>
  );
}

/** Changes all chosen groups at once. `groups`: those on view, with their present states. A refused change keeps the
 *  selection with the states that were seen. */
export function GroupChange(props: {
  groups: readonly Group[]; chosen: Chosen; onSaved: (groups: Group[]) => void; onRefused: () => void; onSeen: (states: Map<number, string>) => void;
  /** A further action, which gets the reason that was typed. */
  more?: (reason: string) => ComponentChildren;
}) {
  const [state, setState] = useState("acknowledged");
  const [reason, setReason] = useState("");
  const [assignee, setAssignee] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [conflict, setConflict] = useState(false);
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const n = props.chosen.size;
  const send = async (body: Omit<GroupsChange, "groups">, seen: Chosen, done: string) => {
    setBusy(true);
    try {
      const groups = [...seen].map(([id, s]) => ({ id, seen: s }));
      const reply = await request<{ alerts: number; groups: Group[] }>("PATCH", "/groups", { groups, ...body });
      setSaid({ ok: true, text: `${done}: ${plural(reply.alerts, "alert")} of ${plural(groups.length, "group")}.` });
      setReason("");
      setAssignee(null);
      setConflict(false);
      props.onSaved(reply.groups);
    } catch (error) {
      setSaid({ ok: false, text: error instanceof ApiError ? error.message : String(error) });
      if (error instanceof ApiError && error.status === 409) { setConflict(true); props.onRefused(); }
    } finally {
      setBusy(false);
    }
  };
  const why = mayTriage() ?? (n === 0 ? "select at least one group" : n > GROUPS_MAX ? `select at most ${GROUPS_MAX} groups` : busy ? "the last change is being saved" : null);
  const change = (seen: Chosen) => void send({ state, reason: reason.trim() }, seen, `Set to ${judgeState(state).word}`);
  const now = new Map(props.groups.filter((g) => props.chosen.has(g.id)).map((g) => [g.id, g.state]));
  return (
    <div class="group-change">
      <form class="row" onSubmit={(e) => { e.preventDefault(); if (!why) change(props.chosen); }}>
        <label class="field"><span>State</span>
          <select value={state} onInput={(e) => setState(e.currentTarget.value)}>
            {ALERT_STATES.filter((s) => s !== "verified_fixed").map((s) => <option key={s} value={s} selected={s === state}>{judgeState(s).word}</option>)}
          </select></label>
        <label class="field grow"><span>Reason</span>
          <input type="text" maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
        <ActionButton submit primary why={why}>{n > 1 ? `Set ${n} groups` : "Set state"}</ActionButton>
        <label class="field"><span>Assignee</span>
          <input type="text" class="assignee" maxLength={100} placeholder="name" value={assignee ?? ""} onInput={(e) => setAssignee(e.currentTarget.value)} /></label>
        <ActionButton why={why} quiet onClick={() => void send({ assignee: (assignee ?? "").trim() }, props.chosen, assignee ? `Assigned to ${assignee.trim()}` : "Assignee removed")}>Assign</ActionButton>
        {props.more?.(reason.trim())}
      </form>
      {conflict && <Conflicts groups={props.groups} chosen={props.chosen} state={state}
        keep={() => { setConflict(false); setSaid(null); props.onSeen(now); }} replace={() => { props.onSeen(now); change(now); }} />}
      <p role="status" class={said ? (said.ok ? "said good" : "said bad") : "said"}>{said && <><Icon name={said.ok ? "check" : "alert"} /> {said.text}</>}</p>
    </div>
  );
}
