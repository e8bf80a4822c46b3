/* GET /projects/{p}/coverage: which benchmarks were measured at which commits. */
export interface CoverageCommit { id: string; position: number; time: string; subject: string; measured: number; missing: number }
/** cells: a sign a commit, newest first: x measured, ! ran and was broken, - missing, . not there yet. */
export interface CoverageRow {
  series_id: number; benchmark: string; params: Record<string, string>; backend: string; machine_class: string; cells: string; missing: number;
}
export interface CoverageFill { commit: string; machine_class: string; missing: number }
export interface CoverageNever { benchmark: string; backend: string; machine_class: string }
export interface CoverageReply {
  branch: string; commits: CoverageCommit[]; rows: CoverageRow[]; fills: CoverageFill[]; never: CoverageNever[]; next_cursor: number | null;
}
