/* Environment events: one line for a machine change that would otherwise be a regression in every series. */
import { useState } from "preact/hooks";
import { ApiError, request, session } from "../api/client";
import { movedPath } from "../api/overview";
import { mayTriage } from "../api/scopes";
import type { MachineEvent } from "../api/types";
import { useApi } from "../api/use";
import { formatShare, plural } from "../base/format";
import { href } from "../base/route";
import { ActionButton } from "../widgets/action";
import { Badge } from "../widgets/badge";
import { Icon } from "../widgets/icons";
import { CommitLink, Section, When } from "../widgets/parts";
import { SignIn } from "../widgets/sign_in";
import { View } from "../widgets/state";

/** Rejects an environment event; its alerts become regressions again. Of a fault: hides it. */
function Dismiss(props: { event: MachineEvent; done: () => void; summary: string; action: string }) {
  const [reason, setReason] = useState("");
  const [said, setSaid] = useState("");
  const [busy, setBusy] = useState(false);
  const why = mayTriage() ?? (busy ? "it is being saved" : null);
  const send = async () => {
    setBusy(true);
    try {
      await request("PATCH", `/environment/${props.event.id}`, { dismissed: true, reason: reason.trim() });
      props.done();
    } catch (error) {
      setSaid(error instanceof ApiError ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <details><summary>{props.summary}</summary>
      <div class="triage">
        <form onSubmit={(e) => { e.preventDefault(); if (!why) void send(); }}>
          <label class="field grow"><span>Reason</span>
            <textarea rows={2} required maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
          <ActionButton submit why={why}>{props.action}</ActionButton>
        </form>
        <p role="status" class={said ? "said bad" : "said"}>{said && <><Icon name="alert" /> {said}</>}</p>
        <details><summary>{session.value ? "Signed in" : "Saving needs a token with the scope triage"}</summary><SignIn /></details>
      </div>
    </details>
  );
}

const FAULTS: { [kind: string]: string } = { missed_night: "night missed", silent_runner: "runner silent", stalled_series: "series stalled" };

/** A fault of the installation: a missed night, a silent runner, series that are no longer measured. */
function FaultCard(props: { event: MachineEvent; done: () => void }) {
  const e = props.event;
  return (
    <article class="card moved">
      <p><Badge judged={{ tone: e.closed_at ? "quiet" : "warn", icon: "alert", word: e.closed_at ? "ended" : FAULTS[e.kind] ?? e.kind }} />{" "}
        {e.cause}<span class="muted"> · <When time={e.opened_at} /></span></p>
      {e.dismissed_by && <p>{e.dismissed_by} dismissed it{e.dismissed_reason ? `: ${e.dismissed_reason}` : ""}.</p>}
      {!e.closed_at && <Dismiss event={e} done={props.done} summary="Dismiss" action="Hide it until its cause has ended" />}
    </article>
  );
}

export function EventCard(props: { event: MachineEvent; done: () => void }) {
  const e = props.event;
  if (e.kind in FAULTS) return <FaultCard event={e} done={props.done} />;
  const step = e.kind === "step";
  const name = e.machine ?? `all machines of class ${e.machine_class}`;
  return (
    <article class="card moved">
      <p><Badge judged={{ tone: e.closed_at ? "quiet" : "warn", icon: "alert", word: e.closed_at ? "ended" : "machine moved" }} />{" "}
        <b>{name}</b>{e.machine && <span class="muted"> {e.machine_class}</span>}{" "}
        {step ? <>became {formatShare(e.loss ?? 0)} slower since <CommitLink project={e.project} id={e.first_commit ?? ""} />: {e.moved} of {plural(e.judged ?? 0, "series", "series")} moved</>
          : <>left its canary’s band for {plural(e.runs ?? 0, "run")}, which are kept out of detection</>}
        <span class="muted"> · <When time={e.opened_at} /></span></p>
      {step && <>
        {e.cause && <p>Changed there: <b>{e.cause}</b></p>}
        <p class="muted">Not a commit, because {(e.reasons ?? []).join("; ")}.</p>
        {e.dismissed_by ? <p>{e.dismissed_by} says that it is not the machine{e.dismissed_reason ? `: ${e.dismissed_reason}` : ""}.</p>
          : <><p><a class="button" href={href.eventAlerts(e.project, e.id)}>{plural(e.series ?? 0, "alert")} explained by it</a></p>
            {!e.closed_at && <Dismiss event={e} done={props.done} summary="This is not the machine" action={`Make it ${plural(e.series ?? 0, "regression")} again`} />}</>}
      </>}
    </article>
  );
}

/** Open environment events of a project, or of one machine class; renders nothing when there is none. */
export function Moved(props: { project: string | null; machineClass?: string }) {
  const load = useApi<{ events: MachineEvent[] }>(props.project === null ? null : movedPath(props.project), ["environment"]);
  if (load.state !== "data") return null;
  const events = load.data.events.filter((e) => !props.machineClass || e.machine_class === props.machineClass);
  if (events.length === 0) return null;
  return <Section title={events.some((e) => e.kind in FAULTS) ? "Infrastructure" : "Machines that moved"}><div class="stack">{events.map((e) => <EventCard key={e.id} event={e} done={load.reload} />)}</div></Section>;
}

/** The environment event that explains an alert. */
export function Explained(props: { id: number }) {
  const load = useApi<MachineEvent>(`/environment/${props.id}`, ["environment"]);
  return <Section title="Explained by a machine"><View load={load} what="the event">{(e) => <EventCard event={e} done={load.state === "data" ? load.reload : () => undefined} />}</View></Section>;
}
