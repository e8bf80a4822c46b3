/** core/forge against the stand-in: requests as the providers publish them, answers and faults as codes. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";

import { Client, TOKENS, opened } from "./client.mjs";
import { load } from "./packages.mjs";
import { requestFaults, webhookFaults } from "./published.mjs";
import { COMMIT, StandIn } from "./stand_in.mjs";

const REPO = "team/kernels";
const MARKER = "<!-- perfci:k -->";
const folder = mkdtempSync(path.join(tmpdir(), "forge-"));
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const keyFile = path.join(folder, "app.pem");
writeFileSync(keyFile, privateKey.export({ type: "pkcs1", format: "pem" }));
after(() => rmSync(folder, { recursive: true }));

const KINDS = ["github", "gitlab", "gitea"];
const put = (body = `${MARKER}\nfine`, more = {}) => ({ do: "put", repo: REPO, pull: 7, key: "k", known: 0, body, ...more });
const check = (state, more = {}) => ({ do: "check", repo: REPO, name: "perfci", commit: COMMIT.head, state, title: "2 regressions", summary: "**text**", url: "https://perf/1", id: 0, ...more });
const issue = (number, open) => ({ do: "issue", repo: REPO, number, title: "Slower", body: "since c", open });
const find = (since, key = "k") => ({ do: "find_issue", repo: REPO, key, since });
const commits = (more = {}) => ({ do: "commits", repo: REPO, number: 7, base: COMMIT.merge, head: COMMIT.head, ...more });
const access = (user) => ({ do: "access", repo: REPO, user });

/** Runs with a stand-in and an opened client; every request has to be a published one. */
async function with_(kind, more, run) {
  const forge = await new StandIn(kind, { publicKey }).start();
  const client = await opened(forge, more);
  try {
    await run(forge, client);
    assert.deepEqual(forge.violations, []);
  } finally {
    await client.close();
    await forge.stop();
  }
}

async function ok(client, line) {
  const answer = await client.call(line);
  assert.equal(answer.code, "OK", answer.message);
  return answer;
}

/* ---- the published descriptions ---- */

test("the payloads of the tests are ones that GitHub publishes", () => {
  const data = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../data/forge/github");
  const files = readdirSync(data);
  assert.equal(files.length, 14);
  for (const file of files) {
    assert.deepEqual(webhookFaults(file.split(".")[0], JSON.parse(readFileSync(path.join(data, file)))), [], file);
  }
  assert.notDeepEqual(webhookFaults("push", { ref: 7 }), []);
});

test("a request that GitHub does not publish is found", () => {
  const headers = { accept: "application/vnd.github+json", "x-github-api-version": "2022-11-28", "user-agent": "x", "content-type": "application/json" };
  const faults = (method, url, body, more) => requestFaults(method, new URL(url, "http://h"), { ...headers, ...more }, body);
  assert.deepEqual(faults("POST", "/repos/a/b/issues/1/comments", { body: "x" }), []);
  for (const [method, url, body, more] of [
    ["POST", "/repos/a/b/issues/1/comments", {}], ["POST", "/repos/a/b/issues/1/comments", { body: 7 }], ["POST", "/repos/a/b/issues/1/comments", { body: "x", y: 1 }],
    ["PUT", "/repos/a/b/issues/1/comments", { body: "x" }], ["GET", "/repos/a/b/issues/1/comments?size=3"], ["GET", "/repos/a/b/issues/1/comments?per_page=x"],
    ["GET", "/nowhere"], ["POST", "/repos/a/b/statuses/abc", { state: "warning" }], ["GET", "/user", undefined, { accept: "text/html" }],
  ]) assert.notDeepEqual(faults(method, url, body, more), [], `${method} ${url}`);
});

/* ---- requests ---- */

