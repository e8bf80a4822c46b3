/* The canary of a class of machines, the noise of its series, and the events of its machines. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { MachineEvent, Series } from "../api/types";
import { usePages } from "../api/use";
import { formatShare, formatValue, plural } from "../base/format";
import { noiseOf, sayEvent, sayNoise, type ClassNoise } from "../base/noise";
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
