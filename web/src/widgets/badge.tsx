/* Judgements and states as icon, word and tone together. */
import type { Alert, SeriesChange } from "../api/types";
import { formatChange } from "../base/format";
import { judgeChange, judgeState, judgeVerdict, readStatus, type Judgement } from "../base/verdict";
import { Icon } from "./icons";

export function Badge(props: { judged: Judgement; text?: string }) {
  const { judged } = props;
  const text = props.text ?? judged.word;
  return <span class={`badge tone-${judged.tone}`} {...(text.length > 32 ? { title: text } : {})}><Icon name={judged.icon} /><span>{text}</span></span>;
}

/** "−11.2 % regression"; "steady" where nothing changed. */
export function ChangeBadge(props: { change: Pick<SeriesChange, "rel_change" | "direction" | "status" | "alertable"> | null }) {
  if (!props.change) return <Badge judged={{ tone: "quiet", icon: "flat", word: "steady" }} />;
  const { rel_change: rel, direction } = props.change;
  const judged = judgeChange(direction, rel, readStatus(props.change));
  return <Badge judged={judged} text={`${formatChange(rel)} ${judged.word}`} />;
}

export function StateBadge(props: { state: string }) {
  return <Badge judged={judgeState(props.state)} />;
}

/** Subject of an alert: the size of its change, or that its benchmark is broken. */
export function AlertBadge(props: { alert: Pick<Alert, "kind" | "direction" | "rel_change">; words?: boolean }) {
  const a = props.alert;
  if (a.kind === "broken") return <Badge judged={judgeVerdict("broken", null)} />;
  return <Badge judged={judgeChange(a.direction, a.rel_change)} text={`${formatChange(a.rel_change)}${props.words ? ` ${a.direction}` : ""}`} />;
}

export function VerdictBadge(props: { verdict: string; rel: number | null }) {
  return <Badge judged={judgeVerdict(props.verdict, props.rel)} />;
}

/** "two speeds on bench-2": its values alternate there, whatever the code does. */
export function TwoSpeeds(props: { machines: readonly string[] | undefined }) {
  return <>{(props.machines ?? []).map((m) => <Badge key={m} judged={{ tone: "warn", icon: "question", word: `two speeds on ${m}` }} />)}</>;
}
