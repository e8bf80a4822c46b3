/* The kernel heat map of a project: the change between two commits, by two parameters. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { request } from "../api/client";
import type { Commit, CompareReply } from "../api/types";
import { useApi } from "../api/use";
import { formatShare, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { axesOf, heatOf, pairOf, withoutCell, type HeatBenchmark, type HeatRow } from "../charts/heat";
import { HeatLegend, HeatMap } from "../charts/heat_map";
import { EndField } from "../widgets/end_field";
import { Select } from "../widgets/field";
import { CommitLink, Page } from "../widgets/parts";
import { Empty, Failed, Loading, View } from "../widgets/state";

interface Covered { rows: HeatBenchmark[]; next_cursor: number | null }

/** All benchmarks of the project with their parameters, page by page; null: not read yet; a text: why it failed. */
export function useBenchmarks(project: string): HeatBenchmark[] | string | null {
  const [all, setAll] = useState<HeatBenchmark[] | string | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    const read = async () => {
      const found: HeatBenchmark[] = [];
      let cursor: number | null = null;
      do {
        const page: Covered = await request<Covered>("GET", withQuery(`/projects/${encodeURIComponent(project)}/coverage`, { commits: 1, limit: 1000, cursor }), undefined, abort.signal);
        found.push(...page.rows);
        cursor = page.next_cursor;
      } while (cursor !== null && found.length < 20000);
      /* Classes of machines share their benchmarks. */
      setAll([...new Map(found.map((b) => [`${b.benchmark}\n${b.backend}`, b])).values()]);
    };
    read().catch((e: unknown) => { if (!abort.signal.aborted) setAll(e instanceof Error ? e.message : String(e)); });
    return () => abort.abort();
  }, [project]);
  return all;
}

const EVERY = "*"; /* in the address: of all kernels */
const kernelOf = (b: { benchmark: string }) => b.benchmark.split("/")[0] ?? "";

/** The heat map of a comparison, or of a group's alerts, with its two choices; for pages that have one already. */
export function CompareHeat(props: { project: string; rows: readonly HeatRow[]; at: string | null; alerts?: boolean }) {
  const read = useBenchmarks(props.project);
  const benchmarks = typeof read === "string" ? null : read;
  const q = query.value;
  const names = useMemo(() => axesOf(benchmarks ?? []), [benchmarks]);
  const metrics = useMemo(() => [...new Set(props.rows.map((r) => r.metric))].sort(), [props.rows]);
  const [row, column] = useMemo(() => pairOf(benchmarks ?? [], q.get("row"), q.get("column")), [benchmarks, q.get("row"), q.get("column")]);
  const metric = q.get("metric") ?? "";
  const own = useMemo(() => [...new Set(props.rows.map(kernelOf))], [props.rows]);
  /* Alerts of one kernel only: the shapes of the others would be empty rows. */
  const kernel = q.get("kernel") ?? (props.alerts && own.length === 1 ? own[0] ?? EVERY : EVERY);
  const kernels = useMemo(() => [...new Set((benchmarks ?? []).map(kernelOf))].sort(), [benchmarks]);
  const ofKernel = (b: { benchmark: string }) => kernel === EVERY || kernelOf(b) === kernel;
  const rows = useMemo(() => props.rows.filter((r) => ofKernel(r) && (!metric || r.metric === metric)), [props.rows, metric, kernel]);
  const data = useMemo(() => heatOf((benchmarks ?? []).filter(ofKernel), rows, row, column, props.alerts ? "calm" : "none"), [benchmarks, rows, row, column, props.alerts]);
  const without = useMemo(() => withoutCell(benchmarks ?? [], rows, row, column), [benchmarks, rows, row, column]);
  useEffect(() => { performance.mark("heat-drawn"); }, [data]);
  if (typeof read === "string") return <p class="fault" role="alert">The benchmarks were not read: {read}</p>;
  if (!benchmarks) return <Loading what="the benchmarks" />;
  const options = (all: readonly string[]) => all.map((n): [string, string] => [n, n]);
  return (
    <>
      <div class="filters">
        <Select label="Rows" value={row} options={options(names)} onChange={(v) => setQuery({ row: v })} />
        <Select label="Columns" value={column} options={options(names)} onChange={(v) => setQuery({ column: v })} />
        <Select label="Kernel" value={kernel} options={[[EVERY, "all"], ...options(kernels)]} onChange={(v) => setQuery({ kernel: v })} />
        {metrics.length > 1 && <Select label="Metric" value={metric} options={[["", "all"], ...options(metrics)]} onChange={(v) => setQuery({ metric: v })} />}
      </div>
      {data.rows.length === 0 ? <Empty title="No benchmark has both parameters" /> : <HeatMap data={data} row={row} column={column} at={props.at} />}
      {without > 0 && <p class="muted">{plural(without, "series", "series")} without {row} or {column}: not on the map.</p>}
      <HeatLegend alerts={props.alerts ?? false} />
    </>
  );
}

