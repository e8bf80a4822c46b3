// Answers like perfci-server: the bundle under its own headers, and the API from recorded shapes.
import { plotFault, plotNames, plotOf } from "./mock_plot.mjs";
import { rooflineOf } from "./mock_roofline.mjs";
import { alertTracesOf, timelineOf, traceOf, tracesOf } from "./mock_trace.mjs";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { act, schedulesOf, withStates } from "./mock_actions.mjs";
import { comparePlotOf, rowOfPlot } from "./mock_compare.mjs";
import { canaries, coverage, machineCanaries, quality } from "./mock_pages.mjs";
import { changeSettings, settingsOf } from "./mock_settings.mjs";
import { replayOf } from "./mock_bisection.mjs";
import { changeGroups, groupsOf, listGroups, oneGroup } from "./mock_groups.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const fixture = (name) => JSON.parse(readFileSync(join(here, "../fixtures", `${name}.json`), "utf8"));

/** Content-Security-Policy of the server, sent with every page; a violation shows up as a console error, which fails the test. */
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
  + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const OPEN = ["untriaged", "acknowledged", "investigating"];

const json = (res, status, body) => {
  res.writeHead(status, { "Content-Type": "application/json" });
  res.end(JSON.stringify(body));
};
const refuse = (res, status, code, message) => json(res, status, { error: { code, message } });

/** A series of `n` points with two steps, to see how the pages take size. Seeded, so always the same. */
export function longSeries(n) {
  const base = fixture("series");
  let seed = 12345;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const level = (i) => (i < n * 0.4 ? 0.083 : i < n * 0.8 ? 0.088 : 0.078);
  const rows = Array.from({ length: n }, (_, i) => i);
  const median = rows.map((i) => level(i) * (1 + (random() - 0.5) * 0.02));
  return {
    ...base, bucketed: false, boundaries: [],
    changes: base.changes.map((c, k) => ({ ...c, index: Math.round(n * (k ? 0.8 : 0.4)),
      index_low: Math.round(n * (k ? 0.8 : 0.4)) - 5, index_high: Math.round(n * (k ? 0.8 : 0.4)) + 5 })),
    series: { ...base.series, points: n },
    columns: {
      commit: rows.map((i) => i.toString(16).padStart(12, "0").padEnd(40, "0")), time: rows.map((i) => 1700000000 + i * 600),
      subject: rows.map((i) => `change number ${i}`), author: rows.map(() => "Mara Lindqvist"),
      position: rows.map((i) => i + 1), median, low: median.map((v) => v * 0.99), high: median.map((v) => v * 1.01),
      min: median.map((v) => v * 0.985), n: rows.map(() => 25), run_id: rows.map((i) => i + 1),
      fingerprint: rows.map(() => "f"), infra: rows.map((i) => i % 997 === 0),
    },
  };
}

/** The rows between the commits from and to; state.buckets: without them, each of so many rows stands for several. */
function windowOf(reply, url, state) {
  const all = reply.columns.commit;
  const place = (id, otherwise) => (id === null ? otherwise : state.unmeasured?.[id] ?? all.findIndex((c) => c.startsWith(id)));
  const [a, b] = [place(url.searchParams.get("from"), 0), place(url.searchParams.get("to"), all.length - 1)];
  const bucketed = !url.searchParams.has("from") && Boolean(state.buckets);
  const step = bucketed ? Math.ceil(all.length / state.buckets) : 1;
  const rows = all.map((_, i) => i).filter((i) => i >= a && i <= b && (i - a) % step === 0);
  if (rows.length === all.length) return reply;
  const columns = Object.fromEntries(Object.entries(reply.columns).map(([k, v]) => [k, rows.map((i) => v[i])]));
  return { ...reply, bucketed, columns, changes: [], boundaries: [], broken: [] };
}

function manySeries(n) {
  const { series } = fixture("series_list");
  return { next_cursor: null, series: Array.from({ length: n }, (_, i) => ({
    ...series[i % series.length], id: 10000 + i, headline: false, benchmark: `gemm/f32/case${i}`,
    spark: Array.from({ length: 60 }, (_, k) => 1 + Math.sin(i + k / 5) * 0.03),
  })) };
}

/** Rows below the cursor that have all words of q, as many as the limit says. */
function asked(url, rows, idOf, textOf) {
  const q = url.searchParams;
  const words = (q.get("q") ?? "").toLowerCase().split(/\s+/).filter((w) => w);
  return rows.filter((r) => (!q.has("cursor") || idOf(r) < Number(q.get("cursor"))) && words.every((w) => textOf(r).toLowerCase().includes(w)))
    .slice(0, Number(q.get("limit") ?? 100));
}

