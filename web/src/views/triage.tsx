/* Moves an alert to another state, with a reason that stays in its history. The request names the state that this form
 * has shown: the server refuses it when the alert was changed meanwhile, and the form then shows both. */
import { useState } from "preact/hooks";
import { ApiError, request, session } from "../api/client";
import { mayTriage } from "../api/scopes";
import type { AlertDetail } from "../api/types";
import { ALERT_STATES, judgeState } from "../base/verdict";
import { ActionButton } from "../widgets/action";
import { StateBadge } from "../widgets/badge";
import { Icon } from "../widgets/icons";
import { When } from "../widgets/parts";
import { SignIn } from "../widgets/sign_in";

/** The other change, beside the entry of this form. */
function Conflict(props: { alert: AlertDetail; own: string; keep: () => void; replace: () => void }) {
  const { state, history } = props.alert;
  const last = history[history.length - 1];
  return (
    <div class="conflict" role="alert">
      <p><Icon name="alert" /> The alert changed while this form was open.</p>
      <p>Now: <StateBadge state={state} /> {last && <>set by {last.actor ?? "the service"}, <When time={last.at} />{last.reason ? `: ${last.reason}` : ""}</>}</p>
      <p>Your entry: <StateBadge state={props.own} /></p>
      <div class="row"><button type="button" class="button" onClick={props.keep}>Keep {judgeState(state).word}</button>
        <button type="button" class="button" onClick={props.replace}>Replace by {judgeState(props.own).word}</button></div>
    </div>
  );
}

/** States after which a measured recovery can be called verified. */
const FIXED = ["fixed", "backed_out", "verified_fixed"];

export function Triage(props: { alert: AlertDetail; done: () => void }) {
  const now = props.alert.state;
  const [chosen, setState] = useState<string | null>(null); /* null: nothing is entered, the form follows the alert */
  const [shown, setShown] = useState(now);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);

  const entered = chosen !== null || reason !== "";
  const seen = entered ? shown : now;
  const state = chosen ?? seen;
  const enter = (set: () => void) => {
    if (!entered) setShown(now);
    set();
  };
  const follow = () => { setState(null); setReason(""); };
  const why = mayTriage() ?? (busy ? "the last change is being saved" : null)
    ?? (state === "verified_fixed" && !FIXED.includes(seen) ? `verified fixed comes after fixed or backed out, and the alert is ${judgeState(seen).word}` : null);

  const send = async (from: string) => {
    setBusy(true);
    try {
      await request("PATCH", `/alerts/${props.alert.id}`, { state, seen: from, reason: reason.trim() });
      setSaid({ ok: true, text: `The alert is now ${judgeState(state).word}.` });
      follow();
      props.done();
    } catch (error) {
      setSaid({ ok: false, text: error instanceof ApiError ? error.message : String(error) });
      if (error instanceof ApiError && error.status === 409) props.done();
    } finally {
      setBusy(false);
    }
  };

  return (
    <div class="triage">
      <form onSubmit={(e) => { e.preventDefault(); if (!why) void send(seen); }}>
        <label class="field"><span>State</span>
          <select value={state} onChange={(e) => { const v = e.currentTarget.value; enter(() => setState(v)); }}>
            {ALERT_STATES.map((s) => <option key={s} value={s} selected={s === state}>{judgeState(s).word}</option>)}
          </select>
        </label>
        <label class="field grow"><span>Reason</span>
          <textarea rows={3} required maxLength={2000} value={reason} onInput={(e) => { const v = e.currentTarget.value; enter(() => setReason(v)); }} /></label>
        <ActionButton submit primary why={why}>Save</ActionButton>
      </form>
      {seen !== now && <Conflict alert={props.alert} own={state} keep={follow} replace={() => void send(now)} />}
      <p role="status" class={said ? (said.ok ? "said good" : "said bad") : "said"}>{said && <><Icon name={said.ok ? "check" : "alert"} /> {said.text}</>}</p>
      <details><summary>{session.value ? "Signed in" : "Saving needs a token with the scope triage"}</summary><SignIn /></details>
    </div>
  );
}
