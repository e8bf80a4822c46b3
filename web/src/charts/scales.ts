/* Linear scales and round ticks for the charts that are drawn as SVG. Pure. */

export interface LinearScale {
  (value: number): number;
  low: number;
  high: number;
}

/** Maps [low, high] onto [from, to]; a span of zero maps to the middle. */
export function linear(low: number, high: number, from: number, to: number): LinearScale {
  const span = high - low;
  const scale = (v: number) => (span === 0 ? (from + to) / 2 : from + ((v - low) / span) * (to - from));
  return Object.assign(scale, { low, high });
}

/** Smallest and largest finite value; [0, 1] for none. */
export function extent(values: Iterable<number | null | undefined>): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const v of values) {
    if (v === null || v === undefined || !Number.isFinite(v)) continue;
    if (v < low) low = v;
    if (v > high) high = v;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** Widens [low, high] to at least `share` of its middle, so that mere noise does not fill the picture. */
export function atLeast(low: number, high: number, share: number): [number, number] {
  const middle = (low + high) / 2;
  const half = Math.max((high - low) / 2, (Math.abs(middle) * share) / 2);
  return half === 0 ? [low - 0.5, high + 0.5] : [middle - half, middle + half];
}

/** Round numbers inside [low, high], about `count` of them: steps of 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, count: number): number[] {
  if (!(high > low) || count < 1) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? 10 * power;
  const out: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(i * step + 0); /* + 0: no minus zero */
  return out;
}

/** SVG path through the points; null starts a new stroke. */
export function pathOf(xs: readonly number[], ys: readonly (number | null)[]): string {
  let d = "";
  let pen = false;
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i];
    const y = ys[i];
    if (x === undefined || y === undefined || y === null || !Number.isFinite(y)) {
      pen = false;
      continue;
    }
    d += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  }
  return d;
}
