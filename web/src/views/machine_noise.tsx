/* The canary of a class of machines, the noise of its series, and the events of its machines. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { Canary, MachineEvent, Series } from "../api/types";
import { useApi, usePages } from "../api/use";
import { formatChange, formatShare, formatValue, plural } from "../base/format";
import { machineCanary, noiseOf, sayEvent, sayNoise, type ClassNoise } from "../base/noise";
import { href, withQuery } from "../base/route";
import { Spark } from "../charts/spark";
import { Badge, ChangeBadge } from "../widgets/badge";
import { CommitLink, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

const SERIES_MAX = 20_000;

export interface Noise { classes: Map<string, ClassNoise>; cut: boolean }

/** Noise of all series of the project, page by page; null: not read yet; a text: why it failed. */
export function useNoise(project: string | null): Noise | string | null {
  const [noise, setNoise] = useState<Noise | string | null>(null);
  useEffect(() => {
    if (!project) return undefined;
    const abort = new AbortController();
    const read = async () => {
      const found: Series[] = [];
      let cursor: string | number | null = null;
      const path = `/projects/${encodeURIComponent(project)}/series`;
      do {
        const page: { series: Series[]; next_cursor?: string | number | null } = await request("GET", withQuery(path, { limit: 1000, cursor }), undefined, abort.signal);
        found.push(...page.series);
        cursor = page.next_cursor ?? null;
      } while (cursor !== null && found.length < SERIES_MAX);
      /* The canary's series come with their last values, to be drawn. */
      const canaries = await request<{ series: Series[] }>("GET", withQuery(path, { benchmark: "canary", spark: 100, limit: 1000 }), undefined, abort.signal);
      setNoise({ classes: noiseOf([...found.filter((s) => s.benchmark !== "canary"), ...canaries.series.filter((s) => s.benchmark === "canary")]), cut: cursor !== null });
    };
    read().catch((e: unknown) => { if (!abort.signal.aborted) setNoise(e instanceof ApiError ? e.message : String(e)); });
    return () => abort.abort();
  }, [project]);
  return noise;
}

/** Figures of one class: noise in a sentence, and each canary with its history. */
export function ClassNoiseCard(props: { noise: Noise | string | null; name: string }) {
  if (props.noise === null) return <p class="muted" role="status">Reading the noise</p>;
  if (typeof props.noise === "string") return <p class="muted" role="status">The noise was not read: {props.noise}</p>;
  const own = props.noise.classes.get(props.name);
  return (
    <div class="card machine-noise">
      <p>Noise of a series: {own ? sayNoise(own) : "no series of this class"}{props.noise.cut ? `; of the first ${SERIES_MAX} series of the project` : ""}</p>
      {!own || own.canaries.length === 0 ? <p class="muted">No canary was stored: only suites of perfci-bench measure one.</p> : (
        <Table caption={`Canary of ${props.name}`} rows={own.canaries} keyOf={(s) => s.id} columns={[
          { name: "Canary", head: true, cell: (s) => <span class="bench"><a href={href.series(s.id)}>{s.metric}</a><small>{s.backend}, branch {s.branch}, {plural(s.points, "point")}</small></span> },
          { name: "Newest values", cell: (s) => <Spark values={s.spark} /> },
          { name: "Last", numeric: true, cell: (s) => (s.last ? formatValue(s.last.median, s.unit) : "\u2013") },
          { name: "Noise", numeric: true, cell: (s) => (s.noise_rel === null ? <span class="muted">not known</span> : formatShare(s.noise_rel)) },
          { name: "Change", cell: (s) => <ChangeBadge change={s.change} /> },
          { name: "Measured", cell: (s) => (s.last ? <When time={s.last.time} /> : <span class="muted">never</span>) },
        ]} />
      )}
    </div>
  );
}

