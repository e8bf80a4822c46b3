/* The roofline of a project: how near each benchmark is to what its machine can do at best. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PlotNames } from "../api/plot";
import type { RooflineBenchmark, RooflineCeiling, RooflineReply, RooflineUnknown } from "../api/roofline";
import type { Commit } from "../api/types";
import { useApi } from "../api/use";
import { formatCount, formatNumber, formatShare, formatValue, plural } from "../base/format";
import { navigate, query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { wholeOf } from "../charts/roofline";
import { RooflineChart, rateUnit, sayLimit } from "../charts/roofline_chart";
import { fittedPart, isWhole, middle, outsideOf, partOf, spanText, zoomedPart, type Part } from "../charts/roofline_part";
import { Expression } from "../widgets/expression";
import { EndField } from "../widgets/end_field";
import { Select } from "../widgets/field";
import { Clamped, CommitLink, Page, Section, When } from "../widgets/parts";
import { Empty, Failed, Loading } from "../widgets/state";
import { Table } from "../widgets/table";

/** Other benchmarks are shown from the start, not in a part of the axes. */
const ALL_OF_IT = { x: null, y: null };

const REASONS: Record<string, string> = {
  "no time": "none of its metrics is a time",
  "no result": "not measured at or before the commit",
  "no operations and bytes": "the run states neither operations nor bytes",
  "no operations": "the run states no operations",
  "no bytes": "the run states no bytes",
};

export function RooflineView(props: { project: string }) {
  const q = query.value;
  const get = (key: string) => q.get(key) ?? "";
  const asked = { branch: get("branch"), a: get("a"), b: get("b"), machine_class: get("machine_class"), backend: get("backend"), select: get("select") };
  const base = `/projects/${encodeURIComponent(props.project)}`;
  const names = useApi<PlotNames>(withQuery(`${base}/plot/names`, { branch: asked.branch }), ["run"]);
  const commits = useApi<{ commits: Commit[] }>(withQuery(`${base}/commits`, { limit: 200, branch: asked.branch }), ["run"]);
  const load = useApi<RooflineReply>(withQuery(`${base}/roofline`, asked), ["run"]);
  const fields = names.state === "data" ? names.data.names : [];
  const measured = commits.state === "data" ? commits.data.commits.filter((c) => c.runs > 0) : [];
  const fault = load.state === "failed" && load.error.message.startsWith("select:") ? load.error.message : null;
  const values = (name: string, value: string): [string, string][] => {
    const all = fields.find((f) => f.name === name)?.values.map((v) => v.value).filter((v) => v) ?? [];
    return [["", "all"], ...(value && !all.includes(value) ? [value, ...all] : all).map((v): [string, string] => [v, v])];
  };
  return (
    <Page title="Roofline" lead={<>Operations a second over operations a byte, from the median of the time. Lines are the highest rates of the machine: the table names the one that limits a benchmark.</>}>
      <div class="plot-ask" role="search">
        <Expression label="Benchmarks" value={asked.select} fields={fields} fault={fault} placeholder="gemm dtype=bf16 k>=4096" onChange={(v) => setQuery({ select: v, ...ALL_OF_IT })} />
      </div>
      <div class="filters">
        <EndField label="Before" value={asked.a} none="nothing" commits={measured} onChange={(v) => setQuery({ a: v })} />
        <EndField label="Now" value={asked.b} none="newest results" commits={measured} onChange={(v) => setQuery({ b: v })} />
        <Select label="Backend" value={asked.backend} options={values("backend", asked.backend)} onChange={(v) => setQuery({ backend: v, ...ALL_OF_IT })} />
        <Select label="Machine class" value={asked.machine_class} options={values("machine_class", asked.machine_class)} onChange={(v) => setQuery({ machine_class: v, ...ALL_OF_IT })} />
      </div>
      {load.state === "failed" && !fault && <Failed error={load.error} retry={load.retry} />}
      {load.state === "loading" && <Loading what="the benchmarks" />}
      {load.state === "data" && <Shown project={props.project} reply={load.data} />}
    </Page>
  );
}

/** The part on view, and the address with it: `x` and `y`, each LOW..HIGH. */
function usePart(all: Part): { part: Part; faults: string[]; change: (next: Part) => void } {
  const [x, y] = [query.value.get("x") ?? "", query.value.get("y") ?? ""];
  const named = useMemo(() => partOf(x, y, all), [x, y, all]);
  const [moved, setMoved] = useState<Part | null>(null); /* by a gesture: exact, and earlier than the address */
  const part = useMemo(() => (moved ? fittedPart(moved, all) : named.part), [moved, named, all]);
  const whole = useRef(all);
  whole.current = all;
  const written = useRef(`${x} ${y}`);
  const ends = useRef(0);
  const change = (next: Part) => {
    setMoved(next);
    window.clearTimeout(ends.current);
    ends.current = window.setTimeout(() => {
      const to = { x: spanText(next.x, whole.current.x), y: spanText(next.y, whole.current.y) };
      written.current = `${to.x ?? ""} ${to.y ?? ""}`;
      setQuery(to, true);
      if (isWhole(next, whole.current)) setMoved(null); /* all follows the data */
    }, 250);
  };
  /* The back button, a link or other benchmarks: the address decides again. */
  useEffect(() => {
    if (written.current === `${x} ${y}`) return;
    written.current = `${x} ${y}`;
    window.clearTimeout(ends.current);
    setMoved(null);
  }, [x, y]);
  useEffect(() => () => window.clearTimeout(ends.current), []);
  return { part, faults: moved ? [] : named.faults, change };
}