test("GitHub: each operation with a personal token", () => with_("github", {}, async (forge, client) => {
  assert.equal((await ok(client, put())).created, true);
  assert.equal((await ok(client, put(`${MARKER}\nchanged`))).created, false);
  await ok(client, put(`${MARKER}\non a commit`, { commit: COMMIT.head }));
  await ok(client, put(`${MARKER}\nedited`, { commit: COMMIT.head }));
  assert.deepEqual(forge.comments.map((c) => [c.place, c.body]), [["7", `${MARKER}\nchanged`], [COMMIT.head, `${MARKER}\nedited`]]);
  await ok(client, { do: "add", repo: REPO, pull: 7, body: "/perfci is read by people" });
  assert.equal((await ok(client, check(0))).id, 0);
  for (const [state, expected] of [[1, "pending"], [2, "success"], [3, "failure"], [4, "success"], [5, "error"]]) {
    await ok(client, check(state, { title: "é".repeat(100) }));
    assert.deepEqual([forge.statuses.at(-1).state, forge.statuses.at(-1).description.length], [expected, 70]);
  }
  const pull = (await ok(client, { do: "pull", repo: REPO, number: 7 })).pull;
  assert.deepEqual([pull.head_commit, pull.base_commit, pull.merge_base, pull.fork, pull.open, pull.author], [COMMIT.head, COMMIT.base, COMMIT.merge, false, true, "ann"]);
  const made = await ok(client, issue(0, true));
  await ok(client, issue(made.number, false));
  assert.equal(forge.issues[0].state, "closed");
}));

test("GitHub: a check run of an App passes through its states", () => with_("github", { token: undefined, app_id: "Iv1.perfci", key: keyFile }, async (forge, client) => {
  const { id } = await ok(client, check(0, { external_id: "17" }));
  for (const [state, expected] of [[1, ["in_progress", undefined]], [2, ["completed", "success"]], [3, ["completed", "failure"]], [4, ["completed", "neutral"]], [5, ["completed", "action_required"]]]) {
    assert.equal((await ok(client, check(state, { id }))).id, id);
    assert.deepEqual([forge.checks[0].status, forge.checks[0].conclusion], expected);
  }
  assert.equal(forge.checks.length, 1);
  await ok(client, check(2, { summary: "é".repeat(65535) }));
  assert.ok(Buffer.byteLength(forge.checks[1].output.summary) <= 65535);
  forge.checks.length = 0; // a person cannot delete one, a restored forge may have lost it
  assert.notEqual((await ok(client, check(2, { id }))).id, id);
}));

for (const kind of KINDS) {
  test(`${kind}: who may write`, () => with_(kind, {}, async (forge, client) => {
    const rights = {};
    for (const user of ["ann", "wen", "rob", "out", "old", "nobody", "a/../b?c"]) rights[user] = (await ok(client, access(user))).access;
    assert.deepEqual(rights, { ann: "write", wen: "write", rob: "read", out: "none", old: "none", nobody: "none", "a/../b?c": "none" });
  }));

  test(`${kind}: a pull request from a fork`, () => with_(kind, {}, async (forge, client) => {
    forge.fork = true;
    const { pull } = await ok(client, { do: "pull", repo: REPO, number: 7 });
    assert.deepEqual([pull.fork, pull.head_repo, pull.base_repo, pull.merge_base, pull.base_commit], [true, "jane/kernels", REPO, COMMIT.merge, COMMIT.base]);
    assert.equal((await client.call({ do: "pull", repo: REPO, number: 8 })).code, "ENOTFOUND");
  }));
}

for (const kind of KINDS) {
  test(`${kind}: an issue whose number was lost is found by its marker`, () => with_(kind, {}, async (forge, client) => {
    const made = (body) => ({ ...issue(0, true), body });
    const now = Math.floor(forge.now());
    forge.pageSize = 2;
    await ok(client, made(`${MARKER}\nold`));
    forge.issues[0].at = now - 7200;
    for (const body of ["no marker", `> ${MARKER}\nquoted`, `${MARKER}\nof another account`, `${MARKER}\nours`, `${MARKER}\ntwice`]) await ok(client, made(body));
    Object.assign(forge.issues[3], kind === "gitlab" ? { author: { id: 99 } } : { user: { id: 99, login: "person" } });
    const { number } = await ok(client, find(now));
    assert.equal(number, 5, "the oldest of our own since that time");
    assert.equal((await ok(client, find(now - 7200))).number, 1);
    assert.equal((await ok(client, find(now, "other"))).number, 0);
    await ok(client, { ...made(`${MARKER}\nours`), number, open: false });
    assert.equal((await ok(client, find(now))).number, 5, "closed ones count");
    forge.faults = ["lose"];
    assert.notEqual((await client.call(made("<!-- perfci:lost -->\nmade, and its answer lost"))).code, "OK");
    assert.equal((await ok(client, find(now, "lost"))).number, 7);
  }));

  test(`${kind}: an issue is made, changed, closed and opened by its number`, () => with_(kind, {}, async (forge, client) => {
    await ok(client, issue(0, true));
    const { number } = await ok(client, issue(0, true));
    assert.equal(number, 2);
    for (const [open, github, gitlab] of [[false, "closed", "close"], [true, "open", "reopen"]]) {
      assert.equal((await ok(client, issue(number, open))).number, 2);
      assert.equal(kind === "gitlab" ? forge.issues[1].state_event : forge.issues[1].state, kind === "gitlab" ? gitlab : github);
    }
  }));

  test(`${kind}: the text of a commit status is cut at 140 bytes, between characters`, () => with_(kind, {}, async (forge, client) => {
    await ok(client, check(2, { title: "x".repeat(200) }));
    await ok(client, check(2, { title: "x".repeat(139) + "é" }));
    assert.deepEqual(forge.statuses.map((s) => s.description.length), [140, 139]);
  }));
}

