/**
 * A stand-in for GitHub, GitLab and Gitea: keeps comments, checks and issues as they do, counts and checks each
 * request, and fails where the test says so.
 */
import { createVerify } from "node:crypto";
import { createServer } from "node:http";

import { requestFaults } from "./published.mjs";

const REPO = "team/kernels";
export const COMMIT = { head: "b".repeat(40), base: "a".repeat(40), merge: "c".repeat(40) };

const BOT = { id: 7, login: "perfci", username: "perfci", type: "User" };
const APP = { id: 4242, slug: "perfci" };
const APP_USER = { id: 8, login: "perfci[bot]", type: "Bot" };

/** [method, pattern, operation]: the parts in parentheses are its arguments. */
const ROUTES = {
  github: [
    ["GET", /^\/user$/, "user"],
    ["GET", /^\/app$/, "app"],
    ["GET", /^\/repos\/team\/kernels\/installation$/, "installation"],
    ["POST", /^\/app\/installations\/(\d+)\/access_tokens$/, "token"],
    ["GET", /^\/repos\/team\/kernels\/issues\/(\d+)\/comments$/, "list"],
    ["POST", /^\/repos\/team\/kernels\/issues\/(\d+)\/comments$/, "create"],
    ["PATCH", /^\/repos\/team\/kernels\/issues\/comments\/(\d+)$/, "edit"],
    ["DELETE", /^\/repos\/team\/kernels\/issues\/comments\/(\d+)$/, "remove"],
    ["GET", /^\/repos\/team\/kernels\/commits\/(\w+)\/comments$/, "list"],
    ["POST", /^\/repos\/team\/kernels\/commits\/(\w+)\/comments$/, "create"],
    ["PATCH", /^\/repos\/team\/kernels\/comments\/(\d+)$/, "edit"],
    ["DELETE", /^\/repos\/team\/kernels\/comments\/(\d+)$/, "remove"],
    ["POST", /^\/repos\/team\/kernels\/check-runs$/, "checkCreate"],
    ["PATCH", /^\/repos\/team\/kernels\/check-runs\/(\d+)$/, "checkEdit"],
    ["POST", /^\/repos\/team\/kernels\/statuses\/(\w+)$/, "status"],
    ["GET", /^\/repos\/team\/kernels\/collaborators\/([^/]+)\/permission$/, "permission"],
    ["GET", /^\/repos\/team\/kernels\/pulls\/(\d+)$/, "pull"],
    ["GET", /^\/repos\/team\/kernels\/pulls\/(\d+)\/commits$/, "commits"],
    ["GET", /^\/repos\/team\/kernels\/compare\/(.+)$/, "compare"],
    ["GET", /^\/repos\/team\/kernels\/issues$/, "issues_"],
    ["POST", /^\/repos\/team\/kernels\/issues$/, "issueCreate"],
    ["PATCH", /^\/repos\/team\/kernels\/issues\/(\d+)$/, "issueEdit"],
  ],
  gitlab: [
    ["GET", /^\/user$/, "user"],
    ["GET", /^\/users$/, "users"],
    ["GET", /^\/projects\/team%2Fkernels\/members\/all\/(\d+)$/, "member"],
    ["GET", /^\/projects\/(\d+)$/, "project"],
    ["GET", /^\/projects\/team%2Fkernels\/merge_requests\/(\d+)\/notes$/, "list"],
    ["POST", /^\/projects\/team%2Fkernels\/merge_requests\/(\d+)\/notes$/, "create"],
    ["PUT", /^\/projects\/team%2Fkernels\/merge_requests\/\d+\/notes\/(\d+)$/, "edit"],
    ["DELETE", /^\/projects\/team%2Fkernels\/merge_requests\/\d+\/notes\/(\d+)$/, "remove"],
    ["GET", /^\/projects\/team%2Fkernels\/merge_requests\/(\d+)$/, "pull"],
    ["GET", /^\/projects\/team%2Fkernels\/repository\/commits$/, "commits"],
    ["POST", /^\/projects\/team%2Fkernels\/statuses\/(\w+)$/, "status"],
    ["GET", /^\/projects\/team%2Fkernels\/issues$/, "issues_"],
    ["POST", /^\/projects\/team%2Fkernels\/issues$/, "issueCreate"],
    ["PUT", /^\/projects\/team%2Fkernels\/issues\/(\d+)$/, "issueEdit"],
  ],
};
ROUTES.gitea = ROUTES.github.filter(([, , name]) => !["app", "installation", "token", "checkCreate", "checkEdit", "compare"].includes(name));

