/* Actions on jobs: cancel, retry, measure a commit again. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import { mayMeasure } from "../api/scopes";
import type { CommitDetail, Job, Runner } from "../api/types";
import { useApi } from "../api/use";
import { shortId } from "../base/format";
import { withQuery } from "../base/route";
import { ActionButton } from "../widgets/action";
import { Icon } from "../widgets/icons";

const sentence = (error: unknown): string => (error instanceof ApiError ? error.message : String(error));

/** Why a job cannot be retried as it was; null: it can. */
export function whyNotRetried(job: Job): string | null {
  if (job.state !== "failed" && job.state !== "cancelled") return `a ${job.state === "leased" ? "running" : job.state} job is not retried`;
  if (job.kind === "bisect" || job.kind === "verify") return "its bisection retries it";
  if (job.blocks) return "a night of several builds is started by its schedule";
  return null;
}

export function JobActions(props: { job: Job; done: () => void }) {
  const { job } = props;
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const act = async (method: string, path: string, body?: unknown) => {
    setBusy(true);
    try {
      await request(method, path, body);
      setFault("");
      props.done();
    } catch (error) {
      setFault(sentence(error));
    } finally {
      setBusy(false);
    }
  };
  const open = job.state === "queued" || job.state === "leased";
  const may = mayMeasure() ?? (busy ? "the last request is being answered" : null);
  const why = open ? may ?? (job.cancel_requested ? "it ends at its runner\u2019s next heartbeat" : null) : whyNotRetried(job) ?? may;
  return (
    <span class="job-actions">
      {open ? <ActionButton why={why} label={`Cancel job ${job.id}`} onClick={() => void act("DELETE", `/jobs/${job.id}`)}>Cancel</ActionButton>
        : job.state === "done" ? null : <ActionButton why={why} label={`Retry job ${job.id}`} onClick={() => void act("POST", `/jobs/${job.id}/retry`)}>Retry</ActionButton>}
      {fault && <small role="alert" class="said bad">{fault}</small>}
    </span>
  );
}

/** Measures a commit of the history that has no results, when no other job waits. */
export function Backfill(props: { project: string | null; done: () => void }) {
  const [commit, setCommit] = useState("");
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const fleet = useApi<{ runners: Runner[] }>(withQuery("/runners", { project: props.project }), ["job"]);
  const able = fleet.state === "data" ? fleet.data.runners.filter((r) => r.state === "idle" || r.state === "busy").length : null;
  const id = commit.trim();
  const why = mayMeasure() ?? (!props.project ? "choose a project" : able === 0 ? "no runner is connected" : !/^[0-9a-f]{7,40}$/.test(id) ? "give 7 to 40 hexadecimal digits of a commit" : null);
  const send = async () => {
    try {
      /* Pages show ten digits, a job needs all of them. */
      const full = id.length === 40 ? id : (await request<CommitDetail>("GET", `/projects/${encodeURIComponent(props.project ?? "")}/commits/${id}`)).id;
      const job = await request<Job>("POST", "/jobs", { project: props.project, kind: "backfill", commit: full });
      setSaid({ ok: true, text: `Job ${job.id} measures ${shortId(full)}.` });
      setCommit("");
      props.done();
    } catch (error) {
      setSaid({ ok: false, text: sentence(error) });
    }
  };
  return (
    <form class="backfill levels" onSubmit={(e) => { e.preventDefault(); if (!why) void send(); }}>
      <p class="muted">A backfill job measures an old commit when no other job waits.</p>
      <div class="row">
        <label class="field grow"><span>Commit</span><input type="text" class="mono" maxLength={40} value={commit} onInput={(e) => setCommit(e.currentTarget.value)} /></label>
        <ActionButton submit why={why}>Backfill</ActionButton>
      </div>
      <p role="status" class={said ? (said.ok ? "said good" : "said bad") : "said"}>{said && <><Icon name={said.ok ? "check" : "alert"} /> {said.text}</>}</p>
    </form>
  );
}
