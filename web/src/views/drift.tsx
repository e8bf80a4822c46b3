/* A drift: size, slope and start. It has no culprit. */
import type { Alert, Drift } from "../api/types";
import { formatChange, plural } from "../base/format";
import { href } from "../base/route";
import { Command, CommitLink, Facts } from "../widgets/parts";

/** Two figures that count at least: 0.31 % a week, 0.045 % a commit. */
function fine(rel: number): string {
  const percent = 100 * rel;
  const digits = Math.abs(percent) >= 1 ? 1 : Math.abs(percent) >= 0.1 ? 2 : 3;
  return `${percent < 0 ? "\u2212" : "+"}${Math.abs(percent).toFixed(digits)}\u00a0%`;
}

function Slope(props: { drift: Drift }) {
  const d = props.drift;
  if (d.rel_per_week === null) return <>not known: the commits’ times do not tell</>;
  const ends = d.rel_per_week_low !== null && d.rel_per_week_high !== null ? ` (${fine(d.rel_per_week_low)} to ${fine(d.rel_per_week_high)})` : "";
  return <>{fine(d.rel_per_week)} a week{ends}{d.rel_per_commit !== null && <>, {fine(d.rel_per_commit)} a commit</>}</>;
}

/** The range of a drift, as short as a list needs it. */
export function DriftRange(props: { project: string; drift: Drift }) {
  const d = props.drift;
  return <><CommitLink project={props.project} id={d.first} /> to <CommitLink project={props.project} id={d.last} /></>;
}

export function DriftCard(props: { alert: Alert; drift: Drift }) {
  const { alert, drift } = props;
  const r = drift.reference;
  return (
    <>
      <p>A drift has no single culprit: the level changes in many steps, each too small to be detected.</p>
      <Facts facts={[
        ["Range", <><DriftRange project={alert.project} drift={drift} />: {plural(drift.commits, "commit")}{drift.weeks !== null && <> in {drift.weeks.toFixed(1)} weeks</>}</>],
        ["Total", `${formatChange(alert.rel_change)} (${formatChange(alert.rel_low)} to ${formatChange(alert.rel_high)})`],
        ["Slope", <Slope drift={drift} />],
        ["Since the last release", r ? <>{r.tag} (<CommitLink project={alert.project} id={r.commit} />): {formatChange(r.rel_change)} ({formatChange(r.rel_low)} to {formatChange(r.rel_high)})</>
          : "no release tag with enough points around it"],
      ]} />
      <dl class="commands">
        <dt>Measure both ends of the range interleaved on your machine</dt>
        <dd><Command text={`perfci repro alert:${alert.id}`} what="Command: measure both ends" /></dd>
        <dt>Compare both ends of the range in this browser</dt>
        <dd><a href={href.compare(alert.project, drift.first, drift.last)}>Compare both ends</a></dd>
      </dl>
    </>
  );
}
