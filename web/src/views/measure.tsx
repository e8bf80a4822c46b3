/* Searches on the runners: their runs, minutes and waiting time are shown before they are started. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import { account, mayMeasure } from "../api/scopes";
import type { Alert, Bisection, CommitDetail, Runner } from "../api/types";
import { useApi } from "../api/use";
import { formatDuration, plural } from "../base/format";
import { navigate } from "../base/location";
import { href, withQuery } from "../base/route";
import { canMeasure, costText, orderOfAlert, verifyOrder, whyNoSearch, type Cost, type SearchOrder } from "../base/search_cost";
import { ActionButton } from "../widgets/action";
import { Icon } from "../widgets/icons";

type Estimate = { state: "none" } | { state: "asked" } | { state: "known"; cost: Cost } | { state: "refused"; text: string };

/** The service's estimate of an order; none without the right to start it. */
function useEstimate(order: SearchOrder | null, allowed: boolean): Estimate {
  const [estimate, setEstimate] = useState<Estimate>({ state: "none" });
  const text = order && allowed ? JSON.stringify(order) : "";
  useEffect(() => {
    if (!text) { setEstimate({ state: "none" }); return undefined; }
    const abort = new AbortController();
    setEstimate({ state: "asked" });
    request<{ expected: Cost }>("POST", "/bisections", { ...(JSON.parse(text) as SearchOrder), dry_run: true }, abort.signal).then(
      (reply) => setEstimate({ state: "known", cost: reply.expected }),
      (error: unknown) => { if (!abort.signal.aborted) setEstimate({ state: "refused", text: error instanceof ApiError ? error.message : String(error) }); });
    return () => abort.abort();
  }, [text]);
  return estimate;
}

function Order(props: { name: string; what: string; order: SearchOrder; why: string | null; primary?: boolean }) {
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const estimate = useEstimate(props.order, mayMeasure() === null);
  const cost = estimate.state === "known" ? estimate.cost : null;
  const why = props.why ?? (estimate.state === "asked" ? "the cost is being estimated" : estimate.state === "refused" ? estimate.text : busy ? "it is being started" : cost && canMeasure(cost));
  const start = async () => {
    setBusy(true);
    try {
      const made = await request<Bisection>("POST", "/bisections", props.order);
      navigate(href.bisection(made.id));
    } catch (error) {
      setFault(error instanceof ApiError ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <div class="measure-order">
      <p>{props.what}</p>
      <p class="muted" role="status">{cost ? costText(cost) : estimate.state === "asked" ? "Estimating\u2026" : ""}</p>
      <ActionButton primary={props.primary ?? false} why={why} onClick={() => void start()}>{props.name}</ActionButton>
      {fault && <p role="alert" class="said bad"><Icon name="alert" /> {fault}</p>}
    </div>
  );
}

/** Bisect and verify. `alerts`: a running search of one of them is shown instead of a second one. `what`: the verification. */
export function Measure(props: { project: string; bisect: SearchOrder | null; verify?: SearchOrder | null; alerts?: readonly number[]; noBisect?: string; noVerify?: string; what?: string }) {
  const list = useApi<{ bisections: Bisection[] }>(withQuery("/bisections", { project: props.project, limit: 100 }), ["bisection"]);
  const fleet = useApi<{ runners: Runner[] }>(withQuery("/runners", { project: props.project }), ["job"]);
  const running = list.state === "data" ? list.data.bisections.find((b) => b.state === "running" && b.alert_id !== null && (props.alerts ?? []).includes(b.alert_id)) : undefined;
  const same = props.noVerify !== undefined && props.noVerify === props.noBisect; /* one sentence for both buttons */
  const able = fleet.state === "data" ? fleet.data.runners.filter((r) => r.state === "idle" || r.state === "busy").length : null;
  const common = mayMeasure() ?? (running ? `bisection ${running.id} is running` : able === 0 ? "no runner is connected that could measure" : null);
  return (
    <div class="measure levels">
      {running && <p>Running: <a href={href.bisection(running.id)}>bisection {running.id}</a>{running.expected_runs ? `, about ${plural(Math.ceil(running.expected_runs), "run")} to go` : ""}{running.expected?.seconds ? `, ${formatDuration(running.expected.seconds)}` : ""}</p>}
      {props.bisect ? <Order name="Run bisection" primary what="Bisect: find the commit in the range with as few runs as the noise allows." order={props.bisect} why={common} />
        : <div class="measure-order"><ActionButton quiet={same} why={props.noBisect ?? "there is no range"}>Run bisection</ActionButton></div>}
      {props.verify ? <Order name="Verify the suspect" what={props.what ?? "Verify: compare the suspect with the commit before it, in new runs."} order={props.verify} why={common} />
        : props.noVerify ? <div class="measure-order"><ActionButton why={props.noVerify}>Verify the suspect</ActionButton></div> : null}
      {account.value === null && <p class="muted">The cost is estimated for an account that may start it.</p>}
    </div>
  );
}

/** Bisect the range of an alert, or verify its suspect. `alerts`: those of its group. */
export function MeasureAlert(props: { alert: Alert; alerts: readonly number[] }) {
  const a = props.alert;
  const no = whyNoSearch(a);
  const commit = no === null ? a.suspect?.commit ?? null : null;
  const load = useApi<CommitDetail>(commit ? `/projects/${encodeURIComponent(a.project)}/commits/${encodeURIComponent(commit)}` : null);
  const verify = verifyOrder(a, load.state === "data" ? load.data.parents : undefined);
  const noVerify = no ?? (!a.suspect ? "no suspect is known" : load.state === "loading" ? "the suspect is being read" : "the commit before the suspect is not known");
  return <Measure project={a.project} bisect={orderOfAlert(a)} verify={verify} alerts={props.alerts} {...(no ? { noBisect: no } : {})} noVerify={noVerify} />;
}
