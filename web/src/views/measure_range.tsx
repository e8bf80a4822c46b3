/* Searches of a range that was dragged in a chart: bisect it, or verify the regression in it. */
import type { AlertDetail, CommitDetail, SeriesReply } from "../api/types";
import { useApi } from "../api/use";
import { formatChange, shortId } from "../base/format";
import { orderOfRange, regressionIn, whyNoSearch, type SearchOrder } from "../base/search_cost";
import { Measure } from "./measure";

/** `range`: rows of the reply. An alert of the regression knows its suspect; else the first commit at the new level is verified. */
export function MeasureRange(props: { reply: SeriesReply; range: [number, number] }) {
  const { reply, range: [a, b] } = props;
  const s = reply.series;
  const project = s.project ?? "";
  const order = orderOfRange(s, reply.columns.commit[a] ?? "", reply.columns.commit[b] ?? "");
  const change = regressionIn(reply.changes, a, b);
  const id = change?.alert_id ?? null;
  const alert = useApi<AlertDetail>(id === null ? null : `/alerts/${id}`, ["alert"]);
  const known = alert.state === "data" ? alert.data : null;
  const no = known && whyNoSearch(known);
  const suspect = no ? null : id === null ? change?.commit ?? null : known?.suspect?.commit ?? null;
  const load = useApi<CommitDetail>(suspect ? `/projects/${encodeURIComponent(project)}/commits/${encodeURIComponent(suspect)}` : null);
  const before = load.state === "data" ? load.data.parents[0] : undefined;
  const verify: SearchOrder | null = suspect && before ? { ...order, good: before, bad: suspect, ...(id === null ? {} : { alert_id: id }) } : null;
  const noVerify = !change ? "no regression was found between these commits" : no ? no
    : alert.state === "loading" && id !== null ? "the alert is being read" : !suspect ? "no suspect is known"
      : load.state === "loading" ? "the suspect is being read" : "the commit before the suspect is not known";
  return <Measure project={project} bisect={order} verify={verify} noVerify={noVerify} alerts={id === null ? [] : [id]}
    {...(change && suspect ? { what: `Verify: compare ${shortId(suspect)}, the suspect of the regression of ${formatChange(change.rel_change)}, with the commit before it, in new runs.` } : {})} />;
}
