/* Tokens: the list, a new one, rotation and revocation. A secret is shown once and is gone with the page. */
import { useState } from "preact/hooks";
import { command, request } from "../api/client";
import { projects } from "../api/projects";
import { account, mayUse } from "../api/scopes";
import type { NewToken, Token } from "../api/settings";
import { usePages } from "../api/use";
import { formatWhen, parseTime } from "../base/format";
import { LIVES, OVERLAPS, SCOPES, newToken, tokenState } from "../base/tokens";
import { ConfirmButton, SaidLine, useAct } from "../widgets/act";
import { ActionButton } from "../widgets/action";
import { Badge } from "../widgets/badge";
import { Select } from "../widgets/field";
import { Command, Page, Section, When } from "../widgets/parts";
import { OwnToken, Scoped } from "../widgets/scoped";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

const nameOf = (t: { id: number; name: string }) => (t.name ? `token ${t.id} (${t.name})` : `token ${t.id}`);

/** The secret of a new token, until it is closed. */
function Secret(props: { made: NewToken; close: () => void }) {
  const { made } = props;
  return (
    <div class="secret levels" role="alert">
      <p><b>The secret of {nameOf(made)}.</b> Copy it now: only its hash is stored, and it is not shown again.</p>
      <Command text={made.token} what="Secret of the new token" />
      <p><button type="button" class="button" onClick={props.close}>I have copied it</button></p>
    </div>
  );
}

function Add(props: { done: (made: NewToken) => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>(["read"]);
  const [project, setProject] = useState(account.value?.project ?? "");
  const [days, setDays] = useState("90");
  const { busy, said, act } = useAct();
  const load = projects.value;
  const names = load.state === "data" ? load.data.projects.map((p) => p.name) : [];
  const read = newToken({ name, scopes, project, days }, Date.now());
  const why = "fault" in read ? read.fault : busy ? "the token is being created" : null;
  const create = () => act(async () => {
    if ("fault" in read) return null;
    props.done(await request<NewToken>("POST", "/tokens", read.body));
    setName("");
    return null;
  });
  return (
    <form class="card token-new" onSubmit={(e) => { e.preventDefault(); if (!why) void create(); }}>
      <div class="row">
        <label class="field grow"><span>Name</span><input type="text" maxLength={63} placeholder="ci" value={name} onInput={(e) => setName(e.currentTarget.value)} /></label>
        <Select label="Project" value={project} options={[["", "all projects"], ...names.map((n): [string, string] => [n, n])]} onChange={setProject} />
        <Select label="Valid for" value={days} options={LIVES} onChange={setDays} />
      </div>
      <fieldset><legend>Scopes</legend>
        <div class="scope-list">
          {SCOPES.map(([scope, what]) => (
            <label key={scope} class="check"><input type="checkbox" checked={scopes.includes(scope)}
              onChange={(e) => setScopes(e.currentTarget.checked ? [...scopes, scope] : scopes.filter((s) => s !== scope))} />
              <span><b>{scope}</b> <small class="muted">{what}</small></span></label>
          ))}
        </div>
      </fieldset>
      <div class="row"><ActionButton submit primary why={why}>Create token</ActionButton></div>
      <SaidLine said={said} />
    </form>
  );
}

function Rotate(props: { token: Token; why: string | null; rotate: (overlap: number) => void }) {
  const { token } = props;
  const [overlap, setOverlap] = useState("86400");
  return (
    <span class="rotate">
      <Select label={`Old secret of ${nameOf(token)}`} value={overlap} options={OVERLAPS} onChange={setOverlap} />
      <ActionButton why={props.why} quiet label={`Rotate ${nameOf(token)}`} onClick={() => props.rotate(Number(overlap))}>Rotate</ActionButton>
    </span>
  );
}

function List(props: { made: (made: NewToken) => void }) {
  const { load, more, loadingMore } = usePages<{ tokens: Token[]; next_cursor?: number | null }, Token>("/tokens?limit=200", (r) => r.tokens);
  const { busy, said, act } = useAct();
  const now = Date.now();
  const reload = () => { if (load.state === "data") load.reload(); };
  const revoke = (t: Token) => act(async () => {
    await command("DELETE", `/tokens/${t.id}`);
    reload();
    return `${nameOf(t)} is revoked.`;
  });
  const rotate = (t: Token, overlap: number) => act(async () => {
    const made = await request<NewToken>("POST", `/tokens/${t.id}/rotate`, { overlap_s: overlap });
    props.made(made);
    reload();
    return `${nameOf(t)} is replaced by token ${made.id}.`;
  });
  const whyNot = (t: Token) => (tokenState(t, now) !== "active" ? `the token is ${tokenState(t, now)}` : busy ? "the last request is being answered" : null);
  return (
    <>
      <SaidLine said={said} />
      <View load={load} what="tokens">
        {(tokens) => tokens.length === 0 ? <Empty title="No token" /> : (
          <>
            <Table caption="Tokens" rows={tokens} keyOf={(t) => t.id} className="tokens" rowClass={(t) => (t.id === account.value?.token_id ? "current" : "")} columns={[
              { name: "Token", head: true, cell: (t) => <span class="bench"><span>{t.name || `token ${t.id}`}</span><small>number {t.id}{t.id === account.value?.token_id ? ", of this sign-in" : ""}</small></span> },
              { name: "Scopes", cell: (t) => <span class="scopes">{t.scopes.join(", ") || "none"}<small class="n">{t.project ?? "all projects"}</small></span> },
              { name: "State", cell: (t) => { const s = tokenState(t, now); return <span class="stacked"><Badge judged={{ tone: s === "active" ? "good" : "quiet", icon: s === "active" ? "check" : "cross", word: s }} />
                {s === "active" && <small class="muted">{t.revoked_at !== null ? `ends ${formatWhen(parseTime(t.revoked_at))}` : t.expires_at !== null ? `ends ${formatWhen(parseTime(t.expires_at))}` : "without an end"}</small>}</span>; } },
              { name: "Created", wide: true, cell: (t) => <When time={t.created_at} /> },
              { name: "Last used", cell: (t) => <When time={t.last_used_at} /> },
              { name: "Replace; old secret", cell: (t) => <Rotate token={t} why={whyNot(t)} rotate={(overlap) => void rotate(t, overlap)} /> },
              { name: "End", cell: (t) => <ConfirmButton name="Revoke" label={`Revoke ${nameOf(t)}`} why={whyNot(t)} onConfirm={() => void revoke(t)}
                question={t.id === account.value?.token_id ? "This sign-in ends with its token." : "Requests with it are refused from now on."} /> },
            ]} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
    </>
  );
}

export function Tokens() {
  const [made, setMade] = useState<NewToken | null>(null);
  const [turn, setTurn] = useState(0);
  return (
    <Page title="Tokens" lead={<OwnToken />}>
      <Scoped scope="admin" what="the tokens">
        {made && <Secret made={made} close={() => setMade(null)} />}
        <List key={turn} made={setMade} />
        {mayUse("admin") === null && <Section title="New token"><Add done={(m) => { setMade(m); setTurn(turn + 1); window.scrollTo(0, 0); }} /></Section>}
      </Scoped>
    </Page>
  );
}
