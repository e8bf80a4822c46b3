/* One trace of a run: its timeline, the slices in view as a table, clocks and units. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { shownProject } from "../api/projects";
import type { TimelineReply, TraceDetail } from "../api/trace";
import { useApi } from "../api/use";
import { formatCount, formatValue, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import type { View as Span } from "../charts/lines";
import { around, callOf, covers, rowsOf, sayClocks, sayDuration, sayTime, sliceAt, slicesIn, windowFor, type Shown, type Slice } from "../charts/timeline";
import { TimelineChart } from "../charts/timeline_chart";
import { Search } from "../widgets/field";
import { CommitLink, Facts, Page, Section, When } from "../widgets/parts";
import { Empty, Failed, Loading, View } from "../widgets/state";
import { Table } from "../widgets/table";

/** Rows of the table at first, and at most. */
const FIRST_ROWS = 20;
const TABLE_ROWS = 200;
const CELLS = 1500;

export function TraceView(props: { run: string; id: string }) {
  const load = useApi<TraceDetail>(`/traces/${encodeURIComponent(props.id)}`);
  const project = load.state === "data" ? load.data.project : null;
  useEffect(() => { if (project) shownProject.value = project; }, [project]);
  return <View load={load} what="the trace">{(trace) => <Loaded trace={trace} />}</View>;
}

function Loaded(props: { trace: TraceDetail }) {
  const { trace } = props;
  return (
    <Page title={`Trace ${trace.id}${trace.title ? `: ${trace.title}` : ""}`}
      lead={<>of <a href={href.run(trace.run_id)}>run {trace.run_id}</a>{trace.benchmark && <>, benchmark <b>{trace.benchmark}</b></>} at <CommitLink project={trace.project} id={trace.commit} /> · <When time={trace.stored_at} /></>}
      side={<a class="button" download={`trace-${trace.id}.pct`} href={`/api/v1/traces/${trace.id}/file`}>Download</a>}>
      {trace.records === 0 ? <Empty title="The trace has no records"><p>Its program recorded nothing before the trace was closed.</p></Empty> : <Timeline trace={trace} />}
      <Section title="Clocks"><Clocks trace={trace} /></Section>
      <Section title="Units"><Units trace={trace} /></Section>
      {trace.metadata.length > 0 && <Section title="Metadata"><details><summary>{plural(trace.metadata.length, "value")}</summary>
        <Facts facts={trace.metadata.map((m) => [m.key, <span class="breakable">{m.value}</span>] as const)} /></details></Section>}
    </Page>
  );
}

/** A time of the address, ns; NaN: none. */
const timeOf = (name: string) => { const text = query.value.get(name) ?? ""; return /^\d{1,16}$/.test(text) ? Number(text) : NaN; };

function viewOf(all: Span): Span {
  const from = timeOf("from");
  const to = timeOf("to");
  return Number.isFinite(from) && Number.isFinite(to) && from < to && from < all.to ? { from, to: Math.min(to, all.to) } : all;
}

