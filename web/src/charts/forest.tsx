/* Effect with its interval on a common scale: the bar tells the range, the tick the estimate, the band what counts as same. */
import { linear } from "./scales";
import { clamp } from "../base/numbers";

const WIDTH = 200;
const HEIGHT = 22;

/** `limit` is the largest effect on the page; beyond it an arrow says that the bar goes on. */
export function Forest(props: { low: number; value: number; high: number; margin: number; limit: number; tone: string }) {
  const { low, value, high, margin, limit } = props;
  const x = linear(-limit, limit, 6, WIDTH - 6);
  const at = (v: number) => x(clamp(v, -limit, limit));
  const middle = HEIGHT / 2;
  return (
    <svg class={`forest tone-${props.tone}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none"
      aria-hidden="true" focusable="false">
      <rect class="forest-margin" x={at(-margin)} y="0" width={Math.max(0.5, at(margin) - at(-margin))} height={HEIGHT} />
      <path class="forest-zero" d={`M${x(0)} 0V${HEIGHT}`} />
      <path class="forest-span" d={`M${at(low)} ${middle}H${at(high)}`} />
      {low >= -limit && <path class="forest-end" d={`M${at(low)} ${middle - 4}v8`} />}
      {high <= limit && <path class="forest-end" d={`M${at(high)} ${middle - 4}v8`} />}
      <path class="forest-dot" d={`M${at(value)} ${middle}h0.01`} />
    </svg>
  );
}
