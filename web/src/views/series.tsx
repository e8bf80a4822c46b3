/* One series: the chart, what changed in it, and what to do about a range of it. */
import { useEffect, useMemo } from "preact/hooks";
import { shownProject } from "../api/projects";
import type { ReplayReply, SeriesReply } from "../api/types";
import { useApi } from "../api/use";
import { hasRatios, measuredBefore, parseSpan, rowOfCommit, spanText, type Shown, type XMode, type YMode } from "../charts/columns";
import { describePoint } from "../charts/point_card";
import { SeriesChart, type DragMode } from "../charts/series_chart";
import { formatChange, formatShare, formatValue, formatWatchOdds, plural, shortId } from "../base/format";
import { navigate, query, setQuery } from "../base/location";
import { clamp, relChange } from "../base/numbers";
import { href, withQuery } from "../base/route";
import { ChangeBadge, TwoSpeeds } from "../widgets/badge";
import { Choice } from "../widgets/field";
import { Command, CommitLink, Facts, Page, Section } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { BrokenTable, ChangesTable, PointsTable } from "./series_tables";
import { MeasureRange } from "./measure_range";
import { Embed } from "./embed";
import { Tuning, useTrial } from "./series_tune";
import { Moved } from "./moved";
import { PointVerdict } from "./point_verdict";

const one = <V extends string>(value: string | null, allowed: readonly V[]): V => allowed.find((v) => v === value) ?? (allowed[0] as V);

export function SeriesView(props: { id: string }) {
  const load = useApi<SeriesReply>(`/series/${encodeURIComponent(props.id)}?points=5000`, ["run", "alert"]);
  const detail = useDetail(props.id, load.state === "data" ? load.data : null);
  if (load.state !== "data") return <Page title="Series"><View load={load} what="the series">{() => null}</View></Page>;
  return <Loaded reply={detail.part ?? load.data} whole={load.data} failure={detail.failure} key={props.id} />;
}

/** A long series comes in buckets. Once zoomed in, the range is asked for again with every commit in it; the server finds
 * an end that this series has not measured, too. The whole series stays known: zooming out and moving need it. */
function useDetail(id: string, whole: SeriesReply | null): { part: SeriesReply | null; failure: string } {
  const [from, to] = (query.value.get("zoom") ?? "").split("..");
  const wanted = whole !== null && from && to && (whole.bucketed || !parseSpan(whole, `${from}..${to}`));
  const full = (short: string) => whole?.columns.commit.find((c) => c.startsWith(short)) ?? short;
  const load = useApi<SeriesReply>(wanted ? withQuery(`/series/${encodeURIComponent(id)}`, { from: full(from), to: full(to), points: 5000 }) : null, ["run"]);
  if (!wanted || load.state === "loading") return { part: null, failure: "" };
  if (load.state === "failed") return { part: null, failure: load.error.message };
  return load.data.columns.commit.length > 1 ? { part: load.data, failure: "" }
    : { part: null, failure: `${plural(load.data.columns.commit.length, "point")} between ${from} and ${to}, expected 2 or more` };
}

