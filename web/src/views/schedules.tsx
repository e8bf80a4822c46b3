/* Schedules of a project: when each runs next, how its newest night went, and a button that starts one now. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { Schedule } from "../api/schedules";
import { mayMeasure } from "../api/scopes";
import type { Runner } from "../api/types";
import { useApi } from "../api/use";
import { formatDuration, formatWhen, parseTime } from "../base/format";
import { href, withQuery } from "../base/route";
import { ActionButton } from "../widgets/action";
import { Badge, StateBadge } from "../widgets/badge";
import { Command, Page, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

function RunNow(props: { project: string; schedule: Schedule; able: number | null; done: () => void }) {
  const { schedule: s } = props;
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const why = mayMeasure() ?? (s.night?.state === "running" ? `night ${s.night.id} of it is running` : props.able === 0 ? "no runner is connected" : busy ? "it is being started" : null);
  const run = async () => {
    setBusy(true);
    try {
      await request("POST", `/projects/${encodeURIComponent(props.project)}/schedules/${encodeURIComponent(s.name)}/run`);
      setFault("");
      props.done();
    } catch (error) {
      setFault(error instanceof ApiError ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return <span class="job-actions"><ActionButton why={why} label={`Run now: ${s.name}`} onClick={() => void run()}>Run now</ActionButton>{fault && <small role="alert" class="said bad">{fault}</small>}</span>;
}

/** A time to come: "2026-03-01 02:30 UTC". */
function Next(props: { schedule: Schedule }) {
  const at = parseTime(props.schedule.next_at);
  if (!props.schedule.enabled) return <Badge judged={{ tone: "quiet", icon: "cross", word: "disabled" }} />;
  return Number.isFinite(at) ? <time dateTime={new Date(at).toISOString()}>{formatWhen(at)}</time> : <span class="muted">not planned</span>;
}

export function Schedules(props: { project: string }) {
  const load = useApi<{ schedules: Schedule[] }>(`/projects/${encodeURIComponent(props.project)}/schedules`, ["job"]);
  const fleet = useApi<{ runners: Runner[] }>(withQuery("/runners", { project: props.project }), ["job"]);
  const able = fleet.state === "data" ? fleet.data.runners.filter((r) => r.state === "idle" || r.state === "busy").length : null;
  return (
    <Page title="Schedules" lead="Nights that the service starts on its own." side={<a href={href.nights(props.project)}>Nights</a>}>
      <View load={load} what="schedules">
        {({ schedules }) => schedules.length === 0
          ? <Empty title="No schedule"><p>A schedule measures the new commits at fixed times:</p><Command text={"perfci schedule add nightly --cron '30 2 * * *'"} what="Command: add a schedule" /></Empty>
          : <Table caption="Schedules" rows={schedules} keyOf={(s) => s.name} columns={[
            { name: "Schedule", head: true, cell: (s) => <span class="bench"><span>{s.name}</span><small>{s.cron} {s.zone}</small></span> },
            { name: "Next", cell: (s) => <Next schedule={s} /> },
            { name: "Newest night", cell: (s) => s.night ? <span class="stacked"><StateBadge state={s.night.state === "nothing" ? "skipped" : s.night.state} />{s.night.reason && <small class="clamped" title={s.night.reason}>{s.night.reason}</small>}<When time={s.last_at} /></span> : <span class="muted">none yet</span> },
            { name: "Measures", wide: true, cell: (s) => <span class="bench"><span>{s.suite ?? "suite of perfci.yaml"}</span><small>{[s.branch ?? "project\u2019s branch", ...s.backends].join(" \u00b7 ")}</small></span> },
            { name: "Budget", numeric: true, cell: (s) => formatDuration(s.budget_s) },
            { name: "Trouble", wide: true, cell: (s) => s.trouble ?? "" },
            { name: "Run", cell: (s) => <RunNow project={props.project} schedule={s} able={able} done={load.state === "data" ? load.reload : () => undefined} /> },
          ]} />}
      </View>
    </Page>
  );
}
