/* A bisection as it went: commits in history order across, one dot a measurement, labelled with its step. */
import { formatNumber, scaleFor } from "../base/format";
import { extent, linear, ticks } from "./scales";
import { useWidth } from "./width";

const HEIGHT = 280;
const LEFT = 62;
const BOTTOM = 34;

/** value null: the commit could not be measured. */
export interface StepDot { place: number; step: number; value: number | null; culprit: boolean }

/** Radius of a dot, the room of one, and of the shortest label below: dots have numbers, which must stay legible. */
const RADIUS = 10;
const ROOM = 24;
const LABEL = 58;

/** Columns of the commits: as wide as the dots side by side in them; spread where there is more room. Edges, from 0. */
function columnsOf(dots: readonly StepDot[], places: number, room: number): number[] {
  const counts = new Array<number>(places).fill(1);
  for (let i = 0; i < places; i++) counts[i] = Math.max(1, dots.filter((d) => d.place === i).length);
  const all = counts.reduce((sum, n) => sum + n, 0);
  const each = Math.max(ROOM, room / Math.max(1, all));
  const edges = [0];
  for (const n of counts) edges.push((edges[edges.length - 1] ?? 0) + n * each);
  return edges;
}

/** The middle of each dot: repeats of one commit are side by side. */
function middles(dots: readonly StepDot[], edges: readonly number[]): number[] {
  return dots.map((d) => {
    const same = dots.filter((o) => o.place === d.place);
    const [from, to] = [edges[d.place] ?? 0, edges[d.place + 1] ?? 0];
    return (from + to) / 2 + (same.indexOf(d) - (same.length - 1) / 2) * Math.min(ROOM, (to - from) / same.length);
  });
}

/** Places whose names fit below without touching the one before. */
function labelled(edges: readonly number[]): number[] {
  const at: number[] = [];
  const middle = (i: number) => ((edges[i] ?? 0) + (edges[i + 1] ?? 0)) / 2;
  for (let i = 0; i + 1 < edges.length; i++) {
    const last = at[at.length - 1];
    if (last === undefined || middle(i) - middle(last) >= LABEL) at.push(i);
  }
  return at;
}

export function Steps(props: {
  dots: readonly StepDot[]; places: readonly string[]; culprit: [number, number] | null; unit: string; label: string;
  /** The number of the last step that is shown, and brought out; without it all are shown alike. */
  upTo?: number;
}) {
  const values = props.dots.map((d) => d.value); /* of later steps, too: the axes stay where they are */
  const [min, max] = extent(values);
  const pad = (max - min) * 0.12 || Math.abs(max) * 0.05 || 1;
  const scale = scaleFor(props.unit, max);
  const y = linear((min - pad) * scale.factor, (max + pad) * scale.factor, HEIGHT - BOTTOM, 14);
  const [box, room] = useWidth(900);
  const edges = columnsOf(props.dots, props.places.length, room - LEFT - 14);
  const x = (edge: number) => LEFT + (edges[edge] ?? 0);
  const at = middles(props.dots, edges);
  const width = x(props.places.length) + 14;
  return (
    <div ref={box}><svg class="steps" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={props.label}>
      {ticks(y.low, y.high, 5).map((t) => (
        <g key={t}>
          <path class="grid" d={`M${LEFT} ${y(t)}H${width - 14}`} />
          <text class="tick" x={LEFT - 8} y={y(t) + 4} text-anchor="end">{formatNumber(t, 3)}</text>
        </g>
      ))}
      {props.culprit && (
        <rect class="steps-culprit" x={x(props.culprit[0])} y="8" height={HEIGHT - BOTTOM - 8} width={x(props.culprit[1] + 1) - x(props.culprit[0])} />
      )}
      {labelled(edges).map((i) => (
        <text key={i} class="tick mono" x={(x(i) + x(i + 1)) / 2} y={HEIGHT - 12} text-anchor="middle">{props.places[i]}</text>
      ))}
      {props.dots.map((d, i) => {
        if (props.upTo !== undefined && d.step > props.upTo) return null;
        const cx = LEFT + (at[i] ?? 0);
        const cy = d.value === null ? HEIGHT - BOTTOM - 12 : y(d.value * scale.factor);
        return (
          <g key={d.step} class={`step-dot${d.value === null ? " step-none" : d.culprit ? " step-hit" : ""}${d.step === props.upTo ? " step-now" : ""}`}>
            {d.value === null && <title>could not be measured</title>}
            <circle cx={cx} cy={cy} r={RADIUS} />
            <text x={cx} y={cy + 3.5} text-anchor="middle">{d.value === null ? "\u00d7" : d.step}</text>
          </g>
        );
      })}
      <text class="tick" x="4" y="12">{scale.unit}</text>
    </svg></div>
  );
}
