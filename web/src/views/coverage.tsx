/* Coverage: which benchmarks were measured at which commits, the gaps, and the jobs that close them. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { CoverageCommit, CoverageReply, CoverageRow } from "../api/coverage";
import { mayMeasure } from "../api/scopes";
import { usePages } from "../api/use";
import { gapsOf, runsOf, sayRow, sayRun, signWord } from "../base/coverage";
import { plural, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { visible } from "../base/visible";
import { Search, Select } from "../widgets/field";
import { Icon } from "../widgets/icons";
import { CommitLink, Page, Section } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";
import { Fill, useFills, type FillContext } from "./coverage_fills";

const ROWS = 100;
const FILLS = 10;
const COMMITS = ["25", "50", "100", "200", "500"];
const SIGNS: Readonly<Record<string, string>> = { x: "measured", "!": "broken", "-": "missing", ".": "early" };
const LEGEND = ["x", "!", "-", "."];

function Legend() {
  return (
    <ul class="legend coverage-legend" aria-label="Legend">
      {LEGEND.map((s) => <li key={s}><i class={`coverage-${SIGNS[s] ?? ""}`} aria-hidden="true">{s}</i>{signWord(s)}{s === "-" ? ": measured at an older commit" : s === "!" ? ": ran, without a value" : ""}</li>)}
    </ul>
  );
}

function GridRow(props: { row: CoverageRow; commits: readonly CoverageCommit[]; open: boolean }) {
  const { row, commits } = props;
  const gaps = gapsOf(row.cells);
  return (
    <tr class={props.open ? "current" : ""}>
      <th scope="row">
        <span class="bench">
          <a href={href.series(row.series_id)}>{row.benchmark}</a>
          <small>{row.backend} {"\u00b7"} {row.machine_class}</small>
        </span>
        {gaps.length > 0 && <button type="button" class="link" aria-expanded={props.open} title={sayRow(row.cells)}
          aria-label={`${plural(gaps.length, "gap")} of ${visible(row.benchmark)} on ${visible(row.backend)}, ${visible(row.machine_class)}`}
          onClick={() => setQuery({ row: props.open ? null : row.series_id }, true)}>{plural(gaps.length, "gap")}</button>}
      </th>
      {runsOf(row.cells).map((run) => {
        const said = sayRun(run, commits);
        return (
          <td key={run.from} colSpan={run.to - run.from + 1} class={`coverage-${SIGNS[run.sign] ?? "early"}`} title={said}>
            <span aria-hidden="true">{run.sign.repeat(run.to - run.from + 1)}</span><span class="sr-only">{said}</span>
          </td>
        );
      })}
    </tr>
  );
}

function Grid(props: { project: string; rows: readonly CoverageRow[]; commits: readonly CoverageCommit[]; open: number }) {
  return (
    <div class="heat-box coverage-box" tabIndex={0} role="region" aria-label="Coverage of the benchmarks by commit">
      <table class="heat coverage">
        <caption class="sr-only">Benchmarks by commit, the newest commit first</caption>
        <thead>
          <tr>
            <th scope="col">Benchmark</th>
            {props.commits.map((c) => (
              <th key={c.id} scope="col"><a class="mono" href={href.commit(props.project, c.id)}
                title={`${visible(c.subject)}: ${c.measured} measured, ${c.missing} missing`}>{c.id.slice(0, 7)}</a></th>
            ))}
          </tr>
        </thead>
        <tbody>{props.rows.map((r) => <GridRow key={r.series_id} row={r} commits={props.commits} open={r.series_id === props.open} />)}</tbody>
      </table>
    </div>
  );
}

/** Every commit of the gaps of a row, with its subject; a missing one can be measured. */
function Gaps(props: { project: string; row: CoverageRow; commits: readonly CoverageCommit[]; fills: FillContext }) {
  const { row, commits } = props;
  const list = gapsOf(row.cells).flatMap((g) => commits.slice(g.from, g.to + 1).map((commit) => ({ commit, sign: g.sign })));
  return (
    <Section title={`Gaps of ${row.benchmark}`} side={<button type="button" class="button" onClick={() => setQuery({ row: null }, true)}>Close</button>}>
      <p class="count">{row.backend} {"\u00b7"} {row.machine_class}; {sayRow(row.cells)}</p>
      <Table caption={`Commits without a value of ${row.benchmark}`} rows={list} keyOf={(g) => g.commit.id} columns={[
        { name: "Commit", head: true, cell: (g) => <CommitLink project={props.project} id={g.commit.id} /> },
        { name: "Subject", cell: (g) => g.commit.subject },
        { name: "State", cell: (g) => signWord(g.sign) },
        { name: "Action", cell: (g) => (g.sign === "-" ? <Fill context={props.fills} commit={g.commit.id} machineClass={row.machine_class} />
          : <span class="muted">a repeated run may be broken, too: see the commit</span>) },
      ]} />
    </Section>
  );
}