function Loaded(props: { reply: SeriesReply; whole: SeriesReply; failure: string }) {
  const trial = useTrial(props.reply);
  const reply = useSame(trial.reply);
  const s = reply.series;
  useEffect(() => { shownProject.value = s.project ?? null; }, [s.project]);
  const name = s.benchmark === "headline" || s.benchmark === "" ? s.metric : s.benchmark;
  const last = s.last;
  return (
    <Page title={name} lead={<>{[s.benchmark === "headline" ? "headline" : s.metric, s.backend, s.machine_class, s.branch].filter((t) => t).join(" \u00b7 ")}</>}
      side={<div class="big-value"><b>{last ? formatValue(last.median, s.unit) : "\u2013"}</b><ChangeBadge change={s.change} /></div>}>
      {(s.two_speeds ?? []).length > 0 && <p class="two-speeds"><TwoSpeeds machines={s.two_speeds} /> <span class="muted">The values alternate between two levels there; a step between them is not a change of the code.</span></p>}
      {reply.columns.commit.length === 0
        ? <Empty title="No point yet"><Command text="perfci nightly" what="Command: measure new commits" /></Empty>
        : <Chart reply={reply} whole={props.whole} name={name} />}
      {props.failure && <p class="said bad" role="status">The zoom of the address is not shown: {props.failure}.</p>}
      <Moved project={s.project ?? null} machineClass={s.machine_class} />
      <Section title="Changes" side={<span class="muted">{plural(reply.changes.length, "change point")}</span>}>
        {reply.changes.length === 0 ? <Empty title="One level throughout"><p>{trial.on ? "These settings find no change point." : "No change point was found in this series."}</p></Empty> : <ChangesTable reply={reply} />}
      </Section>
      {reply.columns.commit.length > 0 && <Tuning trial={trial} />}
      {(reply.broken ?? []).length > 0 && <Section title="Broken" side={<span class="muted">{plural((reply.broken ?? []).length, "commit")} without a result</span>}><BrokenTable reply={reply} /></Section>}
      <Section title="About this series">
        <Facts facts={[
          ["Better is", s.direction], ["Points", plural(s.points, "point")],
          ["Noise", s.exact ? "exact: one repeat decides" : s.noise_rel === null ? "not known yet" : `\u00b1${formatShare(s.noise_rel)}`],
          ["Minimum detectable change", shows(s)],
          ...(s.watching ? [["Watching", <Watching id={s.id} points={s.watching} of={s.watching_of ?? s.watching} />] as const] : []),
          ...(s.judged === false ? [["Judged", "no: the project's configuration leaves it out"] as const] : []),
          ...(s.anchor ? [["Anchor", <CommitLink project={s.project} id={s.anchor} />] as const] : []),
          ["Machine class", s.machine_class], ["Branch", s.branch], ["Boundaries", plural(reply.boundaries.length, "change of fingerprint", "changes of fingerprint")],
        ]} />
      </Section>
      {reply.columns.commit.length > 0 && <PointsTable reply={reply} />}
      {reply.columns.commit.length > 0 && <Embed series={s} name={name} />}
    </Page>
  );
}

/** The newest points, which may be a new level, with its probability from the earlier behaviour of the series. */
function Watching(props: { id: number; points: number; of: number }) {
  const load = useApi<ReplayReply>(`/series/${props.id}/replay`, ["run"]);
  const odds = load.state === "data" ? load.data.watching_odds : null;
  return <>{props.points} of {props.of}: the newest {plural(props.points, "point")} may be a new level{odds ? `; ${formatWatchOdds(odds)}` : ""}</>;
}

/** The minimum detectable change, and the number of points that a change of one per cent needs. */
function shows(s: SeriesReply["series"]): string {
  if (s.exact) return "one unit";
  if (s.detectable_rel === null || s.detectable_rel === undefined) return s.reason ?? "not known yet";
  const often = s.points_for_1pct ? `; 1 % takes ${plural(s.points_for_1pct, "point")}${s.reason ? " or more" : ""}` : "";
  return `${formatShare(s.detectable_rel)} within 5 points${often}`;
}

/** Returns the same object while its content is equal, so that the chart is redrawn only after a change. */
function useSame(reply: SeriesReply): SeriesReply {
  const key = reply.changes.map((c) => [c.index, c.index_low, c.index_high, c.before, c.after, c.status, c.alert_id, c.why_no_alert?.sentence].join()).join(";");
  return useMemo(() => reply, [reply.columns, reply.boundaries, key]);
}

/** Rows around a part, by the places of the part's ends in the whole series, whose rows may be buckets; null: all of it. */
function outside(part: SeriesReply, whole: SeriesReply, [a, b]: [number, number]): string | null {
  const all = whole.columns.position;
  const own = part.columns.position;
  const last = all.length - 1;
  const place = (position: number) => {
    const at = all.findIndex((p) => p !== null && p >= position);
    return at < 0 ? last : at;
  };
  const [first, end] = [own[0] ?? 0, own[own.length - 1] ?? 0];
  const step = (end - first) / Math.max(1, own.length - 1);
  const low = place(Math.round(first + a * step));
  const high = place(Math.round(first + b * step));
  return low <= 0 && high >= last ? null : spanText(whole, Math.max(0, low), Math.max(high, Math.min(last, low + 1)));
}

