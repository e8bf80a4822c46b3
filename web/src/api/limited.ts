/* Reads for rows on view: a few requests at a time, newest rows first, so that scrolling through a long table neither
 * floods the server nor waits for rows that are out of view again. */
import { useEffect, useState } from "preact/hooks";
import { request } from "./client";

const AT_ONCE = 4;

interface Waiting { start: () => void; abort: AbortSignal }

let running = 0;
const waiting: Waiting[] = [];

function next(): void {
  while (running < AT_ONCE) {
    const one = waiting.pop();
    if (!one) return;
    if (one.abort.aborted) continue;
    running += 1;
    one.start();
  }
}

function limited<T>(path: string, abort: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    waiting.push({ abort, start: () => {
      request<T>("GET", path, undefined, abort).then(resolve, reject).finally(() => { running -= 1; next(); });
    } });
    next();
  });
}

/** GET of `path` once it is not null; null: not read yet; a text: why it was not. */
export function useLimited<T>(path: string | null): T | string | null {
  const [held, setHeld] = useState<{ path: string; value: T | string } | null>(null);
  useEffect(() => {
    if (path === null || held?.path === path) return undefined;
    const abort = new AbortController();
    limited<T>(path, abort.signal).then(
      (value) => setHeld({ path, value }),
      (error: unknown) => { if (!abort.signal.aborted) setHeld({ path, value: error instanceof Error ? error.message : String(error) }); });
    return () => abort.abort();
  }, [path]);
  return held && held.path === path ? held.value : null;
}
