/* Measurements of a session on both sides of a change. */
import type { Alert, BlocksEvidence } from "../api/types";
import { formatP, formatShare } from "../base/format";
import { href } from "../base/route";
import { CommitLink, Facts } from "../widgets/parts";
import { intervalText, placeText } from "./night_text";

export function NightLink(props: { project: string; blocks: BlocksEvidence }) {
  const { session, commit } = props.blocks;
  return <a href={href.night(props.project, session, { commit: commit.slice(0, 12) })}>night {session.slice(0, 8)}</a>;
}

/** Nothing for alerts that rest on single measurements. */
export function BlockEvidence(props: { alert: Alert }) {
  const { project, blocks: b } = props.alert;
  if (!b) return null;
  return (
    <>
      <p class="block-evidence">Blocks: both sides were measured together.</p>
      <Facts facts={[
        ["Night", <NightLink project={project} blocks={b} />], ["Commit", <CommitLink project={project} id={b.commit} />],
        ["Against", <CommitLink project={project} id={b.against} />], ["Rounds", String(b.rounds)],
        ["Test", b.test], ...(placeText(b) ? [["Place", placeText(b)] as const] : []),
        ["Interval", intervalText(b.rel_low, b.rel_high)], ["p", `${formatP(b.p)}, adjusted ${formatP(b.p_adjusted)}`],
        ...(b.margin === null ? [] : [["Margin", formatShare(b.margin)] as const]),
      ]} />
    </>
  );
}
