// The answers of GET /projects/{p}/plot: 12 seeded series over 120 commits, with a gap and a broken result.
const COMMITS = 120;
const TYPES = ["bf16", "f16", "f32"];

/** Status, code and message of a refusal; null: the expression is understood. */
export const plotFault = (url) => ((url.searchParams.get("select") ?? "").includes("k>=big")
  ? [400, "invalid", 'select: at character 4: expected a number after "k>=", got "big"'] : null);

export const id = (n) => n.toString(16).padStart(12, "0").padEnd(40, "a");
const pack = (values) => Buffer.from(Float32Array.from(values).buffer).toString("base64");

export const plotNames = { branch: "main", series: 12, names: [
  { name: "kernel", numeric: false, series: 12, left_out: 0, values: [{ value: "gemm", series: 12 }] },
  { name: "backend", numeric: false, series: 12, left_out: 0, values: [{ value: "cpu-avx2", series: 8 }, { value: "hip", series: 4 }] },
  { name: "machine_class", numeric: false, series: 12, left_out: 0, values: [{ value: "epyc-9754", series: 12 }] },
  { name: "dtype", numeric: false, series: 12, left_out: 0, values: TYPES.map((value) => ({ value, series: 4 })) },
  { name: "k", numeric: true, series: 12, left_out: 0, values: ["256", "512", "1024", "4096"].map((value) => ({ value, series: 3 })) },
] };

function valuesOf(n) {
  let seed = 99 + n;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  return Array.from({ length: COMMITS }, (_, i) => (n === 0 && i >= 40 && i < 60 ? NaN
    : (n + 1) * 1e5 * (i < 70 ? 1 : 1.08) * (1 + (random() - 0.5) * 0.01)));
}

export function plotOf(url) {
  const select = url.searchParams.get("select") ?? "";
  const group = url.searchParams.get("group");
  const at = (name, otherwise) => {
    const found = Array.from({ length: COMMITS }, (_, i) => i).find((i) => id(i) === url.searchParams.get(name));
    return found ?? otherwise;
  };
  const [from, to] = [at("from", 0), at("to", COMMITS - 1)];
  const rows = Array.from({ length: COMMITS }, (_, i) => i).filter((i) => i >= from && i <= to);
  const type = /dtype=(\w+)/.exec(select)?.[1];
  const all = Array.from({ length: 12 }, (_, n) => n).filter((n) => !type || TYPES[n % 3] === type);
  const line = (n, over) => ({
    series_id: 100 + n, key: null, benchmark: `gemm/${TYPES[n % 3]}/k${256 << Math.floor(n / 3)}`, params: { dtype: TYPES[n % 3], k: String(256 << Math.floor(n / 3)) },
    metric: "time_ns", backend: "cpu-avx2", machine_class: "m", unit: "ns", direction: "lower", members: 1, points: COMMITS, partial: 0, moved: 0, base: null,
    median: pack(rows.map((i) => valuesOf(n)[i])), low: null, high: null, samples: [], ...over });
  const lines = group ? TYPES.map((key, n) => line(n, { series_id: null, key, benchmark: null, params: null, members: 4, partial: n === 0 ? 20 : 0 })) : all.map((n) => line(n));
  return { branch: "main", matched: all.length, left_out: 0, places: url.searchParams.get("from") ? rows.length : COMMITS + 1, unknown: [], samples: false,
    columns: { commit: rows.map(id), position: rows.map((i) => i + 1), time: rows.map((i) => new Date(1.77e12 + i * 6e5).toISOString()), subject: rows.map((i) => `change number ${i}`) },
    lines, broken: from <= 50 && to >= 50 && !type ? [{ line: 0, column: 50 - from, position: 51, run_id: 7, reason: "build failed: <b>gemm.c</b>" }] : [] };
}

/** Benchmarks with parameters read from their names, one of which no comparison has: GET /projects/{p}/coverage. */
export function coverageOf(rows) {
  const params = (name) => ({ dtype: name.split("/")[1] ?? "", ...Object.fromEntries((name.split("/").pop() ?? "").match(/[a-z]\d+/g)?.map((p) => [p[0], p.slice(1)]) ?? []) });
  const names = [...new Map(rows.map((r) => [r.benchmark + r.backend, r])).values(), { benchmark: "gemm/bf16/m64n64k64", backend: "cpu-avx2" }];
  return { branch: "main", commits: [], fills: [], never: [], next_cursor: null,
    rows: names.map((r, i) => ({ series_id: i + 1, benchmark: r.benchmark, backend: r.backend, machine_class: "m", params: params(r.benchmark), cells: "x", missing: 0 })) };
}
