/**
 * Random sequences of what happens to a comment: deliveries that are lost, repeated and reordered, two clients at once,
 * clients that are killed, people who delete and quote, a forge that fails. At the end of each there is exactly one
 * comment of ours, and it says the newest.
 *
 * A sequence mostly waits, for answers that never come: several run at once, each with its own forge and clients.
 *
 * sequences.mjs [--count N] [--seed N] [--minutes N] [--at-once N]
 */
import { opened } from "./client.mjs";
import { StandIn } from "./stand_in.mjs";

const REPO = "team/kernels";
const MARKER = "<!-- perfci:k -->";
const BODY = (revision) => `${MARKER}\n### revision ${revision}`;

const asked = (name, fallback) => {
  const at = process.argv.indexOf(name);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};

/** mulberry32: the same seed, the same sequence. */
function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return { chance: (p) => next() < p, below: (n) => Math.floor(next() * n), of: (list) => list[Math.floor(next() * list.length)] };
}

const FAULTS = [
  { status: 401, body: { message: "Bad credentials" } },
  { status: 403, body: { message: "Resource not accessible" } },
  { status: 403, body: { message: "You have exceeded a secondary rate limit" } },
  { status: 404, body: { message: "Not Found" } },
  { status: 409, body: { message: "Conflict" } },
  { status: 422, body: { message: "Validation Failed" } },
  { status: 429, headers: { "Retry-After": "30" } },
  { status: 429 },
  { status: 500 },
  { status: 502, body: { message: "Bad gateway" } },
  { status: 200, body: [] },
  "drop", "lose", "truncate", "hang", "kill", "kill-after",
];

class Sequence {
  constructor(seed) {
    this.rng = random(seed);
    this.seed = seed;
    this.revision = 0; // the newest
    this.seen = [0, 0]; // the newest that each client received
    this.known = 0; // id in the clients' store
    this.clients = [null, null];
    this.seconds = Math.floor(Date.now() / 1000);
    this.log = [];
  }

  async run() {
    this.forge = await new StandIn(this.rng.of(["github", "gitlab", "gitea"])).start();
    this.forge.pageSize = this.rng.of([3, 100]);
    try {
      const events = 6 + this.rng.below(15);
      for (let i = 0; i < events; i++) await this.event();
      await this.settle();
      this.check();
    } finally {
      for (const client of this.clients) await client?.close();
      await this.forge.stop();
    }
  }

  async event() {
    const event = this.rng.of(["put", "put", "put", "both", "race", "delete", "talk", "quote", "foreign", "forget", "stale"]);
    this.log.push(event);
    const account = { id: 99, login: "person", username: "person", type: "User" };
    if (event === "put") await this.deliver(this.rng.below(2));
    else if (event === "both") await Promise.all([this.deliver(0), this.deliver(1)]);
    else if (event === "race") await this.race();
    else if (event === "delete") this.forge.comments = this.forge.comments.filter((c) => c.user.id !== 7);
    else if (event === "talk") this.forge.say(7, "looks good", account);
    else if (event === "quote") this.forge.say(7, `> ${MARKER}\n\nwhy?`, account);
    else if (event === "foreign") this.forge.say(7, `${MARKER}\nmine`, account);
    else if (event === "forget") this.known = 0;
    else this.known = this.rng.of([1, 999999, this.known]);
  }

  /** A push, its delivery to a client (or a lost or an older one), and the comment that follows. */
  async deliver(which) {
    const pushed = this.rng.chance(0.7) ? ++this.revision : this.revision;
    if (this.rng.chance(0.2)) return; // lost
    const told = this.rng.chance(0.2) ? Math.max(0, pushed - 1) : pushed;
    this.seen[which] = Math.max(this.seen[which], told);
    this.arrange(which);
    this.clients[which] ??= await opened(this.forge, { timeout_s: 0.4 });
    await this.put(this.clients[which], this.seen[which], which);
  }

