import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { askAhead, forgetAhead, takeAhead } from "./ahead";

let now = 0;
let asked: string[] = [];
let cancelled: string[] = [];
let timers: { run: () => void; at: number }[] = [];

Object.assign(globalThis, {
  window: { setTimeout: (run: () => void, ms: number) => timers.push({ run, at: now + ms }) },
  fetch: async (path: string) => {
    asked.push(path);
    if (path.includes("down")) throw new TypeError("no connection");
    return { path, body: { cancel: async () => { cancelled.push(path); } } };
  },
});
Object.defineProperty(performance, "now", { value: () => now });

/** Time goes on: what is due runs, and promises are settled. */
async function pass(ms: number): Promise<void> {
  now += ms;
  const due = timers.filter((t) => t.at <= now);
  timers = timers.filter((t) => t.at > now);
  due.forEach((t) => t.run());
  await new Promise((done) => setImmediate(done));
}
const pathOf = async (reply: Promise<Response> | null) => (reply ? (await reply as unknown as { path: string }).path : null);

beforeEach(async () => {
  forgetAhead();
  await pass(1e6);
  asked = [];
  cancelled = [];
});

test("a path is asked for once, and its reply is used once", async () => {
  askAhead("/a", 1000);
  askAhead("/a", 1000);
  askAhead("/b", 1000);
  assert.deepEqual(asked, ["/api/v1/a", "/api/v1/b"]);
  assert.equal(await pathOf(takeAhead("/a")), "/api/v1/a");
  assert.equal(takeAhead("/a"), null, "it was used");
  assert.equal(takeAhead("/c"), null, "it was not asked for");
  await pass(2000);
  assert.deepEqual(cancelled, ["/api/v1/b"], "the used one is its user's");
});

test("a reply that is not used in time is let go", async () => {
  askAhead("/a", 1000);
  await pass(999);
  assert.deepEqual(cancelled, []);
  await pass(1);
  assert.deepEqual(cancelled, ["/api/v1/a"]);
  assert.equal(takeAhead("/a"), null);
});

test("a reply that is too old is not used, even when the timer is late", async () => {
  askAhead("/a", 1000);
  now += 1000;
  assert.equal(takeAhead("/a"), null);
  await pass(0);
  assert.deepEqual(cancelled, ["/api/v1/a"], "once");
});

test("a path that was asked for again is not dropped by the timer of the first time", async () => {
  askAhead("/a", 1000);
  assert.ok(takeAhead("/a"));
  await pass(600);
  askAhead("/a", 1000);
  await pass(600);
  assert.deepEqual(cancelled, []);
  assert.ok(takeAhead("/a"));
});

test("after news nothing that was asked for before is used", async () => {
  askAhead("/a", 1000);
  askAhead("/b", 1000);
  forgetAhead();
  await pass(0);
  assert.deepEqual(cancelled.sort(), ["/api/v1/a", "/api/v1/b"]);
  assert.equal(takeAhead("/a"), null);
  askAhead("/a", 1000);
  assert.equal(asked.length, 3, "it is asked for again");
});

test("a connection that fails is reported to the user of the reply alone", async () => {
  askAhead("/down", 1000);
  await pass(0);
  await assert.rejects(takeAhead("/down") as Promise<Response>, TypeError);
  askAhead("/down", 1000);
  await pass(2000);
  assert.deepEqual(cancelled, []);
});
