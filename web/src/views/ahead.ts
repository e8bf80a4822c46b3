/*
 * Fetches ahead what a link leads to: its code when the pointer or the focus comes to it, its first answers when the pointer
 * rests on it or presses it. A click comes 50 to 300 ms later.
 */
import { firstPaths } from "../api/first";
import { askAhead } from "../base/ahead";
import { address } from "../base/location";
import { matchRoute } from "../base/route";
import { fetchCode } from "./pages";

/** A pointer that stays this long does not merely pass. */
const REST_MS = 60;
/** An answer that is not shown by then is dropped. */
const KEEP_MS = 4000;

let resting = 0;

function linkOf(event: Event): HTMLAnchorElement | null {
  const anchor = event.target instanceof Element ? event.target.closest("a") : null;
  return anchor && anchor.origin === window.location.origin && anchor.pathname !== address.value.path && !anchor.target ? anchor : null;
}

function ask(anchor: HTMLAnchorElement): void {
  for (const path of firstPaths(matchRoute(anchor.pathname), new URLSearchParams(anchor.search), window.innerWidth)) askAhead(path, KEEP_MS);
}

/** The code behind the links of the section's row, once the page that is open has nothing to do. */
function fetchSection(): void {
  const connection = (navigator as { connection?: { saveData?: boolean } }).connection;
  if (connection?.saveData) return;
  document.querySelectorAll<HTMLAnchorElement>(".nav-here .nav-pages a").forEach((a) => fetchCode(matchRoute(a.pathname).page));
}

export function startAhead(): void {
  if ("requestIdleCallback" in window) window.addEventListener("load", () => requestIdleCallback(fetchSection));
  document.addEventListener("pointerover", (e) => {
    window.clearTimeout(resting);
    const anchor = linkOf(e);
    if (!anchor) return;
    fetchCode(matchRoute(anchor.pathname).page);
    resting = window.setTimeout(() => ask(anchor), REST_MS);
  });
  document.addEventListener("focusin", (e) => {
    const anchor = linkOf(e);
    if (anchor) fetchCode(matchRoute(anchor.pathname).page);
  });
  document.addEventListener("pointerdown", (e) => {
    const anchor = e.button === 0 && !e.ctrlKey && !e.metaKey && !e.shiftKey ? linkOf(e) : null;
    if (anchor) ask(anchor);
  });
}
