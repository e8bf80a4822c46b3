/* The service's comparison of a point of a series with the point before it: the same verdict as on
 * the commit's page, decided over all values of the two commits. */
import { useEffect, useState } from "preact/hooks";
import type { CompareReply, SeriesReply } from "../api/types";
import { useApi } from "../api/use";
import { measuredBefore } from "../charts/columns";
import { withQuery } from "../base/route";
import { verdictWords } from "./compare_text";

const REST_MS = 250; /* a pointer that only passes asks for nothing */

/** The value once it has stayed the same for a moment. */
function useRested(value: string): boolean {
  const [rested, setRested] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return rested === value;
}

export function PointVerdict(props: { reply: SeriesReply; row: number }) {
  const { reply, row } = props;
  const before = measuredBefore(reply, row);
  const [a, b] = [reply.columns.commit[before] ?? "", reply.columns.commit[row] ?? ""];
  const project = reply.series.project;
  const one = a !== "" && b !== "" && a !== b && !reply.bucketed && project !== undefined;
  const rested = useRested(`${a} ${b}`);
  const load = useApi<CompareReply>(one && rested ? withQuery("/compare", { project, a, b, series: reply.series.id }) : null);
  return <>{load.state === "data" ? verdictWords(load.data) : ""}</>;
}
