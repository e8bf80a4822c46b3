/* Other settings of the detector, tried on this series while they are moved. Nothing is stored. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ReplayReply, SeriesReply } from "../api/types";
import { useApi } from "../api/use";
import { formatShare, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { withQuery } from "../base/route";
import { ALPHA, MIN_CHANGE, STEPS, compareChanges, placeOf, triedChanges, valueAt, type Knob } from "../base/tuning";

export interface Trial { reply: SeriesReply; on: boolean; fresh: number; gone: number; failure: string | null; busy: boolean }

/** The series as the settings of the address would show it; the last answer stays until the next is there. */
export function useTrial(reply: SeriesReply): Trial {
  const [min_change, alpha] = [MIN_CHANGE, ALPHA].map((knob) => valueAt(knob, placeOf(knob, query.value.get(knob.name))));
  const on = min_change !== null || alpha !== null;
  const load = useApi<ReplayReply>(on ? withQuery(`/series/${reply.series.id}/replay`, { min_change: min_change ?? null, alpha: alpha ?? null }) : null, ["run"]);
  const last = useRef<ReplayReply | null>(null);
  if (load.state === "data") last.current = load.data;
  const shown = on && last.current?.series_id === reply.series.id ? last.current : null;
  if (!shown) return { reply, on, fresh: 0, gone: 0, failure: on && load.state === "failed" ? load.error.message : null, busy: on && load.state === "loading" };
  const changes = triedChanges(reply, shown.changes);
  return { reply: { ...reply, changes }, on, ...compareChanges(reply.changes, changes),
    failure: load.state === "failed" ? load.error.message : null, busy: load.state === "loading" };
}

function Slider(props: { knob: Knob; label: string; help: string; show: (value: number) => string }) {
  const { knob } = props;
  const given = placeOf(knob, query.value.get(knob.name));
  const [place, setPlace] = useState(given);
  const said = useRef(given);
  useEffect(() => {
    if (given !== said.current) setPlace((said.current = given));
  }, [given]);
  /* The address, and so the request, is updated after the slider has rested for a moment. */
  useEffect(() => {
    if (place === said.current) return undefined;
    const timer = window.setTimeout(() => {
      said.current = place;
      setQuery({ [knob.name]: valueAt(knob, place) }, true);
    }, 60);
    return () => window.clearTimeout(timer);
  }, [place]);
  const value = valueAt(knob, place);
  const text = value === null ? "the detector's own" : props.show(value);
  return (
    <label class="field slider">
      <span>{props.label}: <b>{text}</b></span>
      <input type="range" min={0} max={STEPS} step={1} value={place} aria-valuetext={text} onInput={(e) => setPlace(Number(e.currentTarget.value))} />
      <small class="muted">{props.help}</small>
    </label>
  );
}

export function Tuning(props: { trial: Trial }) {
  const { trial } = props;
  const [open] = useState(trial.on); /* then the reader's own choice */
  const n = trial.reply.changes.length;
  return (
    <details class="section tuning" open={open}>
      <summary><h2>Try other detector settings</h2></summary>
      <div class="row">
        <Slider knob={MIN_CHANGE} label="Smallest change that counts" show={formatShare}
          help="Policy: smaller changes are never shown." />
        <Slider knob={ALPHA} label="False alarms accepted" show={(v) => `${v} per quiet series`}
          help="Expected false changes of a series in which nothing changes." />
        <button type="button" class="button" disabled={!trial.on} onClick={() => setQuery({ min_change: null, alpha: null }, true)}>As stored</button>
      </div>
      <p role="status" class="muted">{trial.failure ?? (!trial.on ? "The changes above are the stored ones."
        : `These settings find ${plural(n, "change")}: ${trial.fresh} new, ${trial.gone} of the stored ones not. Nothing is stored.`)}</p>
    </details>
  );
}
