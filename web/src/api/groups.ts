/* Groups of alerts: the unit of triage. */
import type { Alert, GroupMember } from "./types";

export interface WorstSeries {
  alert_id: number; series_id: number; benchmark: string; metric: string; backend: string; machine_class: string; unit: string;
  better: string; before: number | null; after: number | null; /* its levels */ rel_change: number | null; rel_low: number | null; rel_high: number | null;
}
/** The issue at the forge, which a person asks for. */
export interface GroupIssue {
  forge: string; repo: string; number: number | null; url: string; state: "waiting" | "open" | "closed" | "gone"; trouble: string | null;
  asked_at: string; asked_by: string | null;
}
export interface Group {
  id: number; project: string; branch: string; direction: string; alerts: number; series: number; measured: number; summary: string;
  state: string; states: Record<string, number>; worth: number | null; rel_least: number | null; rel_most: number | null; placed: boolean;
  /** Alerts that a suppression rule hides. */
  suppressed: number;
  /** The names of all its alerts, separated by one space. */
  owner: string | null; assignee: string | null; opened_first: string; opened_last: string; updated_at: string; spark: (number | null)[];
  issue: GroupIssue | null; worst: WorstSeries; lead: Alert;
}
/** Series that one commit has made better. It needs no triage and has no state. */
export interface Improvement {
  project: string; branch: string; direction: string; commit: string; subject: string; author: string; series: number; summary: string;
  rel_least: number; rel_most: number; opened_first: string; opened_last: string; spark: (number | null)[];
  best: Omit<WorstSeries, "alert_id">;
}
export interface GroupsReply { groups: Group[]; improvements: Improvement[]; next_cursor?: number | null }
export interface GroupStep { at: string; actor: string | null; from: string | null; to: string; reason: string; culprit: string | null; alerts: number }
export interface GroupDetail extends Group { members: GroupMember[]; history: GroupStep[] }
/** A change of several groups; `seen` is the state that the page has shown, against which the server checks. */
export interface GroupsChange {
  groups: { id: number; seen: string }[]; state?: string; reason?: string; assignee?: string; accept?: boolean;
}

/** The project's rules of ownership; the texts are empty to a request without a token. */
export interface OwnersReply { rules: string; codeowners: { path: string; commit: string; text: string } | null }

/** Names in rules and CODEOWNERS, whose lines are PATTERN OWNER..., and "none" for alerts without an owner. */
export function ownersOf(reply: OwnersReply | null): string[] {
  const lines = `${reply?.rules ?? ""}\n${reply?.codeowners?.text ?? ""}`.split("\n").map((l) => l.replace(/(^|\s)#.*$/, "").trim());
  const names = lines.filter((l) => l !== "" && !/^\^?\[/.test(l)).flatMap((l) => l.split(/\s+/).slice(1));
  return ["none", ...[...new Set(names)].sort()];
}
