/* From a comparison to a map of cells: two parameters across, the change of their series in each cell. Pure. */

/** A row of GET /compare, as far as the map needs it. */
export interface HeatRow {
  series_id: number | null;
  benchmark: string;
  metric: string;
  backend: string;
  verdict: string;
  direction: string;
  rel_change: number | null;
}

/** A benchmark that the project has, with its parameters. */
export interface HeatBenchmark {
  benchmark: string;
  backend: string;
  params: Record<string, string> | null;
  /** One of its series, which a cell without a row opens. */
  series_id?: number;
}

/** `calm`: outside of the alerts that the map shows. */
export type HeatKind = "worse" | "better" | "quiet" | "broken" | "none" | "calm";

export interface HeatCell {
  kind: HeatKind;
  /** 1 to 4, of worse and better: below 2, 5, 15 %, and above. */
  step: number;
  change: number | null;
  series: number | null;
  /** Series in the cell, and of them broken or not measured on both sides. */
  count: number;
  absent: number;
  benchmark: string;
}

export interface HeatMapData { rows: string[]; columns: string[]; cells: (HeatCell | null)[][] }

/** The pseudo-parameter of all parameters but the other axis' one. */
export const SHAPE = "shape";

const number = (text: string) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : NaN);

/** Numbers by value, then texts; texts with numbers in them by those. */
export function byValue(a: string, b: string): number {
  const [x, y] = [number(a), number(b)];
  if (Number.isFinite(x) && Number.isFinite(y)) return x - y;
  if (Number.isFinite(x) !== Number.isFinite(y)) return Number.isFinite(x) ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
}

export function valueOf(b: HeatBenchmark, name: string, other: string): string | null {
  const params = b.params ?? {};
  if (name === "benchmark") return b.benchmark;
  if (name === "kernel") return b.benchmark.split("/")[0] ?? "";
  if (name === "backend") return b.backend;
  if (name !== SHAPE) return params[name] ?? null;
  const rest = Object.keys(params).filter((p) => p !== other && p !== "dtype" && p !== "type").sort();
  return rest.length ? rest.map((p) => `${p}=${params[p] ?? ""}`).join(" ") : null;
}

/** Names that can be an axis, those that the benchmarks have most often first. */
export function axesOf(all: readonly HeatBenchmark[]): string[] {
  const count = new Map<string, number>();
  for (const b of all) for (const name of Object.keys(b.params ?? {})) count.set(name, (count.get(name) ?? 0) + 1);
  return [SHAPE, ...[...count].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([name]) => name), "kernel", "backend", "benchmark"];
}

/** A pair of axes that most benchmarks have: [rows, columns]. `row` and `column`: those already chosen, or null. */
export function pairOf(all: readonly HeatBenchmark[], row: string | null, column: string | null): [string, string] {
  const pairs: [string, string][] = [[SHAPE, "dtype"], [SHAPE, "type"], [SHAPE, "kernel"], ["benchmark", "backend"]];
  const wanted = pairs.map(([y, x]): [string, string] => [row ?? y, column ?? x]).filter(([y, x]) => y !== x);
  const having = ([y, x]: [string, string]) => all.filter((b) => valueOf(b, y, x) !== null && valueOf(b, x, y) !== null).length;
  const counts = wanted.map(having);
  const most = Math.max(0, ...counts);
  return wanted.find((_, i) => (counts[i] ?? 0) * 2 > all.length) ?? wanted.find((_, i) => counts[i] === most) ?? [row ?? "benchmark", column ?? "backend"];
}

export function stepOf(change: number): number {
  const size = Math.abs(change);
  return size < 0.02 ? 1 : size < 0.05 ? 2 : size < 0.15 ? 3 : 4;
}

/** Whether the row says more than what the cell holds: worse before better, larger before smaller. */
function outranks(kind: HeatKind, change: number, cell: HeatCell): boolean {
  const rank = { worse: 3, better: 2, quiet: 1, broken: 0, none: 0, calm: 0 };
  if (rank[kind] !== rank[cell.kind]) return rank[kind] > rank[cell.kind];
  return Math.abs(change) > Math.abs(cell.change ?? 0);
}

