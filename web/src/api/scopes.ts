/* The scopes of the signed-in token. A button without its scope shows the reason. */
import { signal } from "@preact/signals";
import { ApiError, request, session } from "./client";

export interface Account { token_id: number; name: string; scopes: string[]; project: string | null; expires_at: string | null }

/** null: signed out, or not known yet. */
export const account = signal<Account | null>(null);

/** Reads the account after every sign-in and sign-out, for as long as the page is open. */
export function startAccount(): void {
  session.subscribe((n) => {
    if (!n) {
      account.value = null;
      return;
    }
    request<Account>("GET", "/session").then(
      (reply) => { account.value = reply; },
      (error: unknown) => { if (error instanceof ApiError && error.status === 401) account.value = null; },
    );
  });
}

/** Why the account may not do what needs `scope`; null: it may. */
export function mayUse(scope: string): string | null {
  if (!session.value) return `sign in with a token that has the scope ${scope}`;
  const now = account.value;
  if (!now) return "the account is being read";
  if (now.scopes.includes(scope) || now.scopes.includes("admin")) return null;
  return `token ${now.name || now.token_id} has no scope ${scope} (it has ${now.scopes.join(", ") || "none"})`;
}

export const mayTriage = () => mayUse("triage");
export const mayMeasure = () => mayUse("ingest");
