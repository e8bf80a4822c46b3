/* A sparkline. Decoration beside a value: hidden from screen readers, which read the value. */
import { atLeast, extent, linear, pathOf } from "./scales";

const WIDTH = 120;
const HEIGHT = 32;
const PAD = 4;

/** `base`: the level before the change, a dashed line; the change is visible though it is older than the values.
 *  Strokes keep their width when the picture is stretched; a zero-length round stroke is the dot at the end. */
export function Spark(props: { values: readonly (number | null)[] | undefined; tone?: string; area?: boolean; base?: number | null }) {
  const values = props.values ?? [];
  const measured = values.filter((v) => v !== null).length;
  const base = props.base ?? null;
  if (measured < 2) return <span class="spark spark-none" aria-hidden="true" />;
  const [low, high] = atLeast(...extent(base === null ? values : [...values, base]), 0.04);
  const x = linear(0, values.length - 1, PAD, WIDTH - PAD);
  const y = linear(low, high, HEIGHT - PAD, PAD);
  const xs = values.map((_, i) => x(i));
  const ys = values.map((v) => (v === null ? null : y(v)));
  const line = pathOf(xs, ys);
  const end = ys.reduce<number>((last, v, i) => (v === null ? last : i), 0);
  const at = `${(xs[end] ?? 0).toFixed(1)} ${(ys[end] ?? 0).toFixed(1)}`;
  return (
    <svg class={`spark tone-${props.tone ?? "quiet"}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none"
      aria-hidden="true" focusable="false">
      {props.area && <path class="spark-area" d={`${line}L${(xs[end] ?? 0).toFixed(1)} ${HEIGHT}L${PAD} ${HEIGHT}Z`} />}
      {base !== null && <path class="spark-base" d={`M${PAD} ${y(base).toFixed(1)}H${WIDTH - PAD}`} />}
      <path class="spark-line" d={line} />
      <path class="spark-end" d={`M${at}h0.01`} />
    </svg>
  );
}
