// The answers of GET /runs/{id}/traces, /traces/{id} and /traces/{id}/timeline: a host with two launches, a queue, a matrix unit
// with more tiles than a screen has pixels, a DMA engine with lanes, and counters. Names are hostile where the format allows it.
const HOSTILE = "\u202egnp.exe <img src=x onerror=alert(1)>";
const SPAN = 4_000_000;
const TILES = 6000;

const unit = (name, kind, over = {}) => ({ name, id: 1, kind, device: 0, clock: 1, overlaps: false, records: 100, left_out: 0, unmatched: 0, dropped: 0, ...over });
const UNITS = [
  unit("host", "host", { clock: 0, id: 1 }), unit("stream 0", "queue", { id: 2 }), unit("tensor", "tensor", { id: 3, records: 2 * TILES, dropped: 12 }),
  unit("dma 0", "dma", { id: 4, overlaps: true, left_out: 3 }), unit(`vector ${HOSTILE}`, "vector", { id: 5, unmatched: 1 }), unit("counters", "counters", { id: 6 }),
];

export const traceRow = (id = 3, over = {}) => ({ id, project: "kernels", run_id: 1072, run: "3f".repeat(16), commit: "12b774678021".padEnd(40, "0"),
  benchmark: "gemm/bf16/m512n512k512", title: "gemm on pfc-edge", digest: "ab".repeat(32), size: 1_739_648, records: 54_257, span_ns: SPAN, units: UNITS.length,
  actor: "token 3 (ci)", stored_at: "2026-02-27T05:10:00Z", ...over });

export function tracesOf(state) {
  if (state.empty || state.traces === "none") return { traces: [], next_cursor: null };
  return { traces: [traceRow(), traceRow(4, { benchmark: null, title: HOSTILE, records: 0, span_ns: 0 })], next_cursor: null };
}

/** Both sides of an alert's change; state.sides replaces members of each. */
export function alertTracesOf(state) {
  const side = (digit, over) => ({ run_id: 1070 + Number(digit), commit: digit.repeat(40), job: null, traces: [], ...over });
  return { before: side("1", state.sides?.before ?? { traces: [traceRow(5)] }), after: side("2", state.sides?.after ?? { traces: [traceRow()] }) };
}

export function traceOf(id, state) {
  const empty = id === 4;
  const aligned = { method: "clock_pairs", offset_ns: 999_998, knots: 5, bound_ns: 512, pairs_left_out: 1 };
  const nominal = { method: "nominal", offset_ns: 0, knots: 0, bound_ns: null, pairs_left_out: 0 };
  return { ...traceRow(id, empty ? { benchmark: null, title: HOSTILE, records: 0, span_ns: 0 } : {}), begin_ns: 1_000_000_000, details: 30_240,
    clocks: [{ name: "host", nominal_hz: 1e9, width_bits: 64, reference: true, ...nominal },
      { name: "core", nominal_hz: 1e9, width_bits: 48, reference: false, ...(state.trace === "unaligned" ? nominal : aligned) }],
    unit_list: UNITS, counters: [{ unit: 5, name: "hbm_bytes", measure: "B", values: 400 }, { unit: 2, name: "time in state busy", measure: "ticks", values: 400 }],
    values_left_out: 0, metadata: [{ key: "chip", value: "pfc-edge" }, { key: "kernel", value: HOSTILE }] };
}

const slice = (begin, end, name, correlation = 0) => ({ begin, end, name, correlation });
const launch = (n) => 100_000 + n * 1_900_000;
const LINES = [
  { unit: 0, kind: "slices", number: 0, all: [0, 1].map((n) => slice(launch(n), launch(n) + 90_000, "launch", n + 1)).concat(slice(3_700_000, 3_990_000, `sync ${HOSTILE}`, 9)) },
  { unit: 0, kind: "slices", number: 1, all: [0, 1].map((n) => slice(launch(n) + 20_000, launch(n) + 60_000, "ring doorbell", n + 1)) },
  { unit: 1, kind: "slices", number: 0, all: [0, 1].map((n) => slice(launch(n) + 95_000, launch(n) + 1_500_000, "gemm", n + 1)) },
  { unit: 1, kind: "waits", number: 0, all: [slice(launch(0) + 1_510_000, launch(1) + 95_000, "sem_wait", 2)] },
  { unit: 1, kind: "points", number: 0, all: [0, 1].map((n) => slice(launch(n) + 1_500_000, launch(n) + 1_500_000, "irq", n + 1)) },
  { unit: 2, kind: "slices", number: 0, all: Array.from({ length: TILES }, (_, i) => {
    const n = i < TILES / 2 ? 0 : 1;
    const begin = launch(n) + 100_000 + (i % (TILES / 2)) * 460;
    return slice(begin, begin + (i % 3 === 0 ? 430 : 300), "tile", n + 1);
  }) },
  { unit: 3, kind: "slices", number: 0, all: Array.from({ length: 40 }, (_, i) => slice(150_000 + i * 90_000, 150_000 + i * 90_000 + 70_000, "dma", (i < 20 ? 0 : 1) + 1)) },
  { unit: 3, kind: "slices", number: 1, all: Array.from({ length: 20 }, (_, i) => slice(180_000 + i * 180_000, 180_000 + i * 180_000 + 50_000, "dma", 1)) },
  { unit: 4, kind: "states", number: 0, all: [slice(0, 1_700_000, "idle"), slice(1_700_000, 2_500_000, "busy"), slice(2_500_000, SPAN, "wait_memory")] },
];
const CALLS = new Map(LINES[0].all.map((s) => [s.correlation, s]));