function Chart(props: { reply: RooflineReply; all: Part; bright: number | null }) {
  const { reply, all } = props;
  const { part, faults, change } = usePart(all);
  const outside = outsideOf(reply, part);
  const whole = isWhole(part, all);
  const zoom = (factor: number) => change(zoomedPart(part, middle(part), factor, all));
  return (
    <>
      <section class="chart-card" aria-label="Chart">
        <div class="chart-tools">
          <div class="choice" role="group" aria-label="Zoom">
            <button type="button" aria-label="Zoom in" onClick={() => zoom(0.5)}>+</button>
            <button type="button" aria-label="Zoom out" disabled={whole} onClick={() => zoom(2)}>{"\u2212"}</button>
            <button type="button" disabled={whole} onClick={() => change(all)}>All</button>
          </div>
          <span class="timeline-span" role="status">{outside > 0 ? `${plural(outside, "benchmark is", "benchmarks are")} outside of the view` : ""}</span>
        </div>
        <RooflineChart reply={reply} part={part} all={all} onPart={change} bright={props.bright}
          onOpen={(i) => { const r = reply.benchmarks[i]; if (r) navigate(href.series(r.series_id, { at: r.b.commit })); }} />
        <ul class="legend" aria-label="Legend">
          <li><i class="key-roof-dot" />a benchmark</li>
          {reply.a && <li><i class="key-roof-arrow" />from its place before; not drawn where it is shorter than the dot</li>}
          <li><i class="key-roof-compute" />arithmetic</li>
          <li><i class="key-roof-memory" />memory</li>
        </ul>
        <p id="roof-keys" class="keys"><kbd>←</kbd> <kbd>→</kbd> benchmark · <kbd>Home</kbd> <kbd>End</kbd> · <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom · <kbd>Shift</kbd>+arrows pan · <kbd>Enter</kbd> opens the series · <kbd>Esc</kbd> clears · <kbd>Ctrl</kbd>+wheel or pinch zooms · <kbd>Shift</kbd>+drag pans · double click: all</p>
      </section>
      {faults.length > 0 && <p class="said bad" role="status">The zoom of the address is not shown: {faults.join("; ")}.</p>}
    </>
  );
}

function Shown(props: { project: string; reply: RooflineReply }) {
  const { reply } = props;
  const [bright, setBright] = useState<number | null>(null);
  const all = useMemo(() => wholeOf(reply), [reply]);
  const limited = reply.benchmarks.filter((r) => r.b.limited_by !== null);
  const byMemory = limited.filter((r) => r.b.limited_by === "memory").length;
  const unknown = reply.unknown.length + reply.left_out;
  return (
    <>
      <p class="count" role="status">
        {plural(reply.benchmarks.length, "benchmark")} of {formatCount(reply.matched)} on the roofline
        {limited.length > 0 && <>: {formatCount(byMemory)} limited by memory, {formatCount(limited.length - byMemory)} by arithmetic</>}
        {reply.benchmarks.length > limited.length && <>, {formatCount(reply.benchmarks.length - limited.length)} without a known ceiling</>}
        {unknown > 0 && <>; <a href="#unknown">{formatCount(unknown)} unknown</a></>}
        {reply.unknown_fields.length > 0 && <b>; no series has {reply.unknown_fields.map((u) => `"${u}"`).join(", ")}</b>}
      </p>
      {(reply.a_how || reply.b_how) && <p class="muted">{[reply.a_how && `before: ${reply.a_how}`, reply.b_how && `now: ${reply.b_how}`].filter((t) => t).join("; ")}</p>}
      {reply.benchmarks.length === 0 ? <Empty title={reply.matched === 0 ? "No benchmark fits" : "No benchmark has a place on the roofline"}>
        {reply.matched > 0 && <p>A place needs a time, and operations and bytes in the run document. <a href="/docs/reference/formats/">Formats</a> has the members.</p>}
      </Empty> : (
        <>
          {all && <Chart reply={reply} all={all} bright={bright} />}
          <Section title="Benchmarks"><Benchmarks project={props.project} reply={reply} onBright={setBright} /></Section>
          <Section title="Ceilings"><Ceilings all={distinct(reply.ceilings)} /></Section>
        </>
      )}
      {unknown > 0 && <Section title="Unknown" id="unknown"><Unknown all={reply.unknown} leftOut={reply.left_out} /></Section>}
    </>
  );
}