export class StandIn {
  constructor(kind, { publicKey } = {}) {
    this.kind = kind;
    this.publicKey = publicKey;
    this.nextId = 1000;
    this.comments = []; // {id, place, body, user, app}
    this.commits_ = []; // of the pull request, in the order in which it lists them: {id, parents}
    this.checks = [];
    this.statuses = [];
    this.issues = [];
    this.tokens = new Set(["ghp_user", "glpat-user", "gitea-user"]);
    this.minted = 0;
    this.calls = []; // {method, path, query, body, status}
    this.violations = [];
    this.faults = []; // the next calls' faults; null: none
    this.pageSize = 100;
    this.now = () => Date.now() / 1000;
    this.fork = false;
    this.onCall = () => {};
    this.together = 0; // so many answers to lists are held back until all of them were asked for
    this.held = [];
  }

  async start() {
    this.server = createServer((req, res) => this.serve(req, res));
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    this.base = { github: "", gitlab: "/api/v4", gitea: "/api/v1" }[this.kind];
    this.origin = `http://127.0.0.1:${this.server.address().port}`;
    this.url = this.origin + this.base;
    return this;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  ours(place, marker) {
    return this.comments.filter((c) => c.place === String(place) && c.body.startsWith(marker) && [BOT.id, APP_USER.id].includes(c.user.id));
  }

  say(place, body, user = { id: 99, login: "person", username: "person", type: "User" }) {
    const comment = { id: this.nextId++, place: String(place), body, user, app: null };
    this.comments.push(comment);
    return comment;
  }

  async serve(req, res) {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(req.url, this.origin);
    const path = url.pathname.slice(this.base.length);
    const body = text === "" ? undefined : JSON.parse(text);
    const call = { method: req.method, path, query: url.search, body, headers: req.headers };
    const fault = this.faults.shift() ?? null;
    this.calls.push(call);
    if (this.kind === "github") {
      this.violations.push(...requestFaults(req.method, url, req.headers, body));
    }
    this.onCall(call, fault);
    if (fault === "drop" || fault === "kill") return req.socket.destroy();
    if (fault === "hang") return undefined; // until the client gives up
    if (typeof fault === "object" && fault) return this.reply(req, res, call, fault);
    const answer = this.answer(call, url, path);
    if (this.together > 0 && call.method === "GET" && /(comments|notes)$/.test(path)) {
      this.held.push(() => this.reply(req, res, call, answer));
      if (this.held.length < this.together) return undefined;
      this.together = 0;
      return this.held.splice(0).forEach((send) => send());
    }
    if (fault === "lose") return req.socket.destroy(); // it was done, and the answer is lost
    return this.reply(req, res, call, answer, fault === "truncate");
  }

  reply(req, res, call, { status, body, headers = {} }, truncate = false) {
    let text = body === undefined ? "" : JSON.stringify(body);
    const etag = `"${text.length}-${[...text].reduce((h, c) => (h * 31 + c.charCodeAt(0)) | 0, 7)}"`;
    if (req.method === "GET" && status === 200) {
      if (req.headers["if-none-match"] === etag) [status, text] = [304, ""];
      else headers = { ...headers, ETag: etag };
    }
    call.status = status;
    if (truncate && text) {
      res.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text), ...headers });
      res.write(text.slice(0, text.length / 2));
      return setImmediate(() => req.socket.destroy());
    }
    res.writeHead(status, { "Content-Type": "application/json", ...headers, ...(status === 204 || status === 304 ? {} : { "Content-Length": Buffer.byteLength(text) }) });
    return res.end(text);
  }

  /** The account behind a request, or null. */
  account(call) {
    const header = this.kind === "gitlab" ? call.headers["private-token"] : call.headers.authorization;
    const token = (header ?? "").replace(/^(Bearer|token) /i, "");
    if (this.kind === "github" && token.split(".").length === 3 && !token.startsWith("ghs_")) return this.checkJwt(token) ? { jwt: true } : null;
    if (!this.tokens.has(token)) return null;
    return token.startsWith("ghs_") ? { user: APP_USER, app: APP } : { user: BOT, app: null };
  }

  checkJwt(token) {
    const [head, claims, signature] = token.split(".");
    const { iat, exp, iss } = JSON.parse(Buffer.from(claims, "base64url"));
    const verify = createVerify("RSA-SHA256").update(`${head}.${claims}`);
    const now = this.now();
    return verify.verify(this.publicKey, signature, "base64url") && iss === "Iv1.perfci" && iat <= now && exp > now && exp - iat <= 600
      && JSON.parse(Buffer.from(head, "base64url")).alg === "RS256";
  }

  answer(call, url, path) {
    const who = this.account(call);
    const route = ROUTES[this.kind].find(([method, pattern]) => method === call.method && pattern.test(path));
    if (!who) return { status: 401, body: { message: "Bad credentials" } };
    if (!route) return { status: 404, body: { message: "Not Found" } };
    if (Boolean(who.jwt) !== ["app", "installation", "token"].includes(route[2])) return { status: 401, body: { message: "Bad credentials" } };
    return this[route[2]](path.match(route[1]).slice(1).map(decodeURIComponent), call, who, url);
  }

  shown(c) {
    const author = this.kind === "gitlab" ? { author: c.user, system: false } : { user: c.user, html_url: `${this.origin}/c/${c.id}` };
    return { id: c.id, body: c.body, ...author, ...(this.kind === "github" && { performed_via_github_app: c.app }) };
  }

  list([place], call, who, url) {
    const all = this.comments.filter((c) => c.place === place).map((c) => this.shown(c));
    return this.kind === "gitea" ? { status: 200, body: all } : this.page(all, url);
  }

  /** GitHub lists the oldest first, and no more than 250; the others the newest. GitLab follows first parents when it is asked to. */
  commits([number], call, who, url) {
    const range = url.searchParams.get("ref_name");
    if (this.kind === "gitlab" && !/^[0-9a-f]{40}\.\.[0-9a-f]{40}$/.test(range)) return { status: 404, body: { message: "404 Not Found" } };
    if (this.kind !== "gitlab" && number !== "7") return { status: 404, body: { message: "Not Found" } };
    const shown = this.commits_.map(({ id, parents }) => (this.kind === "gitlab" ? { id, parent_ids: parents } : { sha: id, parents: parents.map((sha) => ({ sha })) }));
    return this.page(this.kind === "github" ? shown.slice(0, 250) : shown.reverse(), url);
  }

  page(all, url) {
    const page = Number(url.searchParams.get("page") ?? 1);
    const size = Math.min(this.pageSize, Number(url.searchParams.get("per_page") ?? url.searchParams.get("limit") ?? 20));
    const next = new URL(url);
    next.searchParams.set("page", page + 1);
    const link = page * size < all.length ? { Link: `<${url}>; rel="first", <${next}>; rel="next"` } : {};
    return { status: 200, body: all.slice((page - 1) * size, page * size), headers: link };
  }

  create([place], call, who) {
    const limit = this.kind === "gitlab" ? 1_000_000 : 65536;
    if (call.body.body.length > limit) return { status: 422, body: { message: "Validation Failed", errors: [{ message: "Body is too long" }] } };
    const comment = { id: this.nextId++, place, body: call.body.body, user: who.user, app: who.app };
    this.comments.push(comment);
    return { status: 201, body: this.shown(comment) };
  }

  edit([id], call) {
    const comment = this.comments.find((c) => c.id === Number(id));
    if (!comment) return { status: 404, body: { message: "Not Found" } };
    comment.body = call.body.body;
    return { status: 200, body: this.shown(comment) };
  }

  remove([id]) {
    const at = this.comments.findIndex((c) => c.id === Number(id));
    if (at < 0) return { status: 404, body: { message: "Not Found" } };
    this.comments.splice(at, 1);
    return { status: 204 };
  }

  user(args, call, who) { return who.app ? { status: 403, body: { message: "Resource not accessible by integration" } } : { status: 200, body: who.user }; }
  app() { return { status: 200, body: APP }; }
  installation() { return { status: 200, body: { id: 31 } }; }

  token([id]) {
    if (id !== "31") return { status: 404, body: { message: "Not Found" } };
    const token = `ghs_${APP.id}_${"x".repeat(500)}.${++this.minted}`;
    this.tokens.add(token);
    return { status: 201, body: { token, expires_at: new Date((this.now() + 3600) * 1000).toISOString().replace(/\.\d+/, "") } };
  }

  checkCreate(args, call, who) {
    if (!who.app) return { status: 403, body: { message: "You must authenticate via a GitHub App." } };
    this.checks.push({ id: this.nextId++, ...call.body });
    return { status: 201, body: { id: this.checks.at(-1).id } };
  }

  checkEdit([id], call) {
    const check = this.checks.find((c) => c.id === Number(id));
    return check ? { status: 200, body: Object.assign(check, call.body) } : { status: 404, body: { message: "Not Found" } };
  }

  status([commit], call) {
    this.statuses.push({ commit, ...call.body });
    return { status: 201, body: { id: this.nextId++ } };
  }

  permission([user]) {
    const known = { ann: "admin", wen: "write", rob: "read", out: "none" };
    return known[user] ? { status: 200, body: { permission: known[user] } } : { status: 404, body: { message: "Not Found" } };
  }

  users(args, call, who, url) {
    const ids = { ann: 50, wen: 30, rob: 20, out: 5, old: 31 };
    const id = ids[url.searchParams.get("username")];
    return { status: 200, body: id ? [{ id }] : [] };
  }

  member([id]) {
    return id === "5" ? { status: 404, body: { message: "404 Not found" } } : { status: 200, body: { id: Number(id), access_level: Number(id) === 31 ? 30 : Number(id), state: id === "31" ? "blocked" : "active" } };
  }

  project() { return { status: 200, body: { id: 16, path_with_namespace: "jane/kernels" } }; }
  compare() { return { status: 200, body: { merge_base_commit: { sha: COMMIT.merge } } }; }

  pull([number]) {
    if (number !== "7") return { status: 404, body: { message: "Not Found" } };
    const title = "Faster GEMM";
    if (this.kind === "gitlab") {
      return { status: 200, body: { iid: 7, title, state: "opened", draft: false, sha: COMMIT.head, source_branch: "fast", target_branch: "main", source_project_id: this.fork ? 16 : 15, target_project_id: 15,
        author: { username: "ann" }, web_url: "https://h/7", diff_refs: { base_sha: COMMIT.merge, head_sha: COMMIT.head, start_sha: COMMIT.base } } };
    }
    const side = (sha, ref, full_name) => ({ sha, ref, repo: { full_name } });
    return { status: 200, body: { number: 7, title, state: "open", draft: false, user: { login: "ann" }, html_url: "https://h/7", ...(this.kind === "gitea" && { merge_base: COMMIT.merge }),
      head: side(COMMIT.head, "fast", this.fork ? "jane/kernels" : REPO), base: side(COMMIT.base, "main", REPO) } };
  }

  /** Newest first; since: GitHub and Gitea by the last change, GitLab by creation. GitHub and Gitea list the open ones unless told. */
  issues_(args, call, who, url) {
    const since = Date.parse(url.searchParams.get(this.kind === "gitlab" ? "created_after" : "since") ?? "1970-01-01T00:00:00Z") / 1000;
    const every = this.kind === "gitlab" || url.searchParams.get("state") === "all";
    return this.page(this.issues.filter((i) => i.at >= since && (every || i.state === "open")).reverse(), url);
  }

  issueCreate(args, call, who) {
    const author = this.kind === "gitlab" ? { author: who.user } : { user: who.user, ...(this.kind === "github" && { performed_via_github_app: who.app }) };
    this.issues.push({ id: 900 + this.issues.length, number: this.issues.length + 1, iid: this.issues.length + 1, state: "open", at: this.now(), ...author, ...call.body });
    return { status: 201, body: { ...this.issues.at(-1), html_url: "https://h/i/1", web_url: "https://h/i/1" } };
  }

  issueEdit([number], call) {
    const issue = this.issues[Number(number) - 1];
    return issue ? { status: 200, body: { ...Object.assign(issue, call.body), html_url: "https://h/i/1", web_url: "https://h/i/1" } } : { status: 404, body: { message: "Not Found" } };
  }
}
