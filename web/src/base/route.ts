/* Paths to pages and back. Pure: the browser's side of it is location.ts. */

export type Route =
  | { page: "overview" }
  | { page: "seriesList"; project: string }
  | { page: "plot"; project: string }
  | { page: "heatmap"; project: string }
  | { page: "coverage"; project: string }
  | { page: "roofline"; project: string }
  | { page: "commits"; project: string }
  | { page: "commit"; project: string; id: string }
  | { page: "nights"; project: string }
  | { page: "schedules"; project: string }
  | { page: "night"; project: string; id: string }
  | { page: "suppressions"; project: string }
  | { page: "owners"; project: string }
  | { page: "quality"; project: string }
  | { page: "detector"; project: string }
  | { page: "tokens" | "notices" | "deliveries" | "browsers" | "audit" }
  | { page: "series"; id: string }
  | { page: "compare" }
  | { page: "explain" }
  | { page: "alerts" }
  | { page: "alert"; id: string }
  | { page: "group"; id: string }
  | { page: "jobs" }
  | { page: "run"; id: string }
  | { page: "trace"; run: string; id: string }
  | { page: "machines" }
  | { page: "bisections" }
  | { page: "bisection"; id: string }
  | { page: "missing" };

function parts(path: string): string[] | null {
  try {
    return path.split("/").filter((p) => p !== "").map(decodeURIComponent);
  } catch {
    return null; /* a lone "%" in the address */
  }
}

export function matchRoute(path: string): Route {
  const p = parts(path);
  if (!p) return { page: "missing" };
  const [a, b, c, d] = p;
  if (a === undefined) return { page: "overview" };
  if (a === "p" && b !== undefined) {
    if (p.length === 2 || (p.length === 3 && c === "series")) return { page: "seriesList", project: b };
    if (p.length === 3 && (c === "plot" || c === "heatmap" || c === "roofline" || c === "coverage" || c === "owners" || c === "detector" || c === "quality")) return { page: c, project: b };
    if (p.length === 3 && c === "commits") return { page: "commits", project: b };
    if (p.length === 4 && c === "commit" && d !== undefined) return { page: "commit", project: b, id: d };
    if (p.length === 3 && c === "suppressions") return { page: c, project: b };
    if (p.length === 3 && c === "nights") return { page: "nights", project: b };
    if (p.length === 3 && c === "schedules") return { page: "schedules", project: b };
    if (p.length === 4 && c === "nights" && d !== undefined) return { page: "night", project: b, id: d };
    return { page: "missing" };
  }
  if (p.length === 1) {
    if (a === "compare" || a === "explain" || a === "alerts" || a === "jobs" || a === "machines" || a === "bisections") return { page: a };
  } else if (p.length === 2 && b !== undefined) {
    if (a === "settings" && (b === "tokens" || b === "notices" || b === "deliveries" || b === "browsers" || b === "audit")) return { page: b };
    if (a === "series") return { page: "series", id: b };
    if (a === "alerts") return { page: "alert", id: b };
    if (a === "groups") return { page: "group", id: b };
    if (a === "runs") return { page: "run", id: b };
    if (a === "bisections") return { page: "bisection", id: b };
  } else if (p.length === 4 && a === "runs" && b !== undefined && c === "traces" && d !== undefined) {
    return { page: "trace", run: b, id: d };
  }
  return { page: "missing" };
}

export type Query = Record<string, string | number | null | undefined>;

/** Path with its query; empty, null and undefined values are left out, so that defaults stay out of the address. */
export function withQuery(path: string, query: Query): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") params.set(key, String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

const e = encodeURIComponent;
export const href = {
  overview: (project?: string | null) => withQuery("/", { project }),
  seriesList: (project: string, query: Query = {}) => withQuery(`/p/${e(project)}/series`, query),
  series: (id: number | string, query: Query = {}) => withQuery(`/series/${e(String(id))}`, query),
  plot: (project: string, query: Query = {}) => withQuery(`/p/${e(project)}/plot`, query),
  heatmap: (project: string, query: Query = {}) => withQuery(`/p/${e(project)}/heatmap`, query),
  coverage: (project: string, query: Query = {}) => withQuery(`/p/${e(project)}/coverage`, query),
  roofline: (project: string, query: Query = {}) => withQuery(`/p/${e(project)}/roofline`, query),
  commits: (project: string) => `/p/${e(project)}/commits`,
  commit: (project: string, id: string) => `/p/${e(project)}/commit/${e(id)}`,
  nights: (project: string) => `/p/${e(project)}/nights`,
  schedules: (project: string) => `/p/${e(project)}/schedules`,
  night: (project: string, id: string, query: Query = {}) => withQuery(`/p/${e(project)}/nights/${e(id)}`, query),
  suppressions: (project: string, query: Query = {}) => withQuery(`/p/${e(project)}/suppressions`, query),
  detector: (project: string) => `/p/${e(project)}/detector`,
  quality: (project: string) => `/p/${e(project)}/quality`,
  owners: (project: string) => `/p/${e(project)}/owners`,
  settings: (page: "tokens" | "notices" | "deliveries" | "browsers" | "audit", project?: string | null) => withQuery(`/settings/${page}`, { project }),
  compare: (project: string | null, a?: string | null, b?: string | null) => withQuery("/compare", { project, a, b }),
  /** The commit before the first possible culprit, which is measured, against the end of the range. */
  compareRange: (project: string, low: string, high: string) => withQuery("/compare", { project, a: `${low}~1`, b: high }),
  explain: (asked: { before?: string | number | null; after: string | number; benchmark: string; backend: string; metric?: string | null }) => withQuery("/explain", asked),
  alerts: (project?: string | null, state?: string | null) => withQuery("/alerts", { project, state }),
  eventAlerts: (project: string, id: number) => withQuery("/alerts", { project, state: "all", event: id }),
  alert: (id: number | string) => `/alerts/${e(String(id))}`,
  group: (id: number | string) => `/groups/${e(String(id))}`,
  jobs: (project?: string | null) => withQuery("/jobs", { project }),
  run: (id: number | string) => `/runs/${e(String(id))}`,
  trace: (run: number | string, id: number | string, query: Query = {}) => withQuery(`/runs/${e(String(run))}/traces/${e(String(id))}`, query),
  machines: (project?: string | null) => withQuery("/machines", { project }),
  bisections: (project?: string | null) => withQuery("/bisections", { project }),
  bisection: (id: number | string) => `/bisections/${e(String(id))}`,
};
