/* The documents of the HTTP API (server/API.md), member for member; those of sessions are in night.ts. */
import type { ComparedCode } from "./compared_code";

export interface Project {
  name: string; branch: string; repo_url: string | null; commits: number; runs: number; alerts_open: number; groups_open: number; /* groups of those alerts */
  last_run_at: string | null;
}
export interface ProjectDetail extends Project {
  standing: {
    level: "bad" | "warn" | "good"; sentence: string;
    alerts: { open: number; groups: number; new_groups: number; regression: number; broken: number; drift: number; toolchain: number; harness: number };
    new_since: "night" | "day"; broken_builds: number; silent_runners: number;
    headline: { series: number; regressed: number; watching: number; improved: number; unchanged: number };
  };
}
export interface Commit {
  id: string; parents: string[]; author: string; time: string; subject: string; position: number; runs: number;
  alerts: number; tags?: string[]; releases?: string[]; /* those of the tags that are versions */
}
export interface CommitValue {
  series_id: number; benchmark: string; metric: string; backend: string; unit: string; direction: string;
  median: number; low: number | null; high: number | null; n: number; parent_median: number | null;
  rel_change: number | null; rel_low: number | null; rel_high: number | null; p: number | null; p_adjusted: number | null;
  margin_rel: number | null; verdict: string | null; alert_id?: number | null; why_no_alert?: WhyNoAlert | null;
}
export interface RunRow {
  run_id: number; id: string; commit: string; suite: string; machine_class: string; started_at: string;
  measurements: number; infra: boolean; unsandboxed?: boolean; /* without isolation */ extra?: boolean; quarantined?: boolean; reproducibility?: string | null; session?: string | null; /* measured in blocks, with others */
}
export interface CommitDetail extends Omit<Commit, "runs"> { paths: string[]; runs: RunRow[]; values: CommitValue[];
  against_parent: { commit: string; margin_rel: number; summary: CompareReply["summary"] } | null;
  broken?: BrokenHere[];
  changes?: CommitChange[];
}
export interface BrokenHere { benchmark: string; metric: string; backend: string; machine_class: string; reason: string; run_id: number }
/* Why a change has no alert; null: it has one. */
export interface WhyNoAlert { code: string; sentence: string }
/* Verdict of a session's blocks on a change. */
/* order: the random order of many builds within blocks; pairs: the rounds of the two builds */
export type BlocksTest = "order" | "pairs";
export interface BlocksEvidence {
  kind: "blocks"; session: string; against: string; commit: string; place_after: string; place_until: string; test: BlocksTest; verdict: "different" | "same"; rounds: number;
  rel_low: number | null; rel_high: number | null; margin: number | null; p: number | null; p_adjusted: number | null;
}
export interface CommitChange {
  series_id: number; benchmark: string; metric: string; backend: string; machine_class: string; branch: string; rel_change: number;
  rel_low: number; rel_high: number; p: number | null; direction: string; status: string; alertable: boolean; alert_id: number | null; why_no_alert: WhyNoAlert | null;
}
export interface SeriesChange { rel_change: number; direction: string; status: string; alertable?: boolean; commit: string; alert_id?: number | null; why_no_alert?: WhyNoAlert | null }
export interface Series {
  id: number; project?: string; benchmark: string; metric: string; backend: string; machine_class: string;
  branch: string; unit: string; direction: string; exact: boolean; headline: boolean; points: number;
  last: { commit: string; time: string; median: number } | null; change: SeriesChange | null;
  noise_rel: number | null; watching?: number; watching_of?: number; reason?: string | null; anchor?: string | null; two_speeds?: string[]; /* machines */
  detectable_rel?: number | null; points_for_1pct?: number | null; judged?: boolean;
  spark?: (number | null)[];
}
export interface SeriesColumns {
  commit: string[]; time: (string | number)[]; subject: (string | null)[]; author: (string | null)[];
  position: (number | null)[]; median: (number | null)[]; low: (number | null)[]; high: (number | null)[];
  min: (number | null)[]; max?: (number | null)[]; n: number[]; run_id: (number | null)[];
  fingerprint: (string | null)[]; infra: boolean[];
  /* to the anchor; null where a point has none */
  ratio?: (number | null)[]; ratio_low?: (number | null)[]; ratio_high?: (number | null)[]; session?: (string | null)[];
  reproducibility?: (string | null)[]; /* exact, confirmed, single; null: a bucket of several */
}
export interface ChangePoint {
  index: number; index_low: number; index_high: number; commit: string; commit_low: string; commit_high: string;
  before: number; after: number; rel_change: number; rel_low: number; rel_high: number; p: number;
  direction: string; status: string; alertable?: boolean; alert_id: number | null; why_no_alert?: WhyNoAlert | null;
  blocks?: BlocksEvidence | null;
}
export interface Boundary { index: number; fields: string[] }
export interface SeriesReply {
  series: Series; columns: SeriesColumns; changes: ChangePoint[]; boundaries: Boundary[]; bucketed: boolean; hidden?: number; /* results in quarantine */
  broken?: { commit: string; position: number; subject: string; time: string; reason: string; run_id: number }[];
}
export interface ReplayedChange {
  position: number; position_low: number; position_high: number; commit: string; before: number; after: number;
  rel_change: number; rel_low: number; rel_high: number; p: number; direction: string; status: string;
}
export interface ReplayReply {
  series_id: number; points: number; noise_rel: number | null; watching: number; watching_odds: number | null; changes: ReplayedChange[];
}
export interface CompareSide { median: number | null; low: number | null; high: number | null; n: number; reproducibility?: string | null; series_id?: number | null; backend?: string | null }
export interface CompareRow {
  series_id: number | null; benchmark: string; metric: string; backend: string; unit: string; direction: string; a: CompareSide;
  b: CompareSide; rel_change: number | null; rel_low: number | null; rel_high: number | null; p: number | null; p_adjusted: number | null; margin_rel: number;
  verdict: string; noise_rel: number | null; fingerprint_differs: string[]; machine_class?: string;
  broken?: string[]; reason?: string | null; reproducibility?: string | null; more_runs?: number | null; /* a side, that are expected to decide it */
  between_rel?: number | null; /* noise between runs of the series */ machine_moved?: boolean; /* one side has no other runs */
}
/* Differences between the two machines; null: not recorded. */
export interface Differing { field: string; a: string | null; b: string | null }
export interface OnlyRow { benchmark: string; metric: string; backend: string }
/* kind, how: which thing the end named, and how its commit was found */
export interface CompareEnd { commit: string; runs: (number | string)[]; hidden?: number; kind?: string; how?: string }
/* Geometric mean over the rows of a kernel, backend and metric; left_out: rows without a ratio. */
export interface CompareMean {
  kernel: string; backend: string; metric: string; unit: string; direction: string; rel_change: number | null; n: number; left_out: number; regressions: number; improvements: number;
}
export interface CompareReply extends ComparedCode {
  a: CompareEnd; b: CompareEnd;
  between?: { branch: string | null; commits: number | null; backwards: boolean; sentence: string }; means?: CompareMean[];
  margin_rel: number; differs?: Differing[]; across?: boolean; rows: CompareRow[]; only_a: (OnlyRow | string)[]; only_b: (OnlyRow | string)[];
  summary: { regression: number; improvement: number; same: number; inconclusive: number; broken?: number };
}
export interface Alert {
  id: number; project: string; series_id: number; benchmark: string; metric: string; backend: string;
  machine_class: string; unit: string; state: string; direction: string; before: number; after: number;
  rel_change: number; rel_low: number; rel_high: number; p: number; commit: string | null; /* null: of a drift */ commit_low: string;
  commit_high: string; culprit: string | null; created_at: string; updated_at: string; note: string | null;
  accepted?: boolean; undone_by?: string | null; group_id?: number | null; group?: AlertGroup | null; evidence?: string; two_speeds?: string[]; blocks?: BlocksEvidence | null; worth?: number; kind?: string; reason?: string | null;
  event_id?: number | null; suspect?: { commit: string; subject: string | null; author: string | null; named: boolean; bisection_id?: number | null } | null;
  title?: string; drift?: Drift | null; reproducibility?: string | null; hidden?: number; /* results of its series in quarantine */
  boundary?: { name: string; before: string | null; now: string | null }[] | null; /* of kind toolchain, harness */
  owner?: string | null; /* names, separated by one space */
  suppression?: { id: number; owner: string; reason: string; expires_at: string } | null; /* the rule that hides it */
}
/* Of an alert of kind drift, which has no culprit: its range, its slope, and the change since the last release. */
export interface Drift {
  first: string; last: string; commits: number; weeks: number | null; rel_per_week: number | null; rel_per_week_low: number | null;
  rel_per_week_high: number | null; rel_per_commit: number | null;
  reference: { tag: string; commit: string; rel_change: number; rel_low: number; rel_high: number } | null;
}
/* A machine whose speed changed: seen in its canary, or (kind step) in most of its series. Or a fault of the installation,
   which has no runs and whose sentence is its cause. */
