/* The blocks of a session in time order: a column a block, read from top to bottom, a cell a visit, marked by its build. */

const CELL = 24;
const GAP = 2;
const ROUND_GAP = 8; /* two blocks, the second in reverse order, are a round */
const LEFT = 4;
const AXIS = 20;
export const COLOURS = 8;

/** build: place in the session's history order. */
export interface BlockVisit { build: number; block: number; position: number; title: string }

/** Left edge of a block's column. */
export function columnOf(block: number): number {
  return LEFT + block * (CELL + GAP) + Math.floor(block / 2) * ROUND_GAP;
}

export function BlockDiagram(props: { visits: readonly BlockVisit[]; marks: readonly string[]; label: string }) {
  const blocks = 1 + Math.max(0, ...props.visits.map((v) => v.block));
  const deep = 1 + Math.max(0, ...props.visits.map((v) => v.position));
  const width = columnOf(blocks - 1) + CELL + LEFT;
  const height = AXIS + deep * (CELL + GAP);
  const used = [...new Set(props.visits.map((v) => v.block))].sort((a, b) => a - b);
  return (
    <svg class="blocks" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={props.label}>
      {used.filter((b) => b % 2 === 0).map((b) => <text key={b} class="tick" x={columnOf(b) + CELL + GAP / 2} y="12" text-anchor="middle">{b / 2 + 1}</text>)}
      {props.visits.map((v) => {
        const x = columnOf(v.block);
        const y = AXIS + v.position * (CELL + GAP);
        return (
          <g key={`${v.block} ${v.position}`} class={`visit visit-${v.build % COLOURS}`}>
            <title>{v.title}</title>
            <rect x={x} y={y} width={CELL} height={CELL} rx="4" />
            <text x={x + CELL / 2} y={y + CELL / 2 + 4} text-anchor="middle">{props.marks[v.build] ?? ""}</text>
          </g>
        );
      })}
    </svg>
  );
}