/** A branch of `n` commits on the merge base, the head last. */
const branch = (n) => Array.from({ length: n }, (_, i) => ({ id: i === n - 1 ? COMMIT.head : (i + 1).toString(16).padStart(40, "0"), parents: [i ? i.toString(16).padStart(40, "0") : COMMIT.merge] }));

for (const kind of KINDS) {
  test(`${kind}: the commits of a pull request, along first parents`, () => with_(kind, {}, async (forge, client) => {
    forge.commits_ = branch(60);
    forge.pageSize = 25;
    const { commits: line } = await ok(client, commits());
    assert.deepEqual(line, [COMMIT.merge, ...forge.commits_.map((c) => c.id)]);
    assert.equal(forge.calls.length, 3, "three pages");
    forge.commits_ = branch(1);
    assert.deepEqual((await ok(client, commits())).commits, [COMMIT.merge, COMMIT.head]);
    // The branch merged its base branch: commits of a second parent are not on the line, which begins where the branch did.
    const [old, side] = ["d".repeat(40), "e".repeat(40)];
    forge.commits_ = [{ id: side, parents: [old] }, { id: COMMIT.base, parents: [COMMIT.merge] }, { id: COMMIT.head, parents: [side, COMMIT.base] }];
    assert.deepEqual((await ok(client, commits())).commits, [old, side, COMMIT.head]);
  }));

  test(`${kind}: lists of commits that are no line are refused`, () => with_(kind, {}, async (forge, client) => {
    const refused = async (list, code, words) => {
      forge.commits_ = list;
      const answer = await client.call(commits());
      assert.deepEqual([answer.code, answer.commits], [code, []], answer.message);
      assert.ok(answer.message.includes(words), answer.message);
    };
    await refused([], "EINVAL", "lacks its head bbbbbbbbbbbb");
    await refused(branch(249).slice(0, -1), "EINVAL", "lacks its head");
    await refused(branch(250), "EINVAL", "expected under 250");
    await refused(branch(400), "EINVAL", "expected under 250");
    await refused([{ id: COMMIT.head, parents: [] }], "EINVAL", "no parent");
    await refused([{ id: COMMIT.head, parents: ["../../x"] }], "EINVAL", "no parent");
    await refused([{ id: COMMIT.head, parents: [COMMIT.base] }, { id: COMMIT.base, parents: [COMMIT.head] }], "EINVAL", "circle");
    await refused([{ id: "HEAD", parents: [COMMIT.base] }], "EIO", "without its id");
    forge.commits_ = branch(249);
    assert.equal((await ok(client, commits())).commits.length, 250);
    if (kind !== "gitlab") assert.equal((await client.call(commits({ number: 8 }))).code, "ENOTFOUND");
  }));
}

/** The requests of the library for an operation are those of core/forge for the same one. */
async function same(forge, theirs, ours) {
  // @gitbeaker/rest sends "{}" where it has nothing to say.
  const said = (body) => (body && Object.keys(body).length ? body : undefined);
  const shape = ({ method, path: p, query, body }) => ({ method, path: p, body: said(body), query: [...new URLSearchParams(query)].filter(([k]) => k !== "page").sort() });
  forge.calls.length = 0;
  await theirs();
  const expected = forge.calls.map(shape);
  forge.calls.length = 0;
  await ours();
  assert.ok(expected.length > 0);
  assert.deepEqual(forge.calls.map(shape), expected);
}

