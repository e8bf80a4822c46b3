/* Every sample as a dot, one row a process: spread within and between processes at a glance. */
import { atLeast, extent, linear } from "./scales";

const WIDTH = 240;
const ROW = 9;

export function Strip(props: { blocks: readonly (readonly number[])[] }) {
  const all = props.blocks.flat();
  const [low, high] = atLeast(...extent(all), 0.01);
  const x = linear(low, high, 5, WIDTH - 5);
  const height = ROW * Math.max(1, props.blocks.length) + 4;
  return (
    <svg class="strip" viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true" focusable="false">
      {props.blocks.map((block, row) => (
        <path key={row} class="strip-dots"
          d={block.slice(0, 400).map((v) => `M${x(v).toFixed(1)} ${(row + 0.5) * ROW + 2}h0.01`).join("")} />
      ))}
    </svg>
  );
}