function Timeline(props: { trace: TraceDetail }) {
  const { trace } = props;
  const all = useMemo(() => ({ from: 0, to: Math.max(trace.span_ns, 1) }), [trace.span_ns]);
  const named = viewOf(all);
  const [view, setView] = useState<Span>(named);
  const [width, setWidth] = useState(900);
  const [asked, setAsked] = useState<Span>(() => windowFor(named, all));
  const [chosen, setChosen] = useState<Slice | null>(null);
  const last = useRef<TimelineReply | null>(null);
  const moving = useRef(view);
  const find = query.value.get("find") ?? "";
  const flag = (name: string, otherwise: boolean) => (query.value.get(name) ?? (otherwise ? "1" : "0")) === "1";
  const shown: Shown = { waits: flag("waits", true), points: flag("points", false), counters: flag("counters", false) };
  const load = useApi<TimelineReply>(withQuery(`/traces/${trace.id}/timeline`, { from: asked.from, to: asked.to, cells: CELLS, find }));
  if (load.state === "data") last.current = load.data;
  const reply = last.current;

  /* The back button, or a link to another part of the same trace. */
  useEffect(() => {
    if (Math.round(moving.current.from) === named.from && Math.round(moving.current.to) === named.to) return;
    move(named);
    ask(named);
  }, [named.from, named.to]);

  const move = (next: Span) => { moving.current = next; setView(next); };
  const ask = (next: Span) => {
    const r = last.current;
    if (!r || !covers(r, next, width)) setAsked(windowFor({ from: Math.floor(next.from), to: Math.ceil(next.to) }, all));
  };
  const rest = () => {
    const next = { from: Math.round(moving.current.from), to: Math.round(moving.current.to) };
    const whole = next.from <= all.from && next.to >= all.to;
    move(whole ? all : next);
    ask(next);
    setQuery({ from: whole ? null : next.from, to: whole ? null : next.to }, true);
  };
  const show = (slice: Slice) => {
    setChosen(slice);
    move(around(slice, all, (moving.current.to - moving.current.from) / 4));
    rest();
  };
  const layout = useMemo(() => (reply ? rowsOf(trace, reply, shown) : null), [trace, reply, shown.waits, shown.points, shown.counters]);
  if (!reply || !layout) return load.state === "failed" ? <Failed error={load.error} retry={load.retry} /> : <Loading what="the timeline" />;
  const counters = reply.counters.length;
  const box = (name: keyof Shown, label: string, otherwise: boolean) => (
    <label class="check"><input type="checkbox" checked={shown[name]} onChange={(e) => setQuery({ [name]: (e.currentTarget as HTMLInputElement).checked === otherwise ? null : otherwise ? "0" : "1" }, true)} /> {label}</label>
  );
  return (
    <>
      <div class="filters" role="search">
        <Search label="Find slice" value={find} onChange={(text) => setQuery({ find: text || null }, true)} />
        {box("waits", "Waits", true)}{box("points", "Points", false)}{counters > 0 && box("counters", `Counters (${formatCount(counters)})`, false)}
      </div>
      {find && <Found reply={reply} find={find} view={view} loading={load.state === "loading"} onShow={show} />}
      {load.state === "failed" && <Failed error={load.error} retry={load.retry} />}
      {sayClocks(trace).map((text) => <p key={text} class="count">{text}</p>)}
      <section class="chart-card" aria-label="Timeline">
        <div class="chart-tools">
          <span class="timeline-span">{sayTime(view.from, (view.to - view.from) / 100)} to {sayTime(view.to, (view.to - view.from) / 100)}: {sayDuration(view.to - view.from)} of {sayDuration(all.to)}</span>
          <button type="button" class="button" disabled={view.from <= all.from && view.to >= all.to} onClick={() => { move(all); rest(); }}>Show all</button>
        </div>
        <TimelineChart trace={trace} reply={reply} rows={layout.rows} height={layout.height} view={view} all={all} find={find ? find.toLowerCase() : null}
          chosen={chosen} onView={move} onRest={rest} onChoose={setChosen} onWidth={setWidth} />
        <p class="keys" id="timeline-keys">Drag to move, Ctrl+wheel to zoom, double click for all. Keys: arrows, + and {"\u2212"}, 0 for all. Where slices are too dense, a bar's height is the busy share.</p>
      </section>
      <Section title="Slices in view"><Slices trace={trace} reply={reply} rows={layout.rows} view={view} find={find.toLowerCase()} onShow={show} /></Section>
    </>
  );
}

function Found(props: { reply: TimelineReply; find: string; view: Span; loading: boolean; onShow: (s: Slice) => void }) {
  const { reply, find } = props;
  const f = reply.found;
  if (props.loading || !f) return <p class="count" role="status">Searching for {find}</p>;
  const middle = (props.view.from + props.view.to) / 2;
  const at = (i: number) => ((f.begin[i] as number) + (f.end[i] as number)) / 2;
  const go = (forward: boolean) => {
    const n = f.begin.length;
    let next = -1;
    for (let i = 0; i < n; i++) {
      if (forward ? next < 0 && at(i) > middle + 1 : at(i) < middle - 1) next = i;
    }
    if (next < 0) next = forward ? 0 : n - 1;
    props.onShow(sliceAt(reply, f, f.line[next] as number, next));
  };
  return (
    <div class="row timeline-found">
      <p class="count" role="status">{plural(f.all, "slice has", "slices have")} a name with "{find}"{f.all > f.begin.length ? `; steps go through the first ${formatCount(f.begin.length)}` : ""}</p>
      {f.begin.length > 0 && <>
        <button type="button" class="button" onClick={() => go(false)}>Previous</button>
        <button type="button" class="button" onClick={() => go(true)}>Next</button>
      </>}
    </div>
  );
}

