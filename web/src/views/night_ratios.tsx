/* The builds of a night against its anchor, for one series: picture and table. */
import type { NightBuild, NightDetail, NightSeries } from "../api/night";
import { RatioPlot, type RatioRow } from "../charts/ratios";
import { formatRatio, formatShare, formatValue, plural, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { judgeNight, type Tone } from "../base/verdict";
import { Select } from "../widgets/field";
import { CommitLink, Section } from "../widgets/parts";
import { Empty } from "../widgets/state";
import { Table } from "../widgets/table";
import { seriesLink, type Subjects } from "./night";
import { seriesKey, seriesName } from "./night_text";
import { Visits } from "./night_visits";

/** Largest decided change of a series; the series that is shown first has the largest of all. */
function size(s: NightSeries): number {
  return Math.max(0, ...s.boundaries.map((b) => (b.verdict === "same" || b.verdict === "undecided" ? 0 : 1) + Math.min(0.99, Math.abs(b.rel_change ?? 0))));
}

export function chosenSeries(night: NightDetail, key: string | null): NightSeries | undefined {
  return night.series.find((s) => seriesKey(s) === key) ?? [...night.series].sort((a, b) => size(b) - size(a))[0];
}

/** Role of a build in its session: "anchor", "last judged", or its verdict against the build before. */
function roleOf(night: NightDetail, s: NightSeries, build: NightBuild): { word: string; tone: Tone } {
  const words = [build.commit === night.anchor ? "anchor" : "", build.commit === night.base ? "last judged" : ""].filter((t) => t);
  if (words.length > 0) return { word: words.join(", "), tone: "quiet" };
  const judged = judgeNight(s.boundaries.find((b) => b.commit === build.commit)?.verdict ?? "not_measured");
  return { word: judged.word, tone: judged.word === "same" ? "info" : judged.tone };
}

export function Ratios(props: { project: string; night: NightDetail; subjects: Subjects }) {
  const { night, project } = props;
  const s = chosenSeries(night, query.value.get("series"));
  if (!s) return null;
  const rows = s.builds.map((b): RatioRow => ({ name: shortId(b.commit), ratio: b.ratio, low: b.ratio_low, high: b.ratio_high, ...roleOf(night, s, b) }));
  const key = seriesKey(s);
  return (
    <Section title="Ratio to the anchor" side={<a href={seriesLink(s)}>Open the series</a>}>
      <div class="filters">
        <Select label="Series" value={key} options={night.series.map((o): [string, string] => [seriesKey(o), seriesName(o)])} onChange={(v) => setQuery({ series: v }, true)} />
      </div>
      <p class="muted under-filters">{s.higher_is_better ? "More" : "Less"} is better. {plural(s.rounds, "round")}{s.exact ? ", exact" : s.noise_rel === null ? "" : `, noise of a visit \u00b1${formatShare(s.noise_rel)}`}. Bars: 95 % intervals.</p>
      {rows.every((r) => r.ratio === null) ? <Empty title="No ratio: the anchor has no value here" />
        : <div class="chart-card"><RatioPlot rows={rows} anchor={shortId(night.anchor)} label={`Ratios of ${plural(rows.length, "build")} to the anchor ${shortId(night.anchor)}; the table below holds the same numbers.`} /></div>}
      <details class="section points">
        <summary><h3>All {plural(rows.length, "build")} as a table</h3></summary>
        <Table caption={`Builds of ${seriesName(s)}, in the order of history`} rows={s.builds} keyOf={(b) => b.commit} columns={[
          { name: "Commit", head: true, cell: (b) => <span class="bench"><CommitLink project={project} id={b.commit} /><small>{props.subjects.get(b.commit)}</small></span> },
          { name: "Role", cell: (b) => roleOf(night, s, b).word },
          { name: "Median", numeric: true, cell: (b) => formatValue(b.median, s.unit) },
          { name: "Ratio", numeric: true, cell: (b) => formatRatio(b.ratio) },
          { name: "Interval", numeric: true, cell: (b) => (b.ratio_low === null ? "\u2013" : `${formatRatio(b.ratio_low)} to ${formatRatio(b.ratio_high)}`) },
          { name: "Visits", numeric: true, cell: (b) => b.visits },
        ]} />
      </details>
      <Visits key={key} project={project} night={night} series={s} />
    </Section>
  );
}
