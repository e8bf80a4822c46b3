/* One run: everything that was measured, sample by sample, and on which machine. */
import { useEffect } from "preact/hooks";
import { shownProject } from "../api/projects";
import type { Measurement, RunDocument } from "../api/types";
import { useApi } from "../api/use";
import { Strip } from "../charts/strip";
import { formatDuration, formatShare, formatValue, parseTime, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { quantile } from "../base/numbers";
import { href } from "../base/route";
import { StateBadge } from "../widgets/badge";
import { Search } from "../widgets/field";
import { Icon } from "../widgets/icons";
import { BenchName, CommitLink, Facts, Page, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { RunTraces } from "./run_traces";

/** Samples a process; a flat list is one process. */
export function blocksOf(m: Measurement): number[][] {
  const samples = m.samples ?? [];
  const flat = samples.filter((s): s is number => typeof s === "number");
  const blocks = samples.filter((s): s is number[] => Array.isArray(s));
  return flat.length > 0 ? [flat, ...blocks] : blocks;
}

interface Row { m: Measurement; blocks: number[][]; sorted: number[] }

function Measurements(props: { list: Measurement[]; run: string }) {
  const text = (query.value.get("q") ?? "").toLowerCase();
  const rows: Row[] = props.list.filter((m) => `${m.benchmark} ${m.metric} ${m.backend}`.toLowerCase().includes(text)).map((m) => {
    const blocks = blocksOf(m);
    return { m, blocks, sorted: blocks.flat().sort((a, b) => a - b) };
  });
  const shown = rows.slice(0, 300);
  return (
    <>
      <div class="filters" role="search"><Search label="Find benchmark" value={query.value.get("q") ?? ""} onChange={(q) => setQuery({ q }, true)} /></div>
      <p class="count" role="status">{plural(rows.length, "measurement")}{rows.length > shown.length ? `, the first ${shown.length} shown` : ""}</p>
      {rows.length === 0 ? <Empty title="Nothing fits" /> : (
        <Table caption="Measurements" rows={shown} keyOf={(r) => `${r.m.benchmark} ${r.m.metric} ${r.m.backend}`} columns={[
          { name: "Benchmark", head: true, cell: ({ m }) => <BenchName benchmark={m.benchmark} metric={m.metric} backend={m.backend}>
            {m.status === "ok" && (m.metric === "cycles" || m.metric === "time_ns") && <a href={href.explain({ after: props.run, benchmark: m.benchmark, backend: m.backend, metric: m.metric })}>What limits it?</a>}</BenchName> },
          { name: "State", cell: ({ m }) => <><StateBadge state={m.status} />{m.reason && <small class="n" title={m.reason}>{m.reason}</small>}</> },
          { name: "Median", numeric: true, cell: ({ m, sorted }) => formatValue(quantile(sorted, 0.5), m.unit) },
          { name: "Middle half", numeric: true, wide: true, cell: ({ sorted }) => {
            const half = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 2 / quantile(sorted, 0.5);
            return sorted.length < 4 ? "\u2013" : `\u00b1${formatShare(half)}`;
          } },
          { name: "Samples", numeric: true, cell: ({ sorted, blocks }) => <>{sorted.length}<small class="n">{plural(blocks.length, "process", "processes")}</small></> },
          { name: "Samples, a row a process", cell: ({ blocks, sorted }) => sorted.length > 1 ? <Strip blocks={blocks.slice(0, 12)} /> : <span class="muted">{"\u2013"}</span> },
        ]} />
      )}
    </>
  );
}

export function RunView(props: { id: string }) {
  const load = useApi<RunDocument>(`/runs/${encodeURIComponent(props.id)}`);
  const project = load.state === "data" ? (load.data.project ?? null) : null;
  useEffect(() => { if (project) shownProject.value = project; }, [project]);
  return (
    <View load={load} what="the run">
      {(run) => (
        <Page title={`Run ${run.run_id}`} lead={<>suite <b>{run.suite}</b> at <CommitLink project={run.project} id={run.commit} /> · <When time={run.started_at} /></>}>
          {run.infra && <p class="stale"><Icon name="alert" /> The reference kernel moved during this run, so the machine was not itself: these values stay out of detection.</p>}
          {run.unsandboxed && <p class="stale"><Icon name="alert" /> Measured without isolation: the commit's code ran with the rights of the runner's user.</p>}
          <Section title="Measurements"><Measurements list={run.measurements} run={run.id} /></Section>
          <Section title="Traces"><RunTraces run={run} /></Section>
          <Section title="Machine">
            <Facts facts={[
              ["Name", run.machine.name], ["Class", run.machine.machine_class ?? run.machine.class ?? "\u2013"],
              ["Reproduced", run.quarantined ? "hidden: in quarantine" : run.reproducibility ?? "\u2013"],
              ["Took", formatDuration((parseTime(run.finished_at) - parseTime(run.started_at)) / 1000)],
              ["Run id", <code class="breakable">{run.id}</code>],
              ...Object.entries(run.machine.fingerprint).sort().map(([k, v]): [string, string] => [k, v]),
            ]} />
          </Section>
        </Page>
      )}
    </View>
  );
}