test("GitLab: the requests are those of @gitbeaker/rest", () => with_("gitlab", {}, async (forge, client) => {
  const { Gitlab } = load("@gitbeaker/rest");
  const api = new Gitlab({ host: forge.origin, token: TOKENS.gitlab, camelize: false });
  const line = (value) => () => ok(client, value);
  await same(forge, async () => {
    await api.Users.showCurrentUser();
    await api.MergeRequestNotes.all(REPO, 7, { perPage: 100 });
    await api.MergeRequestNotes.create(REPO, 7, `${MARKER} new`);
    await api.MergeRequestNotes.all(REPO, 7, { perPage: 100 });
  }, async () => { forge.comments.length = 0; await ok(client, put(`${MARKER} new`)); });
  const [{ id }] = forge.comments;
  await same(forge, async () => {
    await api.MergeRequestNotes.edit(REPO, 7, id, { body: `${MARKER} edited` });
    await api.MergeRequestNotes.all(REPO, 7, { perPage: 100 });
  }, line(put(`${MARKER} edited`, { known: id })));
  await same(forge, async () => {
    await api.Users.all({ username: "ann" });
    await api.ProjectMembers.show(REPO, 50, { includeInherited: true });
  }, line(access("ann")));
  forge.fork = true;
  await same(forge, async () => {
    await api.MergeRequests.show(REPO, 7);
    await api.Projects.show(16);
  }, line({ do: "pull", repo: REPO, number: 7 }));
  forge.commits_ = branch(3);
  await same(forge, () => api.Commits.all(REPO, { refName: `${COMMIT.merge}..${COMMIT.head}`, firstParent: true, perPage: 100 }), line(commits()));
  await same(forge, () => api.Commits.editStatus(REPO, COMMIT.head, "failed", { name: "perfci", description: "2 regressions", targetUrl: "https://perf/1" }), line(check(3)));
  await same(forge, () => api.Issues.all({ projectId: REPO, perPage: 100, createdAfter: "2026-01-01T00:00:00.000Z" }), line(find(Date.parse("2026-01-01T01:00:00Z") / 1000)));
  await same(forge, () => api.Issues.create(REPO, "Slower", { description: "since c" }), line(issue(0, true)));
  await same(forge, () => api.Issues.edit(REPO, 1, { title: "Slower", description: "since c", stateEvent: "close" }), line(issue(1, false)));
  forge.say(7, `${MARKER} twice`, { id: 7, username: "perfci" });
  const second = forge.comments.at(-1).id;
  await same(forge, async () => {
    await api.MergeRequestNotes.edit(REPO, 7, id, { body: MARKER });
    await api.MergeRequestNotes.all(REPO, 7, { perPage: 100 });
    await api.MergeRequestNotes.remove(REPO, 7, second);
    forge.say(7, `${MARKER} twice`, { id: 7, username: "perfci" }).id = second;
  }, line(put(MARKER, { known: id })));
}));

test("Gitea: the requests are those of gitea-js", () => with_("gitea", {}, async (forge, client) => {
  const { giteaApi } = load("gitea-js");
  const { repos, user } = giteaApi(forge.origin, { token: TOKENS.gitea, customFetch: fetch });
  const [owner, repo] = REPO.split("/");
  const line = (value) => () => ok(client, value);
  await same(forge, async () => {
    await user.userGetCurrent();
    await repos.issueGetComments(owner, repo, 7);
    await repos.issueCreateComment(owner, repo, 7, { body: `${MARKER} new` });
    await repos.issueGetComments(owner, repo, 7);
  }, async () => { forge.comments.length = 0; await ok(client, put(`${MARKER} new`)); });
  const [{ id }] = forge.comments;
  await same(forge, async () => {
    await repos.issueEditComment(owner, repo, id, { body: `${MARKER} edited` });
    await repos.issueGetComments(owner, repo, 7);
  }, line(put(`${MARKER} edited`, { known: id })));
  await same(forge, () => repos.repoGetRepoPermissions(owner, repo, "ann"), line(access("ann")));
  await same(forge, () => repos.repoGetPullRequest(owner, repo, 7), line({ do: "pull", repo: REPO, number: 7 }));
  forge.commits_ = branch(3);
  await same(forge, () => repos.repoGetPullRequestCommits(owner, repo, 7, { limit: 50, verification: false, files: false }), line(commits()));
  await same(forge, () => repos.repoCreateStatus(owner, repo, COMMIT.head, { state: "failure", context: "perfci", description: "2 regressions", target_url: "https://perf/1" }), line(check(3)));
  await same(forge, () => repos.issueListIssues(owner, repo, { state: "all", type: "issues", limit: 50, since: "2026-01-01T00:00:00.000Z" }), line(find(Date.parse("2026-01-01T01:00:00Z") / 1000)));
  await same(forge, () => repos.issueCreateIssue(owner, repo, { title: "Slower", body: "since c" }), line(issue(0, true)));
  await same(forge, () => repos.issueEditIssue(owner, repo, 1, { title: "Slower", body: "since c", state: "closed" }), line(issue(1, false)));
}));

