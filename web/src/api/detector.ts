/* The detector's configuration and replays of a whole project. */
import type { ReplayedChange } from "./types";

export interface DetectorRule {
  benchmark?: string; metric?: string; backend?: string; machine_class?: string; branch?: string; min_change?: number; alpha?: number; judged?: boolean;
}
export interface DetectorConfig { fdr?: number; rules: DetectorRule[] }
/** version 0: nothing was stored, the defaults hold. */
export interface DetectorVersion { version: number; detector: DetectorConfig; actor: string | null; at: string | null }
export interface ReplayedAlert extends ReplayedChange { series_id: number; label: "regression" | "noise" | null }
export interface ProjectReplay {
  branch: string; series: number; points: number; changes: number; alerts: ReplayedAlert[]; unlabelled: number;
  labels: { regressions: number; noise: number; regressions_found: number; noise_found: number };
  precision: number | null; recall: number | null; f1: number | null;
}
