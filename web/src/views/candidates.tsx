/* Candidate changes, seen in single runs only: the next session measures both sides in blocks. */
import type { Candidate } from "../api/night";
import { useApi } from "../api/use";
import { formatChange, formatP, plural } from "../base/format";
import { href, withQuery } from "../base/route";
import { BenchName, CommitLink, Section } from "../widgets/parts";
import { Table } from "../widgets/table";

/** Renders nothing when there is no candidate. */
export function Candidates(props: { project: string | null }) {
  const { project } = props;
  const load = useApi<{ candidates: Candidate[] }>(project === null ? null : withQuery(`/projects/${encodeURIComponent(project)}/candidates`, { limit: 200 }), ["run", "alert"]);
  if (load.state !== "data" || project === null || load.data.candidates.length === 0) return null;
  const rows = load.data.candidates;
  return (
    <Section title="Waiting for the next night" side={<span class="muted">{plural(rows.length, "change")} seen in single measurements only</span>}>
      <Table caption="Changes that wait for the next night, largest first" rows={rows} keyOf={(c) => c.id} columns={[
        { name: "Series", head: true, cell: (c) => <BenchName benchmark={c.benchmark} metric={c.metric} backend={c.backend} to={href.series(c.series_id, { at: c.commit.slice(0, 12) })} /> },
        { name: "Change", numeric: true, cell: (c) => formatChange(c.rel_change) },
        { name: "p", numeric: true, wide: true, cell: (c) => formatP(c.p) },
        { name: "Commit", cell: (c) => <CommitLink project={project} id={c.commit} /> },
        { name: "Against", cell: (c) => <CommitLink project={project} id={c.against} /> },
        { name: "Machine", wide: true, cell: (c) => c.machine_class },
        { name: "Why no alert", cell: (c) => c.why_no_alert.sentence },
      ]} />
    </Section>
  );
}
