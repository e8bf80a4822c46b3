/* The roofline as a picture: a dot a benchmark, an arrow from its place at the other commit, ceilings as lines. */
import { useMemo, useState } from "preact/hooks";
import type { RooflineBenchmark, RooflineCeiling, RooflinePoint, RooflineReply } from "../api/roofline";
import { formatNumber, formatShare, formatValue, shortId } from "../base/format";
import { ceilingName, powers, rooflineOf, type Dot, type Line, type Roofline } from "./roofline";
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
  const xs = powers(x.low, x.high);
  const every = Math.max(1, Math.ceil((xs.length * 46) / (props.width - props.left)));
  return (
    <g class="roof-axes">
      {xs.map((v, i) => (
        <g key={v}><path d={`M${x(v)} ${y(y.low)}V${y(y.high)}`} />
          {i % every === 0 && <text x={x(v)} y={props.bottom + 17} text-anchor="middle">{v >= 1e4 || v < 1e-3 ? v.toExponential(0) : String(v)}</text>}</g>
      ))}
      {powers(y.low, y.high).map((v) => (
        <g key={v}><path d={`M${x(x.low)} ${y(v)}H${x(x.high)}`} />
          <text x={props.left - 7} y={y(v) + 4} text-anchor="end">{formatValue(v, "OP/s", 1)}</text></g>
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

/** `bright`: the benchmark that the table points at; null: none. `onOpen`: a dot was clicked, or chosen by keys. */
export function RooflineChart(props: { reply: RooflineReply; bright: number | null; onOpen: (benchmark: number) => void }) {
  const { reply } = props;
  const [box, width] = useWidth(900);
  const height = width < 560 ? 380 : 480;
  const left = width < 560 ? 74 : 84;
  const bottom = height - 40;
  const drawn = useMemo(() => rooflineOf(reply, { left, right: width - 22, top: 12, bottom }), [reply, width, left, bottom]);
  const [at, setAt] = useState<number | null>(null); /* place in dots */
  if (!drawn) return null;
  const order = drawn.dots.map((_, i) => i).sort((i, k) => (drawn.dots[i] as Dot).x - (drawn.dots[k] as Dot).x || (drawn.dots[i] as Dot).y - (drawn.dots[k] as Dot).y);
  const near = (e: PointerEvent | MouseEvent): number | null => {
    const frame = (e.currentTarget as Element).getBoundingClientRect();
    const [x, y] = [e.clientX - frame.left, e.clientY - frame.top];
    let best: number | null = null;
    let least = NEAR;
    drawn.dots.forEach((d, i) => {
      const away = Math.hypot(d.x - x, d.y - y);
      if (away < least) [best, least] = [i, away];
    });
    return best;
  };
  const open = (i: number | null) => { const d = i === null ? undefined : drawn.dots[i]; if (d) props.onOpen(d.index); };
  const onKey = (e: KeyboardEvent) => {
    const place = at === null ? -1 : order.indexOf(at);
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: order.length - 1 }[e.key];
    if (to !== undefined) setAt(order[Math.max(0, Math.min(order.length - 1, to))] ?? null);
    else if (e.key === "Enter" && at !== null) open(at);
    else if (e.key === "Escape" && at !== null) setAt(null);
    else return;
    e.preventDefault();
  };
  const shown = at ?? drawn.dots.findIndex((d) => d.index === props.bright);
  const dot = drawn.dots[shown];
  const r = dot ? reply.benchmarks[dot.index] : undefined;
  const used = new Set(r ? [r.b.limited_by === "memory" ? r.b.memory : r.b.compute] : []);
  return (
    <div class="roof" ref={box} tabIndex={0} role="group" aria-roledescription="chart" onKeyDown={onKey} onBlur={() => setAt(null)}
      aria-label={`Roofline of ${drawn.dots.length} benchmarks; arrow keys move from one to the next, Enter opens its series`}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true" focusable="false"
        onPointerMove={(e) => setAt(near(e))} onPointerLeave={() => setAt(null)} onClick={(e) => open(near(e))}>
        <Axes r={drawn} width={width} height={height} left={left} bottom={bottom} />
        {drawn.lines.map((l) => <Ceiling key={l.index} line={l} ceiling={reply.ceilings[l.index] as RooflineCeiling} name={ceilingName(reply.ceilings, reply.ceilings[l.index] as RooflineCeiling)} used={used.has(l.index)} narrow={width < 520} />)}
        {drawn.dots.map((d) => { const arrow = arrowOf(d); return arrow && <path key={`a${d.index}`} class="roof-arrow" d={arrow} />; })}
        {drawn.dots.map((d, i) => <circle key={d.index} class={i === shown ? "roof-dot roof-bright" : "roof-dot"} cx={d.x} cy={d.y} r={i === shown ? 7 : 5} />)}
      </svg>
      {dot && r && <Card reply={reply} r={r} dot={dot} width={width} height={height} />}
      <p class="sr-only" role="status">{r ? sayDot(reply, r) : ""}</p>
    </div>
  );
}
