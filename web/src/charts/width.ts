/* The width that a chart has on this screen, so that its text keeps its size. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

export function useWidth(first: number): [RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const host = box.current;
    if (!host) return undefined;
    const read = () => { if (host.clientWidth > 0) setWidth(host.clientWidth); };
    read();
    const watch = new ResizeObserver(read);
    watch.observe(host);
    return () => watch.disconnect();
  }, []);
  return [box, width];
}
