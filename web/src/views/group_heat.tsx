/* The heat map of a group: which shapes and types its alerts are of, and which have none. */
import { useMemo, useState } from "preact/hooks";
import type { GroupDetail } from "../api/groups";
import type { HeatRow } from "../charts/heat";
import { CompareHeat } from "./heatmap";

/** All alerts of a group go one way, as its lead does. Folded until it is opened: it reads the names of all benchmarks of the project. */
export function GroupHeat(props: { group: GroupDetail }) {
  const [open, setOpen] = useState(false);
  const { members, lead, project } = props.group;
  const rows = useMemo(() => members.map((m): HeatRow => ({
    series_id: m.series_id, benchmark: m.benchmark, metric: m.metric, backend: m.backend, direction: lead.direction, rel_change: m.rel_change,
    verdict: m.rel_change === null ? "broken" : lead.direction,
  })), [members, lead.direction]);
  return (
    <details class="section" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>Heat map of the alerts by shape and type</summary>
      {open && <CompareHeat project={project} rows={rows} at={(lead.commit ?? lead.commit_high).slice(0, 12)} alerts />}
    </details>
  );
}
