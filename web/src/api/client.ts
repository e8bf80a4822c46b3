/* All HTTP requests. The token stays in this tab (sessionStorage) and is sent only to the page's own origin. */
import { signal } from "@preact/signals";

const TOKEN_KEY = "perfci.token";

/** A failed request, with the server's message where it sent one. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

function stored(): string {
  try {
    return window.sessionStorage.getItem(TOKEN_KEY) ?? "";
  } catch {
    return ""; /* storage is switched off: the token then lives as long as the page */
  }
}

export const token = signal(stored());

export function setToken(value: string): void {
  token.value = value.trim();
  try {
    if (token.value) window.sessionStorage.setItem(TOKEN_KEY, token.value);
    else window.sessionStorage.removeItem(TOKEN_KEY);
  } catch {
    /* see stored() */
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

/** One request to /api/v1; throws ApiError. */
export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (token.value) headers["Authorization"] = `Bearer ${token.value}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  let reply: Response;
  try {
    reply = await fetch(`/api/v1${path}`, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The server cannot be reached. This page retries automatically.");
  }
  if (!reply.ok) throw await failure(reply);
  try {
    return (await reply.json()) as T;
  } catch {
    throw new ApiError(reply.status, "malformed", "The server's answer is not JSON.");
  }
}
