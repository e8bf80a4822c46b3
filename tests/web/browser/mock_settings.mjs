// Settings for the mock: tokens, notices, webhook deliveries, owners, the audit log. Texts of outside are hostile.
export const EVIL = "<img src=x onerror=document.title='broken'>exe\u202egnp.";
const AT = "2026-02-20T08:00:00Z";

const token = (id, more) => ({ id, name: `ci-${id}`, scopes: ["read", "ingest"], project: null, created_at: AT, expires_at: null, revoked_at: null, last_used_at: "2026-02-27T05:00:00Z", ...more });
const TOKENS = [token(3, { name: "mara", scopes: ["admin"], expires_at: "2026-05-01T00:00:00Z" }), token(4, { name: EVIL, project: "kernels", scopes: ["read", "ingest", "runner", "triage"] }),
  token(5, { name: "", revoked_at: AT }), token(6, { expires_at: "2026-02-01T00:00:00Z", last_used_at: null })];

const notice = (id, more) => ({ id, project: "kernels", kind: "regression", alert_id: 31, event_id: null, commit: "0c124b44c039e655a4521d33b1f222707d07f282", subject: "attention: skip fully masked tiles",
  author: "Ji-woo Han", text: "6 of 15 gemm series: dtype=bf16 and k <= 64; +6.0 % to +8.1 %", repro: "perfci repro alert:31", created_at: AT, deliveries: [], ...more });
const NOTICES = [
  notice(71, { deliveries: [{ receiver: "webhook https://hooks.example.org/perf", state: "dead", tries: 8, reason: "the receiver answered 410", next_at: null },
    { receiver: "mail ann@example.org", state: "sent", tries: 1, reason: null, next_at: null }] }),
  notice(72, { kind: "infrastructure", alert_id: null, event_id: 12, commit: null, subject: null, author: null, repro: null, text: EVIL,
    deliveries: [{ receiver: EVIL, state: "waiting", tries: 2, reason: EVIL, next_at: "2026-02-27T06:00:00Z" }] })];

const DELIVERIES = [
  { id: 9, project: "kernels", forge: "github", delivery: "0b2e6a4e-0001", event: "issue_comment", kind: "command", repo: "acme/kernels", sender: EVIL, pull: 12, state: "done", note: null, received_at: AT, done_at: AT },
  { id: 8, project: null, forge: "gitlab", delivery: "0b2e6a4e-0002", event: "push", kind: null, repo: EVIL, sender: null, pull: null, state: "ignored", note: `no project is linked to ${EVIL}`, received_at: AT, done_at: AT }];

const audit = (id) => ({ id, at: AT, actor: id === 203 ? EVIL : "mara", action: "token_create", project: id % 2 ? "kernels" : null, object: `token ${id}`, detail: id === 203 ? EVIL : id === 202 ? "" : "read, ingest" });

/** A replay alerts once for each rule more, and a floor of 10 % or more hides the labelled false alarm. */
function replayOf(config) {
  const alert = (n, more) => ({ series_id: 101 + n, position: 40 + 10 * n, position_low: 39 + 10 * n, position_high: 41 + 10 * n, commit: "0c124b44c039e655a4521d33b1f222707d07f282",
    before: 1, after: 1.08, rel_change: 0.08, rel_low: 0.07, rel_high: 0.09, p: 1e-9, direction: "regression", status: "confirmed", label: null, ...more });
  const quiet = config.rules.some((r) => (r.min_change ?? 0) >= 0.1);
  const alerts = [alert(0, { label: "regression" }), ...(quiet ? [] : [alert(1, { label: "noise" })]), ...config.rules.map((_, i) => alert(2 + i))];
  return { branch: "main", series: 41, points: 3690, changes: 9, alerts, unlabelled: config.rules.length,
    labels: { regressions: 2, noise: 1, regressions_found: 1, noise_found: quiet ? 0 : 1 }, precision: quiet ? 1 : 0.5, recall: 0.5, f1: quiet ? 2 / 3 : 0.5 };
}

const detectorOf = (state) => state.detector ?? { version: 2, detector: { fdr: 0.05, rules: [{ benchmark: "gemm/*", min_change: 0.02 }] }, actor: EVIL, at: AT };

/** GET answers by path; null: not one of these. */
export function settingsOf(path, url, state) {
  const q = url.searchParams;
  if (path === "/tokens") return { tokens: state.tokens ??= TOKENS.map((t) => ({ ...t })), next_cursor: null };
  if (path === "/notices") return { notices: state.empty ? [] : state.notices ??= NOTICES, next_cursor: null };
  if (path === "/webhooks/deliveries") return { deliveries: state.empty ? [] : DELIVERIES, next_cursor: null };
  if (path === "/audit") {
    const from = Number(q.get("cursor") ?? 204) - 1;
    const all = Array.from({ length: 103 }, (_, i) => audit(203 - i)).filter((a) => a.id <= from && (!q.get("project") || a.project === q.get("project")));
    return { audit: all.slice(0, 100), next_cursor: all.length > 100 ? all[99].id : null };
  }
  if (/^\/projects\/[^/]+\/owners$/.test(path)) {
    return { rules: state.owners ?? "benchmark:gemm/* @numerics\n", updated_at: AT, codeowners: { path: ".github/CODEOWNERS", commit: "0c124b44c039e655a4521d33b1f222707d07f282", text: `# ${EVIL}\n/src/attention/ @org/attention # the rest\n` } };
  }
  if (/^\/projects\/[^/]+\/detector$/.test(path)) return detectorOf(state);
  return null;
}

/** Answers a change of these: [status, body]; null: not one of them. state.patches collects what was sent. */
export function changeSettings(method, path, body, state, query) {
  if (!/^\/(tokens|notices|browser-sessions)(\/|$)|\/(owners|detector|replay)$/.test(path)) return null;
  state.patches.push({ method, path, change: body });
  const id = Number(path.split("/")[2]);
  if (method === "POST" && path === "/tokens") {
    const made = token(70, { ...body, project: body.project ?? null, expires_at: body.expires_at ?? null, last_used_at: null });
    state.tokens.push(made);
    return [201, { ...made, token: "pfc_shown_once" }];
  }
  if (method === "POST" && path.endsWith("/rotate")) return [201, { ...token(71), token: "pfc_rotated" }];
  if (method === "DELETE" && path.startsWith("/tokens/")) {
    state.tokens = state.tokens.map((t) => (t.id === id ? { ...t, revoked_at: AT } : t));
    return [204, null];
  }
  if (method === "DELETE" && path.startsWith("/notices/")) {
    state.notices = NOTICES.filter((n) => n.id !== id);
    return [204, null];
  }
  if (path.endsWith("/send")) return [200, { deliveries: 1 }];
  if (path.endsWith("/replay")) return state.tooLarge ? [413, { error: { code: "too_large", message: "replay: over 1000000 points" } }] : [200, replayOf(body)];
  if (path.endsWith("/detector")) {
    if (state.storedMeanwhile) {
      state.detector = { version: detectorOf(state).version + 1, detector: state.storedMeanwhile, actor: "ines", at: AT };
      state.storedMeanwhile = null;
    }
    const { version } = detectorOf(state);
    if (query.get("seen") !== String(version)) return [409, { error: { code: "conflict", message: `seen: expected ${version}, got ${query.get("seen")}` } }];
    state.detector = { version: detectorOf(state).version + 1, detector: body, actor: "mara", at: AT };
    return [200, state.detector];
  }
  if (path.endsWith("/owners")) {
    state.owners = body.rules;
    return [200, settingsOf(path, new URL("http://mock"), state)];
  }
  return [204, null];
}