/** 524,288 operations as "524.3 kOP". */
const operations = (n: number | null) => formatValue(n, "OP/s").replace("/s", "");

function Benchmarks(props: { project: string; reply: RooflineReply; onBright: (i: number | null) => void }) {
  const { reply } = props;
  const rows = reply.benchmarks.map((r, index) => ({ r, index })).sort((x, y) => (x.r.b.fraction ?? 2) - (y.r.b.fraction ?? 2));
  type Row = { r: RooflineBenchmark; index: number };
  const rate = (p: RooflineBenchmark["a"]) => (p ? formatValue(p.rate, rateUnit(reply, p)) : "not measured");
  return (
    <div onPointerLeave={() => props.onBright(null)}>
      <Table<Row> caption="Benchmarks" className="plot-table dense" rows={rows} keyOf={(x) => x.index} columns={[
        { name: "Benchmark", head: true, cell: ({ r, index }) => (
          <span class="bench" onPointerEnter={() => props.onBright(index)}>
            <a href={href.series(r.series_id, { at: r.b.commit })} onFocus={() => props.onBright(index)} onBlur={() => props.onBright(null)}>{r.benchmark}</a>
            <small>{[r.backend, r.machine_class, r.metric === "time_ns" ? "" : r.metric].filter((s) => s).join(", ")}</small>
          </span>
        ) },
        { name: "Operations", numeric: true, wide: true, cell: ({ r }) => operations(r.b.operations) },
        { name: "Traffic", numeric: true, wide: true, cell: ({ r }) => formatValue(r.b.bytes, "B") },
        { name: "Operations a byte", numeric: true, cell: ({ r }) => formatNumber(r.b.intensity ?? NaN, 3) },
        ...(reply.a ? [{ name: "Rate before", numeric: true, cell: ({ r }: Row) => rate(r.a) }] : []),
        { name: "Rate", numeric: true, cell: ({ r }) => rate(r.b) },
        ...(reply.a ? [{ name: "Reached before", numeric: true, cell: ({ r }: Row) => (r.a ? formatShare(r.a.fraction) : "\u2013") }] : []),
        { name: "Limit", cell: ({ r }) => <Clamped text={sayLimit(reply, r.b)} /> },
        { name: "Commit", wide: true, cell: ({ r }) => <CommitLink project={props.project} id={r.b.commit} /> },
      ]} />
    </div>
  );
}

/** A ceiling with the same value at both commits is listed once. */
function distinct(all: readonly RooflineCeiling[]): RooflineCeiling[] {
  const seen = new Map<string, RooflineCeiling>();
  for (const c of all) {
    const key = JSON.stringify([c.machine_class, c.backend, c.name, c.value]);
    if (!seen.has(key)) seen.set(key, c);
  }
  return [...seen.values()];
}

function Ceilings(props: { all: readonly RooflineCeiling[] }) {
  if (props.all.length === 0) return <Empty title="No run states a ceiling"><p>perfci-bench measures those of one core with each suite. Another program sends them as the member <code>ceilings</code>.</p></Empty>;
  return (
    <Table caption="Ceilings" rows={props.all.map((c, i) => ({ c, i }))} keyOf={(x) => x.i} columns={[
      { name: "Ceiling", head: true, cell: ({ c }) => c.name },
      { name: "Rate", numeric: true, cell: ({ c }) => formatValue(c.value, c.unit) },
      { name: "Holds up to", numeric: true, wide: true, cell: ({ c }) => (c.capacity_bytes === null ? "\u2013" : formatValue(c.capacity_bytes, "B", 3)) },
      { name: "Backend", cell: ({ c }) => c.backend || "all" },
      { name: "Machine class", wide: true, cell: ({ c }) => c.machine_class },
      { name: "Source", cell: ({ c }) => c.source },
      { name: "Measured", cell: ({ c }) => (c.source === "measured" ? <When time={c.at} /> : "\u2013") },
      { name: "Run", cell: ({ c }) => <a href={href.run(c.run_id)}>{c.run_id}</a> },
    ]} />
  );
}

function Unknown(props: { all: readonly RooflineUnknown[]; leftOut: number }) {
  return (
    <>
      <Table caption="Benchmarks without a place" rows={props.all} keyOf={(u) => `${u.series_id}`} columns={[
        { name: "Benchmark", head: true, cell: (u) => <a href={href.series(u.series_id)}>{u.benchmark}</a> },
        { name: "Backend", cell: (u) => u.backend || "\u2013" },
        { name: "Machine class", wide: true, cell: (u) => u.machine_class },
        { name: "Why", cell: (u) => REASONS[u.reason] ?? u.reason },
      ]} />
      {props.leftOut > 0 && <p class="muted">{plural(props.leftOut, "more benchmark")} of the same kind.</p>}
    </>
  );
}