/** Rows on view, as their places in history. */
function Chart(props: { reply: SeriesReply; whole: SeriesReply; name: string }) {
  const { reply, whole } = props;
  const q = query.value;
  const xMode = one<XMode>(q.get("x"), ["commits", "time"]);
  const yMode = one<YMode>(q.get("y"), ["linear", "log", "relative"]);
  const shown = hasRatios(reply) ? one<Shown>(q.get("show"), ["values", "ratio"]) : "values";
  const drag = one<DragMode>(q.get("drag"), ["zoom", "pan", "range"]);
  const zoomText = q.get("zoom");
  const rangeText = q.get("range");
  const n = reply.columns.commit.length;
  /* Rows of a part that was loaded for this zoom: all of them. */
  const part = reply.columns !== whole.columns && zoomText !== null && n < whole.series.points;
  const zoom = useMemo(() => (part ? [0, n - 1] as [number, number] : parseSpan(reply, zoomText)), [reply, zoomText, part, n]);
  const range = useMemo(() => parseSpan(reply, rangeText), [reply, rangeText]);
  const at = rowOfCommit(reply, q.get("at"));
  const selected = at < 0 ? null : at;
  /* Several keys may come between two renderings: each starts from the address, which the one before it has changed. */
  const latest = () => {
    const [z, row] = [query.value.get("zoom"), rowOfCommit(reply, query.value.get("at"))];
    return { zoom: z === zoomText ? zoom : parseSpan(reply, z), range: parseSpan(reply, query.value.get("range")), selected: row < 0 ? null : row };
  };

  /* Rows may lie before the first or behind the last of a part: then their places in the whole series are meant. */
  const setZoom = (z: [number, number] | null) => {
    if (z && part && (z[0] < 0 || z[1] > n - 1)) return setQuery({ zoom: outside(reply, whole, z) });
    if (z && (part || z[0] > 0 || z[1] < n - 1)) return setQuery({ zoom: spanText(reply, clamp(z[0], 0, n - 1), clamp(z[1], 0, n - 1)) });
    setQuery({ zoom: null });
  };
  const setRange = (r: [number, number] | null) => setQuery({ range: r ? spanText(reply, r[0], r[1]) : null });
  const select = (row: number | null) => setQuery({ at: row === null ? null : (reply.columns.commit[row] ?? "").slice(0, 12) }, true);
  const zoomBy = (factor: number) => {
    const { zoom, selected } = latest();
    const [a, b] = zoom ?? [0, n - 1];
    const middle = selected !== null && selected >= a && selected <= b ? selected : (a + b) / 2;
    const half = Math.max(2, ((b - a) / 2) * factor);
    const [low, high] = [Math.round(middle - half), Math.round(middle + half)];
    setZoom(part ? [low, high] : [clamp(low, 0, n - 1), clamp(high, 0, n - 1)]);
  };
  const step = (by: number) => {
    const { zoom, selected } = latest();
    let row = selected === null ? (by > 0 ? -1 : n) : selected;
    do row += by; while (row >= 0 && row < n && reply.columns.median[row] === null);
    if (row < 0 || row >= n) return;
    select(row);
    if (zoom && (row < zoom[0] || row > zoom[1])) {
      const move = row < zoom[0] ? row - zoom[0] : row - zoom[1];
      setZoom([zoom[0] + move, zoom[1] + move]);
    }
  };
  const onKey = (e: KeyboardEvent) => {
    const { range, selected } = latest();
    const extend = (by: number) => {
      const anchor = selected ?? n - 1;
      const [a, b] = range ?? [anchor, anchor];
      const far = clamp((anchor === a ? b : a) + by, 0, n - 1);
      setRange([Math.min(anchor, far), Math.max(anchor, far)]);
    };
    const keys: Record<string, () => void> = {
      ArrowLeft: () => (e.shiftKey ? extend(-1) : step(-1)), ArrowRight: () => (e.shiftKey ? extend(1) : step(1)),
      Home: () => { select(null); select(reply.columns.median.findIndex((v) => v !== null)); },
      End: () => select(n - 1),
      "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2), "0": () => setZoom(null),
      Escape: () => setQuery({ at: null, range: null }, true),
      Enter: () => { if (selected !== null && s.project) navigate(href.commit(s.project, reply.columns.commit[selected] ?? "")); },
    };
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  };
  const s = reply.series;
  return (
    <section class="chart-card" aria-label="Chart">
      <div class="chart-tools">
        {hasRatios(reply) && <Choice<Shown> label="Shown" value={shown} onChange={(v) => setQuery({ show: v === "values" ? null : v })}
          options={[["values", "Values"], ["ratio", "Ratio to anchor"]]} />}
        <Choice<DragMode> label="Dragging" value={drag} onChange={(v) => setQuery({ drag: v === "zoom" ? null : v }, true)}
          options={[["zoom", "Zoom"], ["pan", "Pan"], ["range", "Select range"]]} />
        <Choice<XMode> label="Horizontal axis" value={xMode} onChange={(v) => setQuery({ x: v === "commits" ? null : v })}
          options={[["commits", "Commits"], ["time", "Time"]]} />
        <Choice<YMode> label="Vertical axis" value={yMode} onChange={(v) => setQuery({ y: v === "linear" ? null : v })}
          options={[["linear", "Linear"], ["log", "Log"], ["relative", "Relative"]]} />
        <div class="choice" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom in" onClick={() => zoomBy(0.5)}>+</button>
          <button type="button" aria-label="Zoom out" disabled={!zoom} onClick={() => zoomBy(2)}>{"\u2212"}</button>
          <button type="button" disabled={!zoom} onClick={() => setZoom(null)}>All</button>
        </div>
      </div>
      <SeriesChart reply={reply} xMode={xMode} yMode={yMode} shown={shown} drag={drag} height={400} beyond={part} zoom={zoom} selected={selected} range={range}
        label={`${props.name}: ${plural(n, "point")}, ${plural(reply.changes.length, "change")}. The tables below hold the same numbers.`}
        onZoom={setZoom} onSelect={select} onRange={setRange} onKey={onKey} verdict={(row) => <PointVerdict reply={reply} row={row} />} />
      <Legend reply={reply} shown={shown} />
      <p id="chart-keys" class="keys"><kbd>←</kbd> <kbd>→</kbd> point · <kbd>Home</kbd> <kbd>End</kbd> · <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> zoom · <kbd>Shift</kbd>+<kbd>→</kbd> range · <kbd>Enter</kbd> opens the commit · <kbd>Esc</kbd> clears · <kbd>Ctrl</kbd>+wheel or pinch zooms · <kbd>Shift</kbd>+drag pans · double click: all</p>
      <p class="sr-only" aria-live="polite">{selected === null ? "" : describePoint(reply, selected)}</p>
      {reply.bucketed && <p class="muted">This series is longer than the picture: each point summarises several commits.</p>}
      {(reply.hidden ?? 0) > 0 && <p class="muted">{plural(reply.hidden ?? 0, "result")} in quarantine {reply.hidden === 1 ? "is" : "are"} hidden.</p>}
      {range && <RangeBar reply={reply} range={range} onZoom={() => setZoom(range)} onClear={() => setRange(null)} />}
    </section>
  );
}

