/* Every series of a project. The server searches, filters and sorts: a page of its answer is not all of them. */
import type { Series } from "../api/types";
import { useRef } from "preact/hooks";
import { usePages } from "../api/use";
import { Spark } from "../charts/spark";
import { formatShare, formatValue, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { judgeChange, readStatus } from "../base/verdict";
import { ChangeBadge, TwoSpeeds } from "../widgets/badge";
import { Search, Select } from "../widgets/field";
import { BenchName, Command, Page, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

const SORTS = ["name", "change", "noise", "fresh"];

/** Values of a filter, from the data; the selected value stays even when no row has it. */
function choices(all: readonly Series[], pick: (s: Series) => string, chosen: string): [string, string][] {
  const names = new Set(all.map(pick).filter((s) => s !== ""));
  if (chosen) names.add(chosen);
  return [["", "all"], ...[...names].sort().map((n): [string, string] => [n, n])];
}

export function SeriesList(props: { project: string }) {
  const q = query.value;
  const get = (key: string) => q.get(key) ?? "";
  const sort = SORTS.includes(get("sort")) ? get("sort") : "name";
  const { load, more, loadingMore } = usePages<{ series: Series[]; next_cursor?: string | null }, Series>(
    withQuery(`/projects/${encodeURIComponent(props.project)}/series`, {
      q: get("q"), metric: get("metric"), backend: get("backend"), machine_class: get("machine"), change: get("change"), sort, spark: 60, limit: 250,
    }), (r) => r.series, ["run"]);
  const known = useRef<Series[]>([]); /* for the choices of the filters, which stay while other rows are loaded */
  if (load.state === "data" && load.data.length > known.current.length) known.current = load.data;
  const all = known.current;
  return (
    <Page title="Series" lead={<>One benchmark, metric and backend on one class of machine, commit by commit.</>}>
      <div class="filters" role="search">
        <Search label="Find series" value={get("q")} onChange={(v) => setQuery({ q: v }, true)} />
        <Select label="Metric" value={get("metric")} options={choices(all, (s) => s.metric, get("metric"))} onChange={(v) => setQuery({ metric: v })} />
        <Select label="Backend" value={get("backend")} options={choices(all, (s) => s.backend, get("backend"))} onChange={(v) => setQuery({ backend: v })} />
        <Select label="Change" value={get("change")} onChange={(v) => setQuery({ change: v })}
          options={[["", "all"], ["regression", "regressions"], ["improvement", "improvements"], ["steady", "steady"]]} />
        <Select label="Sort by" value={sort} onChange={(v) => setQuery({ sort: v === "name" ? null : v })}
          options={[["name", "name"], ["change", "largest change"], ["noise", "noise"], ["fresh", "last measured"]]} />
      </div>
      <View load={load} what="series">
        {(rows) => (
          <>
            <p class="count" role="status">{plural(rows.length, "series", "series")}{more ? ", more on the server" : ""}</p>
            {rows.length === 0 ? <NoSeries filtered={q.toString() !== ""} /> : <List rows={rows} />}
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
    </Page>
  );
}

function NoSeries(props: { filtered: boolean }) {
  return props.filtered
    ? <Empty title="Nothing fits these filters"><button type="button" class="button" onClick={() => setQuery({ q: null, metric: null, backend: null, machine: null, change: null })}>Clear the filters</button></Empty>
    : <Empty title="No series yet"><p>A series begins with its first run:</p><Command text="perfci nightly" what="Command: measure new commits" /></Empty>;
}

function List(props: { rows: Series[] }) {
  return (
    <Table caption="Series" keys className="series-table" rows={props.rows} keyOf={(s) => s.id} columns={[
      { name: "Series", head: true, cell: (s) => <BenchName benchmark={s.benchmark} metric={s.metric} backend={s.backend} to={href.series(s.id)} /> },
      { name: "Trend", cell: (s) => <Spark values={s.spark} tone={s.change ? judgeChange(s.change.direction, s.change.rel_change, readStatus(s.change)).tone : "info"} /> },
      { name: "Latest", numeric: true, cell: (s) => s.last ? formatValue(s.last.median, s.unit) : "\u2013" },
      { name: "Change", cell: (s) => <><ChangeBadge change={s.change} /> <TwoSpeeds machines={s.two_speeds} /></> },
      { name: "Noise", numeric: true, wide: true, cell: (s) => s.exact ? "exact" : s.noise_rel === null ? "\u2013" : `\u00b1${formatShare(s.noise_rel)}` },
      { name: "Machine", wide: true, cell: (s) => <span class="clip" title={s.machine_class}>{s.machine_class}</span> },
      { name: "Measured", cell: (s) => <When time={s.last?.time} /> },
    ]} />
  );
}
