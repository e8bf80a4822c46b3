/* Accepting a new level as the right one, and what that resets and keeps. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import { mayTriage } from "../api/scopes";
import { ActionButton } from "../widgets/action";
import { Icon } from "../widgets/icons";

/** Why there is no new level to accept; null: there is one. `back`: the old level is. */
export function whyNoLevel(kind: string | undefined, back: boolean): string | null {
  return kind === "broken" ? "a broken benchmark has no level" : back ? "the old level is back" : null;
}

/** `path` and `body` of the change; `accepted`: it was done before; `no`: why it cannot be done. */
export function AcceptLevel(props: { path: string; body: object; accepted: boolean; drift: boolean; no: string | null; done: () => void }) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const why = props.no ?? mayTriage() ?? (props.accepted ? "the level is accepted already" : busy ? "it is being saved" : reason.trim() === "" ? "give a reason; it stays in the history" : null);
  const send = async () => {
    setBusy(true);
    try {
      await request("PATCH", props.path, { ...props.body, accept: true, reason: reason.trim() });
      setReason("");
      setFault("");
      props.done();
    } catch (error) {
      setFault(error instanceof ApiError ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="accept levels" onSubmit={(e) => { e.preventDefault(); if (!why) void send(); }}>
      <ul class="reasons">
        <li><span><b>Resets</b> the baseline: the next change is looked for from the new level on{props.drift ? ", and the drift is measured from there" : ""}. The state becomes won’t fix.</span></li>
        <li><span><b>Keeps</b> the points, the noise of the whole history, the alert with its history, and every change after it.</span></li>
      </ul>
      <div class="row">
        <label class="field grow"><span>Why the new level is right</span><input type="text" maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
        <ActionButton submit why={why}>Accept new level</ActionButton>
      </div>
      {fault && <p role="alert" class="said bad"><Icon name="alert" /> {fault}</p>}
    </form>
  );
}
