/* The phases of a run and what they wait for: loads at the left, work in the middle, stores at the right. */
import type { Explanation, PhaseEdge } from "../api/explanation";
import { brief, formatValue } from "../base/format";

const WIDTH = 900, BOX = 200, HEIGHT = 40, STEP = 64, COLUMNS = 3;

export interface Phase { name: string; column: number; row: number; ticks: number; resource: string }

const columnOf = (name: string): number => (name.startsWith("load") ? 0 : name.startsWith("store") ? COLUMNS - 1 : 1);

/** The phases of the critical path and of the waits, each in its column; the resource is the one with most ticks. */
export function phasesOf(e: Explanation): Phase[] {
  const rows = Array<number>(COLUMNS).fill(0), phases = new Map<string, Phase>(), most = new Map<string, number>();
  const add = (name: string): Phase => {
    const known = phases.get(name);
    if (known) return known;
    const column = columnOf(name), row = rows[column] ?? 0;
    rows[column] = row + 1;
    const made = { name, column, row, ticks: 0, resource: "none" };
    phases.set(name, made);
    return made;
  };
  for (const part of e.runs.after.path) {
    const p = add(part.phase);
    p.ticks += part.ticks;
    if (part.ticks > (most.get(p.name) ?? 0)) {
      most.set(p.name, part.ticks);
      p.resource = part.resource ?? "none";
    }
  }
  for (const edge of e.phases ?? []) {
    add(edge.from);
    add(edge.to);
  }
  return [...phases.values()];
}

const left = (p: Phase): number => 4 + (p.column * (WIDTH - BOX - 8)) / (COLUMNS - 1);
const top = (p: Phase): number => 8 + p.row * STEP;

/** A line from right side to left one, for results; back below it, for buffers; at the side within a column. */
export function lineOf(from: Phase, to: Phase): string {
  const y0 = top(from) + HEIGHT / 2, y1 = top(to) + HEIGHT / 2;
  if (from.column === to.column) {
    const down = from.row < to.row, x = left(from) + BOX * (down ? 0.4 : 0.6);
    return `M${x} ${top(from) + (down ? HEIGHT : 0)}L${x} ${top(to) + (down ? -2 : HEIGHT + 2)}`;
  }
  const forward = from.column < to.column;
  const x0 = left(from) + (forward ? BOX : 0), x1 = left(to) + (forward ? -2 : BOX + 2), bend = (x1 - x0) / 2, shift = forward ? -6 : 8;
  return `M${x0} ${y0 + shift}C${x0 + bend} ${y0 + shift} ${x1 - bend} ${y1 + shift} ${x1} ${y1 + shift}`;
}

function Edge(props: { edge: PhaseEdge; from: Phase; to: Phase; most: number }) {
  const back = props.from.column > props.to.column;
  return <path class="phase-edge" d={lineOf(props.from, props.to)} stroke-width={1 + (3 * props.edge.waits) / props.most}
    stroke-dasharray={back ? "5 4" : undefined} marker-end="url(#phase-to)" />;
}

export function Phases(props: { explanation: Explanation }) {
  const edges = props.explanation.phases ?? [];
  if (edges.length === 0) return null;
  const phases = phasesOf(props.explanation), named = new Map(phases.map((p) => [p.name, p]));
  const most = Math.max(...edges.map((x) => x.waits), 1), rows = Math.max(...phases.map((p) => p.row)) + 1;
  return (
    <svg class="waterfall phases" viewBox={`0 0 ${WIDTH} ${rows * STEP + 8}`} role="img" aria-label="Phases and what they wait for">
      <defs><marker id="phase-to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" /></marker></defs>
      {edges.map((edge, i) => {
        const from = named.get(edge.from), to = named.get(edge.to);
        return from && to && from !== to ? <Edge key={i} edge={edge} from={from} to={to} most={most} /> : null;
      })}
      {phases.map((p) => (
        <g key={p.name}>
          <rect class="phase-box" x={left(p)} y={top(p)} width={BOX} height={HEIGHT} rx={4} />
          <rect class={`resource-${p.resource}`} x={left(p)} y={top(p)} width={5} height={HEIGHT} rx={2} />
          <text x={left(p) + BOX / 2} y={top(p) + 16} text-anchor="middle"><title>{p.name}</title>{brief(p.name, 28)}</text>
          <text class="amount" x={left(p) + BOX / 2} y={top(p) + 32} text-anchor="middle">{p.ticks > 0 ? `${formatValue(p.ticks, "ticks")}, ${brief(p.resource, 16)}` : "off the critical path"}</text>
        </g>
      ))}
    </svg>
  );
}