function cellsOf(shown, from, to, cells) {
  const wide = (to - from) / cells;
  const count = new Map();
  const busy = new Map();
  for (const s of shown) {
    const first = Math.max(0, Math.floor((s.begin - from) / wide));
    if (s.begin >= from) count.set(first, (count.get(first) ?? 0) + 1);
    for (let c = first; c < cells && from + c * wide < s.end; c++) {
      const part = Math.min(s.end, from + (c + 1) * wide) - Math.max(s.begin, from + c * wide);
      if (part > 0) busy.set(c, (busy.get(c) ?? 0) + part / wide);
    }
  }
  const at = [...new Set([...count.keys(), ...busy.keys()])].sort((a, b) => a - b);
  return { at, count: at.map((c) => count.get(c) ?? 0), busy: at.map((c) => Math.round(Math.min(1, busy.get(c) ?? 0) * 1000)) };
}

export function timelineOf(url, state) {
  const q = url.searchParams;
  const from = Number(q.get("from") ?? 0);
  const to = Math.min(SPAN, Number(q.get("to") ?? SPAN));
  const cells = Number(q.get("cells") ?? 500);
  const find = (q.get("find") ?? "").toLowerCase();
  (state.timelines ??= []).push({ from, to, find });
  const names = [];
  const named = (name) => { if (!names.includes(name)) names.push(name); return names.indexOf(name); };
  const columns = (list) => ({ begin: list.map((s) => s.begin), end: list.map((s) => s.end), name: list.map((s) => named(s.name)),
    correlation: list.map((s) => s.correlation), unfinished: list.flatMap((s, i) => (s.end === SPAN ? [i] : [])) });
  const correlations = new Set();
  const lines = LINES.map((l) => {
    const shown = l.all.filter((s) => s.begin <= to && (s.end > from || s.begin >= from));
    const many = shown.length > cells;
    if (!many) shown.forEach((s) => correlations.add(s.correlation));
    return { unit: l.unit, kind: l.kind, number: l.number, total: l.all.length, shown: shown.length,
      slices: many ? null : columns(shown), cells: many ? cellsOf(shown, from, to, cells) : null };
  });
  const calls = [...correlations].map((c) => CALLS.get(c)).filter((s) => s);
  const found = LINES.flatMap((l, line) => l.all.map((s) => ({ ...s, line }))).filter((s) => find && s.name.toLowerCase().includes(find)).sort((a, b) => a.begin - b.begin);
  const values = Array.from({ length: 400 }, (_, i) => ({ ns: i * 10_000, value: 20_000 + Math.round(15_000 * Math.sin(i / 20)) }));
  const inside = values.filter((v) => v.ns >= from && v.ns <= to);
  const before = values.filter((v) => v.ns < from).pop()?.value ?? null;
  return { span_ns: SPAN, from, to, cells, lines, calls: { ...columns(calls), line: calls.map(() => 0) },
    counters: [{ unit: 5, name: "hbm_bytes", measure: "B", before, values: { ns: inside.map((v) => v.ns), value: inside.map((v) => v.value) }, ranges: null },
      { unit: 2, name: "time in state busy", measure: "ticks", before: null, values: null, ranges: { at: [0, 100, 200], low: [1, 2, 0], high: [9, 8, 3] } }],
    found: find ? { ...columns(found.slice(0, 200)), line: found.slice(0, 200).map((s) => s.line), all: found.length } : null, names };
}