const KINDS: Record<string, HeatKind> = { regression: "worse", improvement: "better", same: "quiet", inconclusive: "quiet", broken: "broken" };

/**
 * Cells of the benchmarks, coloured by the rows of the comparison. A benchmark without a row was not measured on both
 * sides, or, where the rows are alerts (`absent` "calm"), has none. Several series in a cell: the one with the largest
 * change that is worse, else better, else the largest.
 */
export function heatOf(all: readonly HeatBenchmark[], compared: readonly HeatRow[], row: string, column: string, absent: "none" | "calm" = "none"): HeatMapData {
  const cells = new Map<string, HeatCell>();
  const rows = new Set<string>();
  const columns = new Set<string>();
  const found = new Map<string, HeatRow[]>();
  const key = (r: { benchmark: string; backend: string }) => `${r.benchmark}\n${r.backend}`;
  for (const r of compared) found.set(key(r), [...(found.get(key(r)) ?? []), r]);
  for (const b of all) {
    const [y, x] = [valueOf(b, row, column), valueOf(b, column, row)];
    if (y === null || x === null) continue;
    rows.add(y);
    columns.add(x);
    const at = `${y}\n${x}`;
    const cell = cells.get(at) ?? { kind: absent as HeatKind, step: 0, change: null, series: null, count: 0, absent: 0, benchmark: b.benchmark };
    cells.set(at, cell);
    const own = found.get(key(b)) ?? [];
    if (own.length === 0) {
      cell.count++;
      if (cell.kind === absent) cell.series ??= b.series_id ?? null;
      if (absent === "none") cell.absent++;
    }
    for (const r of own) {
      const kind = KINDS[r.verdict] ?? "none";
      const change = r.rel_change ?? 0;
      cell.count++;
      if (kind === "broken" || kind === "none") {
        cell.absent++;
        if (cell.kind === absent) Object.assign(cell, { kind, series: r.series_id, benchmark: r.benchmark });
      } else if (outranks(kind, change, cell)) {
        Object.assign(cell, { kind, change: r.rel_change, step: kind === "quiet" ? 0 : stepOf(change), series: r.series_id, benchmark: r.benchmark });
      }
    }
  }
  const [ys, xs] = [[...rows].sort(byValue), [...columns].sort(byValue)];
  return { rows: ys, columns: xs, cells: ys.map((y) => xs.map((x) => cells.get(`${y}\n${x}`) ?? null)) };
}

/** The items to make: from `from` to before `until`; `after` of them follow. */
export interface HeatWindow { from: number; until: number; after: number }

/** Those of `count` items, each `size` pixels, that a view of `extent` pixels at `offset` shows, and `around` more on
 *  either side; null: all of them. */
export function windowOf(count: number, size: number, offset: number, extent: number, around: number | null): HeatWindow {
  if (around === null) return { from: 0, until: count, after: 0 };
  const from = Math.max(0, Math.min(count - 1, Math.floor(offset / size)) - around);
  const until = Math.min(count, Math.ceil((offset + extent) / size) + around);
  return { from, until: Math.max(from, until), after: count - Math.max(from, until) };
}

/** Rows of the comparison whose benchmark lacks one of the two parameters, or is not known: they have no cell. */
export function withoutCell(all: readonly HeatBenchmark[], compared: readonly HeatRow[], row: string, column: string): number {
  const placed = new Set(all.filter((b) => valueOf(b, row, column) !== null && valueOf(b, column, row) !== null).map((b) => `${b.benchmark}\n${b.backend}`));
  return compared.filter((r) => !placed.has(`${r.benchmark}\n${r.backend}`)).length;
}

/** The text of a cell for screen readers and pointers. */
export function sayCell(cell: HeatCell, row: string, column: string, percent: string): string {
  const state = { worse: `${percent}, worse`, better: `${percent}, better`, quiet: `${percent}, not significant`, broken: "broken", none: "not measured at both commits", calm: "no alert of this group" }[cell.kind];
  const more = [cell.count > 1 ? `largest of ${cell.count} series` : "", cell.absent > 0 && cell.absent < cell.count ? `${cell.absent} of them broken or not measured` : ""].filter((s) => s);
  return `${row}, ${column}: ${[state, ...more].join("; ")}`;
}
