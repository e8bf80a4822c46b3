/* Requests of the search box of all pages, and the hits in their answers. Pure: views/palette.tsx sends the requests. */
import { formatChange, formatShares, shortId } from "../base/format";
import { href, withQuery } from "../base/route";
import type { GroupsReply } from "./groups";
import type { Alert, Bisection, Commit, RunRow, Series } from "./types";

export type Kind = "page" | "series" | "commit" | "group" | "alert" | "bisection" | "run";
export interface Hit { kind: Kind; name: string; detail: string; to: string }
/** One request and the way from its answer to hits; `kind` names it in a message. */
export interface Source { kind: Kind; path: string; hits: (reply: never) => Hit[] }

const KINDS: readonly Kind[] = ["series", "commit", "group", "alert", "bisection", "run"];
const EACH = 5;
const words = (...texts: (string | null | undefined)[]) => texts.filter((t) => t).join(" \u00b7 ");

/** "alert 31", "#31", "gemm bf16": the kind that is asked for (null: any), the text, and the number if it is one. */
export function asked(text: string): { kind: Kind | null; text: string; number: number | null } {
  const [first = "", ...rest] = text.trim().split(/\s+/);
  const kind = rest.length > 0 ? KINDS.find((k) => [k, `${k}s`].includes(first.toLowerCase())) ?? null : null;
  const left = kind ? rest.join(" ") : text.trim().replace(/\s+/g, " ");
  const number = /^#?(\d{1,15})$/.exec(left);
  return { kind, text: left, number: number ? Number(number[1]) : null };
}

const headline = (s: { benchmark: string }) => s.benchmark === "headline" || s.benchmark === "";
const nameOf = (s: { benchmark: string; metric: string }) => (headline(s) ? s.metric : s.benchmark);
const whereOf = (s: { benchmark: string; metric: string; backend: string; machine_class: string }) => words(headline(s) ? "headline" : s.metric, s.backend, s.machine_class);
const seriesHit = (s: Series): Hit => ({ kind: "series", name: nameOf(s), detail: whereOf(s), to: href.series(s.id) });
const alertHit = (a: Alert): Hit => ({ kind: "alert", name: `#${a.id} ${nameOf(a)}`, detail: words(a.title, whereOf(a), a.state.replace(/_/g, " ")), to: href.alert(a.id) });
const bisectionHit = (b: Bisection): Hit => ({ kind: "bisection", name: `#${b.id} ${b.benchmark ?? b.metric}`,
  detail: words(b.verdict ?? b.state, b.culprits[0] && shortId(b.culprits[0].commits[0]), `${shortId(b.good)} to ${shortId(b.bad)}`), to: href.bisection(b.id) });
const runHit = (r: RunRow): Hit => ({ kind: "run", name: `#${r.run_id} ${r.suite}`, detail: words(shortId(r.commit), r.machine_class), to: href.run(r.run_id) });

/** Requests for a text; a list with a cursor begins below it, so that cursor N + 1 and limit 1 give entry N, if there is one. */
export function sourcesOf(project: string | null, typed: string): Source[] {
  const q = asked(typed);
  if (q.text === "") return [];
  const own = project === null ? null : `/projects/${encodeURIComponent(project)}`;
  const search = { project, q: q.text, limit: EACH };
  const all: (Source | null)[] = [];
  const n = q.number;
  if (n !== null) {
    const one = { cursor: n + 1, limit: 1 };
    all.push(
      { kind: "alert", path: withQuery("/alerts", { project, ...one }), hits: (r: { alerts: Alert[] }) => r.alerts.filter((a) => a.id === n).map(alertHit) },
      { kind: "group", path: withQuery("/alerts", { project, group: n, limit: 1 }),
        hits: (r: { alerts: Alert[] }) => r.alerts.map((a) => ({ kind: "group" as const, name: `#${n} ${formatShares(a.group?.summary ?? a.title ?? "")}`, detail: "", to: href.group(n) })) },
      { kind: "bisection", path: withQuery("/bisections", { project, ...one }), hits: (r: { bisections: Bisection[] }) => r.bisections.filter((b) => b.id === n).map(bisectionHit) },
      own === null ? null : { kind: "run", path: withQuery(`${own}/runs`, one), hits: (r: { runs: RunRow[] }) => r.runs.filter((x) => x.run_id === n).map(runHit) });
  }
  if (own !== null) {
    all.push(
      { kind: "series", path: withQuery(`${own}/series`, { q: q.text, limit: EACH }), hits: (r: { series: Series[] }) => r.series.map(seriesHit) },
      { kind: "commit", path: withQuery(`${own}/commits`, { q: q.text, limit: EACH }),
        hits: (r: { commits: Commit[] }) => r.commits.map((c) => ({ kind: "commit" as const, name: c.subject || shortId(c.id), detail: words(shortId(c.id), c.author), to: href.commit(project ?? "", c.id) })) });
    if (/^[0-9a-f]{40}$/i.test(q.text)) {
      all.push({ kind: "run", path: withQuery(`${own}/runs`, { commit: q.text.toLowerCase(), limit: EACH }), hits: (r: { runs: RunRow[] }) => r.runs.map(runHit) });
    }
  }
  if (n === null) {
    all.push(
      { kind: "group", path: withQuery("/groups", search), hits: (r: GroupsReply) => r.groups.map((g) => ({ kind: "group" as const, name: `#${g.id} ${formatShares(g.summary)}`,
        detail: words(g.state.replace(/_/g, " "), g.rel_most === null ? null : formatChange(g.rel_most)), to: href.group(g.id) })) },
      { kind: "alert", path: withQuery("/alerts", search), hits: (r: { alerts: Alert[] }) => r.alerts.map(alertHit) },
      { kind: "bisection", path: withQuery("/bisections", search), hits: (r: { bisections: Bisection[] }) => r.bisections.map(bisectionHit) });
  }
  return all.filter((s): s is Source => s !== null && (q.kind === null || s.kind === q.kind));
}

/** Hits without a request: pages by name, and a run by its id of 32 digits. */
export function localHits(typed: string, pages: readonly { name: string; to: string }[]): Hit[] {
  const text = typed.trim().toLowerCase();
  const hits: Hit[] = pages.filter((p) => p.name.toLowerCase().includes(text)).map((p) => ({ kind: "page", name: p.name, detail: "", to: p.to }));
  const { kind, text: id } = asked(typed);
  if (/^[0-9a-f]{32}$/i.test(id) && (kind === null || kind === "run")) hits.push({ kind: "run", name: id.toLowerCase(), detail: "", to: href.run(id.toLowerCase()) });
  return hits;
}