/** One night; of all but the newest no series is left. */
function nightOf(id) {
  const row = fixture("nights").sessions.find((s) => s.id === id);
  if (!row || id === fixture("night").id) return fixture("night");
  return { ...row, series: [] };
}

/** One run a build of the night; its number is 9000 and the build's place. */
function runsOfNight(commit) {
  const at = Object.keys(fixture("visits")).indexOf(commit ?? "");
  return at < 0 ? null : { next_cursor: null, runs: [{ ...fixture("runs").runs[0], run_id: 9000 + at, commit, session: fixture("night").id }] };
}

function documentOfNight(number) {
  const visits = Object.values(fixture("visits"))[number - 9000];
  if (!visits) return null;
  const { id, anchor, base, series } = fixture("night");
  const run = fixture("run");
  return { ...run, run_id: number, session: { id, anchor, base }, measurements: series.map(({ benchmark, metric, backend, unit }) => ({
    ...run.measurements[0], benchmark, metric, backend, unit, visits })) };
}

/* Objects whose members have names from outside. */
const MAPS = new Set(["params", "labels", "fingerprint"]);

/** Text members of outside get other values: rename(value, key) of every string in a document. Maps get one member more. */
function renamed(document, rename) {
  const more = rename("label", "name");
  const walk = (value, key) => {
    if (typeof value === "string") return rename(value, key);
    if (Array.isArray(value)) return value.map((v) => walk(v, key));
    if (value === null || typeof value !== "object") return value;
    return { ...Object.fromEntries(Object.entries(value).map(([k, v]) => [k, walk(v, k)])), ...(MAPS.has(key) && more !== "label" ? { [more]: more } : {}) };
  };
  return walk(document, "");
}

