/* Undecided rows: what would decide them, and a button that queues it. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import { mayMeasure } from "../api/scopes";
import type { CompareReply, Job, Runner } from "../api/types";
import { useApi } from "../api/use";
import { ordersOf, repeatsOf, repeatText, usualSeconds } from "../base/compared";
import { plural } from "../base/format";
import { href, withQuery } from "../base/route";
import { ActionButton } from "../widgets/action";
import { Icon } from "../widgets/icons";

export function CompareRepeat(props: { reply: CompareReply; project: string }) {
  const { reply, project } = props;
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const [busy, setBusy] = useState(false);
  const needs = repeatsOf(reply.rows, reply.differs);
  const fleet = useApi<{ runners: Runner[] }>(withQuery("/runners", { project }), ["job"]);
  const jobs = useApi<{ jobs: Job[] }>(withQuery("/jobs", { project, state: "done", kind: "measure", limit: 20 }));
  if (!needs) return null;
  const branch = reply.between?.branch ?? null;
  const ready = fleet.state === "data" ? fleet.data.runners.filter((r) => r.state === "idle" || r.state === "busy").map((r) => r.machine_class) : null;
  const orders = ordersOf(needs, project, branch ?? "", reply.a.commit, reply.b.commit);
  const absent = ready ? [...new Set(needs.machines.flatMap((m) => [m.a, m.b]))].filter((c) => !ready.includes(c)) : [];
  const why = (needs.runs === 0 ? "no number of runs is likely to decide them" : null) ?? mayMeasure()
    ?? (!branch ? "A and B are not on one branch: measure them with \u201cperfci compare\u201d" : null)
    ?? (absent.length ? `no runner of machine class ${absent.join(", ")} is connected` : null) ?? (busy ? "the jobs are being queued" : null);
  const queue = async () => {
    setBusy(true);
    const last = new Map<string, number>(); /* a job waits for the one before it on its side, else it would be the same job */
    const made: number[] = [];
    try {
      for (const { order, side } of orders) {
        const before = last.get(side);
        const job = await request<Job>("POST", "/jobs", { ...order, ...(before ? { parents: [before] } : {}) });
        last.set(side, job.id);
        made.push(job.id);
      }
      setSaid({ ok: true, text: `Queued ${plural(made.length, "job")}: ${made.join(", ")}. Compare again when they have ended.` });
    } catch (error) {
      const text = error instanceof ApiError ? error.message : String(error);
      setSaid({ ok: false, text: made.length ? `${text} (queued before: ${made.join(", ")})` : text });
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="measure-order compare-repeat">
      {needs.runs > 0 && <p>{repeatText(needs, orders.length, jobs.state === "data" ? usualSeconds(jobs.data.jobs) : null)}</p>}
      {needs.hopeless > 0 && <p class="muted">Of {plural(needs.hopeless, "row")} no number of runs is likely to decide {needs.hopeless === 1 ? "it" : "them"}.</p>}
      <ActionButton why={why} onClick={() => void queue()}>Measure again</ActionButton>
      <p role="status" class={said ? (said.ok ? "said good" : "said bad") : "said"}>{said && <><Icon name={said.ok ? "check" : "alert"} /> {said.text} {said.ok && <a href={href.jobs(project)}>Jobs</a>}</>}</p>
    </div>
  );
}
