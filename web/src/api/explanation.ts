/* The explanation of one run or of the difference between two (GET /explain, /alerts/{id}/explanation). */

export interface LimiterVerdict {
  view: "trace" | "counters"; inconclusive: boolean; reason: string; first: string | null; second: string | null;
  confidence: number | null; saving: Record<string, number | null>;
  causes: { id: string; text: string; share: number | null }[]; disagreement: string;
}
export interface ExplainedMetric {
  name: string; title: string; unit: string; value: number | null; peak: number | null; achievable: number | null;
  share: number | null; reason: string;
}
export interface PathPart { resource: string | null; phase: string; ticks: number }
export interface PhaseEdge { from: string; to: string; waits: number }
export interface ExplainedSide {
  run: string; commit: string | null; machine: string; value: number; low: number | null; high: number | null;
  samples: number; limiter: LimiterVerdict; metrics: ExplainedMetric[]; path: PathPart[];
}
export interface Contribution { resource: string | null; phase: string; value: number; ticks: number }
export interface Advice {
  id: string; symptom: string; change: string; action: string; gain: number; low: number; high: number; risk: string; effort: string;
}
export interface Explanation {
  claim: string; metric: string; benchmark: string; backend: string; unit: string; direction: string; exact: boolean;
  before: number | null; after: number; delta: number | null;
  judged?: { verdict: string; rel_change: number | null; rel_low: number | null; rel_high: number | null; p: number | null };
  contributions: Contribution[]; limiter: { before: string | null; after: string | null };
  causes: { kind: string; resource: string | null; ticks: number; text: string }[];
  guidance: Advice[]; evidence: { run: string; what: string }[]; repeat: string[]; warnings: string[];
  total: {
    basis: "path" | "units" | "total"; before: number; after: number; delta: number; same_chip: boolean; same_stream: boolean;
    same_simulator: boolean; differences: { name: string; before: string; after: string; rel_change: number | null }[];
    differences_more: number;
  } | null;
  phases?: PhaseEdge[]; /* absent: of a service that is older */
  runs: { before: ExplainedSide | null; after: ExplainedSide };
}
