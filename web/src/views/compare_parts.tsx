/* Parts of the page of a comparison: its ends, the geometric means, the files to export. */
import { useEffect, useState } from "preact/hooks";
import { namesPath, type PlotNames } from "../api/plot";
import { currentProject } from "../api/projects";
import type { Commit, CompareMean, CompareReply } from "../api/types";
import { useApi } from "../api/use";
import { formatChange, plural } from "../base/format";
import { navigate, query } from "../base/location";
import { href, withQuery, type Query } from "../base/route";
import { judgeVerdict } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { CommitLink } from "../widgets/parts";
import { Icon } from "../widgets/icons";
import { Table } from "../widgets/table";

/** Members of the address that GET /compare takes as they are. */
const SIDES = ["backend_a", "backend_b", "machine_class_a", "machine_class_b"] as const;

/** The query of GET /compare for this address. */
export function askedQuery(project: string | null, q: URLSearchParams): Query {
  const sides = Object.fromEntries(SIDES.map((name) => [name, q.get(name)]));
  return { project, a: q.get("a"), b: q.get("b"), ...sides };
}

const EXAMPLES = "main, v1.2, 2026-11-01, 1a2b3c4~3";

/** Names that the fields offer: tags of the project, and once they are asked for, its backends and classes of machines. */
function Offered(props: { project: string; sides: boolean }) {
  const tags = useApi<{ commits: Commit[] }>(withQuery(`/projects/${encodeURIComponent(props.project)}/commits`, { limit: 200, tagged: "true" }));
  const names = useApi<PlotNames>(props.sides ? namesPath(props.project) : null);
  const commits = tags.state === "data" ? tags.data.commits : [];
  const values = (field: string) => (names.state === "data" ? names.data.names.find((n) => n.name === field)?.values ?? [] : []).map((v) => v.value).filter((v) => v);
  return (
    <>
      <datalist id="compare-tags">{commits.flatMap((c) => (c.tags ?? []).map((tag) => <option key={tag} value={tag}>{`${c.id.slice(0, 10)} ${c.subject}`.slice(0, 60)}</option>))}</datalist>
      <datalist id="compare-backends">{values("backend").map((v) => <option key={v} value={v} />)}</datalist>
      <datalist id="compare-classes">{values("machine_class").map((v) => <option key={v} value={v} />)}</datalist>
    </>
  );
}

export function Ends() {
  const now = query.value;
  const read = (): Record<string, string> => Object.fromEntries(["a", "b", ...SIDES].map((n) => [n, now.get(n) ?? ""]));
  const [ends, setEnds] = useState(read);
  const [more, setMore] = useState(SIDES.some((n) => now.get(n)));
  useEffect(() => setEnds(read()), [now]);
  const set = (name: string) => (e: { currentTarget: HTMLInputElement }) => setEnds({ ...ends, [name]: e.currentTarget.value });
  const go = (to: Record<string, string>) => navigate(withQuery("/compare", { project: currentProject.value, ...Object.fromEntries(Object.entries(to).map(([k, v]) => [k, v.trim()])) }));
  const swap = () => go({ a: ends.b ?? "", b: ends.a ?? "", backend_a: ends.backend_b ?? "", backend_b: ends.backend_a ?? "", machine_class_a: ends.machine_class_b ?? "", machine_class_b: ends.machine_class_a ?? "" });
  return (
    <form class="ends" onSubmit={(e) => { e.preventDefault(); go(ends); }}>
      {currentProject.value && <Offered project={currentProject.value} sides={more} />}
      <div class="row">
        <label class="field"><span>A, the base</span><input class="mono" required list="compare-tags" maxLength={232} value={ends.a} placeholder={EXAMPLES} onInput={set("a")} /></label>
        <label class="field"><span>B, the candidate</span><input class="mono" required list="compare-tags" maxLength={232} value={ends.b} placeholder={EXAMPLES} onInput={set("b")} /></label>
        <button type="submit" class="button primary">Compare</button>
        <button type="button" class="button" onClick={swap} disabled={!ends.a || !ends.b}>Swap</button>
      </div>
      <details open={more} onToggle={(e) => setMore(e.currentTarget.open)}>
        <summary>Backends and machine classes</summary>
        <div class="row">
          <label class="field"><span>Backend of A</span><input class="mono" list="compare-backends" maxLength={200} value={ends.backend_a} onInput={set("backend_a")} /></label>
          <label class="field"><span>Backend of B</span><input class="mono" list="compare-backends" maxLength={200} value={ends.backend_b} onInput={set("backend_b")} /></label>
          <label class="field"><span>Machine class of A</span><input class="mono" list="compare-classes" maxLength={200} value={ends.machine_class_a} onInput={set("machine_class_a")} /></label>
          <label class="field"><span>Machine class of B</span><input class="mono" list="compare-classes" maxLength={200} value={ends.machine_class_b} onInput={set("machine_class_b")} /></label>
        </div>
        <p class="muted">Give a backend, or a machine class, for both ends: results of one benchmark and metric are then compared.</p>
      </details>
      <p class="muted">An end is a commit, a run, a tag, a branch (its newest commit with results) or a date (the newest commit with results until then), with ~N behind it for N commits before.</p>
    </form>
  );
}

