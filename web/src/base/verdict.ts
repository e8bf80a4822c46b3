/* Words, tones and icons for every verdict and state: colour alone never carries information. */

export type Tone = "bad" | "good" | "warn" | "info" | "quiet";
export type IconName = "down" | "up" | "flat" | "question" | "alert" | "check" | "clock" | "dot" | "cross" | "branch";

export interface Judgement {
  tone: Tone;
  icon: IconName;
  word: string;
}

/** `direction` is the judgement ("regression" | "improvement"), the sign says where the arrow points. */
export function judgeChange(direction: string, relChange: number, status?: string): Judgement {
  const icon: IconName = relChange < 0 ? "down" : "up";
  const watching = status === "provisional" ? "watching: " : "";
  if (direction === "regression") return { tone: watching ? "warn" : "bad", icon, word: `${watching}regression` };
  if (direction === "improvement") return { tone: "good", icon, word: `${watching}improvement` };
  return { tone: "quiet", icon: "flat", word: "steady" };
}

/** The status on view: a change that has an alert is confirmed, not "watching". */
export function readStatus(change: { status: string; alertable?: boolean }): string {
  return change.alertable ? "confirmed" : change.status;
}

export function judgeVerdict(verdict: string, relChange: number | null): Judgement {
  if (verdict === "regression" || verdict === "improvement") return judgeChange(verdict, relChange ?? 0);
  if (verdict === "broken") return { tone: "bad", icon: "cross", word: "broken" };
  if (verdict === "same") return { tone: "quiet", icon: "flat", word: "same" };
  return { tone: "warn", icon: "question", word: "inconclusive" };
}

export const ALERT_STATES = [
  "untriaged", "acknowledged", "investigating", "fixed", "backed_out", "wont_fix", "noise", "infrastructure",
  "duplicate", "verified_fixed",
] as const;

const STATES: Record<string, Judgement> = {
  untriaged: { tone: "bad", icon: "alert", word: "untriaged" },
  acknowledged: { tone: "warn", icon: "dot", word: "acknowledged" },
  investigating: { tone: "warn", icon: "clock", word: "investigating" },
  fixed: { tone: "good", icon: "check", word: "fixed" },
  backed_out: { tone: "good", icon: "check", word: "backed out" },
  verified_fixed: { tone: "good", icon: "check", word: "verified fixed" },
  wont_fix: { tone: "quiet", icon: "cross", word: "won\u2019t fix" },
  noise: { tone: "quiet", icon: "flat", word: "noise" },
  infrastructure: { tone: "quiet", icon: "flat", word: "infrastructure" },
  duplicate: { tone: "quiet", icon: "branch", word: "duplicate" },
  queued: { tone: "quiet", icon: "clock", word: "queued" },
  leased: { tone: "info", icon: "dot", word: "running" },
  done: { tone: "good", icon: "check", word: "done" },
  failed: { tone: "bad", icon: "cross", word: "failed" },
  cancelled: { tone: "quiet", icon: "cross", word: "cancelled" },
  found: { tone: "bad", icon: "check", word: "culprit found" },
  range: { tone: "warn", icon: "dot", word: "narrowed to a range" },
  "no-regression": { tone: "good", icon: "check", word: "no regression" },
  inconclusive: { tone: "warn", icon: "question", word: "inconclusive" },
  ok: { tone: "good", icon: "check", word: "ok" },
  broken: { tone: "bad", icon: "cross", word: "broken" },
  skipped: { tone: "quiet", icon: "flat", word: "skipped" },
};

export function judgeState(state: string): Judgement {
  return STATES[state] ?? { tone: "quiet", icon: "dot", word: state.replace(/_/g, " ") };
}

const NIGHT: Record<string, Judgement> = {
  slower: { tone: "bad", icon: "alert", word: "slower" },
  faster: { tone: "good", icon: "check", word: "faster" },
  same: { tone: "quiet", icon: "flat", word: "same" },
  undecided: { tone: "warn", icon: "question", word: "undecided" },
  identical: { tone: "quiet", icon: "flat", word: "identical" },
  broken: { tone: "bad", icon: "cross", word: "broken" },
  not_measured: { tone: "quiet", icon: "dot", word: "not measured" },
};

/** A commit's verdict in a session; `regression` and `improvement` are those of one boundary of one series. */
export function judgeNight(verdict: string): Judgement {
  const alike: Record<string, string> = { regression: "slower", improvement: "faster" };
  return NIGHT[alike[verdict] ?? verdict] ?? { tone: "quiet", icon: "dot", word: verdict.replace(/_/g, " ") };
}
