/* The audit log: each change, its actor and its object. */
import { projects } from "../api/projects";
import type { AuditRow } from "../api/settings";
import { usePages } from "../api/use";
import { formatWhen, parseTime } from "../base/format";
import { query, setQuery } from "../base/location";
import { withQuery } from "../base/route";
import { Select } from "../widgets/field";
import { Page } from "../widgets/parts";
import { OwnToken, Scoped } from "../widgets/scoped";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

function List() {
  const project = query.value.get("project") ?? "";
  const known = projects.value;
  const names = known.state === "data" ? known.data.projects.map((p) => p.name) : [];
  const { load, more, loadingMore } = usePages<{ audit: AuditRow[]; next_cursor?: number | null }, AuditRow>(withQuery("/audit", { project, limit: 100 }), (r) => r.audit);
  return (
    <>
      <div class="filters"><Select label="Project" value={project} onChange={(v) => setQuery({ project: v })}
        options={[["", "all projects"], ...[...new Set([...names, project])].filter((n) => n).map((n): [string, string] => [n, n])]} /></div>
      <View load={load} what="the audit log">
        {(rows) => rows.length === 0 ? <Empty title="No change is recorded" /> : (
          <>
            <Table caption="Changes, newest first" rows={rows} keyOf={(r) => r.id} columns={[
              { name: "Change", head: true, cell: (r) => <span class="bench"><span>{r.action} {r.object}</span><small>number {r.id}</small></span> },
              { name: "Actor", cell: (r) => r.actor },
              { name: "Project", cell: (r) => r.project ?? <span class="muted">the service</span> },
              { name: "Detail", cell: (r) => (r.detail ? <span class="clamped" title={r.detail}>{r.detail}</span> : <span class="muted">none</span>) },
              { name: "Time", cell: (r) => <time dateTime={r.at}>{formatWhen(parseTime(r.at))}</time> },
            ]} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
    </>
  );
}

export function Audit() {
  return (
    <Page title="Audit log" lead={<>Every change once, newest first; refused requests, too. <OwnToken /></>}>
      <Scoped scope="admin" what="the audit log"><List /></Scoped>
    </Page>
  );
}
