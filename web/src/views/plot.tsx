/* Many series on one page: chosen by an expression, overlaid or stacked, grouped and averaged. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { namesPath, plotPath, type PlotNames, type PlotReply } from "../api/plot";
import { useApi, type Load } from "../api/use";
import { formatCount, plural } from "../base/format";
import { navigate, query, setQuery } from "../base/location";
import { href } from "../base/route";
import { linesOf, type Layout, type View as Range } from "../charts/lines";
import { LinesChart } from "../charts/lines_chart";
import type { DragMode } from "../charts/panel";
import { firstAt } from "../charts/raster";
import { Expression } from "../widgets/expression";
import { Choice, Select } from "../widgets/field";
import { Page, Section } from "../widgets/parts";
import { Empty, Failed, Loading } from "../widgets/state";
import { PlotTable } from "./plot_table";

/** The last reply stays on view while the next one is read. */
function useLast(load: Load<PlotReply>): PlotReply | null {
  const last = useRef<PlotReply | null>(null);
  if (load.state === "data") last.current = load.data;
  return last.current;
}

export function Plot(props: { project: string }) {
  const q = query.value;
  const get = (key: string) => q.get(key) ?? "";
  const select = get("select");
  const group = get("group");
  const [width] = useState(() => window.innerWidth);
  const whole = useApi<PlotReply>(plotPath(props.project, q, width), ["run"]);
  const names = useApi<PlotNames>(namesPath(props.project), ["run"]);
  const reply = useLast(whole);
  const fields = names.state === "data" ? names.data.names : [];
  const fault = whole.state === "failed" && whole.error.message.startsWith("select:") ? whole.error.message : null;
  return (
    <Page title="Plot" lead={<>Up to 200 series on one axis of commits. Select them by an expression: all of its terms must hold.</>}>
      <div class="plot-ask" role="search">
        <Expression label="Series" value={select} fields={fields} fault={fault} placeholder="gemm dtype=bf16,f16 backend=cpu-* k>=4096"
          onChange={(v) => setQuery({ select: v, from: null, to: null })} />
        <Select label="Average by" value={group} onChange={(v) => setQuery({ group: v })}
          options={[["", "nothing: one line a series"], ...fields.map((f): [string, string] => [f.name, f.name]),
            ...(group && !fields.some((f) => f.name === group) ? [[group, group] as [string, string]] : [])]} />
      </div>
      {whole.state === "failed" && !fault && <Failed error={whole.error} retry={whole.retry} />}
      {!reply && whole.state === "loading" && <Loading what="the series" />}
      {reply && !fault && <Shown project={props.project} reply={reply} group={group} fresh={whole.state === "data"} width={width} />}
    </Page>
  );
}

/** Rows of the axis that the address names; null: everything. */
function viewOf(reply: PlotReply, from: string, to: string): Range | null {
  const at = (id: string) => (id ? reply.columns.commit.findIndex((c) => c.startsWith(id)) : -1);
  const [a, b] = [at(from), at(to)];
  const p = reply.columns.position;
  return a >= 0 && b > a ? { from: p[a] ?? 0, to: p[b] ?? 0 } : null;
}

