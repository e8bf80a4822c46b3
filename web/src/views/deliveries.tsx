/* Webhooks that forges have sent, and what became of each. */
import { currentProject } from "../api/projects";
import type { WebhookDelivery } from "../api/settings";
import { usePages } from "../api/use";
import { withQuery } from "../base/route";
import { Badge } from "../widgets/badge";
import { Clamped, Page, When } from "../widgets/parts";
import { OwnToken, Scoped } from "../widgets/scoped";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

function State({ of }: { of: WebhookDelivery }) {
  const judged = of.state === "done" ? { tone: "good", icon: "check", word: "done" } as const
    : of.state === "ignored" ? { tone: "quiet", icon: "cross", word: "ignored" } as const : { tone: "info", icon: "clock", word: of.state } as const;
  return <span class="stacked"><Badge judged={judged} />{of.note && <small class="muted note" title={of.note}>{of.note}</small>}</span>;
}

function List() {
  const project = currentProject.value;
  const { load, more, loadingMore } = usePages<{ deliveries: WebhookDelivery[]; next_cursor?: number | null }, WebhookDelivery>(
    withQuery("/webhooks/deliveries", { project, limit: 100 }), (r) => r.deliveries);
  return (
    <View load={load} what="webhook deliveries">
      {(rows) => rows.length === 0 ? <Empty title="No webhook came in the last 30 days"><p>The forge sends them to /api/v1/webhooks/github, gitlab or gitea.</p></Empty> : (
        <>
          <Table caption="Webhook deliveries, newest first" rows={rows} keyOf={(d) => d.id} columns={[
            { name: "Event", head: true, cell: (d) => <span class="bench"><span>{d.forge} {d.event}</span><small>{d.delivery}</small></span> },
            { name: "Order", cell: (d) => d.kind?.replace(/_/g, " ") || <span class="muted">none</span> },
            { name: "Repository", cell: (d) => <span class="stacked"><Clamped text={d.repo || "not named"} />{d.pull !== null && <small class="n">pull request {d.pull}</small>}</span> },
            { name: "Sender", wide: true, cell: (d) => d.sender || <span class="muted">not named</span> },
            { name: "State", cell: (d) => <State of={d} /> },
            { name: "Received", cell: (d) => <When time={d.received_at} /> },
            { name: "Worked on", wide: true, cell: (d) => (d.done_at ? <When time={d.done_at} /> : <span class="muted">not yet</span>) },
          ]} />
          {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
        </>
      )}
    </View>
  );
}

export function Deliveries() {
  return (
    <Page title="Webhook deliveries" lead={<>Webhooks of {currentProject.value ?? "all projects"} of the last 30 days, newest first. <OwnToken /></>}>
      <Scoped scope="admin" what="webhook deliveries"><List /></Scoped>
    </Page>
  );
}
