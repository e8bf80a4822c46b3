/* The stored traces of both sides of an alert's change, and a button that orders the missing ones. */
import { request } from "../api/client";
import { mayMeasure } from "../api/scopes";
import type { AlertTraces as Sides, Trace, TraceSide } from "../api/trace";
import { useApi } from "../api/use";
import { href } from "../base/route";
import { sayDuration } from "../charts/timeline";
import { SaidLine, useAct } from "../widgets/act";
import { ActionButton } from "../widgets/action";
import { CommitLink, When } from "../widgets/parts";
import { View } from "../widgets/state";
import { Table } from "../widgets/table";

const open = (side: TraceSide) => side.job !== null && (side.job.state === "queued" || side.job.state === "leased");

/** Why no measurement with traces can be ordered; null: it can. */
export function whyNoTraces(sides: readonly TraceSide[]): string | null {
  const missing = sides.filter((s) => s.traces.length === 0);
  if (missing.length === 0) return "both sides have traces";
  return missing.every(open) ? `queued already: ${missing.map((s) => `job ${s.job?.id}`).join(", ")}` : null;
}

/** The reason why a side has no traces. */
function sayMissing(side: TraceSide): string {
  if (!side.job) return "none";
  if (open(side)) return `none yet: job ${side.job.id} is ${side.job.state === "leased" ? "running" : side.job.state}`;
  return `none: job ${side.job.id} ${side.job.state === "done" ? "left no trace" : side.job.state}`;
}

const link = (t: Trace) => <span key={t.id} class="clamped" title={t.title}><a href={href.trace(t.run_id, t.id)}>{t.title || `trace ${t.id}`}</a></span>;

function Loaded(props: { alert: number; project: string; sides: Sides; reload: () => void }) {
  const { busy, said, act } = useAct();
  const sides = [props.sides.before, props.sides.after];
  const why = whyNoTraces(sides) ?? mayMeasure() ?? (busy ? "the last request is being answered" : null);
  const ask = () => act(async () => {
    await request("POST", `/alerts/${props.alert}/traces`);
    props.reload();
    return "The measurements are queued.";
  });
  return (
    <>
      <Table caption="Traces of both sides" rows={sides.map((s, i) => ({ s, name: i === 0 ? "Before" : "After" }))} keyOf={(r) => r.name} columns={[
        { name: "Side", head: true, cell: (r) => r.name },
        { name: "Commit", cell: (r) => <CommitLink project={props.project} id={r.s.commit} /> },
        { name: "Traces", cell: (r) => (r.s.traces.length === 0 ? <span class="muted">{sayMissing(r.s)}</span> : <span class="stacked">{r.s.traces.map(link)}</span>) },
        { name: "Spans", numeric: true, cell: (r) => (r.s.traces[0] ? sayDuration(r.s.traces[0].span_ns) : "\u2013") },
        { name: "Stored", cell: (r) => <When time={r.s.traces[0]?.stored_at ?? null} /> },
      ]} />
      <div class="row trace-order">
        <ActionButton why={why} onClick={() => void ask()}>Store traces of both sides</ActionButton>
        <p class="muted">Measures the benchmark again at the commits that have none. Benchmarks on accelerators leave traces, and commands that write to <code>$PERFCI_TRACES</code>.</p>
      </div>
      <SaidLine said={said} />
    </>
  );
}

export function AlertTraces(props: { alert: number; project: string }) {
  const load = useApi<Sides>(`/alerts/${props.alert}/traces`, ["run", "job"]);
  if (load.state === "failed" && load.error.status === 404) return <p class="muted">{load.error.message}</p>;
  return <View load={load} what="the traces">{(sides) => <Loaded alert={props.alert} project={props.project} sides={sides} reload={load.state === "data" ? load.reload : () => undefined} />}</View>;
}