function Shown(props: { project: string; reply: PlotReply; group: string; fresh: boolean; width: number }) {
  const { reply, group } = props;
  const q = query.value;
  const layout: Layout = q.get("layout") === "stacked" ? "stacked" : "overlaid";
  const relative = q.get("y") === "relative" || (q.get("relative") ?? "") !== "";
  const log = q.get("y") === "log";
  const drag: DragMode = q.get("drag") === "pan" ? "pan" : "zoom";
  const named = (q.get("relative") ?? "") !== "";
  const positions = reply.columns.position;
  const all: Range = useMemo(() => {
    const [first, last] = [positions[0] ?? 0, positions[positions.length - 1] ?? 1];
    const pad = Math.max(0.5, (last - first) * 0.01);
    return { from: first - pad, to: last + pad };
  }, [positions]);
  const [view, setView] = useState<Range>(() => viewOf(reply, q.get("from") ?? "", q.get("to") ?? "") ?? all);
  const [bright, setBright] = useState<number | null>(null);
  const [drawn, setDrawn] = useState(false);
  useEffect(() => { if (!q.get("from")) setView(all); }, [all, q.get("from")]);

  /* Zoomed: after a moment the address gets the ends, and the server is asked for the part in full. */
  const zoomed = view.to - view.from < (all.to - all.from) * 0.999;
  const ends = useRef(0);
  const change = (next: Range) => {
    setView(next);
    window.clearTimeout(ends.current);
    ends.current = window.setTimeout(() => {
      const whole = next.to - next.from >= (all.to - all.from) * 0.999;
      const commit = (at: number) => reply.columns.commit[Math.max(0, Math.min(positions.length - 1, at))] ?? null;
      setQuery({ from: whole ? null : commit(firstAt(positions, next.from)), to: whole ? null : commit(firstAt(positions, next.to)) }, true);
    }, 250);
  };
  useEffect(() => () => window.clearTimeout(ends.current), []);
  const inFull = reply.places > positions.length || !reply.samples;
  const [begin, end] = [q.get("from"), q.get("to")];
  const part = useApi<PlotReply>(inFull && begin && end ? plotPath(props.project, q, props.width, { from: begin, to: end }) : null);
  const detail = part.state === "data" ? part.data : null;
  /* A link's ends may lie within columns of the whole: the part says where they are. */
  const placed = useRef(view !== all || !q.get("from"));
  useEffect(() => {
    const p = detail?.columns.position;
    if (placed.current || !p || p.length < 2) return;
    placed.current = true;
    setView({ from: p[0] ?? 0, to: p[p.length - 1] ?? 0 });
  }, [detail]);
  const covers = detail && detail.lines.length === reply.lines.length && (detail.columns.position[0] ?? Infinity) <= Math.max(view.from, positions[0] ?? 0) + 1e-9
    && (detail.columns.position[detail.columns.position.length - 1] ?? 0) >= Math.min(view.to, positions[positions.length - 1] ?? 0) - 1e-9;
  const shown = zoomed && covers ? detail : reply;
  const lines = useMemo(() => linesOf(shown, layout, relative, named, group || null), [shown, layout, relative, named, group]);
  const table = useMemo(() => <PlotTable project={props.project} lines={lines} group={group || null} onBright={setBright} />, [lines, group]);

  if (reply.lines.length === 0) return <None reply={reply} />;
  const baseless = lines.panels.reduce((sum, p) => sum + p.baseless, 0);
  return (
    <>
      <p class="count" role="status">
        {props.group ? `${plural(reply.lines.length, "group")} of ${plural(reply.matched, "series", "series")}` : plural(reply.matched, "series", "series")} over {plural(reply.places, "commit")}
        {reply.left_out > 0 && <b>; {formatCount(reply.left_out)} over the limit of 200 lines are not shown: narrow the expression</b>}
        {reply.unknown.length > 0 && <b>; no series has {reply.unknown.map((u) => `"${u}"`).join(", ")}</b>}
        {!props.fresh && <> (reading)</>}
      </p>
      <section class="chart-card" aria-label="Chart">
        <div class="chart-tools">
          <Choice<Layout> label="Layout" value={layout} onChange={(v) => setQuery({ layout: v === "overlaid" ? null : v })}
            options={[["overlaid", "Overlaid"], ["stacked", "Stacked"]]} />
          <Choice<DragMode> label="Dragging" value={drag} onChange={(v) => setQuery({ drag: v === "zoom" ? null : v }, true)}
            options={[["zoom", "Zoom"], ["pan", "Pan"]]} />
          <Choice label="Vertical axis" value={relative ? "relative" : log ? "log" : "linear"}
            onChange={(v) => setQuery({ y: v === "linear" ? null : v, relative: v === "relative" ? q.get("relative") : null })}
            options={[["linear", "Linear"], ["log", "Log"], ["relative", "Relative"]]} />
          {relative && <RelativeTo value={q.get("relative") ?? ""} />}
          <button type="button" class="button" disabled={!zoomed} onClick={() => change(all)}>All commits</button>
        </div>
        <LinesChart lines={lines} view={view} all={all} log={log && !relative} drag={drag} stacked={layout === "stacked"} bright={bright}
          onView={change} onDrawn={() => {
            performance.mark("plot-drawn");
            if (!drawn) window.setTimeout(() => setDrawn(true)); /* the table's rows take as long as the chart: after its frame */
          }}
          onPick={(line, column) => {
            const id = shown.lines[line]?.series_id;
            if (id) navigate(href.series(id, { at: shown.columns.commit[column] }));
          }} />
        <ul class="legend" aria-label="Legend">
          <li><i class="key-line" />median of the commits in a pixel; paler: lowest to highest</li>
          {lines.panels.some((p) => p.lines.some((l) => l.broken.length > 0)) && <li><b aria-hidden="true">×</b>broken: it has no value</li>}
          {shown.samples && <li><i class="key-dot" />raw samples</li>}
          {group && <li>geometric mean, only at commits where every member of the group was measured</li>}
        </ul>
        <p id="plot-keys" class="keys"><kbd>←</kbd> <kbd>→</kbd> pan · <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom · <kbd>Ctrl</kbd>+wheel or pinch zooms · <kbd>Shift</kbd>+drag pans · double click: all · a click opens the series</p>
        {baseless > 0 && <p class="muted">{plural(baseless, "line")} without a value at or before that commit {baseless === 1 ? "is" : "are"} not shown.</p>}
      </section>
      <Section title="Lines">{drawn && table}</Section>
    </>
  );
}

function RelativeTo(props: { value: string }) {
  const [text, setText] = useState(props.value);
  useEffect(() => setText(props.value), [props.value]);
  const send = () => setQuery({ y: "relative", relative: /^[0-9A-F]{7,40}$/i.test(text.trim()) ? text.trim().toLowerCase() : text.trim() });
  return (
    <label class="field"><span>Relative to commit</span>
      <input type="text" class="mono" value={text} placeholder="first value" size={14} maxLength={232} spellcheck={false} title="A commit, a tag, a branch or a date, with ~N behind it for N commits before"
        onInput={(e) => setText(e.currentTarget.value)} onBlur={send} onKeyDown={(e) => { if (e.key === "Enter") send(); }} />
    </label>
  );
}

function None(props: { reply: PlotReply }) {
  return (
    <Empty title="No series fits the expression">
      {props.reply.unknown.length > 0 && <p>No series has {props.reply.unknown.map((u) => `"${u}"`).join(", ")}.</p>}
      <button type="button" class="button" onClick={() => setQuery({ select: null })}>Show all series</button>
    </Empty>
  );
}