export interface MachineEvent {
  id: number; project: string; kind: string; machine_class: string | null; machine: string | null; runs?: number;
  first_commit?: string | null; last_commit?: string | null; opened_at: string; closed_at: string | null;
  loss?: number; series?: number; moved?: number; judged?: number; reasons?: string[]; cause?: string;
  dismissed_by?: string | null; dismissed_reason?: string;
}
export interface Witness {
  series_id: number; metric: string; backend: string; machine_class: string; unit: string; exact: boolean;
  rel_change: number | null; moved: string;
}
export interface AlertGroup { id: number; series: number; measured: number; summary: string }
export interface AlertStep { at: string; actor: string | null; from: string | null; to: string | null; reason: string | null; culprit?: string | null }
export interface RangeCommit {
  id: string; author?: string; time?: string; subject?: string; measured: boolean; probability?: number | null;
}
export interface GroupMember {
  id: number; series_id: number; benchmark: string; metric: string; backend: string; machine_class: string;
  rel_change: number | null; rel_low: number | null; rel_high: number | null; state: string;
}
/** Size of a change, by measurement method. */
export interface Effect {
  source: string; bisection_id: number | null; commit: string | null; rel_change: number; rel_low: number; rel_high: number; n: number;
}
export interface AlertDetail extends Alert {
  effects?: Effect[]; effects_differ?: string | null; history: AlertStep[]; range: RangeCommit[]; witnesses?: Witness[]; members?: GroupMember[] }
