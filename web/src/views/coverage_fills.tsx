/* Backfill jobs that close gaps of the coverage: their cost first, then one button a commit and class of machines. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import { mayMeasure } from "../api/scopes";
import type { Job, Runner } from "../api/types";
import { useApi } from "../api/use";
import { fillCost, pendingFill, whyNoRunner } from "../base/coverage";
import { shortId } from "../base/format";
import { withQuery } from "../base/route";
import { formatWait } from "../base/wait";
import { ActionButton } from "../widgets/action";

export interface FillContext { project: string; runners: Runner[] | null; waiting: Job[]; cost: string | null }

/** Requirements and cost of a backfill: runners, unfinished jobs and the duration of finished ones. */
export function useFills(project: string): FillContext {
  const list = (state: string, limit: number) => useApi<{ jobs: Job[] }>(withQuery("/jobs", { project, state, limit }), ["job"]);
  const fleet = useApi<{ runners: Runner[] }>(withQuery("/runners", { project }), ["job"]);
  const [queued, leased, done] = [list("queued", 1000), list("leased", 1000), list("done", 100)];
  const known = queued.state === "data" && leased.state === "data" && done.state === "data";
  return {
    project, runners: fleet.state === "data" ? fleet.data.runners : null,
    waiting: known ? [...queued.data.jobs, ...leased.data.jobs] : [],
    cost: known ? fillCost(done.data.jobs, queued.data.jobs.length) : null,
  };
}

/** Queues the backfill of a commit on a class of machines, or says why that cannot work. */
export function Fill(props: { context: FillContext; commit: string; machineClass: string }) {
  const { context, commit, machineClass } = props;
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const job = pendingFill(context.waiting, commit, machineClass);
  const why = mayMeasure() ?? (job ? `job #${job.id} for it is ${job.state === "leased" ? "running" : "queued"}` : null)
    ?? whyNoRunner(context.runners, machineClass) ?? (busy ? "the last request is being answered" : said?.ok ? "it is queued" : null);
  const send = async () => {
    setBusy(true);
    try {
      const made = await request<Job>("POST", "/jobs", { project: context.project, kind: "backfill", commit, labels: { machine_class: machineClass } });
      const wait = formatWait(made.expected_wait);
      setSaid({ ok: true, text: `Job ${made.id} is queued${wait ? `; expected start ${wait}` : ""}.` });
    } catch (error) {
      setSaid({ ok: false, text: error instanceof ApiError ? error.message : String(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <span class="job-actions">
      <ActionButton why={why} quiet={mayMeasure() !== null} label={`Backfill ${shortId(commit)} on ${machineClass}`} onClick={() => void send()}>Backfill</ActionButton>
      {said && <small role="status" class={said.ok ? "said good" : "said bad"}>{said.text}</small>}
    </span>
  );
}
