/* Gestures that move what a chart shows: Ctrl+wheel and pinch zoom around their place, Shift+drag pans, a double click
 * shows everything. The wheel without Ctrl and a vertical swipe stay with the page. */

export interface GestureActions {
  /** The chart's x at a horizontal place in the window. */
  x: (clientX: number) => number;
  /** The chart's y at a vertical place in the window, where both axes move. Without it: sideways only. */
  y?: (clientY: number) => number;
  /** Whether a drag pans without Shift. */
  pans: () => boolean;
  /** `atY`, `byY`: 0 without `y`. */
  onZoom: (at: number, factor: number, atY: number) => void;
  onPan: (by: number, byY: number) => void;
  onAll: () => void;
  /** A drag that does not pan: from and to in the window. `done`: the pointer was released; null: the drag is off. */
  onDrag?: (span: { from: number; to: number } | null, done: boolean, e: PointerEvent) => void;
  /** A press and release at one place; a double click begins with one. */
  onPress?: (e: PointerEvent) => void;
  /** The press opens another page: it is reported only when no second press has followed. */
  leaves?: boolean;
  /** Wheel or pointers have come to rest after the view was moved. */
  onRest?: () => void;
}

/** A pointer that moved less is pressed, not dragged. */
export const CLICK_PX = 5;
/** Without another turn for this long, the wheel rests. */
const REST_MS = 200;
/** A second press this soon makes a double click. */
const DOUBLE_MS = 300;

/** Factor of the width for one event of the wheel; `mode` is WheelEvent.deltaMode: pixels, lines or pages. */
export function wheelFactor(deltaY: number, mode: number): number {
  const pixels = deltaY * (mode === 1 ? 33 : mode === 2 ? 400 : 1);
  return Math.exp(Math.max(-1, Math.min(1, pixels / 200)));
}

export function attachGestures(host: Element, act: GestureActions): () => void {
  const fingers = new Map<number, PointerEvent>();
  const y = (clientY: number) => act.y?.(clientY) ?? 0;
  let begin: { x: number; y: number; left: number; top: number; pan: boolean } | null = null;
  let moved = 0;
  let apart = 0;
  let grip = { x: 0, y: 0 }; /* under the middle of two fingers */
  let changed = false;
  let resting = 0;
  let pressing = 0;
  const off = new AbortController();
  const rest = () => {
    window.clearTimeout(resting);
    if (changed) act.onRest?.();
    changed = false;
  };
  const spread = () => {
    const [a, b] = [...fingers.values()] as [PointerEvent, PointerEvent];
    return { left: (a.clientX + b.clientX) / 2, top: (a.clientY + b.clientY) / 2,
      apart: Math.hypot(a.clientX - b.clientX, act.y ? a.clientY - b.clientY : 0) };
  };
  const end = (e: PointerEvent) => {
    if (!fingers.delete(e.pointerId)) return;
    const was = begin;
    begin = null;
    if (was && e.type === "pointercancel") { /* the page scrolls with this finger */
      act.onDrag?.(null, true, e);
    } else if (was && moved <= CLICK_PX) {
      act.onDrag?.(null, true, e);
      window.clearTimeout(pressing);
      if (act.leaves) pressing = window.setTimeout(() => act.onPress?.(e), DOUBLE_MS);
      else act.onPress?.(e);
    } else if (was && !was.pan) act.onDrag?.({ from: was.left, to: e.clientX }, true, e);
    if (fingers.size === 0) rest();
  };
  const on = <K extends keyof HTMLElementEventMap>(type: K, listen: (e: HTMLElementEventMap[K]) => void, options: AddEventListenerOptions = {}) =>
    host.addEventListener(type, listen as EventListener, { ...options, signal: off.signal });
  on("pointerdown", (e) => {
    if (e.button !== 0 || fingers.size === 2) return;
    fingers.set(e.pointerId, e);
    host.setPointerCapture(e.pointerId);
    moved = 0;
    begin = fingers.size === 1 ? { x: act.x(e.clientX), y: y(e.clientY), left: e.clientX, top: e.clientY, pan: act.pans() || e.shiftKey } : null;
    if (fingers.size < 2) return;
    const first = spread();
    apart = first.apart;
    grip = { x: act.x(first.left), y: y(first.top) };
    act.onDrag?.(null, false, e);
  });
  on("pointermove", (e) => {
    if (!fingers.has(e.pointerId)) return;
    fingers.set(e.pointerId, e);
    if (fingers.size === 2) {
      const next = spread();
      if (apart > 8 && next.apart > 8) {
        changed = true;
        act.onZoom(act.x(next.left), apart / next.apart, y(next.top));
        /* Where both axes move, two fingers take the chart with them: one finger scrolls the page. */
        if (act.y) act.onPan(grip.x - act.x(next.left), grip.y - y(next.top));
      }
      apart = next.apart;
    } else if (begin) {
      moved = Math.max(moved, Math.abs(e.clientX - begin.left), act.y ? Math.abs(e.clientY - begin.top) : 0);
      if (moved <= CLICK_PX) return;
      changed ||= begin.pan;
      if (begin.pan) act.onPan(begin.x - act.x(e.clientX), begin.y - y(e.clientY));
      else act.onDrag?.({ from: begin.left, to: e.clientX }, false, e);
    }
  });
  on("pointerup", end);
  on("pointercancel", end);
  on("dblclick", () => {
    changed = false;
    window.clearTimeout(pressing);
    act.onAll();
  });
  on("wheel", (e) => {
    if (!e.ctrlKey && !e.metaKey) return;
    e.preventDefault();
    changed = true;
    act.onZoom(act.x(e.clientX), wheelFactor(e.deltaY, e.deltaMode), y(e.clientY));
    window.clearTimeout(resting);
    resting = window.setTimeout(rest, REST_MS);
  }, { passive: false });
  return () => {
    window.clearTimeout(resting);
    window.clearTimeout(pressing);
    off.abort();
  };
}
