/* Traces of runs: GET /runs/{id}/traces, /traces/{id}, /traces/{id}/timeline. Times are ns since the trace's first record. */

export interface Trace {
  id: number;
  project: string;
  run_id: number;
  run: string;
  commit: string;
  benchmark: string | null;
  title: string;
  digest: string;
  size: number;
  records: number;
  span_ns: number;
  units: number;
  actor: string;
  stored_at: string;
}

/** GET /alerts/{id}/traces: a side of the change. `job`: the newest one that stores traces of the commit. */
export interface TraceSide { run_id: number; commit: string; job: { id: number; state: string } | null; traces: Trace[] }
export interface AlertTraces { before: TraceSide; after: TraceSide }

export interface TraceClock {
  name: string;
  nominal_hz: number;
  width_bits: number;
  /** The line of time is this clock's. */
  reference: boolean;
  method: "clock_pairs" | "first clock_pair" | "nominal";
  offset_ns: number;
  knots: number;
  /** Times of this clock are wrong by at most this; null: not known. */
  bound_ns: number | null;
  pairs_left_out: number;
}

export interface TraceUnit {
  name: string;
  id: number;
  kind: string;
  device: number;
  /** Place in `clocks`. */
  clock: number;
  overlaps: boolean;
  records: number;
  left_out: number;
  unmatched: number;
  dropped: number;
}

export interface TraceDetail extends Trace {
  begin_ns: number;
  details: number;
  clocks: TraceClock[];
  unit_list: TraceUnit[];
  counters: { unit: number; name: string; measure: string; values: number }[];
  values_left_out: number;
  metadata: { key: string; value: string }[];
}

/** Slices in columns; `name` is a place in the reply's names. */
export interface SliceColumns { begin: number[]; end: number[]; name: number[]; correlation: number[]; unfinished: number[] }

export interface TimelineLine {
  /** Place in the trace's units. */
  unit: number;
  kind: "slices" | "waits" | "states" | "points";
  /** Depth, or lane when the unit's slices may overlap. */
  number: number;
  total: number;
  shown: number;
  /** null: too many for the asked cells, which `cells` has. */
  slices: SliceColumns | null;
  /** busy: thousandths of the cell. */
  cells: { at: number[]; count: number[]; busy: number[] } | null;
}

export interface TimelineCounter {
  unit: number;
  name: string;
  measure: string;
  before: number | null;
  values: { ns: number[]; value: (number | null)[] } | null;
  ranges: { at: number[]; low: (number | null)[]; high: (number | null)[] } | null;
}

export interface TimelineReply {
  span_ns: number;
  from: number;
  to: number;
  cells: number;
  names: string[];
  lines: TimelineLine[];
  /** The host's calls that slices of the reply refer to. */
  calls: SliceColumns & { line: number[] };
  counters: TimelineCounter[];
  found: (SliceColumns & { line: number[]; all: number }) | null;
}
