/* The runners: what each does, what waits on its disk, and what an administrator has decided about it. */
import type { Runner } from "../api/types";
import { useApi } from "../api/use";
import { formatDuration, plural } from "../base/format";
import { withQuery } from "../base/route";
import { Icon } from "./icons";
import { Command, When } from "./parts";
import { Empty, View } from "./state";
import { Table } from "./table";

const GIB = 1024 ** 3;

function Spool({ runner }: { runner: Runner }) {
  const spool = runner.spool;
  if (!spool) return <span class="muted">not reported</span>;
  return (
    <span class="bench">
      <span>{spool.documents === 0 ? "no result waits" : `${plural(spool.documents, "result")} waiting`}{spool.oldest_s !== null && `, oldest ${formatDuration(spool.oldest_s)}`}</span>
      <small>{(spool.disk_free_bytes / GIB).toFixed(1)} GiB free</small>
    </span>
  );
}

function State({ runner }: { runner: Runner }) {
  const by = runner.revoked_by ?? runner.drained_by;
  return (
    <span class="bench">
      <span>{runner.state}{runner.job_id !== null && `, job #${runner.job_id}`}</span>
      {by && <small>by {by}</small>}
      {runner.quarantine && <small>{plural(runner.quarantine.runs, "run")} hidden since <When time={runner.quarantine.since} />{runner.quarantine.reason && `: ${runner.quarantine.reason}`}</small>}
      {runner.alarm && <small><Icon name="alert" /> {runner.alarm}</small>}
    </span>
  );
}

/** Runners that work for the project; null: all that the reader may see. */
export function Runners(props: { project: string | null }) {
  const load = useApi<{ runners: Runner[] }>(withQuery("/runners", { project: props.project }), ["job"]);
  return (
    <View load={load} what="runners">
      {({ runners }) => runners.length === 0
        ? <Empty title="No runner has sent a request yet"><Command text="perfci-runner --url URL --token-file FILE --work DIR" what="Command: start a runner" /></Empty>
        : <Table caption="Runners" rows={runners} keyOf={(r) => `${r.project ?? ""}/${r.name}`} columns={[
          { name: "Runner", head: true, cell: (r) => <span class="bench"><span>{r.name}</span>{r.project && <small>{r.project} only</small>}</span> },
          { name: "State", cell: (r) => <State runner={r} /> },
          { name: "Spool", cell: (r) => <Spool runner={r} /> },
          { name: "Machine class", cell: (r) => r.machine_class },
          { name: "Labels", wide: true, cell: (r) => Object.entries(r.labels).map(([k, v]) => `${k}=${v}`).join(", ") || "\u2013" },
          { name: "Results", numeric: true, wide: true, cell: (r) => r.results },
          { name: "Version", wide: true, cell: (r) => <span class="bench"><span>{r.version ?? "\u2013"}</span>{r.sandbox && <small>sandbox: {r.sandbox}</small>}</span> },
          { name: "Last seen", cell: (r) => <When time={r.last_seen_at} /> },
        ]} />}
    </View>
  );
}
