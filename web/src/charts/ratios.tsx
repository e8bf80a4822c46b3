/* Ratios of builds to the anchor with their intervals, one row a build in the order of history. */
import { formatChange } from "../base/format";
import { clamp } from "../base/numbers";
import { linear, ticks } from "./scales";
import { useWidth } from "./width";

const ROW = 26;
const TOP = 8;
const AXIS = 26;
const NAME = 92;
const WORD = 118; /* "anchor, last judged" */
const NUMBER = 74;

export interface RatioRow { name: string; word: string; tone: string; ratio: number | null; low: number | null; high: number | null }

/** Ends of the axis: all estimates, and intervals as far as four times the spread of the estimates. */
export function ratioSpan(rows: readonly RatioRow[]): [number, number] {
  const sure = rows.flatMap((r) => (r.ratio === null ? [] : [r.ratio]));
  const far = Math.max(0.004, ...sure.map((r) => Math.abs(r - 1)));
  const ends = rows.flatMap((r) => [r.low, r.high]).filter((v): v is number => v !== null && Number.isFinite(v));
  const low = Math.max(1 - 4 * far, Math.min(1, ...sure, ...ends));
  const high = Math.min(1 + 4 * far, Math.max(1, ...sure, ...ends));
  const pad = Math.max(0.001, (high - low) * 0.06);
  return [low - pad, high + pad];
}

export function RatioPlot(props: { rows: readonly RatioRow[]; anchor: string; label: string }) {
  const [box, width] = useWidth(900);
  const wide = width > 560;
  const left = NAME + (wide ? WORD : 0);
  const right = width - (wide ? NUMBER : 62);
  const height = TOP + props.rows.length * ROW + AXIS;
  const [low, high] = ratioSpan(props.rows);
  const x = linear(low, high, left, right);
  const at = (v: number) => x(clamp(v, low, high));
  return (
    <div ref={box} class="ratio-box">
      <svg class="ratios" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={props.label}>
        {ticks(low - 1, high - 1, Math.max(2, (right - left) / 110)).map((t) => (
          <g key={t}>
            <path class={t === 0 ? "ratio-anchor" : "grid"} d={`M${x(1 + t)} ${TOP}V${height - AXIS + 4}`} />
            <text class="tick" x={x(1 + t)} y={height - 8} text-anchor="middle">{t === 0 ? "anchor" : formatChange(t)}</text>
          </g>
        ))}
        {props.rows.map((r, i) => {
          const y = TOP + (i + 0.5) * ROW;
          return (
            <g key={i} class={`tone-${r.tone}`}>
              <text class="ratio-name" x="0" y={y + 4}>{r.name}</text>
              {wide && <text class="ratio-word" x={NAME} y={y + 4}>{r.word}</text>}
              {r.ratio === null ? <text class="tick" x={left + 6} y={y + 4}>no ratio</text> : <>
                {r.low !== null && r.high !== null && <path class="ratio-span" d={`M${at(r.low)} ${y}H${at(r.high)}`} />}
                {r.low !== null && r.low >= low && <path class="ratio-span" d={`M${at(r.low)} ${y - 4}v8`} />}
                {r.high !== null && r.high <= high && <path class="ratio-span" d={`M${at(r.high)} ${y - 4}v8`} />}
                {r.word === "slower" || r.word === "faster" ? <rect class="ratio-dot" x={at(r.ratio) - 4.5} y={y - 4.5} width="9" height="9" /> : <circle class="ratio-dot" cx={at(r.ratio)} cy={y} r="4" />}
                <text class="ratio-number" x={width} y={y + 4} text-anchor="end">{formatChange(r.ratio - 1)}</text></>}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
