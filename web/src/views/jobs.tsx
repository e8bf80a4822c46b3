/* The queue: waiting, running and finished jobs, and the runners that can run them. */
import { currentProject } from "../api/projects";
import type { Job } from "../api/types";
import { usePages } from "../api/use";
import { formatDuration, parseTime } from "../base/format";
import { query, setQuery } from "../base/location";
import { withQuery } from "../base/route";
import { judgeState } from "../base/verdict";
import { formatWait } from "../base/wait";
import { StateBadge } from "../widgets/badge";
import { Select } from "../widgets/field";
import { Command, CommitLink, Page, Section, When } from "../widgets/parts";
import { Runners } from "../widgets/runners";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { Backfill, JobActions } from "./job_actions";

const STATES = ["queued", "leased", "done", "failed", "cancelled"];
const KINDS = ["measure", "nightly", "pull_request", "backfill", "bisect", "verify"];
const all = (names: string[], word: (s: string) => string): [string, string][] => [["", "all"], ...names.map((n): [string, string] => [n, word(n)])];

function took(j: Job): string {
  const from = parseTime(j.started_at);
  const to = parseTime(j.finished_at);
  return Number.isFinite(from) && Number.isFinite(to) ? formatDuration((to - from) / 1000) : "\u2013";
}

function begins(j: Job) {
  if (j.state !== "queued") return <span class="muted">{"\u2013"}</span>;
  return <span class="bench"><span>{formatWait(j.expected_wait) || "not known"}</span>{j.wait_reason && <small>{j.wait_reason}</small>}</span>;
}

export function Jobs() {
  const q = query.value;
  const state = q.get("state") ?? "";
  const kind = q.get("kind") ?? "";
  const { load, more, loadingMore } = usePages<{ jobs: Job[]; next_cursor?: string | null }, Job>(
    withQuery("/jobs", { project: currentProject.value, state, kind, limit: 100 }), (r) => r.jobs, ["job"]);
  return (
    <Page title="Jobs" lead="Queued, running and finished jobs.">
      <div class="filters">
        <Select label="State" value={state} options={all(STATES, (s) => judgeState(s).word)} onChange={(v) => setQuery({ state: v })} />
        <Select label="Kind" value={kind} options={all(KINDS, (s) => s.replace(/_/g, " "))} onChange={(v) => setQuery({ kind: v })} />
      </div>
      <View load={load} what="jobs">
        {(jobs) => jobs.length === 0 ? <Empty title="No job"><p>A nightly round queues one for each new commit:</p><Command text="perfci nightly" what="Command: measure new commits" /></Empty> : (
          <>
            <Table caption="Jobs" rows={jobs} keyOf={(j) => j.id} columns={[
              { name: "Job", head: true, cell: (j) => <span class="bench"><span>#{j.id} {j.kind.replace(/_/g, " ")}</span>{j.rerun && <small>rerun {j.rerun.number} of {j.rerun.times} by rule {j.rerun.rule}{j.rerun.of !== null && `, of job #${j.rerun.of}`}</small>}{(j.reason || (j.state === "leased" && j.progress)) && <small>{j.reason || j.progress}</small>}{j.rerun_note && <small>{j.rerun_note}</small>}</span> },
              { name: "State", cell: (j) => <><StateBadge state={j.state} />{j.reproducibility && <small> {j.reproducibility}</small>}{j.unsandboxed && <small class="n">not isolated</small>}{j.state === "queued" && j.position !== null && <small class="n">place {j.position}</small>}</> },
              { name: "Expected start", cell: begins },
              { name: "Commit", cell: (j) => <CommitLink project={j.project} id={j.commit} /> },
              { name: "Runner", cell: (j) => j.runner ?? <span class="muted">{j.state === "queued" ? "none yet" : "none"}</span> },
              { name: "Tries", numeric: true, wide: true, cell: (j) => j.tries },
              { name: "Priority", numeric: true, wide: true, cell: (j) => j.priority },
              { name: "Duration", numeric: true, cell: took },
              { name: "Queued", cell: (j) => <When time={j.created_at} /> },
              { name: "Action", cell: (j) => <JobActions job={j} done={load.state === "data" ? load.reload : () => undefined} /> },
            ]} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
      <Section title="Measure an old commit"><Backfill project={currentProject.value} done={load.state === "data" ? load.reload : () => undefined} /></Section>
      <Section title="Runners"><Runners project={currentProject.value} /></Section>
    </Page>
  );
}
