/* One change at a time: its result or the server's sentence is shown beside the button that asked for it. */
import { useState } from "preact/hooks";
import { ApiError } from "../api/client";
import { ActionButton } from "./action";
import { Icon } from "./icons";

export interface Said { ok: boolean; text: string }

export const sentence = (error: unknown): string => (error instanceof ApiError ? error.message : String(error));

/** `act` runs a change, whose text says what it did; null: nothing is shown. */
export function useAct(): { busy: boolean; said: Said | null; act: (change: () => Promise<string | null>) => Promise<void> } {
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<Said | null>(null);
  const act = async (change: () => Promise<string | null>) => {
    setBusy(true);
    setSaid(null);
    try {
      const text = await change();
      if (text !== null) setSaid({ ok: true, text });
    } catch (error) {
      setSaid({ ok: false, text: sentence(error) });
    } finally {
      setBusy(false);
    }
  };
  return { busy, said, act };
}

export function SaidLine(props: { said: Said | null }) {
  const { said } = props;
  return <p role="status" class={said ? (said.ok ? "said good" : "said bad") : "said"}>{said && <><Icon name={said.ok ? "check" : "alert"} /> {said.text}</>}</p>;
}

/** A button for what cannot be taken back: the first click asks, the second one does it. */
export function ConfirmButton(props: { name: string; label: string; question: string; why: string | null; onConfirm: () => void }) {
  const [asked, setAsked] = useState(false);
  if (!asked || props.why !== null) return <ActionButton why={props.why} quiet label={props.label} onClick={() => setAsked(true)}>{props.name}</ActionButton>;
  return (
    <span class="confirm" role="group" aria-label={props.label}>
      <small>{props.question}</small>
      <button type="button" class="button primary" onClick={() => { setAsked(false); props.onConfirm(); }}>{props.name}</button>
      <button type="button" class="button" onClick={() => setAsked(false)}>Keep</button>
    </span>
  );
}
