/* Drags the chart sideways, not beyond its points unless `free`; the view receives the new range when the pointer is released. */
import type uPlot from "uplot";

export function attachPan(u: uPlot, active: () => boolean, done: (min: number, max: number) => void,
  free: () => boolean = () => false): () => void {
  let from: { x: number; min: number; max: number } | null = null;
  const down = (e: PointerEvent) => {
    const { min, max } = u.scales["x"] ?? {};
    if (!active() || e.button !== 0 || min === undefined || max === undefined) return;
    from = { x: e.clientX, min: min ?? 0, max: max ?? 1 };
    u.over.setPointerCapture(e.pointerId);
  };
  const move = (e: PointerEvent) => {
    if (!from) return;
    const by = ((from.x - e.clientX) / u.over.clientWidth) * (from.max - from.min);
    const xs = u.data[0];
    const first = xs[0] ?? 0;
    const last = xs[xs.length - 1] ?? 1;
    const held = free() ? by : Math.min(Math.max(by, first - from.min), Math.max(0, last - from.max));
    u.setScale("x", { min: from.min + held, max: from.max + held });
  };
  const up = () => {
    if (!from) return;
    from = null;
    const { min, max } = u.scales["x"] ?? {};
    if (typeof min === "number" && typeof max === "number") done(min, max);
  };
  u.over.addEventListener("pointerdown", down);
  u.over.addEventListener("pointermove", move);
  u.over.addEventListener("pointerup", up);
  u.over.addEventListener("pointercancel", up);
  return () => {
    u.over.removeEventListener("pointerdown", down);
    u.over.removeEventListener("pointermove", move);
    u.over.removeEventListener("pointerup", up);
    u.over.removeEventListener("pointercancel", up);
  };
}
