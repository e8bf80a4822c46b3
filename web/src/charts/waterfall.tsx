/* The difference between two totals as steps, one for each phase and resource. */
import type { Explanation } from "../api/explanation";
import { brief, formatValue } from "../base/format";

const WIDTH = 900, LABEL = 200, VALUE = 110, ROW = 24;
const SHOWN = 14; /* steps; the rest is one step */

interface Step { name: string; resource: string; from: number; to: number; value: number; total: boolean }

/** The steps from the total before to the total after. */
export function stepsOf(e: Explanation): Step[] {
  const t = e.total;
  if (!t || e.contributions.length === 0) return [];
  const steps: Step[] = [{ name: "before", resource: "none", from: 0, to: t.before, value: t.before, total: true }];
  let level = t.before;
  for (const c of e.contributions.slice(0, SHOWN)) {
    steps.push({ name: `${c.phase}, ${c.resource ?? "not known"}`, resource: c.resource ?? "none", from: level, to: level + c.ticks, value: c.ticks, total: false });
    level += c.ticks;
  }
  if (e.contributions.length > SHOWN) steps.push({ name: "all others", resource: "none", from: level, to: t.after, value: t.after - level, total: false });
  steps.push({ name: "after", resource: "none", from: 0, to: t.after, value: t.after, total: true });
  return steps;
}

/** The ticks at the left edge: a small difference between large totals is seen, too. */
export function leftEdge(steps: readonly Step[]): number {
  const ends = steps.flatMap((s) => (s.total ? [s.to] : [s.from, s.to]));
  const low = Math.min(...ends), high = Math.max(...ends);
  return Math.max(0, low - 0.25 * (high - low));
}

export function Waterfall(props: { explanation: Explanation }) {
  const steps = stepsOf(props.explanation);
  if (steps.length === 0) return null;
  const left = leftEdge(steps);
  const high = Math.max(...steps.flatMap((s) => [s.from, s.to]));
  const x = (ticks: number) => LABEL + ((Math.max(ticks, left) - left) / (high - left || 1)) * (WIDTH - LABEL - VALUE);
  return (
    <svg class="waterfall" viewBox={`0 0 ${WIDTH} ${ROW * steps.length}`} role="img" aria-label="The difference by phase and resource">
      {steps.map((s, i) => {
        const from = x(Math.min(s.from, s.to)), to = x(Math.max(s.from, s.to));
        return (
          <g key={i} transform={`translate(0 ${i * ROW})`}>
            <text x={LABEL - 8} y={16} text-anchor="end"><title>{s.name}</title>{brief(s.name, 30)}</text>
            <rect class={`resource-${s.resource}`} x={from} y={4} width={Math.max(1, to - from)} height={ROW - 8} rx={2} />
            <text class="amount" x={WIDTH - VALUE + 8} y={16}>{s.total || s.value <= 0 ? "" : "+"}{formatValue(s.value, "ticks")}</text>
          </g>
        );
      })}
    </svg>
  );
}