function Fills(props: { project: string; reply: CoverageReply; context: FillContext }) {
  const { fills, commits } = props.reply;
  const [all, setAll] = useState(false);
  const shown = all ? fills : fills.slice(0, FILLS);
  const denied = mayMeasure();
  const subjects = new Map(commits.map((c) => [c.id, c.subject]));
  return (
    <Section title="Jobs that close most gaps">
      {fills.length === 0 ? <Empty title="No missing value can be measured"><p>Each benchmark has a value, or was broken, at every commit since its first one.</p></Empty> : (
        <>
          {denied && <p class="count"><Icon name="key" /> To queue a job, {denied}.</p>}
          <p class="count">A backfill job measures one commit when no other job waits{props.context.cost ? `: ${props.context.cost}` : ""}.</p>
          <Table caption="Backfill jobs, the most missing values first" rows={shown} keyOf={(f) => `${f.commit} ${f.machine_class}`} columns={[
            { name: "Commit", head: true, cell: (f) => <span class="bench"><CommitLink project={props.project} id={f.commit} /><small>{subjects.get(f.commit) ?? ""}</small></span> },
            { name: "Machine class", cell: (f) => f.machine_class },
            { name: "Closes", numeric: true, cell: (f) => plural(f.missing, "gap") },
            { name: "Action", cell: (f) => <Fill context={props.context} commit={f.commit} machineClass={f.machine_class} /> },
          ]} />
          {shown.length < fills.length && <p class="more"><button type="button" class="button" onClick={() => setAll(true)}>Show all {fills.length} commits</button></p>}
          {all && fills.length >= 100 && <p class="count">The first 100 are listed.</p>}
        </>
      )}
    </Section>
  );
}

function Never(props: { reply: CoverageReply }) {
  const { never } = props.reply;
  return (
    <Section title="Never measured">
      <p class="count">Other benchmarks of the same kernel have a value on this backend and class of machines.</p>
      {never.length === 0 ? <Empty title="No such benchmark" /> : (
        <>
          <Table caption="Benchmarks that were never measured" rows={never} keyOf={(n) => `${n.benchmark} ${n.backend} ${n.machine_class}`} columns={[
            { name: "Benchmark", head: true, cell: (n) => <span class="bench"><span>{n.benchmark}</span><small>{n.backend}</small></span> },
            { name: "Machine class", cell: (n) => n.machine_class },
          ]} />
          {never.length >= 100 && <p class="count">The first 100 are listed.</p>}
        </>
      )}
    </Section>
  );
}

function Filters(props: { rows: readonly CoverageRow[] }): ComponentChildren {
  const q = query.value;
  const known = (member: "backend" | "machine_class") => [...new Set([...props.rows.map((r) => r[member]), q.get(member) ?? ""])].filter((v) => v).sort();
  const options = (member: "backend" | "machine_class"): [string, string][] => [["", "all"], ...known(member).map((v): [string, string] => [v, v])];
  return (
    <div class="filters">
      <Select label="Newest commits" value={q.get("commits") ?? "50"} options={COMMITS.map((n): [string, string] => [n, n])} onChange={(v) => setQuery({ commits: v === "50" ? null : v, row: null })} />
      <Select label="Backend" value={q.get("backend") ?? ""} options={options("backend")} onChange={(v) => setQuery({ backend: v, row: null })} />
      <Select label="Machine class" value={q.get("machine_class") ?? ""} options={options("machine_class")} onChange={(v) => setQuery({ machine_class: v, row: null })} />
      <Search label="Full name of a benchmark" value={q.get("benchmark") ?? ""} onChange={(v) => setQuery({ benchmark: v.trim(), row: null }, true)} />
    </div>
  );
}

export function Coverage(props: { project: string }) {
  const q = query.value;
  const asked = q.get("commits") ?? "";
  const path = withQuery(`/projects/${encodeURIComponent(props.project)}/coverage`, {
    commits: COMMITS.includes(asked) ? asked : "50", backend: q.get("backend"), machine_class: q.get("machine_class"), benchmark: q.get("benchmark"), limit: ROWS });
  const { load, more, loadingMore } = usePages<CoverageReply, CoverageReply>(path, (r) => [r], ["run"]);
  const fills = useFills(props.project);
  const rows = load.state === "data" ? load.data.flatMap((r) => r.rows) : [];
  const open = rows.find((r) => String(r.series_id) === q.get("row"));
  return (
    <Page title="Coverage" lead="Which benchmarks were measured at which commits of the branch, the newest commit first.">
      <Filters rows={rows} />
      <View load={load} what="the coverage">
        {([reply]) => !reply || rows.length === 0 ? <Empty title={q.get("benchmark") || q.get("backend") || q.get("machine_class") ? "No benchmark fits these filters" : "No benchmark was measured on this branch"} /> : (
          <>
            <p class="count" role="status">Branch {reply.branch}, {plural(reply.commits.length, "commit")}{reply.commits[0] ? ` from ${shortId(reply.commits[0].id)} back` : ""}; {plural(rows.length, "row")}{more ? ", more below" : ""}</p>
            <Legend />
            <Grid project={props.project} rows={rows} commits={reply.commits} open={open?.series_id ?? 0} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
            {open && <Gaps project={props.project} row={open} commits={reply.commits} fills={fills} />}
            <Fills project={props.project} reply={reply} context={fills} />
            <Never reply={reply} />
          </>
        )}
      </View>
    </Page>
  );
}
