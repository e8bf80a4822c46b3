// The plot behind a row of the comparison: 28 commits from A to B, with samples at both, for GET /projects/{p}/plot.
import { id } from "./mock_plot.mjs";

const COMMITS = 28;
const pack = (values) => Buffer.from(Float32Array.from(values).buffer).toString("base64");

/** The row whose series the expression names; undefined: it is no row's. */
export function rowOfPlot(url, reply) {
  const name = /^benchmark="([^"]*)" metric="([^"]*)" backend="([^"]*)"/.exec(url.searchParams.get("select") ?? "");
  return name && url.searchParams.get("samples") ? reply.rows.find((r) => r.benchmark === name[1] && r.metric === name[2] && r.backend === name[3]) : undefined;
}

export function comparePlotOf(row, reply) {
  let seed = 7 + row.series_id;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const near = (level) => level * (1 + (random() - 0.5) * 2 * (row.noise_rel ?? 0.01));
  const rows = Array.from({ length: COMMITS }, (_, i) => i);
  const commit = rows.map((i) => (i === 0 ? reply.a.commit : i === COMMITS - 1 ? reply.b.commit : id(i)));
  const median = rows.map((i) => (i === 9 ? NaN : near(i < 17 ? row.a.median : row.b.median)));
  const samples = [0, COMMITS - 1].map((i) => [i, ...Array.from({ length: 25 }, () => near(i ? row.b.median : row.a.median))]);
  return { branch: "main", matched: 1, left_out: 0, places: COMMITS, unknown: [], samples: true,
    columns: { commit, position: rows.map((i) => i + 1), time: rows.map((i) => new Date(1.77e12 + i * 6e5).toISOString()), subject: rows.map((i) => `change number ${i}`) },
    lines: [{ series_id: row.series_id, key: null, benchmark: row.benchmark, params: {}, metric: row.metric, backend: row.backend, machine_class: row.machine_class,
      unit: row.unit, direction: row.direction, members: 1, points: COMMITS, partial: 0, moved: 0, base: null, median: pack(median), low: null, high: null, samples }],
    broken: [] };
}
