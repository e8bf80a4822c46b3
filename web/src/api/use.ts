/* Data for a view: loading, failed or loaded. Loaded data is refreshed and stays on view meanwhile. */
import { useCallback, useEffect, useLayoutEffect, useState } from "preact/hooks";
import { ApiError, request, session, signOuts } from "./client";
import { onNews, type Topic } from "./live";

export type Load<T> =
  | { state: "loading" }
  | { state: "failed"; error: ApiError; retry: () => void }
  | { state: "data"; data: T; stale: ApiError | null; reload: () => void };

interface Held<T> { path: string; key: number; data?: T; error?: ApiError } /* key: sign-outs before it was read */

const cache = new Map<string, unknown>(); /* last answers, so that "back" shows a page at once */
const CACHE_MAX = 40;

signOuts.subscribe(() => cache.clear());

function remember(path: string, data: unknown): void {
  cache.delete(path);
  cache.set(path, data);
  if (cache.size > CACHE_MAX) cache.delete(cache.keys().next().value as string);
}

/** GET of `path` (null: no request yet), repeated after an event on `topics`. */
export function useApi<T>(path: string | null, topics: readonly Topic[] = []): Load<T> {
  const [held, setHeld] = useState<Held<T>>({ path: "", key: 0 });
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((n) => n + 1), []);
  const key = signOuts.value; /* sign-ins keep what is on view, with the texts that a user has typed */
  const signedIn = session.value;

  useLayoutEffect(() => { /* an effect would ask a frame later */
    if (path === null) return undefined;
    const abort = new AbortController();
    request<T>("GET", path, undefined, abort.signal).then(
      (data) => {
        remember(path, data);
        if (!abort.signal.aborted) setHeld({ path, key, data });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const known = error instanceof ApiError ? error : new ApiError(0, "", String(error));
        setHeld((old) => (old.path === path && old.key === key && old.data !== undefined ? { ...old, error: known } : { path, key, error: known }));
      },
    );
    return () => abort.abort();
  }, [path, turn, key, signedIn]);

  useEffect(() => onNews(topics, again), [topics.join(), again]);

  const current: Held<T> = held.path === path && held.key === key ? held : { path: path ?? "", key };
  const data = current.data ?? (path !== null && !current.error ? (cache.get(path) as T | undefined) : undefined);
  if (data !== undefined) return { state: "data", data, stale: current.error ?? null, reload: again };
  if (current.error) return { state: "failed", error: current.error, retry: again };
  return { state: "loading" };
}

export interface Pages<T> { load: Load<T[]>; more: (() => void) | null; loadingMore: boolean }

/** A list with a cursor: the first page stays fresh, further pages are appended on request. */
export function usePages<R extends { next_cursor?: string | number | null }, T>(
  path: string | null, items: (reply: R) => T[], topics: readonly Topic[] = [],
): Pages<T> {
  const first = useApi<R>(path, topics);
  const [rest, setRest] = useState<{ path: string | null; items: T[]; cursor: string | number | null; busy: boolean }>(
    { path: null, items: [], cursor: null, busy: false });
  const extra = rest.path === path ? rest : null;
  if (first.state !== "data") return { load: first, more: null, loadingMore: false };
  const cursor = extra ? extra.cursor : (first.data.next_cursor ?? null);
  const more = cursor === null || path === null ? null : () => {
    const base = { path, items: extra?.items ?? [], cursor };
    setRest({ ...base, busy: true });
    const join = path.includes("?") ? "&" : "?";
    request<R>("GET", `${path}${join}cursor=${encodeURIComponent(String(cursor))}`).then(
      (reply) => setRest({ path, items: [...base.items, ...items(reply)], cursor: reply.next_cursor ?? null, busy: false }),
      () => setRest({ ...base, busy: false }),
    );
  };
  const data = [...items(first.data), ...(extra?.items ?? [])];
  return { load: { ...first, data }, more, loadingMore: extra?.busy ?? false };
}
