/* Many series in columns of commits: GET /projects/{p}/plot and /plot/names. */

import { withQuery } from "../base/route";

const base = (project: string) => `/projects/${encodeURIComponent(project)}/plot`;

/** Cells of all lines: more than 100 lines get fewer columns, each the span of its commits. */
const MOST_CELLS = 130_000;
/** Columns to ask for: one a pixel that the chart has. */
const columnsOf = (width: number) => Math.max(200, Math.min(2000, Math.round(width / 50) * 50));

export const namesPath = (project: string) => `${base(project)}/names`;
/** All commits, for a window of this width; `part`: between two commits, with raw samples where there are few points. */
export const plotPath = (project: string, asked: URLSearchParams, width: number, part?: { from: string; to: string }) => withQuery(base(project), {
  select: asked.get("select"), group: asked.get("group"), relative: asked.get("relative"), points: columnsOf(width), cells: MOST_CELLS, format: "arrays",
  ...(part && { ...part, samples: "true" }),
});

/** The number of one of the reply's arrays; in an answer of JSON alone: base64. */
export type Floats = number | string;

export interface PlotLine {
  /** Null: a group. */
  series_id: number | null;
  /** Value of the field that groups; null without a group, and for series without the field. */
  key: string | null;
  benchmark: string | null;
  params: Record<string, string> | null;
  metric: string;
  backend: string | null;
  machine_class: string | null;
  unit: string;
  direction: string;
  members: number;
  points: number;
  partial: number;
  moved: number;
  base: number | null;
  /** 32-bit floats, one a column; NaN: no value. low, high null: equal to the median. */
  median: Floats;
  low: Floats | null;
  high: Floats | null;
  /** [column, value, value, ...] a result. */
  samples: (number | null)[][];
}

export interface PlotReply {
  arrays?: Float32Array[];
  branch: string;
  matched: number;
  left_out: number;
  places: number;
  unknown: string[];
  samples: boolean;
  columns: { commit: string[]; position: number[]; time: string[]; subject: string[] };
  lines: PlotLine[];
  broken: { line: number; column: number; position: number; run_id: number; reason: string }[];
}

export interface PlotName {
  name: string;
  numeric: boolean;
  series: number;
  left_out: number;
  values: { value: string; series: number }[];
}

export interface PlotNames { branch: string; series: number; names: PlotName[] }
