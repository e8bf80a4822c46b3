/* The state of a token and the fields of a new one. Pure. */
import { parseTime } from "./format";

export const SCOPES: readonly (readonly [string, string])[] = [
  ["read", "read results, alerts and jobs"], ["ingest", "send runs, start jobs and bisections"], ["runner", "lease jobs as a runner"],
  ["triage", "change alerts, rules and settings of the detector"], ["admin", "everything, tokens included"],
];

/** Lengths of life in days; "": without an end. */
export const LIVES: readonly (readonly [string, string])[] = [["30", "30 days"], ["90", "90 days"], ["365", "a year"], ["", "without an end"]];

/** For how many seconds the old secret stays valid after a rotation. */
export const OVERLAPS: readonly (readonly [string, string])[] = [["0", "ends at once"], ["3600", "valid for 1 hour"], ["86400", "valid for 1 day"], ["604800", "valid for 7 days"]];

export type TokenState = "active" | "revoked" | "expired";

export function tokenState(token: { revoked_at: string | null; expires_at: string | null }, now: number): TokenState {
  if (token.revoked_at !== null && parseTime(token.revoked_at) <= now) return "revoked";
  return token.expires_at !== null && parseTime(token.expires_at) <= now ? "expired" : "active";
}

/** The body of POST /tokens, or why it cannot be sent. */
export function newToken(fields: { name: string; scopes: readonly string[]; project: string; days: string }, now: number): { body: object } | { fault: string } {
  if (fields.scopes.length === 0) return { fault: "choose at least one scope" };
  const name = fields.name.trim();
  const days = Number(fields.days);
  return { body: { ...(name ? { name } : {}), scopes: fields.scopes, ...(fields.project ? { project: fields.project } : {}),
    ...(fields.days ? { expires_at: new Date(now + days * 86_400_000).toISOString() } : {}) } };
}
