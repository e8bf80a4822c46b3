/* Order statistics for summaries that pages compute. */

/** Linear interpolation between order statistics (type 7); NaN for no values. `sorted` ascending. */
export function quantile(sorted: readonly number[], q: number): number {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * Math.min(1, Math.max(0, q));
  const low = sorted[Math.floor(at)] ?? NaN;
  const high = sorted[Math.ceil(at)] ?? NaN;
  return low + (high - low) * (at - Math.floor(at));
}

export function median(values: readonly number[]): number {
  return quantile([...values].sort((a, b) => a - b), 0.5);
}

export function clamp(x: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, x));
}

/** Relative change from a to b; NaN when there is nothing to relate to. */
export function relChange(a: number | null | undefined, b: number | null | undefined): number {
  if (a === null || a === undefined || b === null || b === undefined || a === 0) return NaN;
  return (b - a) / Math.abs(a);
}
