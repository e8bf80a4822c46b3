/* The timeline of a trace: rows of the host and the devices on one axis. The page owns the view; hovering stays in here. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineReply, TraceDetail } from "../api/trace";
import { formatShare, plural } from "../base/format";
import { themeShown } from "../base/theme";
import { attachGestures } from "./gestures";
import { useLatestView } from "./latest_view";
import { kept, zoomed, type View } from "./lines";
import { callOf, hitAt, sayDuration, sayHit, saySlice, sayTime, type Hit, type Row, type Slice } from "./timeline";
import { axisHeight, drawTimeline } from "./timeline_draw";
import { useWidth } from "./width";

const MOST_HEIGHT = 620;
/** The least part of time that is shown, ns. */
export const LEAST_NS = 20;
const SLACK_PX = 5;

export interface TimelineChartProps {
  trace: TraceDetail;
  reply: TimelineReply;
  rows: readonly Row[];
  height: number;
  view: View;
  all: View;
  find: string | null;
  chosen: Slice | null;
  onView: (view: View) => void;
  onRest: () => void;
  onChoose: (slice: Slice | null) => void;
  onWidth: (width: number) => void;
}

interface Pointed { hit: Hit; left: number; top: number }

export function TimelineChart(props: TimelineChartProps) {
  const { trace, reply, rows, view, all, chosen } = props;
  const [box, width] = useWidth(900);
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [scroll, setScroll] = useState(0);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const gutter = width < 560 ? 92 : 172;
  const inner = Math.max(60, width - gutter);
  const shownHeight = Math.min(MOST_HEIGHT, props.height + axisHeight);
  const latest = useRef({ ...props, inner, gutter, scroll });
  latest.current = { ...props, inner, gutter, scroll };
  const at = useLatestView(view, props.onView);
  useEffect(() => props.onWidth(inner), [inner]);

  const correlation = pointed?.hit.kind === "slice" ? pointed.hit.slice.correlation : chosen?.correlation ?? 0;
  useLayoutEffect(() => {
    const host = canvas.current;
    const context = host?.getContext("2d");
    if (!host || !context) return;
    const dpr = window.devicePixelRatio || 1;
    const style = getComputedStyle(host);
    host.width = Math.round(inner * dpr);
    host.height = Math.round(shownHeight * dpr);
    context.setTransform(dpr, 0, 0, dpr, 0, 0);
    drawTimeline(context, reply, rows, view, (name) => style.getPropertyValue(name).trim(), { width: inner, height: shownHeight, scroll, correlation, find: props.find });
  }, [reply, rows, view, inner, shownHeight, scroll, correlation, props.find, themeShown.value]);

  useEffect(() => {
    const host = canvas.current;
    if (!host) return undefined;
    const x = (clientX: number) => {
      const v = at.get();
      const w = latest.current.inner;
      return v.from + ((clientX - host.getBoundingClientRect().left) / w) * (v.to - v.from);
    };
    return attachGestures(host, {
      x,
      pans: () => true,
      onZoom: (place, factor) => at.show(zoomed(at.get(), place, factor, latest.current.all, LEAST_NS)),
      onPan: (by) => at.show(kept({ from: at.get().from + by, to: at.get().to + by }, latest.current.all)),
      onAll: () => { at.show(latest.current.all); latest.current.onRest(); },
      onPress: (e) => {
        const found = pointAt(e);
        latest.current.onChoose(found?.hit.kind === "slice" ? found.hit.slice : null);
      },
      onRest: () => latest.current.onRest(),
    });
  }, []);

  const pointAt = (e: PointerEvent): Pointed | null => {
    const host = canvas.current;
    if (!host) return null;
    const { view: v, inner: w, reply: r, rows: list, scroll: s } = latest.current;
    const place = host.getBoundingClientRect();
    const left = e.clientX - place.left;
    const top = e.clientY - place.top;
    if (top < axisHeight) return null;
    const perPx = (v.to - v.from) / w;
    const hit = hitAt(r, list, v.from + left * perPx, top - axisHeight + s, SLACK_PX * perPx);
    return hit && { hit, left, top };
  };
  const step = (by: number) => {
    const { from, to } = at.get();
    at.show(kept({ from: from + (to - from) * by, to: to + (to - from) * by }, all));
    props.onRest();
  };
  const zoom = (factor: number) => {
    const { from, to } = at.get();
    at.show(zoomed({ from, to }, (from + to) / 2, factor, all, LEAST_NS));
    props.onRest();
  };
  const keys: Record<string, () => void> = {
    ArrowLeft: () => step(-0.25), ArrowRight: () => step(0.25), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
    "0": () => { at.show(all); props.onRest(); }, Escape: () => props.onChoose(null),
  };
  const onKey = (e: KeyboardEvent) => {
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  };
  const shownHit = pointed?.hit ?? null;
  const chosenRow = chosen && rows.find((r) => r.kind === "line" && r.at === chosen.line);
  const place = useMemo(() => {
    if (pointed) return { left: gutter + pointed.left, top: pointed.top };
    if (!chosen || !chosenRow) return null;
    const middle = (Math.max(chosen.begin, view.from) + Math.min(chosen.end, view.to)) / 2;
    return { left: gutter + ((middle - view.from) / (view.to - view.from)) * inner, top: chosenRow.top - scroll + axisHeight };
  }, [pointed, chosen, chosenRow, view, inner, gutter, scroll]);
  const card: Hit | null = shownHit ?? (chosen && chosenRow ? { kind: "slice", row: chosenRow, slice: chosen } : null);
  return (
    <div ref={box} class="timeline" tabIndex={0} role="application" aria-roledescription="timeline" aria-describedby="timeline-keys"
      aria-label={`Timeline of ${plural(rows.filter((r) => r.kind !== "group").length, "row")} from ${sayDuration(view.from)} to ${sayDuration(view.to)}. The table below holds the slices in view.`} onKeyDown={onKey}>
      <div class="timeline-scroll" ref={scroller} style={{ height: `${shownHeight}px` }} onScroll={() => setScroll(scroller.current?.scrollTop ?? 0)}>
        <div class="timeline-room" style={{ height: `${props.height + axisHeight}px` }}>
          <canvas ref={canvas} class="timeline-canvas" style={{ width: `${inner}px`, height: `${shownHeight}px`, marginLeft: `${gutter}px` }} aria-hidden="true"
            onPointerMove={(e: PointerEvent) => setPointed(e.buttons === 0 ? pointAt(e) : null)} onPointerLeave={() => setPointed(null)} />
          <ul class="timeline-labels" style={{ width: `${gutter - 8}px` }} aria-label="Rows">
            {rows.map((r) => (
              <li key={r.key} class={r.kind === "group" ? "timeline-group" : ""} style={{ top: `${axisHeight + r.top}px`, height: `${r.height}px` }} title={r.label}>
                {r.kind !== "group" && <i style={{ background: `var(${r.colour})` }} />}<span>{r.label}</span>
              </li>
            ))}
          </ul>
        </div>
      </div>
      {card && place && place.left >= gutter && place.left <= width && <Card trace={trace} reply={reply} hit={card} left={place.left} top={place.top} width={width} height={shownHeight} />}
      <p class="sr-only" role="status">{chosen ? `${saySlice(trace, reply, chosen)}.` : ""}</p>
    </div>
  );
}

