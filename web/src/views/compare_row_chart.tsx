/* A row of a comparison as pictures: the series between both commits, and the samples of both. Read when the row comes on view. */
import { useLimited } from "../api/limited";
import type { PlotReply } from "../api/plot";
import type { CompareReply, CompareRow } from "../api/types";
import { plotQuery } from "../base/compared";
import { plural } from "../base/format";
import { withQuery } from "../base/route";
import { column } from "../charts/lines";
import { SideDots } from "../charts/side_dots";
import { Spark } from "../charts/spark";
import { useSeen } from "../widgets/in_view";

/** shared: a value is of several commits. results: of the newer side's series between both commits. */
interface Pictured { values: (number | null)[]; a: number[]; b: number[]; shared: boolean; results: number }

/** The lines of both sides in the reply; a side that is another series has a line of its own. */
export function pictured(reply: PlotReply, row: CompareRow, a: string, b: string): Pictured {
  const line = (id: number | null | undefined) => reply.lines.find((l) => l.series_id === id);
  const [before, after] = [line(row.a.series_id ?? row.series_id), line(row.b.series_id ?? row.series_id)];
  const samples = (of: typeof before, commit: string) => {
    const column = reply.columns.commit.indexOf(commit);
    return (of?.samples ?? []).filter((s) => s[0] === column).flatMap((s) => s.slice(1)).filter((v): v is number => v !== null);
  };
  return { values: after ? [...column(reply, after.median)].map((v) => (Number.isFinite(v) ? v : null)) : [], a: samples(before, a), b: samples(after, b),
    shared: reply.places > reply.columns.commit.length, results: after?.points ?? 0 };
}

export function CompareRowChart(props: { row: CompareRow; reply: CompareReply; project: string | null; tone: string }) {
  const { row, reply } = props;
  const { at, seen } = useSeen<HTMLSpanElement>();
  const asked = props.project ? plotQuery(row, reply.between, reply.a.commit, reply.b.commit) : null;
  const got = useLimited<PlotReply>(seen && asked ? withQuery(`/projects/${encodeURIComponent(props.project ?? "")}/plot`, asked) : null);
  const shown = got !== null && typeof got !== "string" ? pictured(got, row, reply.a.commit, reply.b.commit) : null;
  const measured = shown ? shown.values.filter((v) => v !== null).length : 0;
  return (
    <span ref={at} class="row-chart">
      {!asked ? <small class="muted">no chart: {reply.between?.branch && reply.between.commits !== null ? "its names are too long" : "not on one line"}</small>
        : typeof got === "string" ? <small class="muted">not read: {got}</small>
        : <>
          <Spark values={shown?.values} tone={props.tone} />
          {shown && shown.a.length + shown.b.length > 0 && <SideDots a={shown.a} b={shown.b} tone={props.tone} />}
          {shown && <span class="sr-only">{shown.shared ? `${plural(shown.results, "result")} from A to B, several commits a point`
            : `${plural(measured, "commit")} measured from A to B; ${plural(shown.a.length, "sample")} of A, ${plural(shown.b.length, "sample")} of B`}</span>}
        </>}
    </span>
  );
}