/* ---- one comment ---- */

for (const kind of KINDS) {
  test(`${kind}: one comment, whatever others write and delete`, () => with_(kind, {}, async (forge, client) => {
    const foreign = forge.say(7, `${MARKER}\nof another account`);
    forge.say(7, `> ${MARKER}\nquoted`, { id: 7, login: "perfci", username: "perfci" });
    for (let i = 0; i < 250; i++) forge.say(7, `talk ${i}`);
    const first = await ok(client, put());
    assert.deepEqual([first.created, forge.ours(7, MARKER).length], [true, 1]);
    assert.equal((await ok(client, put(`${MARKER}\n2`))).id, first.id);
    assert.equal((await ok(client, put(`${MARKER}\n3`, { known: first.id }))).id, first.id);
    forge.comments = forge.comments.filter((c) => c.id !== first.id);
    const second = await ok(client, put(`${MARKER}\n4`, { known: first.id }));
    assert.deepEqual([second.created, forge.ours(7, MARKER).map((c) => c.body)], [true, [`${MARKER}\n4`]]);
    // A client that was killed after it created one left a second: the oldest stays.
    forge.say(7, `${MARKER}\nleft`, { id: 7, login: "perfci", username: "perfci" });
    const third = await ok(client, put(`${MARKER}\n5`, { known: forge.comments.at(-1).id }));
    assert.deepEqual([third.id, forge.ours(7, MARKER).map((c) => c.body)], [second.id, [`${MARKER}\n5`]]);
    assert.equal(foreign.body, `${MARKER}\nof another account`);
    assert.equal((await client.call(put(`${MARKER}${"x".repeat(60000)}`))).code, "EINVAL");
  }));
}

test("GitHub: a job of Actions edits its own comment, not that of another App", () => with_("github", { token: "ghs_4242_abc" }, async (forge, client) => {
  forge.tokens.add("ghs_4242_abc");
  const other = forge.say(7, `${MARKER}\nof another App`, { id: 77, login: "other[bot]", type: "Bot" });
  other.app = { id: 1, slug: "other" };
  const { id } = await ok(client, put());
  assert.notEqual(id, other.id);
  assert.equal((await ok(client, put(`${MARKER}\n2`))).id, id);
  assert.equal(other.body, `${MARKER}\nof another App`);
}));

test("GitHub: an older token of an installation edits comments of bots alone", () => with_("github", { token: "ghs_0123456789" }, async (forge, client) => {
  forge.tokens.add("ghs_0123456789");
  forge.say(7, `${MARKER}\nof a person`);
  const { id, created } = await ok(client, put());
  assert.equal(created, true);
  assert.equal((await ok(client, put(`${MARKER}\n2`))).id, id);
}));

/* ---- the App's tokens ---- */

test("GitHub: the token of an installation is fetched, kept, renewed, and replaced when it is refused", () =>
  with_("github", { token: undefined, app_id: "Iv1.perfci", key: keyFile }, async (forge, client) => {
    const now = Math.floor(forge.now());
    forge.now = () => now + forge.later;
    forge.later = 0;
    const minted = async (later) => { forge.later = later; await ok(client, { ...access("ann"), now: now + later }); return forge.minted; };
    assert.equal(await minted(0), 1);
    assert.equal(await minted(3299), 1);
    assert.equal(await minted(3300), 2, "five minutes before its end");
    for (const token of [...forge.tokens].filter((t) => t.startsWith("ghs_"))) forge.tokens.delete(token);
    assert.equal(await minted(3301), 3, "it was revoked");
    await ok(client, put(`${MARKER}\napp`, { now: now + 3301 }));
    assert.equal((await ok(client, put(`${MARKER}\napp 2`))).created, false);
    assert.equal(forge.calls.filter((c) => c.path.endsWith("/installation")).length, 3);
  }));

