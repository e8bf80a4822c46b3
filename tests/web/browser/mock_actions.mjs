// Jobs, searches and schedules for the mock: what is started, cancelled and retried. state.orders collects the requests.
import { alertTracesOf } from "./mock_trace.mjs";

const COST = { commits: 9, stored_runs: 3, runs: 11.2, builds: 4, run_seconds: 60, wait_seconds: 180, seconds: 1500, runners: 2, jobs_waiting: 1 };

const schedule = (name, more) => ({ name, cron: "30 2 * * *", zone: "Europe/Berlin", branch: null, suite: null, backends: [], labels: {}, max_commits: 200, budget_s: 3600,
  enabled: true, next_at: "2026-02-28T01:30:00Z", last_at: "2026-02-27T01:30:00Z", trouble: null, created_at: "2026-01-01T00:00:00Z",
  night: { id: 41, state: "done", reason: "" }, ...more });

export function schedulesOf(state) {
  if (state.empty) return { schedules: [] };
  state.schedules ??= [schedule("nightly"), schedule("weekly", { cron: "@weekly", night: { id: 42, state: "running", reason: "" } })];
  return { schedules: state.schedules };
}

/** The runners of the fixture with their states. */
export const withStates = (reply, state) => ({ ...reply, runners: state.noRunner ? [] : reply.runners.map((r) => ({ ...r, state: r.job_id ? "busy" : "idle" })) });

/** Answers a change of /jobs, /bisections or a schedule: [status, body]; null: not one of them. */
export function act(method, path, body, state, jobs) {
  state.orders ??= [];
  if (method === "POST" && path === "/bisections") {
    if (body.dry_run) return [200, { expected: { ...COST, ...state.cost } }];
    state.orders.push([path, body]);
    return [201, { id: 4, expected: COST }];
  }
  if (method === "DELETE" && /^\/bisections\/\d+$/.test(path)) {
    state.orders.push([method, path]);
    return [200, { id: 4, state: "cancelled" }];
  }
  if (method === "DELETE" && /^\/jobs\/\d+$/.test(path)) {
    state.orders.push([method, path]);
    state.jobs = { ...state.jobs, [path.split("/")[2]]: "cancelled" };
    return [200, {}];
  }
  if (method === "POST" && /^\/jobs\/\d+\/retry$/.test(path)) {
    state.orders.push([method, path]);
    return [201, { ...jobs[0], id: 601, state: "queued" }];
  }
  if (method === "POST" && path.endsWith("/traces")) {
    state.orders.push([path, body]);
    for (const [side, id] of [["before", 601], ["after", 602]]) if (state.sides[side].traces === undefined) state.sides[side] = { job: { id, state: "queued" } };
    return [200, alertTracesOf(state)];
  }
  if (method === "POST" && path === "/jobs") {
    state.orders.push([path, body]);
    return [201, { ...jobs[0], id: 600, state: "queued", ...body }];
  }
  if (method === "POST" && /\/schedules\/\w+\/run$/.test(path)) {
    state.orders.push([method, path]);
    const one = state.schedules.find((s) => path.includes(`/${s.name}/`));
    one.night = { id: 43, state: "running", reason: "" };
    return [201, one.night];
  }
  return null;
}
