// The answers of GET /projects/{p}/roofline: seeded benchmarks on a CPU and a chip, with ceilings of both.
const COMMIT = "12b774678021".padEnd(40, "0");
const BEFORE = "0".repeat(40);

const ceiling = (over) => ({ machine_class: "epyc-9654", dtype: "", level: "", capacity_bytes: null, backend: "cpu-*", source: "measured",
  at: "2026-11-20T02:10:00Z", run_id: 1072, ...over });
const CEILINGS = [
  ceiling({ name: "f32 arithmetic, one core, avx512", kind: "compute", unit: "FLOP/s", value: 2.17e11, dtype: "f32" }),
  ceiling({ name: "L1 read, one core", kind: "memory", unit: "B/s", value: 4.1e11, level: "L1", capacity_bytes: 32768 }),
  ceiling({ name: "L2 read, one core", kind: "memory", unit: "B/s", value: 1.67e11, level: "L2", capacity_bytes: 1048576 }),
  ceiling({ name: "DRAM read, one core", kind: "memory", unit: "B/s", value: 1.49e10, level: "DRAM" }),
  ceiling({ name: "pfc-edge array and vector unit, bf16", kind: "compute", unit: "FLOP/s", value: 5.44e11, dtype: "bf16", backend: "accel:pfc-edge", source: "chip file" }),
  ceiling({ name: "pfc-edge HBM", kind: "memory", unit: "B/s", value: 5.12e10, level: "HBM", backend: "accel:pfc-edge", source: "chip file" }),
];

function point(operations, bytes, share, places, commit) {
  const intensity = operations / bytes;
  const [flat, slope] = [CEILINGS[places[0]]?.value, CEILINGS[places[1]]?.value * intensity];
  const limit = places[0] === null ? null : Math.min(flat, slope);
  const rate = (limit ?? 2e9) * share;
  return { commit, position: 40, run_id: 1072, value: (operations / rate) * 1e9, operations, bytes, intensity, rate, limit,
    fraction: limit && share, compute: places[0], memory: places[1], limited_by: limit === null ? null : slope < flat ? "memory" : "compute" };
}

const NAMES = [
  ["gemm/f32/m64n64k64", "cpu-avx512", 2 * 64 ** 3, 12 * 64 ** 2, 0.62, [0, 2]],
  ["gemm/f32/m1024n1024k1024", "cpu-avx512", 2 * 1024 ** 3, 12 * 1024 ** 2, 0.91, [0, 3]],
  ["gemm/f32/m1n4096k4096", "cpu-avx512", 2 * 4096 ** 2, 4 * 4096 * 4098, 0.78, [0, 3]],
  ["softmax/f32/rows64cols256", "cpu-avx512", 5 * 64 * 256, 8 * 64 * 256, 0.35, [0, 2]],
  ["layernorm/f32/rows4096cols1024", "cpu-avx512", 8 * 4096 * 1024, 8 * 4096 * 1024, 0.88, [0, 3]],
  ["gemm/bf16/m512n512k512", "accel:pfc-edge", 2 * 512 ** 3, 6 * 512 ** 2, 0.83, [4, 5]],
  ["attention/bf16/h8s1024d64", "accel:pfc-edge", 4 * 8 * 1024 ** 2 * 64, 8 * 8 * 1024 * 64, 0.41, [4, 5]],
  ["fft/<img src=x>/\u202egnp.exe", "cpu-scalar", 5e6, 2e6, 1, [null, null]],
];

export function rooflineOf(url, empty) {
  const backend = url.searchParams.get("backend");
  const select = url.searchParams.get("select") ?? "";
  const before = url.searchParams.get("a");
  const a = before && COMMIT.padEnd(40, "0");
  const how = { a_how: before && `tag ${before} at ${COMMIT.slice(0, 12)}`, b_how: null };
  const all = NAMES.filter(([name, own]) => (!backend || own === backend) && (!select || name.startsWith(select)));
  const benchmarks = all.map(([benchmark, own, operations, bytes, share, places], i) => ({
    series_id: 101 + i, benchmark, params: { dtype: benchmark.split("/")[1] ?? "" }, metric: "time_ns", backend: own, machine_class: "epyc-9654",
    unit: "ns", exact: own.startsWith("accel"),
    a: !a || i === 3 ? null : point(operations, i === 6 ? bytes * 2 : bytes, share * (i % 2 ? 0.5 : 1.02), places, BEFORE),
    b: point(operations, bytes, share, places, COMMIT) }));
  const unknown = [
    { series_id: 120, benchmark: "copy/f32/n65536", backend: "cpu-avx512", machine_class: "epyc-9654", reason: "no operations" },
    { series_id: 121, benchmark: "headline", backend: "cpu-avx512", machine_class: "epyc-9654", reason: "no time" },
  ];
  if (empty) return { branch: "main", a, b: null, ...how, statistic: "median", matched: 0, unknown_fields: [], benchmarks: [], ceilings: [], unknown: [], left_out: 0 };
  return { branch: "main", a, b: null, ...how, statistic: "median", matched: all.length + unknown.length, unknown_fields: [], benchmarks, ceilings: CEILINGS, unknown, left_out: 0 };
}
