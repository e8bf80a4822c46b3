/* The roofline as a picture: a dot a benchmark, an arrow from its place at the other commit, ceilings as lines. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { RooflineBenchmark, RooflineCeiling, RooflinePoint, RooflineReply } from "../api/roofline";
import { formatNumber, formatShare, formatValue, shortId } from "../base/format";
import { attachGestures } from "./gestures";
import { useLatestView } from "./latest_view";
import { ceilingName, rooflineOf, type Dot, type Line, type Roofline } from "./roofline";
import { broughtInto, digitsOf, isInside, logTicks, middle, pannedPart, roomy, zoomedPart, type Part } from "./roofline_part";
import { useWidth } from "./width";

const NEAR = 18; /* pixels from a dot at which the pointer is on it */

/** The unit of a benchmark's rate: that of the arithmetic that bounds it, else operations. */
export const rateUnit = (reply: RooflineReply, p: RooflinePoint): string => (p.compute === null ? "OP/s" : reply.ceilings[p.compute]?.unit ?? "OP/s");

/** The ceiling that limits a result, and the share of it that was reached. */
export function sayLimit(reply: RooflineReply, p: RooflinePoint): string {
  const at = p.limited_by === "memory" ? p.memory : p.limited_by === "compute" ? p.compute : null;
  if (at !== null) return `${formatShare(p.fraction)} of ${reply.ceilings[at]?.name ?? ""}`;
  const missing = [p.compute === null ? "arithmetic" : "", p.memory === null ? "memory" : ""].filter((s) => s);
  return `no ceiling of ${missing.join(" and ")} is known`;
}

const sayPlace = (reply: RooflineReply, p: RooflinePoint) =>
  `${formatValue(p.rate, rateUnit(reply, p))} at ${formatNumber(p.intensity ?? NaN, 3)} operations a byte`;

/** All of a dot in one sentence. */
export function sayDot(reply: RooflineReply, r: RooflineBenchmark): string {
  const before = r.a ? `; before, at ${shortId(r.a.commit)}: ${sayPlace(reply, r.a)}, ${sayLimit(reply, r.a)}` : "";
  return `${r.benchmark} on ${r.backend || "no backend"}: ${sayPlace(reply, r.b)}, ${sayLimit(reply, r.b)}${before}`;
}

function Axes(props: { r: Roofline; width: number; height: number; left: number; bottom: number }) {
  const { x, y } = props.r;
  const xs = logTicks(x.low, x.high);
  const named = roomy(xs, xs.map(x), 46);
  return (
    <g class="roof-axes">
      {xs.map((v, i) => (
        <g key={v}><path d={`M${x(v)} ${y(y.low)}V${y(y.high)}`} />
          {named[i] && <text x={x(v)} y={props.bottom + 17} text-anchor="middle">{v >= 1e4 || v < 1e-3 ? v.toExponential() : String(v)}</text>}</g>
      ))}
      {logTicks(y.low, y.high).map((v) => (
        <g key={v}><path d={`M${x(x.low)} ${y(v)}H${x(x.high)}`} />
          <text x={props.left - 7} y={y(v) + 4} text-anchor="end">{formatValue(v, "OP/s", digitsOf(v))}</text></g>
      ))}
      <text class="roof-axis" x={(props.left + props.width) / 2} y={props.height - 4} text-anchor="middle">operations a byte</text>
    </g>
  );
}

/** `narrow`: the rate alone, since names would cross; the page's table has both. */
function Ceiling(props: { line: Line; ceiling: RooflineCeiling; name: string; used: boolean; narrow: boolean }) {
  const { line, ceiling } = props;
  const rate = formatValue(ceiling.value, ceiling.unit, 3);
  return (
    <g class={`roof-${ceiling.kind}${props.used ? " roof-used" : ""}`}>
      <path d={`M${line.x1.toFixed(1)} ${line.y1.toFixed(1)}L${line.x2.toFixed(1)} ${line.y2.toFixed(1)}`} />
      <text x={line.label.x} y={line.label.y} text-anchor={line.label.anchor}>{props.narrow ? rate : `${props.name}: ${rate}`}</text>
    </g>
  );
}

