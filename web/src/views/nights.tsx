/* All sessions of a project (builds measured together in blocks) with their results. */
import type { Night, NightsReply, NightVerdict } from "../api/night";
import { lastNightPath } from "../api/overview";
import { usePages, useApi } from "../api/use";
import { formatChange, formatWhen, parseTime, plural } from "../base/format";
import { href, withQuery } from "../base/route";
import { judgeNight } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { Command, CommitLink, Page, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { budgetText, countsOf, measuredOf, nightSentence, verdictText } from "./night_text";

export const sessionsPath = (project: string) => `/projects/${encodeURIComponent(project)}/sessions`;

/** A count; with a word and a tone when it is not zero. */
function Count(props: { night: Night; verdict: NightVerdict }) {
  const n = countsOf(props.night)[props.verdict];
  const judge = judgeNight(props.verdict);
  return n === 0 ? <span class="muted">0</span> : <Badge judged={judge} text={`${n} ${judge.word}`} />;
}

const column = (verdict: NightVerdict) => ({ name: verdict[0]?.toUpperCase() + verdict.slice(1), cell: (n: Night) => <Count night={n} verdict={verdict} /> });

function Rows(props: { project: string; rows: readonly Night[] }) {
  return (
    <Table caption="Nights, newest first" rows={props.rows} keyOf={(n) => n.id} columns={[
      { name: "Night", head: true, cell: (n) => <span class="bench"><a href={href.night(props.project, n.id)}>{formatWhen(parseTime(n.started_at))}</a><small>{n.branch} · <code>{n.id.slice(0, 8)}</code></small></span> },
      { name: "Machine", cell: (n) => <span class="bench"><span>{n.machine || n.machine_class}</span>{n.machine && <small>{n.machine_class}</small>}</span> },
      { name: "Commits", numeric: true, cell: (n) => <>{measuredOf(n)}<small class="n">measured of {n.commits.length}</small></> },
      column("slower"), column("faster"), column("undecided"), column("broken"),
      { name: "Time", numeric: true, cell: (n) => <>{budgetText(n)}<small class="n">{plural(n.blocks, "block")}</small></> },
    ]} />
  );
}

export function Nights(props: { project: string }) {
  const { load, more, loadingMore } = usePages<NightsReply, Night>(
    withQuery(sessionsPath(props.project), { limit: 50 }), (r) => r.sessions, ["run", "alert"]);
  return (
    <Page title="Nights" lead="Commits that were measured together in blocks, newest first.">
      <View load={load} what="nights">
        {(rows) => rows.length === 0
          ? <Empty title="No night yet"><p>A night measures the new commits, the newest judged one and an anchor in blocks:</p><Command text="perfci nightly" what="Command: measure new commits" /></Empty>
          : <>
            <Rows project={props.project} rows={rows} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>}
      </View>
    </Page>
  );
}

/** The newest night in one sentence, for the overview; nothing where no night was stored. */
export function LastNight(props: { project: string }) {
  const load = useApi<NightsReply>(lastNightPath(props.project), ["run", "alert"]);
  const night = load.state === "data" ? load.data.sessions[0] : undefined;
  if (!night) return null;
  return (
    <p class="last-night"><a href={href.night(props.project, night.id)}>Last night</a> <span class="muted">(<When time={night.started_at} />{night.machine ? ` on ${night.machine}` : ""})</span>: {nightSentence(night)} <a href={href.nights(props.project)}>All nights</a></p>
  );
}

/** The nights of a commit, among the newest hundred of its project; nothing where it has none. */
export function InNights(props: { project: string; commit: string }) {
  const load = useApi<NightsReply>(withQuery(sessionsPath(props.project), { limit: 100 }), ["run"]);
  if (load.state !== "data") return null;
  const of = load.data.sessions.flatMap((night) => {
    const own = night.commits.find((c) => c.commit === props.commit);
    return own ? [{ night, own }] : [];
  });
  if (of.length === 0) return null;
  return (
    <ul class="in-nights" aria-label="Nights of this commit">{of.slice(0, 5).map(({ night, own }) => (
      <li key={night.id}>{own.status === "measured" ? "Measured in the" : "Listed in the"} <a href={href.night(props.project, night.id, { commit: props.commit.slice(0, 12) })}>night of {formatWhen(parseTime(night.started_at))}</a>{night.machine && ` on ${night.machine}`}: {verdictText(own)}
        {own.worst && (own.verdict === "slower" || own.verdict === "faster") && ` (${formatChange(own.worst.rel_change)} ${own.worst.benchmark})`}
        {own.same_as ? <>, same program as <CommitLink project={props.project} id={own.same_as} /></> : own.reason && ` (${own.reason})`}</li>))}
    </ul>
  );
}
