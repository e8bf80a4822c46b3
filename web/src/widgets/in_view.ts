/* Whether an element is on the screen, for what is read only then. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** `seen` becomes true when the element comes near the screen, and stays so. */
export function useSeen<E extends Element>(): { at: RefObject<E | null>; seen: boolean } {
  const at = useRef<E | null>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const element = at.current;
    if (!element || seen) return undefined;
    const watch = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) setSeen(true); }, { rootMargin: "80px" });
    watch.observe(element);
    return () => watch.disconnect();
  }, [seen]);
  return { at, seen };
}
