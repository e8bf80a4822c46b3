/* Critical paths as strips: the ticks in which each resource blocked, on one scale. */
import type { PathPart } from "../api/explanation";
import { formatShare, formatValue } from "../base/format";

const ORDER = ["compute", "weights", "vector", "memory", "dma", "scratchpad", "latency", "pcie", "host"];

/** Ticks by resource, in the order of the vocabulary; resources without any are left out. */
export function byResource(parts: readonly PathPart[]): { resource: string; ticks: number }[] {
  return ORDER.map((resource) => ({ resource, ticks: parts.reduce((sum, p) => sum + (p.resource === resource ? p.ticks : 0), 0) }))
    .filter((r) => r.ticks > 0);
}

export function PathStrip(props: { sides: { name: string; path: PathPart[] }[] }) {
  const rows = props.sides.filter((s) => s.path.length > 0).map((s) => ({ name: s.name, parts: byResource(s.path) }));
  const most = Math.max(...rows.map((r) => r.parts.reduce((sum, p) => sum + p.ticks, 0)), 1);
  if (rows.length === 0) return null;
  return (
    <div class="path-strips">
      {rows.map((r) => (
        <div class="path-strip" key={r.name}>
          <span>{r.name}</span>
          <div class="path-bar" role="img" aria-label={`${r.name}: ${r.parts.map((p) => `${p.resource} ${formatValue(p.ticks, "ticks")}`).join(", ")}`}>
            {r.parts.map((p) => (
              <i key={p.resource} class={`resource-${p.resource}`} style={{ width: `${(p.ticks / most) * 100}%` }}
                title={`${p.resource}: ${formatValue(p.ticks, "ticks")}, ${formatShare(p.ticks / most)}`}>{p.ticks / most > 0.1 ? p.resource : ""}</i>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}
