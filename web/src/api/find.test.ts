import assert from "node:assert/strict";
import { test } from "node:test";
import { asked, localHits, sourcesOf, type Source } from "./find";

const paths = (project: string | null, text: string) => sourcesOf(project, text).map((s: Source) => `${s.kind} ${s.path}`);

test("a kind before the text restricts the search, alone it is text", () => {
  assert.deepEqual(asked("alert 31"), { kind: "alert", text: "31", number: 31 });
  assert.deepEqual(asked(" Alerts  gemm  bf16 "), { kind: "alert", text: "gemm bf16", number: null });
  assert.deepEqual(asked("series gemm"), { kind: "series", text: "gemm", number: null });
  assert.deepEqual(asked("alert"), { kind: null, text: "alert", number: null });
  assert.deepEqual(asked("#4"), { kind: null, text: "#4", number: 4 });
  assert.equal(asked("1234567890123456").number, null);
});

test("words are searched in every list of the project, and a number is looked up where it can be an id", () => {
  assert.deepEqual(paths("a b", "gemm k=1"), [
    "series /projects/a%20b/series?q=gemm+k%3D1&limit=5", "commit /projects/a%20b/commits?q=gemm+k%3D1&limit=5",
    "group /groups?project=a+b&q=gemm+k%3D1&limit=5", "alert /alerts?project=a+b&q=gemm+k%3D1&limit=5", "bisection /bisections?project=a+b&q=gemm+k%3D1&limit=5"]);
  assert.deepEqual(paths("p", "31"), [
    "alert /alerts?project=p&cursor=32&limit=1", "group /alerts?project=p&group=31&limit=1", "bisection /bisections?project=p&cursor=32&limit=1",
    "run /projects/p/runs?cursor=32&limit=1", "series /projects/p/series?q=31&limit=5", "commit /projects/p/commits?q=31&limit=5"]);
  assert.deepEqual(paths("p", "run 31"), ["run /projects/p/runs?cursor=32&limit=1"]);
  assert.ok(paths("p", "A".repeat(40)).includes(`run /projects/p/runs?commit=${"a".repeat(40)}&limit=5`));
  assert.deepEqual(paths("p", "  "), []);
  assert.ok(paths(null, "gemm").every((p) => !p.includes("/projects/")));
});

test("the entry before a cursor counts only when it has the number", () => {
  const alert = sourcesOf("p", "alert 31")[0] as unknown as { hits: (r: unknown) => unknown[] };
  assert.equal(alert.hits({ alerts: [{ id: 30, benchmark: "b", metric: "m", backend: "c", state: "open" }] }).length, 0);
  assert.equal(alert.hits({ alerts: [{ id: 31, benchmark: "b", metric: "m", backend: "c", state: "open" }] }).length, 1);
});

test("pages are found by name, and a run by its id", () => {
  const pages = [{ name: "Heat map", to: "/h" }, { name: "Alerts", to: "/alerts" }];
  assert.deepEqual(localHits("heat", pages).map((h) => h.to), ["/h"]);
  assert.equal(localHits("", pages).length, 2);
  assert.deepEqual(localHits("A".repeat(32), pages).map((h) => h.to), [`/runs/${"a".repeat(32)}`]);
  assert.deepEqual(localHits(`alert ${"a".repeat(32)}`, pages), []);
});