const CARD = 300;

function Card(props: { trace: TraceDetail; reply: TimelineReply; hit: Hit; left: number; top: number; width: number; height: number }) {
  const { trace, reply, hit } = props;
  const wide = props.width > CARD * 1.6;
  const left = !wide ? 4 : props.left + 16 + CARD < props.width ? props.left + 16 : Math.max(4, props.left - CARD - 16);
  const below = props.top + 32;
  const style = { left: `${left}px`, width: wide ? `${CARD}px` : "calc(100% - 8px)", ...(below < props.height * 0.6 ? { top: `${below}px` } : { bottom: `${props.height - props.top + 14}px` }) };
  return (
    <div class="point-card timeline-card" style={style}>
      {hit.kind === "slice" ? <SliceFacts trace={trace} reply={reply} slice={hit.slice} row={hit.row} />
        : hit.kind === "cell" ? <>
          <p class="point-subject">{hit.row.label}</p>
          <p class="point-meta">{sayDuration(hit.from)} to {sayDuration(hit.to)}</p>
          <p class="point-value">busy {formatShare(hit.busy)}</p>
          <p class="point-meta">{plural(hit.count, "slice begins", "slices begin")} here. Zoom in for single ones.</p>
        </> : <p>{sayHit(trace, reply, hit)}</p>}
    </div>
  );
}

function SliceFacts(props: { trace: TraceDetail; reply: TimelineReply; slice: Slice; row: Row }) {
  const { trace, reply, slice } = props;
  const unit = trace.unit_list[reply.lines[slice.line]?.unit ?? -1];
  const call = callOf(reply, slice.correlation);
  return (
    <>
      <p class="point-subject">{slice.name || "(no name)"}</p>
      <p class="point-meta">{props.row.label}</p>
      <p class="point-value">{slice.end > slice.begin ? sayDuration(slice.end - slice.begin) : "a point"}</p>
      <p class="point-meta">begins at {sayTime(slice.begin, 1)}{slice.unfinished ? "; the trace has no end of it" : ""}</p>
      {slice.correlation !== 0 && <p class="point-meta">
        {unit?.kind === "host" ? `correlation id ${slice.correlation}` : call ? <>host call <b>{call.name}</b> at {sayTime(call.begin, 1)}, id {slice.correlation}</>
          : `correlation id ${slice.correlation}: the trace has no host call of it`}
      </p>}
    </>
  );
}
