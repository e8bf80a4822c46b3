/*
 * Replies that were asked for before the page that shows them: at the first load before the code is here (early.ts), later
 * when a pointer rests on a link. Each is used once, within seconds, and not after news of other data.
 */
interface Ahead { reply: Promise<Response>; until: number }

declare global { interface Window { perfciAhead?: Map<string, Ahead> } }

/** Of the window, because the script that runs first is not part of the bundle of the pages. */
const all = () => (window.perfciAhead ??= new Map<string, Ahead>());

/** Lets go of a reply that is not used: its body would keep a connection busy. */
const drop = (ahead: Ahead) => { ahead.reply.then((r) => r.body?.cancel(), () => undefined); };

/** Asks for a path of the API, once; the reply is kept for `ms`. */
export function askAhead(path: string, ms: number): void {
  if (all().has(path)) return;
  const ahead = { reply: fetch(`/api/v1${path}`, { credentials: "same-origin", headers: { Accept: "application/json" } }), until: performance.now() + ms };
  all().set(path, ahead);
  ahead.reply.catch(() => undefined);
  window.setTimeout(() => {
    if (all().get(path) !== ahead) return;
    all().delete(path);
    drop(ahead);
  }, ms);
}

/** The reply that was asked for; null: none was. */
export function takeAhead(path: string): Promise<Response> | null {
  const ahead = all().get(path);
  if (!ahead) return null;
  all().delete(path);
  if (performance.now() < ahead.until) return ahead.reply;
  drop(ahead);
  return null;
}

/** After news, a sign-in or a sign-out. */
export function forgetAhead(): void {
  all().forEach(drop);
  all().clear();
}