export interface Suspect {
  kind: string; probability: number; ruled_out: boolean; reasons: string[]; commit?: string; subject?: string | null;
  author?: string | null; time?: string | null; measured?: boolean; field?: string; before?: string | null; now?: string | null;
}
export interface SuspectsReply { alert_id: number; culprit: string | null; suspects: Suspect[]; series: number; sources: number; project: string; kind?: string; title?: string; reason?: string | null; drift?: Drift | null }
/** Seconds until a queued job begins: median, and the range that holds in four of five cases. */
export interface JobWait { seconds: number; low: number; high: number }
export interface Job {
  id: number; project: string; kind: string; state: string; commit: string; priority: number; tries: number;
  runner: string | null; position: number | null; expected_wait?: JobWait | null; wait_reason?: string | null; reason: string | null; progress?: string | null; created_at: string;
  started_at: string | null; finished_at: string | null;
  branch?: string | null; suite?: string | null; labels?: Record<string, string>; cancel_requested?: boolean;
  session?: string | null; /* that it brought */
  rerun?: { rule: string; number: number; times: number; of: number | null } | null; /* the rule that made it */
  rerun_note?: string | null; /* what the rules did when it ended */
  reproducibility?: string | null; /* exact, confirmed or single: the least of its runs */
  unsandboxed?: boolean; /* one of its runs was measured without isolation */
  blocks?: JobBlocks | null; /* builds that are measured together, as one session */
}
export interface JobBlocks { commits: string[]; known?: string[]; base: string; anchors: string[]; budget_s: number; margin?: number; rounds?: number }
export interface Runner {
  name: string; project: string | null; machine_class: string; state: string; last_seen_at: string; job_id: number | null; labels: Record<string, string>;
  version: string | null; sandbox: string | null; results: number; alarm: string | null;
  drained_by: string | null; revoked_by: string | null;
  quarantine: { id: number; since: string; runs: number; actor: string; reason: string } | null; /* its results since then are hidden */
  spool: { documents: number; oldest_s: number | null; disk_free_bytes: number; reported_at: string } | null; /* null: never reported */
}
export interface Machine {
  machine_class: string; name: string; fingerprint_hash: string; fingerprint: Record<string, string>;
  changed: { name: string; before: string | null; now: string | null }[] | null; /* since the one before; null: the first */
  first_seen_at: string; last_seen_at: string; first_measured_at?: string | null; last_measured_at?: string | null; runs: number;
}
export interface Culprit { commits: string[]; probability: number; rel_change: number; rel_low: number; rel_high: number; unmeasurable?: boolean }
export interface BisectStep {
  commit: string; value: number | null; build: number; state?: string; runner?: string | null; run?: string | null; stored?: boolean;
  reason?: string | null; repro?: string; confirm?: boolean; /* of the new pairs that check the culprit */
}
export interface BisectCost {
  commits: number; stored_runs: number; runs: number | null; builds: number | null; run_seconds: number | null;
  wait_seconds: number | null; seconds: number | null; runners: number; jobs_waiting: number;
}
/** The posterior after each step; reason: why a report has no steps. */
export interface BisectionReplay {
  bisection_id: number; reason: string | null; commits_per_place: number; places: string[];
  steps: { n: number; commit: string; place: number; state: string; value: number | null; posterior: number[] | null }[];
}
export interface Bisection {
  id: number; project: string; metric: string; benchmark: string | null; backend: string | null; good: string;
  bad: string; verdict: string | null; culprits: Culprit[]; runs: number; builds: number; commits_measured: number;
  seconds: number; steps?: BisectStep[] | null; alert_id: number | null; created_at?: string; unit?: string | null;
  /* of a search on the runners */
  mode?: string; state?: string; reason?: string | null; expected_runs?: number | null; machine_class?: string | null;
  line?: { commit: string; probability: number | null }[]; expected?: BisectCost;
  repro?: string; verifications?: Verification[];
  /* number of steps by result; runs that were stored before do not count as measurements of this search */
  counts?: { stored: number; measured: number; broken: number; failed: number; timed_out: number; waiting: number } | null;
  failure?: { commit: string; job_id: number | null; state: string; reason: string; infrastructure: boolean } | null;
  /* what remained open when the budget was used; all null unless stopped */
  stopped?: string | null; budget_runs?: number | null; candidates?: number | null; probability_none?: number | null;
  likeliest?: { commit: string; probability: number } | null; expected_more_runs?: number | null;
  /* the bad commit against the good commit; "no regression": the worse end of the interval is within the margin */
  difference?: { rel_change: number | null; rel_low: number | null; rel_high: number | null; margin: number | null; within: boolean; more_runs: number | null } | null;
}
/** New interleaved pairs of a culprit and its parent. */
export interface Verification {
  id: number; before: string; commit: string; state: string; pairs: number; layouts: number; rel_change: number | null;
  rel_low: number | null; rel_high: number | null; p: number | null; runners: string | null; reason: string | null; repro: string;
}
export interface Measurement {
  benchmark: string; metric: string; backend: string; unit: string; direction: string; exact?: boolean;
  status: string; reason?: string | null; samples?: (number | number[])[]; params?: Record<string, string>;
  extra?: Record<string, string>; visits?: [number, number][]; /* block and position of each process */
}
/** GET /projects/{p}/canaries: the canary on one machine, newest value first. */
export interface Canary {
  series_id: number; machine_class: string; machine: string; metric: string; backend: string; branch: string; unit: string;
  time: string[]; median: number[]; infra: boolean[];
}
export interface RunDocument {
  run_id: number; id: string; project?: string; commit?: string; branch?: string | null; suite: string;
  suite_hash?: string; started_at: string; finished_at: string; job_id?: number | null; infra?: boolean; unsandboxed?: boolean;
  reproducibility?: string | null; quarantined?: boolean;
  session?: { id: string; anchor: string; base: string } | null;
  machine: { name: string; class?: string; machine_class?: string; fingerprint: Record<string, string>; fingerprint_hash?: string };
  measurements: Measurement[];
}
export interface Stats {
  runs: number; measurements: number; series: number; alerts_open: number; jobs_queued: number;
  detection_lag_s: number | null;
}
