/* Order in which a session visited its builds, read on demand from the stored runs of the session. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { NightDetail, NightSeries } from "../api/night";
import type { RunDocument, RunRow } from "../api/types";
import { BlockDiagram, COLOURS } from "../charts/blocks";
import { parseTime, plural, shortId } from "../base/format";
import { withQuery } from "../base/route";
import { CommitLink } from "../widgets/parts";
import { Empty, Loading } from "../widgets/state";
import { marksOf, visitsOf, type BuildRun } from "./night_order";

const MOST_BUILDS = 40; /* each takes two requests */

/** The run of each build in this night; builds without one are left out. */
async function runsOf(project: string, night: NightDetail, commits: readonly string[], signal: AbortSignal): Promise<BuildRun[]> {
  const one = async (commit: string): Promise<BuildRun[]> => {
    const { runs } = await request<{ runs: RunRow[] }>("GET", withQuery(`/projects/${encodeURIComponent(project)}/runs`, { commit, limit: 200 }), undefined, signal);
    /* An anchor has a run in every night: the nearest in time are those of this one. */
    const off = (r: RunRow) => Math.abs(parseTime(r.started_at) - parseTime(night.started_at));
    const near = runs.filter((r) => r.session === undefined || r.session === night.id).sort((a, b) => off(a) - off(b)).slice(0, 3);
    const documents = await Promise.all(near.map((r) => request<RunDocument>("GET", `/runs/${r.run_id}`, undefined, signal)));
    return documents.filter((d) => d.session?.id === night.id).map((run) => ({ commit, run }));
  };
  const all: BuildRun[] = [];
  for (let i = 0; i < commits.length; i += 8) all.push(...(await Promise.all(commits.slice(i, i + 8).map(one))).flat());
  return all;
}

type State = { state: "loading" } | { state: "failed"; message: string } | { state: "data"; runs: BuildRun[] };

function Diagram(props: { project: string; night: NightDetail; series: NightSeries }) {
  const { project, night, series } = props;
  const [load, setLoad] = useState<State>({ state: "loading" });
  const builds = series.builds.map((b) => b.commit).slice(0, MOST_BUILDS);
  useEffect(() => {
    const abort = new AbortController();
    runsOf(project, night, builds, abort.signal).then(
      (runs) => { if (!abort.signal.aborted) setLoad({ state: "data", runs }); },
      (error: unknown) => { if (!abort.signal.aborted) setLoad({ state: "failed", message: error instanceof ApiError ? error.message : String(error) }); });
    return () => abort.abort();
  }, [night.id, builds.join()]);
  if (load.state === "loading") return <Loading what="the visits" />;
  if (load.state === "failed") return <p class="said bad">{load.message}</p>;
  const visits = visitsOf(load.runs, series, builds);
  const marks = marksOf(builds, night);
  if (visits.length === 0) return <Empty title="The stored runs name no visits" />;
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Diagram of the blocks">
        <BlockDiagram visits={visits} marks={marks} label={`${plural(visits.length, "visit")} in ${plural(new Set(visits.map((v) => v.block)).size, "block")}; each block is read from top to bottom.`} />
      </div>
      <ul class="legend" aria-label="Builds">{builds.map((commit, i) => (
        <li key={commit}><b class={`visit-mark visit-${i % COLOURS}`}>{marks[i]}</b><CommitLink project={project} id={commit} />{commit === night.anchor ? "anchor" : commit === night.base ? "last judged" : ""}</li>))}</ul>
      {series.builds.length > builds.length && <p class="muted">Only the first {builds.length} builds are drawn.</p>}
    </>
  );
}

export function Visits(props: { project: string; night: NightDetail; series: NightSeries }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="section points" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary><h3>Order of the visits</h3></summary>
      {open && <>
        <p class="muted">A column is a block, in the order of time; the first visit is at the top. Two blocks, the second in reverse order, are a round; its number is above them. {shortId(props.night.anchor)} is the anchor.</p>
        <Diagram {...props} /></>}
    </details>
  );
}
