/*
 * All HTTP requests. Signing in exchanges the token for a session cookie that scripts cannot read; no token is stored.
 * SIGNED_IN_KEY only remembers that there was a sign-in, because the page cannot see the cookie.
 */
import { signal } from "@preact/signals";
import { forgetAhead, takeAhead } from "../base/ahead";
import { ARRAYS_TYPE, readArrays } from "../base/arrays";

const SIGNED_IN_KEY = "perfci.signed_in";

/** A failed request, with the server's message where it sent one. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

function remembered(): number {
  try {
    return window.localStorage.getItem(SIGNED_IN_KEY) ? 1 : 0;
  } catch {
    return 0; /* storage is switched off: the page then asks for a token although the cookie is valid */
  }
}

/** Counts sign-ins of this page; 0: signed out. A page that was opened while signed in starts at 1. */
export const session = signal(remembered());

/** How often this page was signed out: what was read before is not shown after it. */
export const signOuts = signal(0);

function setSession(value: number): void {
  forgetAhead();
  if (!value) signOuts.value += 1;
  session.value = value;
  try {
    if (value) window.localStorage.setItem(SIGNED_IN_KEY, "1");
    else window.localStorage.removeItem(SIGNED_IN_KEY);
  } catch {
    /* see remembered() */
  }
}

/** Exchanges the token for a session cookie; the token itself is not stored. Throws ApiError. */
export async function signIn(secret: string): Promise<void> {
  await send("POST", "/session", { headers: { Authorization: `Bearer ${secret.trim()}` } });
  setSession(session.value + 1);
}

/** Ends the session at the server, too. Throws ApiError, and is signed out in this page all the same. */
export async function signOut(): Promise<void> {
  try {
    await send("DELETE", "/session", {});
  } finally {
    setSession(0);
  }
}

async function failure(reply: Response): Promise<ApiError> {
  try {
    const body: unknown = await reply.json();
    if (typeof body === "object" && body !== null && "error" in body) {
      const { code, message } = body.error as { code?: unknown; message?: unknown };
      if (typeof message === "string") return new ApiError(reply.status, String(code ?? ""), message);
    }
  } catch {
    /* not JSON: reported by its status below */
  }
  return new ApiError(reply.status, "", `The server answered ${reply.status} ${reply.statusText}`.trim() + ".");
}

async function send(method: string, path: string, init: RequestInit): Promise<Response> {
  let reply: Response;
  try {
    reply = await ((method === "GET" && takeAhead(path)) || fetch(`/api/v1${path}`, { ...init, method, credentials: "same-origin" }));
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The server cannot be reached. This page retries automatically.");
  }
  if (reply.status === 401 && session.value && path !== "/session") setSession(0); /* expired, or ended elsewhere */
  if (!reply.ok) throw await failure(reply);
  return reply;
}

/** One request to /api/v1, without an answer; throws ApiError. */
export async function command(method: string, path: string): Promise<void> {
  await send(method, path, {});
}

/** One request to /api/v1; throws ApiError. */
export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init: RequestInit = { headers };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  const reply = await send(method, path, init);
  const inArrays = reply.headers.get("Content-Type") === ARRAYS_TYPE;
  try {
    return (inArrays ? readArrays(await reply.arrayBuffer(), columnsOf) : await reply.json()) as T;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(reply.status, "malformed", inArrays ? "The server's answer was cut off." : "The server's answer is not JSON.");
  }
}

/** Columns of GET /projects/{p}/plot, the one answer in arrays. */
const columnsOf = (head: unknown): number => (head as { columns: { position: number[] } }).columns.position.length;