/** Which commit each end came to, and what lies between. */
export function EndsFound(props: { reply: CompareReply; project: string | null }) {
  const { reply, project } = props;
  const between = reply.between;
  const warn = between !== undefined && (between.commits === null || between.commits > 0 || between.backwards);
  const side = (name: string, end: CompareReply["a"]) => (
    <li>{name}: <CommitLink project={project} id={end.commit} /> ({plural(end.runs.length, "run")}){end.how && <>: {end.how}</>}</li>);
  return (
    <>
      <ul class="ends-found">{side("A", reply.a)}{side("B", reply.b)}</ul>
      {between && <p class={warn ? "differs" : ""}>{warn && <Icon name="alert" />} {between.sentence}</p>}
    </>
  );
}

const verdictOf = (m: CompareMean) => (m.regressions > 0 ? "regression" : m.improvements > 0 ? "improvement" : "same");

/** One mean a kernel, backend and metric; colour only where a row behind it differs. */
export function Means(props: { means: readonly CompareMean[] }) {
  return (
    <Table caption="Geometric means by kernel and backend" rows={props.means} keyOf={(m) => `${m.kernel} ${m.backend} ${m.metric} ${m.unit} ${m.direction}`} columns={[
      { name: "Kernel", head: true, cell: (m) => m.kernel },
      { name: "Backend", cell: (m) => m.backend },
      { name: "Metric", cell: (m) => `${m.metric}, ${m.direction} is better` },
      { name: "Mean of B / A", numeric: true, cell: (m) => m.rel_change === null ? <span class="muted">no row has a ratio</span>
        : verdictOf(m) === "same" ? formatChange(m.rel_change) : <Badge judged={judgeVerdict(verdictOf(m), m.rel_change)} text={formatChange(m.rel_change)} /> },
      { name: "Rows", numeric: true, cell: (m) => <>n {m.n}{m.left_out > 0 && <small class="n">{m.left_out} left out</small>}</> },
      { name: "Slower", numeric: true, cell: (m) => m.regressions },
      { name: "Faster", numeric: true, cell: (m) => m.improvements },
    ]} />
  );
}

/** The service's own files, with the values of the page. */
export function ExportLinks(props: { project: string | null }) {
  const asked = askedQuery(props.project, query.value);
  const file = (format: string) => `/api/v1${withQuery("/compare", { ...asked, format })}`;
  return (
    <p class="row export">
      <a class="button" download="comparison.csv" href={file("csv")}>CSV</a>
      <a class="button" download="comparison.json" href={file("json")}>JSON</a>
      <a class="button" download="comparison.md" href={file("markdown")}>Markdown</a>
      <a class="button" href={href.compare(props.project)}>New comparison</a>
    </p>
  );
}
