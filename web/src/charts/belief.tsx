/* How probable each commit of a range is, as bars in history order. */
import { formatShare, plural } from "../base/format";

const WIDTH = 900;
const HEIGHT = 120;
const MARK = 14; /* room for the mark below the bars */
const BARS = 300;

const triangle = (share: number) => `M${share * WIDTH} ${HEIGHT + 2}l7 ${MARK - 2}h-14z`;

export interface Belief { id: string; probability: number }

/** Neighbours share a bar when there are more commits than bars; their sum is what counts. */
export function binned(line: readonly Belief[], bars = BARS): { first: number; last: number; probability: number }[] {
  const each = Math.ceil(line.length / bars);
  const out = [];
  for (let first = 0; first < line.length; first += each) {
    const part = line.slice(first, first + each);
    out.push({ first, last: first + part.length - 1, probability: part.reduce((sum, b) => sum + b.probability, 0) });
  }
  return out;
}

/** `mark`: the entry of the line that was measured last; a triangle below its bar. */
export function BeliefBars(props: { line: readonly Belief[]; mark?: number | null }) {
  const bars = binned(props.line);
  const most = Math.max(...bars.map((b) => b.probability), 1e-9);
  const width = WIDTH / Math.max(1, bars.length);
  const best = [...props.line].sort((a, b) => b.probability - a.probability)[0];
  const label = `${plural(props.line.length, "commit")}; the most probable is ${best?.id.slice(0, 12) ?? "none"} with ${formatShare(best?.probability ?? 0)}.`;
  return (
    <svg class="belief" viewBox={`0 0 ${WIDTH} ${HEIGHT + MARK}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {bars.map((b) => {
        const high = Math.max(1, (b.probability / most) * (HEIGHT - 4));
        return <rect key={b.first} class={b.probability === most ? "belief-most" : "belief-bar"} x={(b.first / props.line.length) * WIDTH} y={HEIGHT - high} width={Math.max(1, width - 1)} height={high} />;
      })}
      {props.mark !== undefined && props.mark !== null && <path class="belief-mark" d={triangle((props.mark + 0.5) / props.line.length)} />}
    </svg>
  );
}
