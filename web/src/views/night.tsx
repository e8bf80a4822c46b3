/* One night: a verdict for each new commit, and the measurements behind it. */
import type { Commit } from "../api/types";
import type { NightCommit, NightDetail, NightSeries } from "../api/night";
import { useApi } from "../api/use";
import { formatChange, formatDuration, formatWhen, parseTime, shortId } from "../base/format";
import { query } from "../base/location";
import { href, withQuery } from "../base/route";
import { judgeNight, type Tone } from "../base/verdict";
import { Badge } from "../widgets/badge";
import { Icon } from "../widgets/icons";
import { BenchName, Clamped, CommitLink, Facts, Page, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { Boundaries } from "./night_boundaries";
import { Ratios } from "./night_ratios";
import { budgetText, countsOf, intervalText, nightSentence, verdictText } from "./night_text";
import { sessionsPath } from "./nights";

/** Subjects of commits, as far as the newest thousand reach. */
export type Subjects = ReadonlyMap<string, string>;

function useSubjects(project: string): Subjects {
  const load = useApi<{ commits: Commit[] }>(withQuery(`/projects/${encodeURIComponent(project)}/commits`, { limit: 1000 }));
  return new Map(load.state === "data" ? load.data.commits.map((c) => [c.id, c.subject]) : []);
}

/** Actions that the session needs from a user. */
function toneOf(night: NightDetail): { tone: Tone; icon: "alert" | "question" | "check" | "dot" } {
  const n = countsOf(night);
  if (n.slower + n.broken > 0) return { tone: "bad", icon: "alert" };
  if (n.undecided + n.not_measured > 0) return { tone: "warn", icon: "question" };
  return n.same + n.faster + n.identical > 0 ? { tone: "good", icon: "check" } : { tone: "quiet", icon: "dot" };
}

/** A series' page at a commit. */
export const seriesLink = (s: { series_id: number }, commit?: string) => href.series(s.series_id, { at: commit?.slice(0, 12) });

function Worst(props: { commit: NightCommit }) {
  const w = props.commit.worst;
  if (!w) return <span class="muted">{"\u2013"}</span>;
  return <BenchName benchmark={w.benchmark} metric={w.metric} backend={w.backend} to={seriesLink(w, props.commit.commit)} />;
}

/** Why the commit has no verdict from its own measurement: the reason, or the commit that was measured for it. */
function Note(props: { project: string; commit: NightCommit }) {
  const c = props.commit;
  return <>{c.same_as ? <>same program as <CommitLink project={props.project} id={c.same_as} /></> : c.reason ? <Clamped text={c.reason} /> : ""}</>;
}

const differs = (verdict: string) => verdict === "regression" || verdict === "improvement";

/** "2 of 12": leads to the boundaries of this commit. */
function SeriesCount(props: { project: string; night: NightDetail; commit: NightCommit }) {
  const own = props.night.series.flatMap((s) => s.boundaries.filter((b) => b.commit === props.commit.commit));
  if (own.length === 0) return <span class="muted">{"\u2013"}</span>;
  return <a href={href.night(props.project, props.night.id, { series: query.value.get("series"), commit: props.commit.commit.slice(0, 12) })}>{own.filter((b) => differs(b.verdict)).length} of {own.length}<span class="sr-only"> series changed at {shortId(props.commit.commit)}</span></a>;
}

function Alerts(props: { series: readonly NightSeries[]; commit: NightCommit }) {
  const ids = props.series.flatMap((s) => s.boundaries.flatMap((b) => (b.commit === props.commit.commit && b.alert_id !== null ? [b.alert_id] : [])));
  return <>{[...new Set(ids)].map((id, i) => <span key={id}>{i > 0 && ", "}<a href={href.alert(id)}>#{id}</a></span>)}</>;
}

function Verdicts(props: { project: string; night: NightDetail; subjects: Subjects }) {
  const { project, night } = props;
  return (
    <Table caption="New commits with their verdicts, in the order of history" className="night-table" rows={night.commits} keyOf={(c) => c.commit} columns={[
      { name: "Commit", head: true, cell: (c) => <span class="bench"><CommitLink project={project} id={c.commit} /><small>{props.subjects.get(c.commit)}</small></span> },
      { name: "Verdict", cell: (c) => <Badge judged={judgeNight(c.verdict)} text={verdictText(c)} /> },
      { name: "Largest change", numeric: true, cell: (c) => (c.worst ? formatChange(c.worst.rel_change) : "\u2013") },
      { name: "Interval", numeric: true, cell: (c) => (c.worst ? intervalText(c.worst.rel_low, c.worst.rel_high) : "\u2013") },
      { name: "Of benchmark", cell: (c) => <Worst commit={c} /> },
      { name: "Series changed", cell: (c) => <SeriesCount project={project} night={night} commit={c} /> },
      { name: "Alert", cell: (c) => <Alerts series={night.series} commit={c} /> },
      { name: "Note", cell: (c) => <Note project={project} commit={c} /> },
    ]} />
  );
}

export function NightView(props: { project: string; id: string }) {
  const { project } = props;
  const load = useApi<NightDetail>(`${sessionsPath(project)}/${encodeURIComponent(props.id)}`, ["run", "alert"]);
  const subjects = useSubjects(project);
  return (
    <View load={load} what="the night">
      {(night) => {
        const { tone, icon } = toneOf(night);
        return (
          <Page title={`Night of ${formatWhen(parseTime(night.started_at))}`} side={<a class="button" href={href.nights(project)}>All nights</a>}
            lead={<>{[night.machine, night.machine_class, night.branch].filter((t) => t).join(" \u00b7 ")} · session <code>{night.id.slice(0, 8)}</code> · <When time={night.started_at} /></>}>
            <p class={`standing tone-${tone}`} role="status"><Icon name={icon} /> {nightSentence(night)}</p>
            {night.note && <p class="night-note" role="note">{night.note}</p>}
            <Section title="New commits" side={<span class="muted">each against the one before it</span>}>
              {night.commits.length === 0 ? <Empty title="No new commit" /> : <Verdicts project={project} night={night} subjects={subjects} />}
            </Section>
            {night.series.length > 0 && <Ratios project={project} night={night} subjects={subjects} />}
            <Boundaries project={project} night={night} subjects={subjects} />
            <Section title="How it was measured">
              <Facts facts={[
                ["Anchor", <CommitLink project={project} id={night.anchor} />], ["Last judged commit", <CommitLink project={project} id={night.base} />],
                ["Blocks", String(night.blocks)], ["Measuring", budgetText(night)], ["Started", formatWhen(parseTime(night.started_at))],
                ["Ended", formatWhen(parseTime(night.finished_at))], ["Took", formatDuration(Math.max(0, (parseTime(night.finished_at) - parseTime(night.started_at)) / 1000))],
                ["Machine", <a href={href.machines(project)}>{night.machine || night.machine_class}</a>],
              ]} />
            </Section>
          </Page>
        );
      }}
    </View>
  );
}