test("options that contradict each other are refused without a call", async () => {
  for (const [line, words] of [
    [{ kind: "github" }, "token"], [{ kind: "github", token: "t", app_id: "1", key: keyFile }, "both"], [{ kind: "gitea", token: "t" }, "URL"],
    [{ kind: "gitlab", app_id: "1", key: keyFile }, "no Apps"], [{ kind: "github", key: keyFile }, "client id"], [{ kind: "github", app_id: "1", key: path.join(import.meta.url.slice(7)) }, "RSA"],
    [{ kind: "github", token: "a b" }, "printable"], [{ kind: "github", token: "" }, "printable"], [{ kind: "bitbucket", token: "t" }, "bitbucket"], [{ kind: "github", token: "t", url: "ftp://x" }, "http"],
  ]) {
    const client = new Client();
    const answer = await client.call({ do: "open", ...line });
    assert.equal(answer.code, "EINVAL", JSON.stringify(line));
    assert.ok(answer.message.includes(words), answer.message);
    await client.close();
  }
});

/* ---- faults and limits ---- */

const NOW = () => Math.floor(Date.now() / 1000);
const FAULTS = [
  [{ status: 401, body: { message: "Bad credentials" } }, "EDENIED", 0],
  [{ status: 403, body: { message: "Resource not accessible by integration" } }, "EDENIED", 0],
  [{ status: 404, body: { message: "Not Found" } }, "ENOTFOUND", 0],
  [{ status: 409, body: { message: "Conflict" } }, "EUNAVAIL", 0],
  [{ status: 410 }, "ENOTFOUND", 0],
  [{ status: 400, body: { message: { body: ["is too long"] } } }, "EINVAL", 0],
  [{ status: 422, body: { message: "Validation Failed", errors: [{ message: "Body is too long" }] } }, "EINVAL", 0],
  [{ status: 301, headers: { Location: "http://elsewhere/" } }, "ENOTFOUND", 0],
  [{ status: 500, body: { message: "Server Error" } }, "EUNAVAIL", 0],
  [{ status: 503, headers: { "Retry-After": "7" } }, "EUNAVAIL", 7],
  [{ status: 504 }, "ETIMEOUT", 0],
  [{ status: 429, headers: { "Retry-After": "30" } }, "EUNAVAIL", 30],
  [{ status: 429 }, "EUNAVAIL", 60],
  [{ status: 418 }, "EIO", 0],
  ["drop", "EUNAVAIL", 0],
  ["truncate", "EUNAVAIL", 0],
];
const GITHUB_FAULTS = [
  [{ status: 403, headers: { "Retry-After": "12" }, body: { message: "You have exceeded a secondary rate limit" } }, "EUNAVAIL", 12],
  [{ status: 403, body: { message: "You have exceeded a secondary rate limit. Please wait" } }, "EUNAVAIL", 60],
  [{ status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "@100" }, body: { message: "API rate limit exceeded" } }, "EUNAVAIL", 101],
  [{ status: 403, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "@99999" }, body: { message: "API rate limit exceeded" } }, "EUNAVAIL", 3600],
  [{ status: 403, headers: { "x-ratelimit-remaining": "1", "x-ratelimit-reset": "@100" }, body: { message: "Must have admin rights" } }, "EDENIED", 0],
  [{ status: 429, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "@5" } }, "EUNAVAIL", 6],
];

for (const kind of KINDS) {
  for (const [i, [fault, code, wait]] of [...FAULTS, ...(kind === "github" ? GITHUB_FAULTS : [])].entries()) {
    test(`${kind}: fault ${i}, ${JSON.stringify(fault)}`, () => with_(kind, {}, async (forge, client) => {
      const date = NOW();
      const headers = Object.fromEntries(Object.entries(fault.headers ?? {}).map(([k, v]) => [k, v.startsWith("@") ? String(date + Number(v.slice(1))) : v]));
      forge.faults = [typeof fault === "object" ? { ...fault, headers: { ...headers, Date: new Date(date * 1000).toUTCString() } } : fault];
      const answer = await client.call({ do: "pull", repo: REPO, number: 7, now: date });
      assert.deepEqual([answer.code, answer.wait_s], [code, wait], answer.message);
      const calls = forge.calls.length;
      const again = await client.call({ do: "pull", repo: REPO, number: 7, now: date + wait - 1 });
      assert.equal(again.code, wait > 1 ? "EUNAVAIL" : "OK", again.message);
      assert.equal(forge.calls.length === calls, wait > 1, "no call before its time");
      assert.equal((await client.call({ do: "pull", repo: REPO, number: 7, now: date + wait })).code, "OK");
    }));
  }
}

