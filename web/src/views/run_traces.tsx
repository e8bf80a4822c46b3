/* The traces of a run, and how to store one. */
import { request } from "../api/client";
import { mayMeasure } from "../api/scopes";
import type { Trace } from "../api/trace";
import type { Job, RunDocument } from "../api/types";
import { useApi } from "../api/use";
import { formatCount, formatValue } from "../base/format";
import { href } from "../base/route";
import { SaidLine, useAct } from "../widgets/act";
import { ActionButton } from "../widgets/action";
import { Command, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { sayDuration } from "../charts/timeline";

/** Benchmarks of a run that a job with traces measures: those on accelerators, else all. */
export function traceOrder(run: RunDocument): object {
  const backends = [...new Set(run.measurements.map((m) => m.backend).filter((b) => b.startsWith("accel:")))].sort().slice(0, 8);
  return { project: run.project, kind: "measure", commit: run.commit, traces: true, ...(run.branch ? { branch: run.branch } : {}),
    ...(backends.length > 0 ? { backends } : {}) };
}

function Order(props: { run: RunDocument }) {
  const { busy, said, act } = useAct();
  const order = () => act(async () => {
    const job = await request<Job>("POST", "/jobs", traceOrder(props.run));
    return `Job ${job.id} measures the commit again. Its run has the traces.`;
  });
  return (
    <>
      <div class="row trace-order">
        <ActionButton why={mayMeasure() ?? (busy ? "the last request is being answered" : null)} onClick={() => void order()}>Measure again with traces</ActionButton>
        <p class="muted">Benchmarks on accelerators leave traces, and commands that write to <code>$PERFCI_TRACES</code>: of 16 benchmarks at most.</p>
      </div>
      <SaidLine said={said} />
    </>
  );
}

export function RunTraces(props: { run: RunDocument }) {
  const { run_id: id } = props.run;
  const load = useApi<{ traces: Trace[] }>(`/runs/${id}/traces`, ["run"]);
  return (
    <View load={load} what="the traces">
      {({ traces }) => (traces.length === 0 ? (
        <>
          <Empty title="No trace is stored with this run"><p>A trace shows what the host and the device did, call by call:</p>
            <Command what="Command that stores a trace" text={`perfci trace store FILE.pct --run ${id}`} /></Empty>
          <Order run={props.run} />
        </>
      ) : (        <Table caption="Traces" rows={traces} keyOf={(t) => t.id} columns={[
          { name: "Trace", head: true, cell: (t) => <a href={href.trace(t.run_id, t.id)}>{t.title || `trace ${t.id}`}</a> },
          { name: "Benchmark", cell: (t) => t.benchmark ?? "not stated" },
          { name: "Spans", numeric: true, cell: (t) => sayDuration(t.span_ns) },
          { name: "Records", numeric: true, cell: (t) => formatCount(t.records) },
          { name: "Size", numeric: true, wide: true, cell: (t) => formatValue(t.size, "B", 3) },
          { name: "Stored", cell: (t) => <When time={t.stored_at} /> },
        ]} />
      ))}
    </View>
  );
}
