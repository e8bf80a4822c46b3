/* Several keys, turns of a wheel or moves of a pointer may come between two renderings: each starts from the view that the
 * one before has asked for, drawn or not. */
import { useMemo, useRef } from "preact/hooks";
import type { View } from "./lines";

/** `view`: the one that is rendered. The result is the same object at each rendering. */
export function useLatestView(view: View, onView: (view: View) => void): { get: () => View; show: (view: View) => void } {
  const latest = useRef({ view, onView });
  latest.current = { view, onView };
  return useMemo(() => ({
    get: () => latest.current.view,
    show: (next: View) => {
      latest.current.view = next;
      latest.current.onView(next);
    },
  }), []);
}
