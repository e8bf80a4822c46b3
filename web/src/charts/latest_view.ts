/* Several keys, turns of a wheel or moves of a pointer may come between two renderings: each starts from the view that the
 * one before has asked for, drawn or not. */
import { useMemo, useRef } from "preact/hooks";

/** `view` is the view that is rendered, `onView` asks the page for another. Every rendering returns the same object. */
export function useLatestView<V>(view: V, onView: (view: V) => void): { get: () => V; show: (view: V) => void } {
  const latest = useRef({ view, onView });
  latest.current = { view, onView };
  return useMemo(() => ({
    get: () => latest.current.view,
    show: (next: V) => {
      latest.current.view = next;
      latest.current.onView(next);
    },
  }), []);
}
