/* Browsers that are signed in, and ending a sign-in. */
import { command } from "../api/client";
import { usePages } from "../api/use";
import { formatWhen, parseTime } from "../base/format";
import { ConfirmButton, SaidLine, useAct } from "../widgets/act";
import { Page, When } from "../widgets/parts";
import { OwnToken, Scoped } from "../widgets/scoped";
import type { BrowserSession } from "../widgets/sign_in";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

function List() {
  const { load, more, loadingMore } = usePages<{ browser_sessions: BrowserSession[]; next_cursor?: number | null }, BrowserSession>("/browser-sessions?limit=100", (r) => r.browser_sessions);
  const { busy, said, act } = useAct();
  const end = (s: BrowserSession) => act(async () => {
    await command("DELETE", `/browser-sessions/${s.id}`);
    if (load.state === "data") load.reload();
    return `Sign-in ${s.id} is ended.`;
  });
  return (
    <>
      <SaidLine said={said} />
      <View load={load} what="sign-ins">
        {(rows) => rows.length === 0 ? <Empty title="No browser is signed in" /> : (
          <>
            <Table caption="Browsers that are signed in" rows={rows} keyOf={(s) => s.id} rowClass={(s) => (s.current ? "current" : "")} columns={[
              { name: "Sign-in", head: true, cell: (s) => <span class="bench"><span>{s.address || "unknown address"}</span><small>sign-in {s.id}{s.current ? ", this browser" : ""}</small></span> },
              { name: "Token", cell: (s) => `${s.token_id}${s.token_name ? ` (${s.token_name})` : ""}` },
              { name: "Since", cell: (s) => <When time={s.created_at} /> },
              { name: "Last used", cell: (s) => <When time={s.last_used_at} /> },
              { name: "Ends", cell: (s) => <time dateTime={s.expires_at}>{formatWhen(parseTime(s.expires_at))}</time> },
              { name: "Action", cell: (s) => <ConfirmButton name="End" label={`End sign-in ${s.id}`} question="The browser must sign in again." onConfirm={() => void end(s)}
                why={s.current ? "sign out in the menu of this browser" : busy ? "the last request is being answered" : null} /> },
            ]} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
    </>
  );
}

export function Browsers() {
  return (
    <Page title="Signed-in browsers" lead={<>Those of the present token; for an administrator of the service those of every token. <OwnToken /></>}>
      <Scoped scope={null} what="the sign-ins"><List /></Scoped>
    </Page>
  );
}