test("a limit without a time is waited for twice as long each time, up to an hour", () => with_("github", {}, async (forge, client) => {
  let now = NOW();
  const waits = [];
  for (let i = 0; i < 8; i++) {
    forge.faults = [{ status: 429 }];
    const answer = await client.call({ ...access("ann"), now });
    waits.push(answer.wait_s);
    now += answer.wait_s;
  }
  assert.deepEqual(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600]);
  await ok(client, { ...access("ann"), now });
  forge.faults = [{ status: 429 }];
  assert.equal((await client.call(access("ann"))).wait_s, 60, "a success ends it");
}));

test("the last call that was left is answered, the next one waits", () => with_("github", {}, async (forge, client) => {
  const now = NOW();
  forge.faults = [{ status: 200, body: { permission: "write" }, headers: { "x-ratelimit-remaining": "0", "x-ratelimit-reset": String(now + 40), Date: new Date(now * 1000).toUTCString() } }];
  assert.equal((await ok(client, { ...access("ann"), now })).access, "write");
  assert.deepEqual([(await client.call(access("ann"))).code, forge.calls.length], ["EUNAVAIL", 1]);
}));

test("GitLab: its own headers of a limit", () => with_("gitlab", {}, async (forge, client) => {
  const now = NOW();
  forge.faults = [{ status: 429, headers: { "RateLimit-Remaining": "0", "RateLimit-Reset": String(now + 20), Date: new Date(now * 1000).toUTCString() } }];
  assert.equal((await client.call({ ...access("ann"), now })).wait_s, 21);
}));

for (const kind of KINDS) {
  test(`${kind}: a slow answer ends the call, and what was done meanwhile is found`, () => with_(kind, { timeout_s: 0.5 }, async (forge, client) => {
    forge.faults = ["hang"];
    assert.equal((await client.call(access("ann"))).code, "ETIMEOUT");
    forge.faults = [null, null, "lose"]; // account, list, and the creation
    assert.equal((await client.call(put())).code, "EUNAVAIL");
    assert.equal(forge.comments.length, 1);
    assert.equal((await ok(client, put(`${MARKER}\n2`))).created, false);
    assert.deepEqual(forge.comments.map((c) => c.body), [`${MARKER}\n2`]);
  }));
}

test("a list that did not change is not sent again", () => with_("github", {}, async (forge, client) => {
  for (let i = 0; i < 150; i++) forge.say(7, `talk ${i}`);
  await ok(client, put());
  await ok(client, put());
  const lists = () => forge.calls.filter((c) => c.path.endsWith("/comments") && c.method === "GET").map((c) => c.status);
  assert.deepEqual(lists(), [200, 200, 304, 200, 304, 304]);
}));

test("a page that leads away from the forge is not followed", () => with_("github", {}, async (forge, client) => {
  forge.faults = [null, { status: 200, body: [], headers: { Link: '<http://127.0.0.1:1/repos>; rel="next"' } }];
  assert.equal((await ok(client, put())).created, true);
}));

test("what is no list, and what is no JSON, is a failure", () => with_("github", {}, async (forge, client) => {
  forge.faults = [null, { status: 200, body: { message: "x" } }];
  assert.equal((await client.call(put())).code, "EIO");
  forge.faults = [{ status: 200, body: [] }, { status: 201, body: {} }];
  assert.equal((await client.call(put())).code, "EUNAVAIL", "no id: it may be there");
}));

test("no token is in a message", () => with_("github", {}, async (forge, client) => {
  for (const token of ["ghp_" + "a".repeat(36), "ghs_12_aa.bb.cc", "github_pat_11AA_bb", "glpat-xyz.01", "(glpat-xyz)"]) {
    forge.faults = [{ status: 422, body: { message: `the token ${token} is odd\u001b[31m` } }];
    const { message } = await client.call(access("ann"));
    assert.ok(!message.includes("aaaa") && !/_1|xyz|aa\.bb|\x1b/.test(message), message);
    assert.match(message, /(ghp_|ghs_|github_pat_|glpat-)\*/);
  }
  forge.faults = [{ status: 422, body: { message: "aghp_x right_ghs_y" } }];
  assert.match((await client.call(access("ann"))).message, /aghp_x right_ghs_y/);
}));