  /** Both clients find no comment and create one; half of the time one of them is killed after it did. */
  async race() {
    this.forge.comments = this.forge.comments.filter((c) => c.user.id !== 7);
    this.known = 0;
    this.forge.faults = [];
    this.forge.together = 2;
    let created = 0;
    const killed = this.rng.chance(0.5);
    this.forge.onCall = (call) => { if (call.method === "POST" && ++created === 2 && killed) this.clients[1].kill(); };
    for (const which of [0, 1]) {
      await this.clients[which]?.close();
      this.clients[which] = await opened(this.forge);
      this.seen[which] = this.revision;
    }
    await Promise.all([0, 1].map((which) => this.put(this.clients[which], this.revision, which)));
    this.forge.onCall = () => {};
  }

  /** Faults for some of the next calls. */
  arrange(which) {
    this.forge.faults = [];
    for (let i = 0; i < 6; i++) this.forge.faults.push(this.rng.chance(0.15) ? this.rng.of(FAULTS) : null);
    this.log.push(this.forge.faults.map((f) => f?.status ?? f).filter(Boolean).join(","));
    this.forge.onCall = (call, fault) => { if (fault === "kill" || fault === "kill-after") this.clients[which]?.kill(); };
  }

  async put(client, revision, which) {
    const answer = await client.call({ do: "put", repo: REPO, pull: 7, key: "k", known: this.known, body: BODY(revision), now: this.seconds });
    this.log.push(answer ? `${which}: ${answer.code} ${answer.id ?? ""}` : `${which}: killed`);
    if (!answer) {
      await client.exit;
      if (which !== null) this.clients[which] = null;
    } else if (answer.code === "OK") {
      this.known = answer.id;
    }
    if (this.rng.chance(0.7)) this.seconds += Math.ceil(answer?.wait_s ?? 0);
    return answer;
  }

  /** The queue repeats the last job until it succeeds. */
  async settle() {
    this.forge.faults = [];
    this.forge.onCall = () => {};
    for (const client of this.clients) await client?.close();
    this.clients = [await opened(this.forge), null];
    const answer = await this.put(this.clients[0], this.revision, null);
    if (answer?.code !== "OK") throw new Error(`the last one failed: ${JSON.stringify(answer)}`);
  }

  check() {
    const ours = this.forge.comments.filter((c) => c.user.id === 7);
    const expect = (good, what) => { if (!good) throw new Error(`${what}: ${JSON.stringify(this.forge.comments.map((c) => [c.id, c.user.id, c.body]))}`); };
    expect(ours.length === 1, `${ours.length} comments of ours`);
    expect(ours[0].body === BODY(this.revision), `expected revision ${this.revision}`);
    expect(ours[0].id === this.known, "another id is known");
    const foreign = this.forge.comments.filter((c) => c.user.id === 99);
    expect(foreign.every((c) => ["looks good", `> ${MARKER}\n\nwhy?`, `${MARKER}\nmine`].includes(c.body)), "a comment of a person was edited");
    expect(foreign.length === this.log.filter((e) => ["talk", "quote", "foreign"].includes(e)).length, "a comment of a person is gone");
    expect(this.forge.violations.length === 0, this.forge.violations.join("; "));
  }
}

const count = asked("--count", 50);
const first = asked("--seed", 1);
const until = asked("--minutes", 0) > 0 ? Date.now() + asked("--minutes", 0) * 60000 : Infinity;
let next = first, done = 0, failed = 0;

async function worker() {
  while (next < first + count && Date.now() < until) {
    const sequence = new Sequence(next++);
    try {
      await sequence.run();
    } catch (error) {
      failed++;
      console.log(`seed ${sequence.seed} (${sequence.forge?.kind}): ${error.message}\n  ${sequence.log.join(" | ")}`);
    }
    if (++done % 100 === 0) console.error(`${done} of ${count} sequences`);
  }
}

await Promise.all(Array.from({ length: asked("--at-once", 8) }, worker));
console.log(`${done} sequences, ${failed} failed`);
process.exit(failed || done === 0 ? 1 : 0);
