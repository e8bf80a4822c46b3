/* A bisection step by step: the measurements and the posterior that were known after each one. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Bisection, BisectionReplay, Commit } from "../api/types";
import { useApi } from "../api/use";
import { BeliefBars } from "../charts/belief";
import { Steps, type StepDot } from "../charts/steps";
import { formatShare, formatValue, plural } from "../base/format";
import { query, setQuery } from "../base/location";
import { clamp } from "../base/numbers";
import { CommitLink, Section } from "../widgets/parts";
import { Empty, Failed, Loading } from "../widgets/state";
import { likeliest, placesOf, posteriorAt, stepsOf, type ReplayStep } from "./replay_steps";

const EACH_MS = 900;

/** Whether the system asks for less motion: then nothing moves without a step by hand. */
function useCalm(): boolean {
  const [calm, setCalm] = useState(() => window.matchMedia("(prefers-reduced-motion: reduce)").matches);
  useEffect(() => {
    const media = window.matchMedia("(prefers-reduced-motion: reduce)");
    const read = () => setCalm(media.matches);
    media.addEventListener("change", read);
    return () => media.removeEventListener("change", read);
  }, []);
  return calm;
}

function Scrubber(props: { step: number; last: number; onStep: (step: number) => void }) {
  const { step, last, onStep } = props;
  const [playing, setPlaying] = useState(false);
  const calm = useCalm();
  const runs = playing && !calm && step < last;
  useEffect(() => {
    if (!runs) return undefined;
    const timer = window.setTimeout(() => onStep(step + 1), EACH_MS);
    return () => window.clearTimeout(timer);
  }, [runs, step]);
  useEffect(() => { if (playing && step >= last) setPlaying(false); }, [playing, step >= last]);
  const play = () => {
    if (!runs && step >= last) onStep(1);
    setPlaying(!runs);
  };
  const go = (to: number) => {
    setPlaying(false);
    onStep(clamp(to, 1, last));
  };
  return (
    <div class="scrubber" role="group" aria-label="Step of the search">
      <button type="button" class="button" disabled={step <= 1} onClick={() => go(step - 1)}>Previous</button>
      <button type="button" class="button" disabled={calm || last < 2} onClick={play}
        {...(calm ? { title: "The system asks for reduced motion: use the slider" } : {})}>{runs ? "Pause" : "Play"}</button>
      <button type="button" class="button" disabled={step >= last} onClick={() => go(step + 1)}>Next</button>
      <input type="range" min={1} max={last} step={1} value={step} aria-label="Step" aria-valuetext={`step ${step} of ${last}`} onInput={(e) => go(Number(e.currentTarget.value))} />
      <output>step {step} of {last}</output>
    </div>
  );
}

/** One sentence for the step, one for the posterior after it. */
function Now(props: { b: Bisection; steps: readonly ReplayStep[]; at: number; unit: string; replay: BisectionReplay | null }) {
  const { b, steps, at, replay } = props;
  const step = steps[at];
  if (!step) return null;
  const posterior = posteriorAt(steps, at);
  const best = replay && posterior ? likeliest(replay, posterior.values) : [];
  const commits = replay?.commits_per_place ?? 1;
  return (
    <p class="replay-now" role="status">
      <CommitLink project={b.project} id={step.commit} /> {step.value === null ? step.state.replace("_", " ") : `measured ${formatValue(step.value, props.unit)}`}.
      {best.length > 0 && <> Most probable{posterior && posterior.at !== at ? ` after step ${posterior.at + 1}` : ""}: {best.map((p, i) => (
        <span key={p.commit}>{i > 0 ? ", " : ""}<CommitLink project={b.project} id={p.commit} />{commits > 1 ? ` and the ${commits - 1} after it` : ""} {formatShare(p.probability)}</span>))}.</>}
    </p>
  );
}

export function Replay(props: { b: Bisection; unit: string; history: readonly Commit[] }) {
  const { b, unit } = props;
  const load = useApi<BisectionReplay>(`/bisections/${b.id}/replay`, ["bisection"]);
  const replay = load.state === "data" ? load.data : null;
  const steps = stepsOf(b, replay);
  const asked = Number(query.value.get("step"));
  const step = Number.isInteger(asked) && asked >= 1 ? Math.min(asked, steps.length) : steps.length;
  const plot = useRef<HTMLDivElement>(null);
  useEffect(() => { /* on a narrow screen the plot is wider than its box */
    const dot = plot.current?.querySelector(".step-now")?.getBoundingClientRect();
    if (!plot.current || !dot) return;
    const box = plot.current.getBoundingClientRect();
    if (dot.left < box.left || dot.right > box.right) plot.current.scrollLeft += dot.left - box.left - box.width / 2;
  }, [step, steps.length, load.state]);
  if (load.state === "loading") return <Section title="Search, step by step"><Loading what="the steps" /></Section>;
  if (steps.length === 0) {
    return <Section title="Search, step by step"><Empty title={b.state === "running" ? "No measurement yet" : "The report came without its steps"} /></Section>;
  }
  const at = step - 1;
  const posterior = posteriorAt(steps, at);
  const places = placesOf(steps, replay, props.history);
  const guilty = new Set(b.culprits.flatMap((c) => c.commits));
  const dots = steps.map((s, i): StepDot => ({ place: places.indexOf(s.commit), step: i + 1, value: s.value, culprit: guilty.has(s.commit) }));
  const hit = places.flatMap((p, i) => (guilty.has(p) ? [i] : []));
  return (
    <Section title="Search, step by step" side={<span class="muted">{plural(b.line?.length ?? b.commits_measured, "commit")}, oldest first</span>}>
      <Scrubber step={step} last={steps.length} onStep={(to) => setQuery({ step: to === steps.length ? null : to }, true)} />
      <Now b={b} steps={steps} at={at} unit={unit} replay={replay} />
      {load.state === "failed" && <Failed error={load.error} retry={load.retry} />}
      {replay && posterior && <BeliefBars mark={steps[at]?.place ?? null}
        line={replay.places.map((id, i) => ({ id, probability: posterior.values[i] ?? 0 }))} />}
      {replay?.reason && <p class="muted">No posterior: {replay.reason}.</p>}
      <div class="scroll" ref={plot} tabIndex={0} role="region" aria-label="Plot of the steps">
        <Steps dots={dots} upTo={step} places={places.map((p) => p.slice(0, 7))} unit={unit}
          culprit={step === steps.length && hit.length > 0 ? [hit[0] ?? 0, hit[hit.length - 1] ?? 0] : null}
          label={`${plural(step, "measurement")} of ${plural(places.length, "commit")}; the table of steps holds the same numbers.`} />
      </div>
      <p class="keys">The slider takes <kbd>←</kbd> <kbd>→</kbd> <kbd>Home</kbd> <kbd>End</kbd> · a triangle: the commit measured by this step · shaded: culprit</p>
    </Section>
  );
}
