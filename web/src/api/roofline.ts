/* Operations, bytes and rates of benchmarks, and the ceilings that held: GET /projects/{p}/roofline. */

export interface RooflinePoint {
  commit: string;
  position: number;
  run_id: number;
  /** Median of the time, in the unit of the benchmark's row. */
  value: number;
  operations: number | null;
  bytes: number | null;
  /** Operations a byte. */
  intensity: number | null;
  /** Operations a second. */
  rate: number | null;
  limit: number | null;
  fraction: number | null;
  /** Places in `ceilings`; null: none is known. */
  compute: number | null;
  memory: number | null;
  limited_by: "compute" | "memory" | null;
}

export interface RooflineBenchmark {
  series_id: number;
  benchmark: string;
  params: Record<string, string> | null;
  metric: string;
  backend: string;
  machine_class: string;
  unit: string;
  exact: boolean;
  a: RooflinePoint | null;
  b: RooflinePoint;
}

export interface RooflineCeiling {
  machine_class: string;
  name: string;
  kind: "compute" | "memory";
  unit: string;
  value: number;
  dtype: string;
  level: string;
  capacity_bytes: number | null;
  backend: string;
  source: "measured" | "chip file";
  at: string;
  run_id: number;
}

export interface RooflineUnknown { series_id: number; benchmark: string; backend: string; machine_class: string; reason: string }

export interface RooflineReply {
  branch: string;
  a: string | null;
  b: string | null;
  a_how: string | null;
  b_how: string | null;
  statistic: string;
  matched: number;
  unknown_fields: string[];
  benchmarks: RooflineBenchmark[];
  ceilings: RooflineCeiling[];
  unknown: RooflineUnknown[];
  left_out: number;
}
