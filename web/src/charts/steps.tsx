/* A bisection as it went: commits in history order across, one dot a measurement, labelled with its step. */
import { formatNumber, scaleFor } from "../base/format";
import { extent, linear, ticks } from "./scales";

const WIDTH = 900;
const HEIGHT = 280;
const LEFT = 62;
const BOTTOM = 34;

/** value null: the commit could not be measured. */
export interface StepDot { place: number; step: number; value: number | null; culprit: boolean }

/** Radius of a dot: it shrinks with the room between commits, but stays legible. */
const radius = (room: number) => Math.max(6.5, Math.min(10, room / 2));
/** Smaller dots have no number in them. */
const NUMBERED = 9;

/** Repeats of one commit are side by side. */
function besides(dots: readonly StepDot[], room: number): number[] {
  const at = dots.map((d) => dots.filter((o) => o.place === d.place));
  return dots.map((d, i) => {
    const same = at[i] ?? [];
    return (same.indexOf(d) - (same.length - 1) / 2) * Math.min(22, room / Math.max(1, same.length));
  });
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
  const x = linear(-0.5, Math.max(0.5, props.places.length - 0.5), LEFT, WIDTH - 14);
  const aside = besides(props.dots, x(1) - x(0));
  const r = radius(x(1) - x(0));
  const every = Math.max(1, Math.ceil(props.places.length / 9));
  return (
    <svg class="steps" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={props.label}>
      {ticks(y.low, y.high, 5).map((t) => (
        <g key={t}>
          <path class="grid" d={`M${LEFT} ${y(t)}H${WIDTH - 14}`} />
          <text class="tick" x={LEFT - 8} y={y(t) + 4} text-anchor="end">{formatNumber(t, 3)}</text>
        </g>
      ))}
      {props.culprit && (
        <rect class="steps-culprit" x={x(props.culprit[0] - 0.5)} y="8" height={HEIGHT - BOTTOM - 8}
          width={x(props.culprit[1] + 0.5) - x(props.culprit[0] - 0.5)} />
      )}
      {props.places.map((name, i) => i % every === 0 && (
        <text key={i} class="tick mono" x={x(i)} y={HEIGHT - 12} text-anchor="middle">{name}</text>
      ))}
      {props.dots.map((d, i) => {
        if (props.upTo !== undefined && d.step > props.upTo) return null;
        const cx = x(d.place) + (aside[i] ?? 0);
        const cy = d.value === null ? HEIGHT - BOTTOM - 12 : y(d.value * scale.factor);
        return (
          <g key={d.step} class={`step-dot${d.value === null ? " step-none" : d.culprit ? " step-hit" : ""}${d.step === props.upTo ? " step-now" : ""}`}>
            {d.value === null && <title>could not be measured</title>}
            <circle cx={cx} cy={cy} r={r} />
            {r >= NUMBERED && <text x={cx} y={cy + 3.5} text-anchor="middle">{d.value === null ? "\u00d7" : d.step}</text>}
          </g>
        );
      })}
      <text class="tick" x="4" y="12">{scale.unit}</text>
    </svg>
  );
}