function Legend(props: { reply: SeriesReply; shown: Shown }) {
  const c = props.reply.columns;
  const ratio = props.shown === "ratio";
  return (
    <ul class="legend" aria-label="Legend">
      {ratio ? <li><i class="key-line" /><span>ratio to the anchor <CommitLink project={props.reply.series.project} id={props.reply.series.anchor} />, whiskers: 95 % interval</span></li> : <>
        <li><i class="key-line" />median</li>
        <li><i class="key-band" />interval</li>
        <li><i class="key-min" />{props.reply.series.direction === "lower" ? "fastest" : "lowest"} sample</li></>}
      {props.reply.changes.length > 0 && <li><i class="key-change" />change point, shaded: where it can be (90 %)</li>}
      {props.reply.boundaries.length > 0 && <li><i class="key-boundary" />fingerprint changed</li>}
      {(props.reply.broken ?? []).length > 0 && <li><i class="key-broken">{"\u00d7"}</i>broken, no value</li>}
      {!props.reply.bucketed && c.position.some((p, i) => i > 0 && p !== null && p - (c.position[i - 1] ?? p) > 1) && <li>a gap: commits that this series has no value of</li>}
      {c.infra.some((x) => x) && <li><i class="key-infra" />machine moved, kept out</li>}
    </ul>
  );
}

/** A chosen range: what it did, and the next steps. */
function RangeBar(props: { reply: SeriesReply; range: [number, number]; onZoom: () => void; onClear: () => void }) {
  const { reply, range: [a, b] } = props;
  const c = reply.columns;
  const s = reply.series;
  const from = c.commit[a] ?? "";
  const to = c.commit[b] ?? "";
  const base = c.median[a] ?? c.median[measuredBefore(reply, a)];
  const rel = relChange(base, c.median[b]);
  const bench = s.benchmark === "headline" ? "" : ` --benchmark ${s.benchmark}`;
  return (
    <div class="range-bar">
      <p><b><code>{shortId(from)}</code> to <code>{shortId(to)}</code></b>: {plural(b - a, "step")}, {formatValue(base, s.unit)} to {formatValue(c.median[b], s.unit)} ({formatChange(rel)})</p>
      <div class="row">
        <a class="button primary" href={href.compare(s.project ?? null, from, to)}>Compare these commits</a>
        <button type="button" class="button" onClick={props.onZoom}>Zoom to range</button>
        <button type="button" class="button" onClick={props.onClear}>Clear</button>
      </div>
      <Command text={`perfci bisect --metric ${s.metric}${bench}${s.backend ? ` --backend ${s.backend}` : ""} --good ${shortId(from)} --bad ${shortId(to)}`} what="Command: bisect this range" />
      <MeasureRange reply={reply} range={props.range} />
    </div>
  );
}
