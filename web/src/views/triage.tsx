/* Moves an alert to another state, with a reason that stays in its history. */
import { useState } from "preact/hooks";
import { ApiError, request, session } from "../api/client";
import type { AlertDetail } from "../api/types";
import { ALERT_STATES, judgeState } from "../base/verdict";
import { Icon } from "../widgets/icons";
import { SignIn } from "../widgets/sign_in";

export function Triage(props: { alert: AlertDetail; done: () => void }) {
  const [state, setState] = useState(props.alert.state);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);

  const send = async () => {
    setBusy(true);
    try {
      await request("PATCH", `/alerts/${props.alert.id}`, { state, reason: reason.trim() });
      setSaid({ ok: true, text: `The alert is now ${judgeState(state).word}.` });
      setReason("");
      props.done();
    } catch (error) {
      setSaid({ ok: false, text: error instanceof ApiError ? error.message : String(error) });
    } finally {
      setBusy(false);
    }
  };

  return (
    <div class="triage">
      <form onSubmit={(e) => { e.preventDefault(); void send(); }}>
        <label class="field"><span>State</span>
          <select value={state} onChange={(e) => setState(e.currentTarget.value)}>
            {ALERT_STATES.map((s) => <option key={s} value={s} selected={s === state}>{judgeState(s).word}</option>)}
          </select>
        </label>
        <label class="field grow"><span>Reason</span>
          <textarea rows={3} required maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
        <button type="submit" class="button primary" disabled={busy}>{busy ? "Saving\u2026" : "Save"}</button>
      </form>
      <p role="status" class={said ? (said.ok ? "said good" : "said bad") : "said"}>{said && <><Icon name={said.ok ? "check" : "alert"} /> {said.text}</>}</p>
      <details><summary>{session.value ? "Signed in" : "Saving needs a token with the scope triage"}</summary><SignIn /></details>
    </div>
  );
}
