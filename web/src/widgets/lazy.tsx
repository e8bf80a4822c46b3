/* Pages whose code is fetched when they are first opened, so that the first page stays small. */
import type { ComponentType } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { Loading } from "./state";

type Code<P> = { page: ComponentType<P> } | { fault: string };

/** `fetch` begins to fetch the code, so that it is here when the page is opened. */
export type LazyPage<P> = ComponentType<P> & { fetch: () => void };

/**
 * A component in whose place the one that `load` resolves to is shown once its code is here. A later use shows it at
 * once. Code that the server does not have, as after an update of the server, is reported with a way to reload.
 */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): LazyPage<P> {
  let known: ComponentType<P> | null = null;
  let under: Promise<ComponentType<P>> | null = null;
  const start = () => {
    under ??= load().then((page) => (known = page), (error: unknown) => {
      under = null; /* the next use tries again */
      throw error;
    });
    return under;
  };
  function Lazy(props: P) {
    const [code, setCode] = useState<Code<P> | null>(known ? { page: known } : null);
    useLayoutEffect(() => {
      if (known) return;
      let shown = true;
      start().then((page) => {
        if (shown) setCode({ page });
      }, (error: unknown) => {
        if (shown) setCode({ fault: error instanceof Error ? error.message : String(error) });
      });
      return () => { shown = false; };
    }, []);
    if (!code) return <Loading what="the code of this page" />;
    if ("fault" in code) return <NoCode fault={code.fault} />;
    const Page = code.page;
    return <Page {...props} />;
  }
  return Object.assign(Lazy, { fetch: () => { start().catch(() => undefined); } });
}

function NoCode(props: { fault: string }) {
  return (
    <div class="failed" role="alert">
      <p class="title">The code of this page was not received</p>
      <p>The server may have been updated since this tab was opened, or it does not answer: {props.fault}</p>
      <button type="button" class="button" onClick={() => window.location.reload()}>Reload</button>
    </div>
  );
}
