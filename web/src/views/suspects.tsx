/* Suspects of an alert, with the evidence for and against each, and the next step. */
import { useState } from "preact/hooks";
import type { AlertDetail, Suspect, SuspectsReply } from "../api/types";
import { useApi } from "../api/use";
import { formatCertainty, formatShare, plural, shortId } from "../base/format";
import { Badge } from "../widgets/badge";
import { Clamped, Command, CommitLink } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

const SHOWN = 10;
const OTHERS: Record<string, string> = { toolchain: "the toolchain", harness: "the harness", machine: "the machine", none: "none of these commits" };

function Role(props: { alert: AlertDetail; suspect: Suspect }) {
  const { alert, suspect } = props;
  if (suspect.commit && suspect.commit === alert.culprit) return <Badge judged={{ tone: "bad", icon: "check", word: "culprit" }} />;
  if (suspect.ruled_out) return <Badge judged={{ tone: "quiet", icon: "dot", word: "ruled out" }} />;
  return null;
}

function Who(props: { alert: AlertDetail; suspect: Suspect }) {
  const { alert, suspect } = props;
  return (
    <span class="suspect">
      {suspect.commit ? <CommitLink project={alert.project} id={suspect.commit} /> : <b>{OTHERS[suspect.kind] ?? suspect.kind}</b>}
      {" "}<Role alert={alert} suspect={suspect} />
    </span>
  );
}

function What(props: { suspect: Suspect }) {
  const s = props.suspect;
  if (!s.commit) return s.field ? <Clamped text={`${s.field}: ${s.before ?? "unknown"} \u2192 ${s.now ?? "unknown"}`} /> : <span class="muted">the confidence set of the location may be wrong</span>;
  return <>{s.subject ? <Clamped text={s.subject} /> : <span class="muted">no subject</span>}<small class="n" title={s.author ?? ""}>{s.author ?? "unknown"} · {s.measured ? "measured" : "not measured"}</small></>;
}

/** A ranking uses the first series of a large group only. */
const seriesOf = (used: number, all: number) => (all > used ? `${used} of the ${all} series of the group` : `${used} series of the group`);

function Ranked(props: { alert: AlertDetail; reply: SuspectsReply }) {
  const [all, setAll] = useState(false);
  const { alert, reply } = props;
  const list = all ? reply.suspects : reply.suspects.slice(0, SHOWN);
  if (reply.suspects.length === 0) return <Empty title="The range is not known" />;
  return (
    <>
      <Table caption="Suspects of the change" rows={list} keyOf={(s) => s.commit ?? `${s.kind} ${s.field ?? ""}`}
        rowClass={(s) => (s.commit && s.commit === alert.culprit ? "current" : "")} columns={[
          { name: "Suspect", head: true, cell: (s) => <Who alert={alert} suspect={s} /> },
          { name: "Probability", numeric: true, cell: (s) => (s.probability > 0.5 ? formatCertainty(s.probability) : formatShare(s.probability)) },
          { name: "Subject", cell: (s) => <What suspect={s} /> },
          { name: "Evidence", cell: (s) => <ul class="reasons">{s.reasons.map((r) => <li key={r}><span title={r}>{r}</span></li>)}</ul> },
        ]} />
      {list.length < reply.suspects.length && (
        <p class="under-table"><button type="button" class="button" onClick={() => setAll(true)}>Show all {plural(reply.suspects.length, "suspect")}</button></p>)}
      <p class="muted under-table">Estimated from the history{reply.series > 1 ? ` and ${seriesOf(reply.series, alert.group?.series ?? 0)}` : ""}, without new runs{reply.sources > 0 ? "."
        : "; the benchmark's sources are unknown: a runner reports them if the build leaves compile_commands.json or depfiles."}</p>
    </>
  );
}

export function Suspects(props: { alert: AlertDetail }) {
  const a = props.alert;
  const load = useApi<SuspectsReply>(`/alerts/${a.id}/suspects`, ["alert"]);
  const headline = a.benchmark === "headline" || a.benchmark === "";
  const bench = headline ? "" : ` --benchmark ${a.benchmark}`;
  return (
    <>
      <View load={load} what="the suspects">{(reply) => <Ranked alert={a} reply={reply} />}</View>
      <dl class="commands">
        <dt>Reproduce the change on your machine: both sides, interleaved</dt>
        <dd><Command text={`perfci repro alert:${a.id}`} what="Command: reproduce the change" /></dd>
        <dt>Bisect the range with as few runs as the noise allows</dt>
        <dd><Command text={`perfci bisect --metric ${a.metric}${bench}${a.backend ? ` --backend ${a.backend}` : ""} --good ${shortId(a.commit_low)}^ --bad ${shortId(a.commit_high)}`} what="Command: bisect the range" /></dd>
        <dt>Print this table in a terminal</dt>
        <dd><Command text={`perfci why ${a.id}`} what="Command: the suspects" /></dd>
      </dl>
    </>
  );
}
