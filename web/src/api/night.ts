/* The documents of sessions: builds measured together on one machine in blocks, member for member. */
import type { BlocksTest, WhyNoAlert } from "./types";

export type NightStatus = "measured" | "identical" | "broken" | "not_measured";
export type NightVerdict = "slower" | "faster" | "same" | "undecided" | "identical" | "broken" | "not_measured";

/** The largest change of a commit, over the session's series. */
export interface NightWorst {
  benchmark: string; metric: string; backend: string; rel_change: number; rel_low: number; rel_high: number;
  series_id: number; alert_id: number | null;
}
export interface NightCommit {
  commit: string; status: NightStatus; reason: string | null; same_as: string | null; verdict: NightVerdict;
  within: number | null; /* relative, of same */ needs_s: number | null; /* of undecided: seconds; null: not known */
  worst: NightWorst | null;
}
export interface Night {
  id: string; branch: string; anchor: string; base: string; machine_class: string; machine: string; started_at: string;
  finished_at: string; budget_s: number; /* 0: no limit */ spent_s: number; blocks: number; note: string | null; commits: NightCommit[];
}
/** A build's level against the anchor's. */
export interface NightBuild {
  commit: string; median: number | null; visits: number; ratio: number | null; ratio_low: number | null; ratio_high: number | null;
}
/** A build against its predecessor in the session. */
export interface NightBoundary {
  commit: string; against: string; place_after: string; place_until: string; test: BlocksTest;
  screen_p: number | null; /* of a step just here, by the fit: directs the planner, no evidence */ verdict: "regression" | "improvement" | "same" | "undecided"; rel_change: number | null;
  rel_low: number | null; rel_high: number | null; p: number | null; p_adjusted: number | null; rounds: number;
  needs_rounds: number; /* more, that are likely to decide it; 0: decided */ alert_id: number | null;
}
export interface NightSeries {
  series_id: number; benchmark: string; metric: string; backend: string; machine_class: string; unit: string;
  higher_is_better: boolean; exact: boolean; judged: boolean; /* false: a rule of the project leaves it out */
  margin_rel: number; noise_rel: number | null; rounds: number; builds: NightBuild[]; boundaries: NightBoundary[];
}
export interface NightDetail extends Night { series: NightSeries[] }
export interface NightsReply { sessions: Night[]; next_cursor?: string | number | null }

/** A candidate change from single runs: both sides are to be measured in blocks. */
export interface Candidate {
  id: number; series_id: number; benchmark: string; metric: string; backend: string; machine_class: string; branch: string;
  against: string; commit: string; rel_change: number; p: number | null; why_no_alert: WhyNoAlert;
}
