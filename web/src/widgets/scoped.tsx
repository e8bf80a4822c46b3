/* A part of a page that needs a scope: without it, what is needed, what the present token has, and a sign-in. */
import type { ComponentChildren } from "preact";
import { session } from "../api/client";
import { account, mayUse } from "../api/scopes";
import { Icon } from "./icons";
import { SignIn } from "./sign_in";
import { Loading } from "./state";

/** `scope` null: any token. */
export function Scoped(props: { scope: string | null; what: string; children: ComponentChildren }) {
  const why = props.scope !== null ? mayUse(props.scope) : session.value ? null : "sign in with a token";
  if (why === null) return <>{props.children}</>;
  if (session.value && !account.value) return <Loading what="the account" />;
  return (
    <div class="failed" role="note">
      <p class="title"><Icon name="key" /> {props.scope === null ? "A token is needed" : `The scope ${props.scope} is needed`}</p>
      <p>To see {props.what}, {account.value ? `use a token with the scope ${props.scope ?? ""}: ${why}` : why}.</p>
      <SignIn />
    </div>
  );
}

/** The present token in one line: what it may do, until when. */
export function OwnToken() {
  const now = account.value;
  if (!now) return <>Not signed in.</>;
  return <>Signed in with token {now.token_id}{now.name && ` (${now.name})`}: {now.scopes.join(", ") || "no scope"}{now.project ? `, project ${now.project} only` : ", all projects"}.</>;
}
