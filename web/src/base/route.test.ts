import assert from "node:assert/strict";
import { test } from "node:test";
import { href, matchRoute, withQuery } from "./route";

test("every link leads back to the page it was made for", () => {
  const odd = "a b/c%d";
  assert.deepEqual(matchRoute(href.overview()), { page: "overview" });
  assert.deepEqual(matchRoute(href.seriesList(odd)), { page: "seriesList", project: odd });
  assert.deepEqual(matchRoute(href.commits("k")), { page: "commits", project: "k" });
  assert.deepEqual(matchRoute(href.commit("k", "abc")), { page: "commit", project: "k", id: "abc" });
  assert.deepEqual(matchRoute(href.nights(odd)), { page: "nights", project: odd });
  assert.deepEqual(matchRoute(href.night("k", odd)), { page: "night", project: "k", id: odd });
  assert.deepEqual(matchRoute(href.series(7)), { page: "series", id: "7" });
  assert.deepEqual(matchRoute(href.alert(3)), { page: "alert", id: "3" });
  assert.deepEqual(matchRoute(href.run("ff")), { page: "run", id: "ff" });
  assert.deepEqual(matchRoute(href.bisection(1)), { page: "bisection", id: "1" });
  for (const page of ["compare", "alerts", "jobs", "machines", "bisections"] as const) {
    assert.deepEqual(matchRoute(`/${page}`), { page });
  }
});

test("what is no page is missing, also when it cannot be decoded", () => {
  for (const path of ["/nope", "/p", "/p/x/y", "/series", "/series/1/2", "/%", "/p/x/commit"]) {
    assert.deepEqual(matchRoute(path), { page: "missing" }, path);
  }
});

test("a project's own address is its series", () => {
  assert.deepEqual(matchRoute("/p/k/"), { page: "seriesList", project: "k" });
});

test("defaults stay out of the address", () => {
  assert.equal(withQuery("/x", { a: null, b: "", c: undefined }), "/x");
  assert.equal(withQuery("/x", { a: "1 2", n: 0 }), "/x?a=1+2&n=0");
});
