/* The outbox: notices that a receiver has not got yet, and why; they are sent again or discarded. */
import { command, request, session } from "../api/client";
import { currentProject } from "../api/projects";
import { mayTriage } from "../api/scopes";
import type { Notice, NoticeDelivery } from "../api/settings";
import { usePages } from "../api/use";
import { formatWhen, parseTime, plural } from "../base/format";
import { href, withQuery } from "../base/route";
import type { Judgement } from "../base/verdict";
import { ConfirmButton, SaidLine, useAct } from "../widgets/act";
import { ActionButton } from "../widgets/action";
import { Badge } from "../widgets/badge";
import { Clamped, CommitLink, Page, When } from "../widgets/parts";
import { OwnToken } from "../widgets/scoped";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

const STATES: Readonly<Record<string, Judgement>> = {
  waiting: { tone: "info", icon: "clock", word: "waiting" }, sending: { tone: "info", icon: "clock", word: "sending" },
  sent: { tone: "good", icon: "check", word: "sent" }, dead: { tone: "bad", icon: "alert", word: "given up" },
};

function Delivery({ to }: { to: NoticeDelivery }) {
  return (
    <li>
      <Badge judged={STATES[to.state] ?? { tone: "quiet", icon: "question", word: to.state }} /> <span title={to.receiver}>{to.receiver}</span>
      <small class="muted" title={to.reason ?? ""}>{to.tries > 0 ? `, ${plural(to.tries, "try", "tries")}` : ""}{to.reason ? `: ${to.reason}` : ""}{to.state === "waiting" && to.next_at ? `; next ${formatWhen(parseTime(to.next_at))}` : ""}</small>
    </li>
  );
}

export function Notices() {
  const project = currentProject.value;
  const { load, more, loadingMore } = usePages<{ notices: Notice[]; next_cursor?: number | null }, Notice>(withQuery("/notices", { project, limit: 100 }), (r) => r.notices, ["alert"]);
  const { busy, said, act } = useAct();
  const reload = () => { if (load.state === "data") load.reload(); };
  const may = mayTriage() ?? (busy ? "the last request is being answered" : null);
  const whyNotSent = (n: Notice) => may ?? (n.deliveries.some((d) => d.state === "dead") ? null : "every delivery of this notice was sent or is still tried");
  const send = (n: Notice) => act(async () => {
    const { deliveries } = await request<{ deliveries: number }>("POST", `/notices/${n.id}/send`);
    reload();
    return `${plural(deliveries, "delivery", "deliveries")} of notice ${n.id} will be tried again.`;
  });
  const discard = (n: Notice) => act(async () => {
    await command("DELETE", `/notices/${n.id}`);
    reload();
    return `Notice ${n.id} is discarded.`;
  });
  return (
    <Page title="Notices" lead={<>Notices of {project ?? "all projects"} that are not delivered to every receiver, oldest first. <OwnToken /></>}>
      {mayTriage() !== null && <p class="count">To send or discard a notice, {mayTriage()}.</p>}
      <SaidLine said={said} />
      <View load={load} what="notices">
        {(notices) => notices.length === 0 ? <Empty title="No notice waits"><p>Every notice was delivered to each of its receivers.</p></Empty> : (
          <>
            <Table caption="Notices that wait" rows={notices} keyOf={(n) => n.id} columns={[
              { name: "Notice", head: true, cell: (n) => <span class="bench"><span>{n.text}</span><small>notice {n.id}, {n.kind.replace(/_/g, " ")}, <When time={n.created_at} /></small></span> },
              { name: "About", cell: (n) => <span class="stacked about"><span>{n.alert_id !== null ? <a href={href.alert(n.alert_id)}>alert #{n.alert_id}</a> : n.event_id !== null ? <span>fault {n.event_id}</span> : <span class="muted">nothing</span>}
                {n.commit && <>, <CommitLink project={n.project} id={n.commit} /></>}</span>{n.subject && <Clamped text={n.subject} />}{n.owner && <small class="n" title={n.owner}>owner {n.owner}</small>}</span> },
              { name: "Deliveries", cell: (n) => n.deliveries.length > 0 ? <ul class="deliveries">{n.deliveries.map((d) => <Delivery key={d.receiver} to={d} />)}</ul>
                : <span class="muted">{session.value ? "no receiver" : "receivers are shown to a token only"}</span> },
              { name: "Action", cell: (n) => <span class="job-actions beside">
                <ActionButton why={whyNotSent(n)} quiet={mayTriage() !== null} label={`Send again: notice ${n.id}`} onClick={() => void send(n)}>Send again</ActionButton>
                <ConfirmButton name="Discard" label={`Discard notice ${n.id}`} question="No receiver gets it any more." why={may} onConfirm={() => void discard(n)} /></span> },
            ]} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
    </Page>
  );
}