/* An arrow ends at the edge of its dot; one that is shorter than the dot is not drawn. */
function arrowOf(d: Dot): string | null {
  if (!d.from) return null;
  const [dx, dy] = [d.x - d.from.x, d.y - d.from.y];
  const length = Math.hypot(dx, dy);
  if (length < 9) return null;
  const [ux, uy] = [dx / length, dy / length];
  const [tx, ty] = [d.x - ux * 6, d.y - uy * 6];
  const wing = (side: number) => `${(tx - ux * 7 + side * uy * 3.5).toFixed(1)} ${(ty - uy * 7 - side * ux * 3.5).toFixed(1)}`;
  return `M${d.from.x.toFixed(1)} ${d.from.y.toFixed(1)}L${tx.toFixed(1)} ${ty.toFixed(1)}M${wing(1)}L${tx.toFixed(1)} ${ty.toFixed(1)}L${wing(-1)}`;
}

/* Beside the dot; on a narrow screen above or below the middle, in full width. */
function placeOf(dot: Dot, width: number, height: number): Record<string, string> {
  if (width < 560) return { left: "6px", right: "6px", ...(dot.y > height / 2 ? { top: "4px" } : { bottom: "4px" }) };
  const right = dot.x > width / 2;
  return { top: `${Math.max(4, dot.y - 30)}px`, ...(right ? { right: `${width - dot.x + 16}px` } : { left: `${dot.x + 16}px` }),
    maxWidth: `${(right ? dot.x : width - dot.x) - 24}px` };
}

function Card(props: { reply: RooflineReply; r: RooflineBenchmark; dot: Dot; width: number; height: number }) {
  const { reply, r, dot } = props;
  return (
    <div class="point-card roof-card" style={placeOf(dot, props.width, props.height)}>
      <p class="point-subject">{r.benchmark}</p>
      <p class="point-meta">{[r.backend, r.machine_class].filter((s) => s).join(", ")}</p>
      <p class="point-value">{formatValue(r.b.rate, rateUnit(reply, r.b))}</p>
      <p>{sayLimit(reply, r.b)}</p>
      <p class="point-meta">{formatNumber(r.b.intensity ?? NaN, 3)} operations a byte; median {formatValue(r.b.value, r.unit)} at {shortId(r.b.commit)}</p>
      {r.a && <p class="point-meta">before: {sayPlace(reply, r.a)}; median {formatValue(r.a.value, r.unit)} at {shortId(r.a.commit)}</p>}
    </div>
  );
}

export interface RooflineChartProps {
  reply: RooflineReply;
  /** The page owns what is on view. */
  part: Part;
  all: Part;
  onPart: (part: Part) => void;
  /** The benchmark of the table's row under the pointer; null: no row is. */
  bright: number | null;
  /** Called when a dot is clicked, or opened with Enter. */
  onOpen: (benchmark: number) => void;
}

