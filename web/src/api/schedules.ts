/* Schedules of a project. */
export interface Schedule {
  name: string; cron: string; zone: string; branch: string | null; suite: string | null; backends: string[]; labels: Record<string, string>;
  max_commits: number; budget_s: number; enabled: boolean; next_at: string | null; last_at: string | null; trouble: string | null; created_at: string;
  night: { id: number; state: string; reason: string } | null;
}
