/* Overview of one project. */
import { detailPath, headlinesPath, openGroupsPath, recentJobsPath, recentRunsPath } from "../api/overview";
import { currentProject, projects } from "../api/projects";
import type { Group, GroupsReply } from "../api/groups";
import type { Job, Project, ProjectDetail, RunRow, Series } from "../api/types";
import { useApi } from "../api/use";
import { Spark } from "../charts/spark";
import { formatCount, formatShare, formatShares, formatValue, plural, shortId } from "../base/format";
import { setQuery } from "../base/location";
import { href } from "../base/route";
import { judgeChange, readStatus } from "../base/verdict";
import { AlertBadge, Badge, ChangeBadge, StateBadge, TwoSpeeds } from "../widgets/badge";
import { Icon } from "../widgets/icons";
import { BenchName, Command, CommitLink, Page, Section, When } from "../widgets/parts";
import { Empty, Failed, Loading, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { HiddenAlerts } from "./hidden_alerts";
import { Moved } from "./moved";
import { LastNight } from "./nights";

function FirstSteps() {
  return (
    <Page title="No project yet" lead="The service runs and waits for its first measurements.">
      <Section title="Measure a repository of yours">
        <ol class="steps-list">
          <li>In the repository, write its settings: <Command text="perfci init" what="Command: write the settings" /></li>
          <li>Measure the new commits and send them here: <Command text="perfci nightly" what="Command: measure new commits" /></li>
          <li>Or send results that another tool has measured: <Command text="perfci push results.json --format auto" what="Command: send results" /></li>
        </ol>
      </Section>
      <Section title="Or look at a demonstration first">
        <p>It makes a small repository with a real slowdown in one commit, measures its history and finds the commit.</p>
        <Command text="./deploy/quickstart.sh" what="Command: demonstration" />
      </Section>
    </Page>
  );
}

function MetricCard(props: { series: Series }) {
  const s = props.series;
  const judged = s.change ? judgeChange(s.change.direction, s.change.rel_change, readStatus(s.change)) : null;
  return (
    <article class={`card metric tone-${judged?.tone ?? "quiet"}`}>
      <h3><a class="cover" href={href.series(s.id)}>{s.benchmark === "headline" || s.benchmark === "" ? s.metric : s.benchmark}</a></h3>
      <p class="metric-where">{s.backend || s.machine_class}</p>
      <p class="metric-value">{s.last ? formatValue(s.last.median, s.unit) : "not measured"}</p>
      <p class="metric-change"><ChangeBadge change={s.change} /> <TwoSpeeds machines={s.two_speeds} /></p>
      <Spark values={s.spark} tone={judged?.tone ?? "info"} area />
      <p class="metric-foot">
        {s.change ? <span>since <code>{shortId(s.change.commit)}</code></span> : <span>{plural(s.points, "point")}</span>}
        <span>{s.exact ? "exact" : s.noise_rel !== null ? `noise \u00b1${formatShare(s.noise_rel)}` : ""}</span>
      </p>
    </article>
  );
}

const ICONS = { bad: "alert", warn: "question", good: "check" } as const;

/** First sentence of the page, from the service: whether an alert needs triage. */
function Standing(props: { project: string }) {
  const load = useApi<ProjectDetail>(detailPath(props.project), ["run", "alert"]);
  if (load.state !== "data") return null;
  const { level, sentence } = load.data.standing;
  return <p class={`standing tone-${level}`} role="status"><Icon name={ICONS[level]} /> {sentence}</p>;
}

function Headlines(props: { project: string }) {
  const load = useApi<{ series: Series[] }>(headlinesPath(props.project), ["run", "alert"]);
  return (
    <View load={load} what="headline metrics">
      {({ series }) => series.length === 0
        ? <Empty title="No headline metric yet"><p>A headline metric is the geometric mean of a whole group of benchmarks. Measure one suite:</p>
          <Command text="perfci run --suite quick" what="Command: measure the quick suite" /></Empty>
        : <div class="cards">{series.map((s) => <MetricCard key={s.id} series={s} />)}</div>}
    </View>
  );
}

/** A group in a few words: its commit, its range, or the change in place of a commit. */
function Why(props: { group: Group }) {
  const a = props.group.lead;
  if (a.drift) return <>{a.title}, <code>{shortId(a.drift.first)}</code> to <code>{shortId(a.drift.last)}</code></>;
  if (a.boundary) return <>{a.title}</>;
  if (a.suspect) return <>{a.suspect.named ? "culprit" : a.suspect.bisection_id ? "found by a search:" : "suspect"} <code>{shortId(a.suspect.commit)}</code> {a.suspect.subject}</>;
  return <>since <code>{shortId(a.commit ?? a.commit_high)}</code></>;
}

function OpenGroups(props: { project: string }) {
  const load = useApi<GroupsReply>(openGroupsPath(props.project), ["alert"]);
  return (
    <View load={load} what="alerts">
      {({ groups }) => {
        if (groups.length === 0) return <Empty title="No open alert"><p>No change point needs triage.</p></Empty>;
        return <ul class="alert-list">{groups.map((g) => (
          <li key={g.id}>
            <a href={href.group(g.id)}>
              <AlertBadge alert={{ kind: g.lead.kind ?? "step", direction: g.lead.direction, rel_change: g.rel_most ?? g.lead.rel_change }} />
              <span class="alert-what"><b class="clamped" title={g.summary}>{formatShares(g.summary)}</b>
                <small class="clamped"><Why group={g} /> · {plural(g.alerts, "alert")} · <When time={g.opened_last} /></small></span>
              <StateBadge state={g.state} />
            </a>
          </li>
        ))}</ul>;
      }}
    </View>
  );
}

function Recent(props: { project: string }) {
  const load = useApi<{ runs: RunRow[] }>(recentRunsPath(props.project), ["run"]);
  return (
    <View load={load} what="runs">
      {({ runs }) => runs.length === 0 ? <Empty title="No run yet"><Command text="perfci nightly" what="Command: measure new commits" /></Empty> : (
        <Table caption="Recent runs" rows={runs} keyOf={(r) => r.run_id} columns={[
          { name: "Run", head: true, cell: (r) => <a href={href.run(r.run_id)}>#{r.run_id}</a> },
          { name: "Commit", cell: (r) => <CommitLink project={props.project} id={r.commit} /> },
          { name: "Suite", cell: (r) => r.suite, wide: true },
          { name: "Values", numeric: true, cell: (r) => formatCount(r.measurements) },
          { name: "State", cell: (r) => r.infra ? <Badge judged={{ tone: "warn", icon: "alert", word: "machine moved" }} />
            : r.unsandboxed ? <Badge judged={{ tone: "warn", icon: "alert", word: "not isolated" }} /> : <StateBadge state="done" /> },
          { name: "When", cell: (r) => <When time={r.started_at} /> },
        ]} />
      )}
    </View>
  );
}

function Queue(props: { project: string }) {
  const load = useApi<{ jobs: Job[] }>(recentJobsPath(props.project), ["job"]);
  return (
    <View load={load} what="jobs">
      {({ jobs }) => jobs.length === 0 ? <Empty title="The queue is empty" /> : (
        <Table caption="Recent jobs" rows={jobs} keyOf={(j) => j.id} columns={[
          { name: "Job", head: true, cell: (j) => <>#{j.id} {j.kind.replace(/_/g, " ")}</> },
          { name: "Commit", cell: (j) => <CommitLink project={props.project} id={j.commit} /> },
          { name: "State", cell: (j) => <StateBadge state={j.state} /> },
          { name: "When", cell: (j) => <When time={j.finished_at ?? j.started_at ?? j.created_at} /> },
        ]} />
      )}
    </View>
  );
}

function ProjectList(props: { all: Project[]; current: string }) {
  return (
    <Section title="Projects">
      <Table caption="Projects" rows={props.all} keyOf={(p) => p.name} rowClass={(p) => (p.name === props.current ? "current" : "")} columns={[
        { name: "Project", head: true, cell: (p) => <BenchName benchmark={p.name} metric={p.branch} to={href.overview(p.name)} /> },
        { name: "Commits", numeric: true, cell: (p) => formatCount(p.commits) },
        { name: "Runs", numeric: true, cell: (p) => formatCount(p.runs) },
        { name: "Open alerts", numeric: true, cell: (p) => p.alerts_open > 0
          ? <a href={href.alerts(p.name)}>{formatCount(p.alerts_open)} in {plural(p.groups_open, "group")}</a> : "0" },
        { name: "Last run", cell: (p) => <When time={p.last_run_at} /> },
      ]} />
    </Section>
  );
}

export function Overview() {
  const load = projects.value;
  if (load.state === "loading") return <Page title="Overview"><Loading what="projects" /></Page>;
  if (load.state === "failed") return <Page title="Overview"><Failed error={load.error} retry={load.retry} /></Page>;
  const all = load.data.projects;
  const name = currentProject.value;
  if (name === null) return <FirstSteps />;
  const project = all.find((p) => p.name === name);
  if (!project) {
    return <Page title="Overview"><Empty title={`No project is called \u201c${name}\u201d`}>
      <p><button type="button" class="button" onClick={() => setQuery({ project: null })}>Show the first project</button></p></Empty></Page>;
  }
  return (
    <Page title={project.name} lead={<>branch <b>{project.branch}</b> · {plural(project.commits, "commit")} · {plural(project.runs, "run")} · last measured <When time={project.last_run_at} /></>}>
      <Standing project={project.name} />
      <LastNight project={project.name} />
      <Section title="Headline metrics" side={<a href={href.seriesList(project.name)}>All series</a>}><Headlines project={project.name} /></Section>
      <Moved project={project.name} />
      <div class="split">
        <Section title="Open alerts" side={<a href={href.alerts(project.name)}>All alerts</a>}><OpenGroups project={project.name} /><HiddenAlerts project={project.name} /></Section>
        <Section title="Queue" side={<a href={href.jobs(project.name)}>All jobs</a>}><Queue project={project.name} /></Section>
      </div>
      <Section title="Recent runs" side={<a href={href.commits(project.name)}>All commits</a>}><Recent project={project.name} /></Section>
      {all.length > 1 && <ProjectList all={all} current={project.name} />}
    </Page>
  );
}
