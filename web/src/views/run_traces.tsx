/* The traces of a run, and how to store one. */
import type { Trace } from "../api/trace";
import { useApi } from "../api/use";
import { formatCount, formatValue } from "../base/format";
import { href } from "../base/route";
import { Command, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { sayDuration } from "../charts/timeline";

export function RunTraces(props: { run: number }) {
  const load = useApi<{ traces: Trace[] }>(`/runs/${props.run}/traces`, ["run"]);
  return (
    <View load={load} what="the traces">
      {({ traces }) => (traces.length === 0 ? (
        <Empty title="No trace is stored with this run"><p>A trace shows what the host and the device did, call by call:</p>
          <Command what="Command that stores a trace" text={`perfci trace store FILE.pct --run ${props.run}`} /></Empty>
      ) : (
        <Table caption="Traces" rows={traces} keyOf={(t) => t.id} columns={[
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