/** The ends of the address; else the newest release with runs, or the oldest of the newest 50 commits, and the newest commit with runs. */
function endsOf(measured: readonly Commit[], tagged: readonly Commit[], a: string, b: string): [string, string] | null {
  const last = b || measured[0]?.id;
  const first = a || tagged.find((c) => c.id !== last && (c.releases ?? []).length > 0)?.id || measured[Math.min(measured.length - 1, 49)]?.id;
  return first && last && first !== last ? [first, last] : null;
}

export function Heatmap(props: { project: string }) {
  const q = query.value;
  const commits = useApi<{ commits: Commit[] }>(`/projects/${encodeURIComponent(props.project)}/commits?limit=200`, ["run"]);
  const tags = useApi<{ commits: Commit[] }>(`/projects/${encodeURIComponent(props.project)}/commits?limit=200&tagged=true`, ["run"]);
  const choices = commits.state === "data" ? commits.data.commits.filter((c) => c.runs > 0) : [];
  const tagged = tags.state === "data" ? tags.data.commits.filter((c) => c.runs > 0) : [];
  const read = commits.state === "data" && (tags.state === "data" || tags.state === "failed");
  const ends = read ? endsOf(choices, tagged, q.get("a") ?? "", q.get("b") ?? "") : null;
  const load = useApi<CompareReply>(ends ? withQuery("/compare", { project: props.project, a: ends[0], b: ends[1] }) : null);
  return (
    <Page title="Heat map" lead={<>The change between two commits, by any two parameters. Coloured: different by the comparison's test over all cells.</>}>
      {commits.state === "failed" && <Failed error={commits.error} retry={commits.retry} />}
      {!read && commits.state !== "failed" && <Loading what="the commits" />}
      {read && !ends && <Empty title="Fewer than two commits were measured" />}
      {ends && (
        <>
          <div class="filters">
            <EndField label="From" value={ends[0]} none="newest release" commits={choices} tagged={tagged} onChange={(v) => setQuery({ a: v })} />
            <EndField label="To" value={ends[1]} none="newest commit" commits={choices} tagged={tagged} onChange={(v) => setQuery({ b: v })} />
            <a class="button" href={href.compare(props.project, ends[0], ends[1])}>Comparison as a table</a>
          </div>
          <View load={load} what="the comparison">
            {(reply) => (
              <>
                <p class="count" role="status"><CommitLink project={props.project} id={reply.a.commit} /> to <CommitLink project={props.project} id={reply.b.commit} />: {plural(reply.summary.regression, "regression")}, {plural(reply.summary.improvement, "improvement")} among {plural(reply.rows.length, "series", "series")}; margin {formatShare(reply.margin_rel)}</p>
                <CompareHeat project={props.project} rows={reply.rows} at={reply.b.commit} />
              </>
            )}
          </View>
        </>
      )}
    </Page>
  );
}
