/* Quality of the alerts: precision by triage, and the time to triage, culprit and fix, by month and by kernel. */
import type { QualityReply, QualityRow } from "../api/quality";
import { useApi } from "../api/use";
import { formatCount, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { sayPrecision, sayStep, sayUndecided } from "../base/quality";
import { href, withQuery } from "../base/route";
import { Select } from "../widgets/field";
import { Page, Section } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table, type Column } from "../widgets/table";

const MONTHS = ["3", "6", "12", "24", "36"];
const STEPS = [["triage", "Time to triage"], ["culprit", "Time to culprit"], ["fix", "Time to fix"]] as const;

const pair = (value: string, more: string) => <span class="bench"><span>{value}</span><small>{more}</small></span>;

function columns<R extends QualityRow>(name: string, head: (row: R) => string): Column<R>[] {
  return [
    { name, head: true, cell: head },
    { name: "Alerts", numeric: true, cell: (r) => r.alerts },
    { name: "Precision", cell: (r) => { const said = sayPrecision(r); return pair(said.value, said.of); } },
    { name: "Not decided", cell: (r) => sayUndecided(r) },
    ...STEPS.map(([key, title]): Column<R> => ({ name: title, cell: (r) => { const said = sayStep(r[key], r.alerts); return pair(said.value, said.more); } })),
  ];
}

function Total({ row }: { row: QualityRow }) {
  const precision = sayPrecision(row);
  const card = (name: string, value: string, more: string) => (
    <div key={name} class="card quality-figure"><h2>{name}</h2><p class="metric-value">{value}</p><p class="muted">{more}</p></div>
  );
  return (
    <div class="cards quality-cards">
      {card("Precision", precision.value, precision.of)}
      {STEPS.map(([key, title]) => { const said = sayStep(row[key], row.alerts); return card(title, said.value, said.more); })}
    </div>
  );
}

function Words() {
  return (
    <details class="card"><summary>Meaning of these figures</summary>
      <ul class="reasons">
        <li>Confirmed: a person has acted on the alert, and its state is neither noise nor infrastructure. False alarm: its state is one of these. Precision: confirmed of both.</li>
        <li>Not decided: untriaged alerts; withdrawn ones, which the detector made noise or infrastructure; recovered ones, which the detector closed because the level came back.</li>
        <li>Times are from the opening of an alert: to the first change by a person, to the confirmation of the culprit by pairs of runs, to the state fixed, backed out or verified fixed. p90: nine in ten are at most so long. n: alerts that have the time; the others are counted as without.</li>
        <li>Alerts of broken benchmarks are not counted. Months are in UTC, by the opening of the alert.</li>
      </ul>
    </details>
  );
}

export function Quality(props: { project: string }) {
  const asked = query.value.get("months") ?? "";
  const months = MONTHS.includes(asked) ? asked : "12";
  const load = useApi<QualityReply>(withQuery(`/projects/${encodeURIComponent(props.project)}/quality`, { months }), ["alert"]);
  return (
    <Page title="Quality of the alerts" lead={<>How triage judged the alerts of {props.project}, and how long each step took.</>}>
      <div class="filters"><Select label="Months" value={months} options={MONTHS.map((m): [string, string] => [m, `the last ${m}`])} onChange={(v) => setQuery({ months: v === "12" ? null : v })} /></div>
      <View load={load} what="the quality of the alerts">
        {(q) => q.total.alerts === 0 ? <Empty title={`No alert was opened in the last ${plural(q.months, "month")}`} /> : (
          <>
            <p class="count" role="status">{plural(q.total.alerts, "alert")}: {q.total.confirmed} confirmed, {plural(q.total.false_alarms, "false alarm")}; not decided: {sayUndecided(q.total)}. {q.total.untriaged > 0 && <a href={href.alerts(props.project)}>Open alerts</a>}</p>
            {q.truncated && <p class="stale" role="status">Only the newest {formatCount(q.total.alerts)} alerts of these months are counted.</p>}
            <Total row={q.total} />
            <Section title="By month"><Table className="quality" caption="Quality by month" rows={q.by_month} keyOf={(r) => r.month} columns={columns<QualityReply["by_month"][number]>("Month", (r) => r.month)} /></Section>
            <Section title="By kernel">
              <Table className="quality" caption="Quality by kernel" rows={q.by_kernel} keyOf={(r) => r.kernel} columns={columns<QualityReply["by_kernel"][number]>("Kernel", (r) => r.kernel)} />
              {q.more_kernels && <p class="count">The {q.by_kernel.length} kernels with most alerts are listed.</p>}
            </Section>
            <Words />
          </>
        )}
      </View>
    </Page>
  );
}
