/* The samples of both sides of a comparison as dots on one scale, a line a side. Decoration beside numbers. */
import { atLeast, extent, linear } from "./scales";

const WIDTH = 132;
const HEIGHT = 30;
const DOTS = 60; /* a side; more lie on top of each other */

/** At most DOTS values, evenly spread over the order in which they were measured. */
export function thinned(values: readonly number[]): number[] {
  if (values.length <= DOTS) return [...values];
  return Array.from({ length: DOTS }, (_, i) => values[Math.floor((i * values.length) / DOTS)] ?? NaN);
}

export function SideDots(props: { a: readonly number[]; b: readonly number[]; tone?: string }) {
  const sides = [thinned(props.a), thinned(props.b)];
  const [low, high] = atLeast(...extent(sides.flat()), 0.004);
  const x = linear(low, high, 4, WIDTH - 4);
  return (
    <svg class={`side-dots tone-${props.tone ?? "quiet"}`} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true" focusable="false">
      {sides.map((values, row) => {
        const y = 8 + row * 14;
        return <path key={row} class={row ? "side-b" : "side-a"} d={`${values.map((v) => `M${x(v).toFixed(1)} ${y}h0.01`).join("")}`} />;
      })}
    </svg>
  );
}
