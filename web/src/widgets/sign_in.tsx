/* Signing in with a token, signing out, and the signed-in browsers of the token. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, command, request, session, signIn, signOut } from "../api/client";
import { Icon } from "./icons";
import { When } from "./parts";

export interface BrowserSession {
  id: number; token_id: number; token_name: string; address: string; created_at: string; expires_at: string;
  last_used_at: string | null; current: boolean;
}

const sentence = (error: unknown): string => (error instanceof ApiError ? error.message : String(error));

/** Asks for a token and exchanges it for a session; `done` runs after that. */
export function SignIn(props: { done?: () => void }) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  const submit = async () => {
    try {
      await signIn(text);
      setText("");
      setFault("");
      props.done?.();
    } catch (error) {
      setFault(sentence(error));
    }
  };
  return (
    <form class="row" onSubmit={(e) => { e.preventDefault(); void submit(); }}>
      <label class="field"><span>Token</span>
        <input type="password" autocomplete="off" required placeholder={"pfc_\u2026"} value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <button class="button" type="submit">Sign in</button>
      <p role="status" class={fault ? "said bad" : "said"}>{fault}</p>
    </form>
  );
}

/** The sign-ins that this one may end: those of its token, or all for an administrator. */
function Browsers() {
  const [list, setList] = useState<BrowserSession[]>([]);
  const [fault, setFault] = useState("");
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    request<{ browser_sessions: BrowserSession[] }>("GET", "/browser-sessions?limit=1000", undefined, abort.signal).then(
      (reply) => { setList(reply.browser_sessions); setFault(""); },
      (error: unknown) => { if (!abort.signal.aborted) setFault(sentence(error)); },
    );
    return () => abort.abort();
  }, [turn]);
  const end = async (id: number) => {
    try {
      await command("DELETE", `/browser-sessions/${id}`);
    } catch (error) {
      setFault(sentence(error));
    }
    setTurn(turn + 1);
  };
  return (
    <>
      <ul class="browsers">
        {list.map((s) => (
          <li key={s.id}>
            <span>token {s.token_id}{s.token_name && ` (${s.token_name})`}, {s.address || "unknown address"}, since <When time={s.created_at} /></span>
            {s.current ? <b>this browser</b> : <button class="button" type="button" aria-label={`End sign-in ${s.id}`} onClick={() => void end(s.id)}>End</button>}
          </li>
        ))}
      </ul>
      {fault && <p role="alert" class="said bad">{fault}</p>}
    </>
  );
}

/** The header's menu: sign in, or sign out and end other sign-ins. */
export function Account() {
  const [open, setOpen] = useState(false);
  const on = session.value > 0;
  return (
    <details class="account" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary class="button icon-only plain" title={on ? "Signed in" : "Sign in"}><Icon name={on ? "check" : "key"} /><span class="sr-only">{on ? "Signed in" : "Sign in"}</span></summary>
      {open && (
        <div class="card">
          {on
            ? <><Browsers /><button class="button" type="button" onClick={() => { void signOut().catch(() => undefined); setOpen(false); }}>Sign out</button></>
            : <SignIn done={() => setOpen(false)} />}
        </div>
      )}
    </details>
  );
}
