/* Where the browser is, as signals; every state of a page that is worth a link lives here. */
import { computed, signal } from "@preact/signals";
import { matchRoute, withQuery, type Query } from "./route";

const here = () => ({ path: window.location.pathname, search: window.location.search });
export const address = signal(here());
export const route = computed(() => matchRoute(address.value.path));
export const query = computed(() => new URLSearchParams(address.value.search));

/** Whether this document has shown another page before: then the title of the new one takes the focus. */
let moved = false;
export const hasMoved = () => moved;

function read(): void {
  if (window.location.pathname !== address.value.path) moved = true;
  address.value = here();
}

/** Goes to another page; `replace` for changes that the back button should not step through. */
export function navigate(to: string, replace = false): void {
  if (to === window.location.pathname + window.location.search) return;
  if (replace) window.history.replaceState(null, "", to);
  else window.history.pushState(null, "", to);
  const other = window.location.pathname !== address.value.path;
  read();
  if (other) window.scrollTo(0, 0);
}

/** Changes some query members of this page and leaves the others as they are. */
export function setQuery(change: Query, replace = false): void {
  const all: Query = Object.fromEntries(query.value);
  navigate(withQuery(address.value.path, { ...all, ...change }), replace);
}

function onClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = event.target instanceof Element ? event.target.closest("a") : null;
  if (!anchor || anchor.target || anchor.hasAttribute("download") || anchor.origin !== window.location.origin) return;
  if (anchor.hash !== "" && anchor.pathname === window.location.pathname) return;
  if (anchor.pathname.startsWith("/api/") || matchRoute(anchor.pathname).page === "missing") return;
  event.preventDefault();
  navigate(anchor.pathname + anchor.search);
}

export function startLocation(): void {
  window.addEventListener("popstate", read);
  document.addEventListener("click", onClick);
}