/** The canary on each machine of the class: a machine that is slower or noisier than the others shows here. */
export function MachineCanaries(props: { project: string; name: string }) {
  const load = useApi<{ canaries: Canary[] }>(`/projects/${encodeURIComponent(props.project)}/canaries`, ["run"]);
  if (load.state === "failed") return <p class="muted">The canaries of the machines were not read: {load.error.message}</p>;
  if (load.state === "loading") return null;
  const rows = load.data.canaries.filter((c) => c.machine_class === props.name).map((c) => ({ c, m: machineCanary(c.median, c.infra) }));
  if (rows.length === 0) return null;
  const levels = (id: number) => rows.flatMap((r) => (r.c.series_id === id && r.m.level !== null ? [r.m.level] : [])).sort((a, b) => a - b);
  const middle = (id: number) => { const all = levels(id); return all.length < 2 ? null : all[(all.length - 1) >> 1] ?? null; };
  const against = (id: number, level: number | null) => { const of = middle(id); return of === null || level === null ? <span class="muted">{"\u2013"}</span> : formatChange(level / of - 1); };
  return (
    <Table caption={`Canary on each machine of ${props.name}`} rows={rows} keyOf={({ c }) => `${c.machine} ${c.series_id}`} columns={[
      { name: "Machine", head: true, cell: ({ c }) => <span class="bench"><span>{c.machine}</span><small>{[c.metric, c.backend].filter((t) => t).join(" \u00b7 ")}</small></span> },
      { name: "Newest values", cell: ({ c }) => <Spark values={[...c.median].reverse()} /> },
      { name: "Level", numeric: true, cell: ({ c, m }) => (m.level === null ? "\u2013" : formatValue(m.level, c.unit)) },
      { name: "To the class", numeric: true, cell: ({ c, m }) => against(c.series_id, m.level) },
      { name: "Noise", numeric: true, cell: ({ m }) => (m.noise === null ? <span class="muted">not known</span> : formatShare(m.noise)) },
      { name: "Kept out", numeric: true, cell: ({ m }) => (m.out === 0 ? "none" : `${m.out} of ${plural(m.of, "run")}`) },
      { name: "Measured", cell: ({ c }) => <When time={c.time[0] ?? null} /> },
    ]} />
  );
}

/** Events of machines, ended ones, too: when a canary or most series of a machine moved. */
export function MachineEvents(props: { project: string }) {
  const { load, more, loadingMore } = usePages<{ events: MachineEvent[]; next_cursor?: number | null }, MachineEvent>(
    withQuery("/environment", { project: props.project, limit: 100 }), (r) => r.events.filter((e) => e.kind === "canary" || e.kind === "step"), ["environment"]);
  return (
    <Section title="Machines that moved">
      <View load={load} what="events of machines">
        {(events) => (
          <>
            {events.length === 0 ? <Empty title="No machine has moved"><p>Each canary has stayed in its band, and no machine has changed the level of most of its series.</p></Empty> : (
              <Table caption="Events of machines, newest first" rows={events} keyOf={(e) => e.id} columns={[
                { name: "Machine", head: true, cell: (e) => <span class="bench"><span>{e.machine ?? "every machine of the class"}</span><small>{e.machine_class}</small></span> },
                { name: "Shown by", cell: (e) => (e.kind === "canary" ? "canary" : "its series") },
                { name: "Event", cell: (e) => <span class="clamped four" title={sayEvent(e)}>{sayEvent(e)}</span> },
                { name: "First commit", wide: true, cell: (e) => <CommitLink project={props.project} id={e.first_commit} /> },
                { name: "State", cell: (e) => <Badge judged={e.closed_at ? { tone: "quiet", icon: "check", word: e.dismissed_by ? "dismissed" : "ended" } : { tone: "warn", icon: "alert", word: "moved" }} /> },
                { name: "Since", cell: (e) => <When time={e.opened_at} /> },
                { name: "Until", cell: (e) => (e.closed_at ? <When time={e.closed_at} /> : <span class="muted">now</span>) },
              ]} />
            )}
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>
        )}
      </View>
    </Section>
  );
}
