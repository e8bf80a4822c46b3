// Groups of alerts for the mock: twelve alerts in three groups, which remember what is done with them.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const alerts = () => JSON.parse(readFileSync(join(here, "../fixtures/alerts.json"), "utf8")).alerts;
const OPEN = ["untriaged", "acknowledged", "investigating"];
const RANK = [...OPEN, "fixed", "backed_out", "verified_fixed", "wont_fix", "noise", "infrastructure", "duplicate"];

const member = (id, k, state) => ({ id, series_id: 101 + k, benchmark: `gemm/bf16/m${64 << k}`, metric: "time_ns", backend: "hip",
  machine_class: "epyc-9754", rel_change: 0.06 + k / 500, rel_low: 0.05, rel_high: 0.09, state });

/** Group 12 has ten alerts of one cause, 13 and 14 one each. */
const start = () => [
  { id: 12, summary: "10 of 40 gemm series: dtype=bf16 and k >= 4096; +6.0 % to +7.8 %", assignee: null, history: [],
    members: Array.from({ length: 10 }, (_, k) => member(200 + k, k, "untriaged")) },
  { id: 13, summary: "1 of 8 softmax series: dtype=f32; +3.1 %", assignee: "Ada", history: [], members: [member(300, 1, "untriaged")] },
  { id: 14, summary: "1 of 8 conv series; +2.0 %", assignee: null, history: [], members: [member(301, 2, "noise")] },
];

export function groupsOf(state) {
  state.groups ??= start();
  return state.groups;
}

const stateOf = (g) => RANK.find((s) => g.members.some((m) => m.state === s));

function shown(g, state) {
  const lead = { ...alerts()[0], suspect: { commit: alerts()[0].commit, subject: "gemm: stage the tiles in LDS", author: "Mara Lindqvist", named: false },
    kind: "step", title: `step: at ${alerts()[0].commit.slice(0, 12)}`, drift: null, boundary: null, culprit: null, direction: "regression", rel_change: 0.078, ...state.alerts };
  const worst = g.members[g.members.length - 1];
  const states = {};
  for (const m of g.members) states[m.state] = (states[m.state] ?? 0) + 1;
  return { id: g.id, project: "kernels", branch: "main", direction: "regression", alerts: g.members.length, series: g.members.length, measured: 40, summary: g.summary,
    state: stateOf(g), states, worth: 0.21 - g.id / 100, rel_least: g.members[0].rel_change, rel_most: worst.rel_change, placed: false, assignee: g.assignee, suppressed: 0, owner: null,
    opened_first: "2026-02-22T01:50:00Z", opened_last: "2026-02-23T02:50:00Z", updated_at: g.updated ?? "2026-02-23T03:56:40Z",
    spark: Array.from({ length: 40 }, (_, i) => (i < 30 ? 1 : 1.07) + Math.sin(i) * 0.004), issue: g.issue ?? null, worst: { ...worst, id: undefined, alert_id: worst.id, unit: "ns", better: "lower", before: 0.95, after: 1.07 }, lead, ...state.group };
}

const improvement = () => ({ project: "kernels", branch: "main", direction: "improvement", commit: alerts()[0].commit, subject: "gemm: fuse the epilogue",
  author: "Mara Lindqvist", series: 3, summary: "3 of 40 gemm series: dtype=f32; -9.0 % to -4.0 %", rel_least: -0.04, rel_most: -0.09, opened_first: "2026-02-22T01:50:00Z",
  opened_last: "2026-02-22T01:50:00Z", spark: [3, 3, 2.8, 2.8], best: { ...member(1, 0, ""), id: undefined, state: undefined, unit: "ns", better: "lower", before: 3.1, after: 2.8, rel_change: -0.09 } });

/** GET of the list: the filters that the walks use. */
export function listGroups(url, state) {
  if (state.empty) return { groups: [], improvements: [], next_cursor: null };
  const q = url.searchParams;
  const direction = q.get("direction");
  if (direction === "improvement") return { groups: [], improvements: [improvement()], next_cursor: null };
  const words = (q.get("q") ?? "").toLowerCase().split(/\s+/).filter((w) => w);
  const wanted = (g) => (direction !== "recovery") && (!q.get("state") || g.members.some((m) => m.state === q.get("state") || (q.get("state") === "open" && OPEN.includes(m.state))))
    && words.every((w) => g.summary.toLowerCase().includes(w)) && (!q.get("assignee") || g.assignee === q.get("assignee"));
  return { groups: groupsOf(state).filter(wanted).map((g) => shown(g, state)), improvements: [], next_cursor: null };
}

const detail = (g, state) => ({ ...shown(g, state), members: g.members, history: g.history });

export function oneGroup(url, state) {
  const g = groupsOf(state).find((one) => one.id === Number(url.pathname.split("/")[4]));
  return g ? detail(g, state) : null;
}

/** Answers a change: [status, body]. */
export function changeGroups(method, path, change, state) {
  const all = groupsOf(state);
  if (method === "PATCH") {
    const named = change.groups.map((c) => [c, all.find((g) => g.id === c.id)]);
    const moved = named.find(([c, g]) => c.seen && c.seen !== stateOf(g));
    if (moved) return [409, { error: { code: "conflict", message: `seen: group ${moved[0].id} is now ${stateOf(moved[1])}, expected ${moved[0].seen}; read it again` } }];
    let n = 0;
    for (const [, g] of named) {
      const open = g.members.some((m) => OPEN.includes(m.state));
      for (const m of g.members) {
        if (change.state && (!open || OPEN.includes(m.state))) { m.state = change.state; n += 1; }
        else if (change.assignee !== undefined) n += 1;
      }
      g.updated = `2026-02-27T05:40:${String(g.history.length).padStart(2, "0")}Z`;
      if (change.assignee !== undefined) g.assignee = change.assignee || null;
      g.history.unshift({ at: "2026-02-27T05:40:00Z", actor: "token 3 (mara)", from: "untriaged", to: stateOf(g), reason: change.reason ?? "", alerts: n });
    }
    return [200, { alerts: n, groups: named.map(([, g]) => shown(g, state)) }];
  }
  const [, , id, verb] = path.split("/");
  const g = all.find((one) => one.id === Number(id));
  if (verb === "issue") {
    if (state.unlinked) return [409, { error: { code: "conflict", message: "the project is linked to no repository of a forge" } }];
    g.issue = { forge: "github", repo: "octo/kernels", number: 12, url: "https://forge.example/octo/kernels/issues/12", state: "open", trouble: null, asked_at: "2026-02-27T05:40:00Z", asked_by: "token 3 (mara)" };
    return [202, detail(g, state)];
  }
  if (verb === "split") {
    const made = { ...g, id: 20 + all.length, summary: "split off", members: g.members.filter((m) => change.alerts.includes(m.id)), history: [] };
    g.members = g.members.filter((m) => !change.alerts.includes(m.id));
    all.push(made);
    return [201, detail(made, state)];
  }
  for (const other of change.groups) g.members.push(...all.find((one) => one.id === other).members);
  state.groups = all.filter((one) => !change.groups.includes(one.id));
  return [200, detail(g, state)];
}
