/* Documents of the settings: tokens, notices, webhook deliveries, owners, the audit log. */
export interface Token {
  id: number; name: string; scopes: string[]; project: string | null; created_at: string; expires_at: string | null; revoked_at: string | null; last_used_at: string | null;
}
/** Answer to POST /tokens and to a rotation: the only time that the secret is sent. */
export interface NewToken { id: number; name: string; token: string; scopes: string[]; project: string | null; expires_at: string | null }
export interface NoticeDelivery { receiver: string; state: string; tries: number; reason: string | null; next_at: string | null }
export interface Notice {
  id: number; project: string; kind: string; alert_id: number | null; event_id: number | null; commit: string | null; subject: string | null;
  author: string | null; text: string; repro: string | null; owner?: string | null; created_at: string; deliveries: NoticeDelivery[];
}
export interface WebhookDelivery {
  id: number; project: string | null; forge: string; delivery: string; event: string; kind: string | null; repo: string | null; sender: string | null; pull: number | null;
  state: string; note: string | null; received_at: string; done_at: string | null;
}
export interface Owners { rules: string; codeowners: { path: string; commit: string | null; text: string } | null; updated_at: string | null }
export interface AuditRow { id: number; at: string; actor: string; action: string; project: string | null; object: string; detail: string }
