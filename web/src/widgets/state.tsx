/* The four states of a view: loading, empty, failed with the server's sentence, data. */
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import type { Load } from "../api/use";
import { Icon } from "./icons";
import { SignIn } from "./sign_in";

export function Loading(props: { what: string }) {
  return (
    <div class="loading" role="status">
      <span class="sr-only">Loading {props.what}</span>
      <div class="bone bone-wide" /><div class="bone" /><div class="bone bone-short" />
    </div>
  );
}

export function Empty(props: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="title">{props.title}</p>
      {props.children}
    </div>
  );
}

/** Also asks for a token: after status 401 it says what to do. */
export function Failed(props: { error: ApiError; retry: () => void }) {
  const { error } = props;
  return (
    <div class="failed" role="alert">
      <p class="title"><Icon name="alert" /> {error.status === 401 || error.status === 403 ? "A token is needed" : "This did not work"}</p>
      <p>{error.message}</p>
      {error.status === 401 || error.status === 403
        ? <SignIn done={props.retry} />
        : <button class="button" type="button" onClick={props.retry}>Try again</button>}
    </div>
  );
}

/** Shows the state that `load` is in; `children` gets the data. Old data stays on view when a refresh fails. */
export function View<T>(props: { load: Load<T>; what: string; children: (data: T) => ComponentChildren }) {
  const { load } = props;
  if (load.state === "loading") return <Loading what={props.what} />;
  if (load.state === "failed") return <Failed error={load.error} retry={load.retry} />;
  return (
    <>
      {load.stale && <p class="stale" role="status"><Icon name="clock" /> Not refreshed: {load.stale.message}</p>}
      {props.children(load.data)}
    </>
  );
}
