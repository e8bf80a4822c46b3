/* Suppression rules of a project, as server/API.md has them. */
export interface Matcher {
  benchmark?: string | null; params?: Record<string, string>; backend?: string | null; machine_class?: string | null;
  metric?: string | null; direction?: "up" | "down" | null; max_change?: number | null;
}

export interface Suppression extends Matcher {
  id: number; owner: string; reason: string; params: Record<string, string>;
  created_by: string | null; created_at: string; expires_at: string; ended_at: string | null; ended_by: string | null;
  hidden: number; hidden_total: number; notices: number;
}

export interface SuppressedAlert {
  id: number; series_id: number; benchmark: string; metric: string; backend: string; machine_class: string; kind: string;
  state: string; rel_change: number | null; rel_low: number | null; rel_high: number | null;
  hidden_at: string | null; released_at: string | null; notices: number;
}

export interface SuppressionDetail extends Suppression { alerts: SuppressedAlert[]; next_cursor: number | null }

export interface Preview { open: number; visible: number; past: number; series: number; alerts: SuppressedAlert[] }