function Slices(props: { trace: TraceDetail; reply: TimelineReply; rows: ReturnType<typeof rowsOf>["rows"]; view: Span; find: string; onShow: (s: Slice) => void }) {
  const { trace, reply } = props;
  const { slices, merged } = slicesIn(reply, props.rows, props.view);
  const fitting = props.find ? slices.filter((s) => s.name.toLowerCase().includes(props.find)) : slices;
  const [full, setFull] = useState(false);
  const first = fitting.slice(0, full ? TABLE_ROWS : FIRST_ROWS);
  const step = (props.view.to - props.view.from) / 200;
  const label = (s: Slice) => props.rows.find((r) => r.kind === "line" && r.at === s.line)?.label ?? "";
  return (
    <>
      <p class="count" role="status">{plural(fitting.length, "slice")}{props.find ? ` with "${props.find}"` : ""}{fitting.length > first.length ? `, the first ${formatCount(first.length)} shown` : ""}{merged > 0 ? `; lines with ${plural(merged, "slice")} are too dense to list: zoom in` : ""}</p>
      {first.length > 0 && <Table caption="Slices in view" className="timeline-table" rows={first.map((s, i) => ({ s, i }))} keyOf={({ i }) => i} columns={[
        { name: "Slice", head: true, cell: ({ s }) => <button type="button" class="link" onClick={() => props.onShow(s)}>{s.name || "(no name)"}</button> },
        { name: "Row", cell: ({ s }) => label(s) },
        { name: "Begin", numeric: true, cell: ({ s }) => sayTime(s.begin, step) },
        { name: "Duration", numeric: true, cell: ({ s }) => (s.end > s.begin ? sayDuration(s.end - s.begin) : "a point") },
        { name: "Host call", cell: ({ s }) => {
          const call = callOf(reply, s.correlation);
          return trace.unit_list[reply.lines[s.line]?.unit ?? -1]?.kind === "host" || !call ? "\u2013" : `${call.name} at ${sayTime(call.begin, step)}`;
        } },
        { name: "Id", numeric: true, wide: true, cell: ({ s }) => (s.correlation === 0 ? "\u2013" : String(s.correlation)) },
      ]} />}
      {!full && fitting.length > FIRST_ROWS && <p class="timeline-more"><button type="button" class="button" onClick={() => setFull(true)}>Show {formatCount(Math.min(fitting.length, TABLE_ROWS))} slices</button></p>}
    </>
  );
}

const METHODS: Record<string, string> = { clock_pairs: "pairs of readings", "first clock_pair": "one pair of readings", nominal: "its nominal rate" };

function Clocks(props: { trace: TraceDetail }) {
  return (
    <Table caption="Clocks" rows={props.trace.clocks} keyOf={(c) => c.name} columns={[
      { name: "Clock", head: true, cell: (c) => c.name },
      { name: "Rate", numeric: true, cell: (c) => `${formatCount(c.nominal_hz / 1e6)} MHz` },
      { name: "Placed by", cell: (c) => (c.reference ? "the line of time is its own" : METHODS[c.method] ?? c.method) },
      { name: "Pairs", numeric: true, wide: true, cell: (c) => (c.knots === 0 ? "\u2013" : `${formatCount(c.knots)}${c.pairs_left_out ? `, ${formatCount(c.pairs_left_out)} left out` : ""}`) },
      { name: "Error at most", numeric: true, cell: (c) => (c.reference ? "\u2013" : c.bound_ns === null ? "not known" : formatValue(c.bound_ns, "ns")) },
    ]} />
  );
}

function Units(props: { trace: TraceDetail }) {
  const { trace } = props;
  const faults = (u: TraceDetail["unit_list"][number]) => [
    u.dropped > 0 ? `${plural(u.dropped, "record")} lost` : "", u.left_out > 0 ? `${plural(u.left_out, "slice")} not drawn: too many at once` : "",
    u.unmatched > 0 ? `${plural(u.unmatched, "end")} without a begin` : ""].filter((s) => s).join("; ");
  return (
    <>
      <p class="count">{plural(trace.records, "record")} in {formatValue(trace.size, "B", 3)}{trace.details > 0 ? `, of which ${formatCount(trace.details)} are details of commands and not drawn` : ""}{trace.values_left_out > 0 ? `; ${plural(trace.values_left_out, "value")} of counters left out` : ""}</p>
      <Table caption="Units" rows={trace.unit_list} keyOf={(u) => u.id} columns={[
        { name: "Unit", head: true, cell: (u) => u.name },
        { name: "Kind", cell: (u) => u.kind },
        { name: "Device", numeric: true, cell: (u) => (u.kind === "host" ? "host" : String(u.device)) },
        { name: "Clock", wide: true, cell: (u) => trace.clocks[u.clock]?.name ?? "\u2013" },
        { name: "Records", numeric: true, cell: (u) => formatCount(u.records) },
        { name: "Missing", cell: (u) => faults(u) || "nothing" },
      ]} />
    </>
  );
}