/** state: {empty, broken, token, long, many} switches what the API answers; `patches` collects what was sent; `rename` changes texts. */
export function startMock(dist, state) {
  const manifest = JSON.parse(readFileSync(join(dist, "manifest.json"), "utf8"));
  const files = new Map(manifest.files.map((f) => [`/${f.path}`, { type: f.type, body: readFileSync(join(dist, f.path)) }]));
  const streams = new Set();
  const sessions = new Map(); /* id of the cookie -> token */
  const empty = (name) => ({ [name]: [], next_cursor: null });
  const list = (name, key = name) => (state.empty ? empty(key) : fixture(name));
  const routes = [
    [/^\/projects$/, () => list("projects")],
    [/^\/projects\/[^/]+$/, () => ({ ...list("projects").projects[0], standing: state.standing ?? {
      level: "bad", sentence: "2 open alert groups with 3 alerts (2 regressions, 1 broken), 1 group new since the last night; 1 broken build, 1 silent runner; 6 headline metrics unchanged.",
      new_since: "night", broken_builds: 1, silent_runners: 1,
      alerts: { open: 3, groups: 2, new_groups: 1, regression: 2, broken: 1, drift: 0, toolchain: 0, harness: 0 },
      headline: { series: 6, regressed: 0, watching: 0, improved: 0, unchanged: 6 } } })],
    [/^\/projects\/[^/]+\/series$/, (url) => {
      if (state.many) return manySeries(state.many);
      if (url.searchParams.get("benchmark") === "canary") return canaries(state);
      const all = list("series_list", "series");
      const words = (url.searchParams.get("q") ?? "").toLowerCase().split(/\s+/).filter((w) => w);
      const change = url.searchParams.get("change");
      return { ...all, series: all.series.filter((s) => (!url.searchParams.has("headline") || s.headline)
        && (!change || (change === "steady" ? !s.change : s.change?.direction === change))
        && words.every((w) => `${s.benchmark} ${s.metric} ${s.backend}`.toLowerCase().includes(w))).slice(0, Number(url.searchParams.get("limit") ?? 250)) };
    }],
    [/^\/projects\/[^/]+\/plot$/, (url) => (rowOfPlot(url, fixture("compare")) ? comparePlotOf(rowOfPlot(url, fixture("compare")), fixture("compare")) : state.empty ? { ...plotOf(url), lines: [], broken: [], matched: 0 } : plotOf(url)), plotFault],
    [/^\/projects\/[^/]+\/coverage$/, (url) => coverage(url, state, fixture("compare").rows)],
    [/^\/projects\/[^/]+\/quality$/, (url) => quality(url, state)],
    [/^\/projects\/[^/]+\/roofline$/, (url) => rooflineOf(url, state.empty), plotFault],
    [/^\/projects\/[^/]+\/plot\/names$/, () => plotNames],
    [/^\/projects\/[^/]+\/commits$/, (url) => {
      const words = (url.searchParams.get("q") ?? "").toLowerCase().split(/\s+/).filter((w) => w);
      const all = list("commits");
      return { ...all, commits: all.commits.filter((c) => words.every((w) => `${c.id} ${c.subject} ${c.author}`.toLowerCase().includes(w))).slice(0, Number(url.searchParams.get("limit") ?? 1000)) };
    }],
    [/^\/projects\/[^/]+\/commits\/[^/]+$/, () => fixture("commit")],
    [/^\/projects\/[^/]+\/runs$/, (url) => runsOfNight(url.searchParams.get("commit")) ?? { ...list("runs"), runs: asked(url, list("runs").runs, (r) => r.run_id, () => "") }],
    [/^\/projects\/[^/]+\/sessions$/, () => list("nights", "sessions")],
    [/^\/projects\/[^/]+\/sessions\/\w+$/, (url) => ({ ...nightOf(url.pathname.split("/").pop()), ...state.night })],
    [/^\/projects\/[^/]+\/candidates$/, () => list("candidates")],
    [/^\/series\/\d+$/, (url) => (state.long ? windowOf(longSeries(state.long), url, state) : windowOf(fixture("series"), url, state))],
    [/^\/series\/\d+\/replay$/, (url) => {
      /* The shape of the real answer; a floor above a change's size hides it, a lax alpha adds one. */
      const all = state.long ? longSeries(state.long) : fixture("series");
      const at = (row) => all.columns.position[row];
      const floor = Number(url.searchParams.get("min_change") ?? 0);
      const found = all.changes.filter((c) => Math.abs(c.rel_change) >= floor);
      if (Number(url.searchParams.get("alpha") ?? 0) > 0.1) found.unshift({ ...all.changes[0], index: 10, index_low: 9, index_high: 11, commit: all.columns.commit[10] });
      state.replays = (state.replays ?? 0) + 1;
      return { series_id: all.series.id, points: all.series.points, noise_rel: 0.006, watching: 0, watching_odds: null,
        changes: found.map(({ index, index_low, index_high, alert_id, commit_low, commit_high, ...c }) => ({ ...c,
          position: at(index), position_low: at(index_low), position_high: at(index_high) })) };
    }],
    [/^\/projects\/[^/]+\/suppressions$/, () => (state.suppressions ? { suppressions: state.suppressions, next_cursor: null } : list("suppressions"))],
    [/^\/projects\/[^/]+\/suppressions\/\d+$/, () => ({ ...fixture("suppressions").suppressions[0], ...fixture("suppression_alerts") })],
    [/^\/compare$/, () => ({ ...fixture("compare"), ...state.compare })],
    [/^\/alerts$/, (url) => {
      const all = list("alerts");
      const want = url.searchParams.get("state");
      if (url.searchParams.has("group")) {
        const group = groupsOf(state).find((g) => g.id === Number(url.searchParams.get("group")));
        return { ...all, alerts: group ? [{ ...all.alerts[0], group: { id: group.id, summary: group.summary } }] : [] };
      }
      return { ...all, alerts: asked(url, all.alerts, (a) => a.id, (a) => `${a.benchmark} ${a.metric} ${a.backend}`).map((a) => ({ ...a, ...state.alerts })).filter((a) => !want || a.state === want || (want === "open" && OPEN.includes(a.state))) };
    }],
    [/^\/groups$/, (url) => listGroups(url, state)],
    [/^\/groups\/\d+$/, (url) => oneGroup(url, state)],
    [/^\/alerts\/\d+$/, () => ({ ...fixture("alert"), ...state.alert })],
    [/^\/alerts\/\d+\/suspects$/, () => ({ ...fixture("suspects"), ...state.suspects })],
    [/^\/alerts\/\d+\/explanation$/, () => ({ ...fixture("explanation"), ...state.explanation })],
    [/^\/explain$/, () => ({ ...fixture("explanation"), ...state.explanation })],
    [/^\/environment$/, () => (state.empty ? empty("events") : fixture("environment"))],
    [/^\/environment\/\d+$/, () => ({ ...fixture("environment").events[0], ...state.event })],
    [/^\/jobs$/, () => { const all = list("jobs"); return { ...all, jobs: all.jobs.map((j) => ({ ...j, state: state.jobs?.[j.id] ?? j.state })) }; }],
    [/^\/runners$/, () => withStates(list("runners"), state)],
    [/^\/projects\/[^/]+\/schedules$/, () => schedulesOf(state)],
    [/^\/runs\/\w+$/, (url) => documentOfNight(Number(url.pathname.split("/").pop())) ?? fixture("run")],
    [/^\/alerts\/\d+\/traces$/, () => alertTracesOf(state)],
    [/^\/runs\/\w+\/traces$/, () => tracesOf(state)],
    [/^\/traces\/\d+$/, (url) => traceOf(Number(url.pathname.split("/").pop()), state)],
    [/^\/traces\/\d+\/timeline$/, (url) => timelineOf(url, state)],
    [/^\/machines$/, () => list("machines")],
    [/^\/projects\/[^/]+\/canaries$/, () => machineCanaries(state)],
    [/^\/bisections$/, (url) => { const all = list("bisections"); return { ...all, bisections: asked(url, all.bisections, (b) => b.id, (b) => `${b.metric} ${b.verdict}`) }; }],
    [/^\/bisections\/\d+$/, () => ({ ...fixture("bisection"), ...state.bisection })],
    [/^\/bisections\/\d+\/replay$/, () => replayOf({ ...fixture("bisection"), ...state.bisection })],
  ];

  const give = (res, document) => json(res, 200, state.rename ? renamed(document, state.rename) : document);

  function api(req, res, url) {
    const path = url.pathname.slice("/api/v1".length);
    const session = /(?:^|; )pfc_session=([^;]*)/.exec(req.headers.cookie ?? "")?.[1];
    const own = req.method === "GET" || req.headers["sec-fetch-site"] === "same-origin"; /* as the service: auth.c */
    const known = req.headers.authorization ?? (own && sessions.has(session) ? `Bearer ${sessions.get(session)}` : "");
    if (path === "/session" && req.method === "GET") {
      if (!known) return refuse(res, 401, "unauthorized", "This needs a token.");
      return json(res, 200, { token_id: 3, name: "mara", scopes: state.scopes ?? ["read", "ingest", "triage"], project: null, expires_at: null });
    }
    if (path === "/session") {
      const secret = (req.headers.authorization ?? "").replace(/^Bearer /, "");
      if (req.method === "POST" && (!secret || (state.token && secret !== state.token))) {
        return refuse(res, 401, "unauthorized", "A session needs a token.");
      }
      sessions.delete(session);
      const id = `pfs_${sessions.size}`;
      if (req.method === "POST") sessions.set(id, secret);
      const value = req.method === "POST" ? id : "; Max-Age=0";
      res.writeHead(204, { "Set-Cookie": `pfc_session=${value}; Path=/api/v1; HttpOnly; SameSite=Strict` });
      return res.end();
    }
    if (path === "/browser-sessions" && req.method === "GET") {
      return give(res, { next_cursor: null, browser_sessions: [...sessions.keys()].map((id, n) => ({ id: n + 1, token_id: 3, token_name: "mara",
        address: "192.0.2.7", created_at: "2026-02-24T00:00:00.000Z", expires_at: "2026-03-03T00:00:00.000Z", last_used_at: null, current: id === session })) });
    }
    if (state.token && known !== `Bearer ${state.token}`) {
      return refuse(res, 401, "unauthorized", "This service is read with a token only.");
    }
    if (path === "/events") {
      res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
      res.write(": here\n\n");
      streams.add(res);
      req.on("close", () => streams.delete(res));
      return undefined;
    }
    if (state.broken) return refuse(res, 503, "unavailable", "The database does not answer; the service tries again.");
    if (req.method === "PATCH" && /^\/alerts\/\d+$/.test(path)) {
      let body = "";
      req.on("data", (chunk) => { body += chunk; });
      req.on("end", () => {
        if (!known) return refuse(res, 401, "unauthorized", "Triage needs a token with the scope triage.");
        const change = JSON.parse(body);
        const now = state.alert?.state ?? fixture("alert").state;
        if (change.seen && change.seen !== now) {
          return refuse(res, 409, "conflict", `seen: the alert is now ${now}, expected ${change.seen}; read it again`);
        }
        state.patches.push({ token: known, change });
        state.alert = { ...state.alert, state: change.state };
        return json(res, 200, { ...fixture("alert"), ...state.alert });
      });
      return undefined;
    }
    if (["POST", "DELETE"].includes(req.method) && /^\/(jobs|bisections)(\/|$)|\/schedules\/|^\/alerts\/\d+\/traces$/.test(path)) {
      let body = "";
      req.on("data", (chunk) => { body += chunk; });
      req.on("end", () => {
        if (!known) return refuse(res, 401, "unauthorized", "This needs a token with the scope ingest.");
        const answer = act(req.method, path, body ? JSON.parse(body) : {}, state, fixture("jobs").jobs);
        return answer ? json(res, ...answer) : refuse(res, 404, "not_found", `Nothing is at ${path}.`);
      });
      return undefined;
    }
    if (req.method !== "GET" && path.startsWith("/groups")) {
      let body = "";
      req.on("data", (chunk) => { body += chunk; });
      req.on("end", () => {
        if (!known) return refuse(res, 401, "unauthorized", "Triage needs a token with the scope triage.");
        const change = JSON.parse(body);
        state.patches.push({ path, change });
        return json(res, ...changeGroups(req.method, path, change, state));
      });
      return undefined;
    }
    if (req.method === "PATCH" && /^\/environment\/\d+$/.test(path)) {
      let body = "";
      req.on("data", (chunk) => { body += chunk; });
      req.on("end", () => {
        state.patches.push({ token: known, change: JSON.parse(body) });
        state.event = { dismissed_by: "mara", dismissed_reason: JSON.parse(body).reason, closed_at: "2026-02-24T00:00:00Z" };
        json(res, 200, { ...fixture("environment").events[0], ...state.event });
      });
      return undefined;
    }
    if (/^\/projects\/[^/]+\/suppressions/.test(path) && req.method !== "GET") {
      let body = "";
      req.on("data", (chunk) => { body += chunk; });
      req.on("end", () => {
        if (!known) return refuse(res, 401, "unauthorized", "Rules need a token with the scope triage.");
        const rule = fixture("suppressions").suppressions[0];
        state.patches.push({ method: req.method, path, change: body ? JSON.parse(body) : null });
        if (path.endsWith("/preview")) return json(res, 200, { open: 2, visible: 1, past: 5, series: 12, alerts: fixture("suppression_alerts").alerts });
        if (req.method === "POST") state.suppressions = [{ ...rule, ...JSON.parse(body), id: 9 }, ...fixture("suppressions").suppressions];
        else state.suppressions = fixture("suppressions").suppressions.filter((r) => r.id !== Number(path.split("/").pop()));
        return json(res, req.method === "POST" ? 201 : 200, req.method === "POST" ? state.suppressions[0] : rule);
      });
      return undefined;
    }
    if (req.method !== "GET") {
      let body = "";
      req.on("data", (chunk) => { body += chunk; });
      req.on("end", () => {
        if (!known) return refuse(res, 401, "unauthorized", "This needs a token.");
        const answer = changeSettings(req.method, path, body ? JSON.parse(body) : null, state, url.searchParams);
        if (answer?.[0] === 204) return res.writeHead(204).end();
        return answer ? json(res, ...answer) : refuse(res, 404, "not_found", `Nothing is at ${path}.`);
      });
      return undefined;
    }
    const found = settingsOf(path, url, state);
    const hit = found ? [path, () => found] : routes.find(([pattern]) => pattern.test(path));
    state.asked?.push(path + url.search);
    if (state.hold && url.searchParams.get("q") === state.hold) return undefined; /* never answered */
    if (hit?.[2]?.(url)) return refuse(res, ...hit[2](url));
    return hit ? give(res, hit[1](url)) : refuse(res, 404, "not_found", `Nothing is at ${path}.`);
  }

  const server = createServer((req, res) => {
    const url = new URL(req.url, "http://mock");
    if (url.pathname.startsWith("/api/v1")) return api(req, res, url);
    const page = manifest.pages.some((p) => (p.endsWith("/") && p !== "/" ? url.pathname.startsWith(p) : url.pathname === p));
    const file = files.get(page ? "/index.html" : url.pathname);
    if (!file && !(req.headers.accept ?? "").includes("text/html")) return refuse(res, 404, "not_found", `Nothing is at ${url.pathname}.`);
    const shown = file ?? files.get("/index.html"); /* static.c: the page says that the address has none */
    res.writeHead(file ? 200 : 404, { "Content-Type": shown.type, "Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff" });
    return res.end(shown.body);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done({
    url: `http://127.0.0.1:${server.address().port}`,
    send: (event) => { for (const s of streams) s.write(`event: ${event}\ndata: {}\n\n`); },
    listeners: () => streams.size,
    close: () => { server.closeAllConnections?.(); return new Promise((r) => server.close(r)); },
  })));
}