export function RooflineChart(props: RooflineChartProps) {
  const { reply, part } = props;
  const [box, width] = useWidth(900);
  const svg = useRef<SVGSVGElement>(null);
  const height = width < 560 ? 380 : 480;
  const frame = useMemo(() => ({ left: width < 560 ? 74 : 84, right: width - 22, top: 12, bottom: height - 40 }), [width, height]);
  const drawn = useMemo(() => rooflineOf(reply, frame, part), [reply, frame, part]);
  const dots = drawn?.dots ?? [];
  const order = useMemo(() => dots.map((_, i) => i).sort((i, k) => {
    const [a, b] = [(dots[i] as Dot).place, (dots[k] as Dot).place];
    return a.x - b.x || b.y - a.y;
  }), [drawn]);
  const [at, setAt] = useState<number | null>(null); /* place in dots */
  const marked = useLatestView(at, setAt);
  const view = useLatestView(part, props.onPart);

  const near = (e: PointerEvent): number | null => {
    const own = svg.current?.getBoundingClientRect();
    if (!own) return null;
    let best: number | null = null;
    let least = NEAR;
    dots.forEach((d, i) => {
      const away = Math.hypot(d.x - (e.clientX - own.left), d.y - (e.clientY - own.top));
      if (d.inside && away < least) [best, least] = [i, away];
    });
    return best;
  };
  const open = (i: number | null) => { const d = i === null ? undefined : dots[i]; if (d) props.onOpen(d.index); };
  const now = useRef({ all: props.all, frame, near, open });
  now.current = { all: props.all, frame, near, open };
  const zoom = (factor: number) => {
    const place = dots[marked.get() ?? -1]?.place;
    const p = view.get();
    view.show(zoomedPart(p, place && isInside(place, p) ? place : middle(p), factor, props.all));
  };
  const pan = (right: number, up: number) => {
    const { x, y } = view.get();
    view.show(pannedPart(view.get(), ((x.to - x.from) / 8) * right, ((y.to - y.from) / 8) * up, props.all));
  };
  const walk = (step: (from: number) => number) => {
    const from = marked.get();
    const to = order[Math.max(0, Math.min(order.length - 1, step(from === null ? -1 : order.indexOf(from))))] ?? null;
    marked.show(to);
    const place = dots[to ?? -1]?.place;
    if (place && !isInside(place, view.get())) view.show(broughtInto(view.get(), place, props.all));
  };
  const onKey = (e: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => view.show(props.all),
      ...(e.shiftKey ? { ArrowLeft: () => pan(-1, 0), ArrowRight: () => pan(1, 0), ArrowDown: () => pan(0, -1), ArrowUp: () => pan(0, 1) }
        : { ArrowLeft: () => walk((i) => i - 1), ArrowRight: () => walk((i) => i + 1) }),
      Home: () => walk(() => 0), End: () => walk(() => order.length - 1),
      ...(marked.get() === null ? {} : { Enter: () => open(marked.get()), Escape: () => marked.show(null) }),
    };
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
  };
  const isDrawn = drawn !== null;
  useEffect(() => {
    const host = svg.current;
    if (!host) return undefined;
    /* Of the view that was asked for last, drawn or not. */
    const x = (clientX: number) => {
      const [v, f] = [view.get().x, now.current.frame];
      return v.from + ((clientX - host.getBoundingClientRect().left - f.left) / (f.right - f.left)) * (v.to - v.from);
    };
    const y = (clientY: number) => {
      const [v, f] = [view.get().y, now.current.frame];
      return v.from + ((f.bottom - clientY + host.getBoundingClientRect().top) / (f.bottom - f.top)) * (v.to - v.from);
    };
    return attachGestures(host, {
      x, y, pans: () => false, leaves: true,
      onZoom: (right, factor, up) => view.show(zoomedPart(view.get(), { x: right, y: up }, factor, now.current.all)),
      onPan: (right, up) => view.show(pannedPart(view.get(), right, up, now.current.all)),
      onAll: () => view.show(now.current.all),
      onPress: (e) => now.current.open(now.current.near(e)),
    });
  }, [isDrawn]);

  if (!drawn) return null;
  const shown = at ?? dots.findIndex((d) => d.index === props.bright);
  const dot = dots[shown];
  const r = dot ? reply.benchmarks[dot.index] : undefined;
  const used = new Set(r ? [r.b.limited_by === "memory" ? r.b.memory : r.b.compute] : []);
  return (
    <div class="roof" ref={box} tabIndex={0} role="group" aria-roledescription="chart" aria-describedby="roof-keys" onKeyDown={onKey} onBlur={() => marked.show(null)}
      aria-label={`Roofline of ${dots.length} benchmarks; arrow keys move from one to the next, Enter opens its series`}>
      {/* No text is selected by a drag with Shift. */}
      <svg ref={svg} width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" focusable="false" style={{ userSelect: "none", WebkitUserSelect: "none" }}
        onPointerMove={(e) => marked.show(e.buttons === 0 ? near(e) : null)} onPointerLeave={() => marked.show(null)}>
        <clipPath id="roof-frame"><rect x={frame.left} y={frame.top} width={frame.right - frame.left} height={frame.bottom - frame.top} /></clipPath>
        <Axes r={drawn} width={width} height={height} left={frame.left} bottom={frame.bottom} />
        <g clip-path="url(#roof-frame)">
          {drawn.lines.map((l) => <Ceiling key={l.index} line={l} ceiling={reply.ceilings[l.index] as RooflineCeiling} name={ceilingName(reply.ceilings, reply.ceilings[l.index] as RooflineCeiling)} used={used.has(l.index)} narrow={width < 520} />)}
          {dots.map((d) => { const arrow = arrowOf(d); return arrow && <path key={`a${d.index}`} class="roof-arrow" d={arrow} />; })}
        </g>
        {dots.map((d, i) => d.inside && <circle key={d.index} class={i === shown ? "roof-dot roof-bright" : "roof-dot"} cx={d.x} cy={d.y} r={i === shown ? 7 : 5} />)}
      </svg>
      {dot?.inside && r && <Card reply={reply} r={r} dot={dot} width={width} height={height} />}
      <p class="sr-only" role="status">{r ? sayDot(reply, r) : ""}</p>
    </div>
  );
}
