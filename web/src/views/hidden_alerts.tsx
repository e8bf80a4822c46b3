/* How many open alerts suppression rules hide, and which rule hides how many. Nothing while no rule hides any. */
import { hiddenPath } from "../api/overview";
import type { Suppression } from "../api/suppressions";
import { useApi } from "../api/use";
import { formatWhen, parseTime, plural } from "../base/format";
import { matcherText } from "../base/matcher";
import { href } from "../base/route";
import { Icon } from "../widgets/icons";

const LISTED = 5;

export function HiddenAlerts(props: { project: string | null }) {
  const load = useApi<{ suppressions: Suppression[] }>(
    props.project === null ? null : hiddenPath(props.project), ["alert"]);
  if (props.project === null || load.state !== "data") return null;
  const project = props.project;
  const hiding = load.data.suppressions.filter((r) => r.hidden > 0).sort((a, b) => b.hidden - a.hidden);
  const total = hiding.reduce((sum, r) => sum + r.hidden, 0);
  if (total === 0) return null;
  return (
    <details class="moved hidden-alerts">
      <summary><Icon name="alert" /> {plural(total, "alert")} hidden by {plural(hiding.length, "suppression rule")}</summary>
      <ul>{hiding.slice(0, LISTED).map((r) => (
        <li key={r.id}><a href={href.suppressions(project, { rule: r.id })}>{r.hidden} by rule {r.id}</a> of {r.owner}: {matcherText(r)}; {r.reason}; until {formatWhen(parseTime(r.expires_at))}</li>
      ))}</ul>
      <p><a href={href.suppressions(project)}>All rules</a></p>
    </details>
  );
}
