// Ways through a comparison: its ends, the charts of rows on view, undecided rows and what decides them, the files, the map.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { settled, shoot, violations } from "./browser.mjs";
import { signIn } from "./group_walks.mjs";
import { param, until, wide, withPage } from "./walks.mjs";

const PAGE = "/compare?project=kernels&a=v1.2&b=main";
const reply = JSON.parse(readFileSync(new URL("../fixtures/compare.json", import.meta.url), "utf8"));
const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ");

/* An end is typed by keys; the page asks for what was typed, and says which commits that came to. */
async function ends_are_typed_and_their_commits_named({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/compare?project=kernels`);
    await settled(page);
    await page.getByLabel("A, the base").fill("v1.2");
    const named = page.waitForResponse((r) => r.url().includes("/plot/names"));
    await page.getByText("Backends and machine classes").click();
    await named;
    await until(page, () => ["Backend of A", "Backend of B"].every((label) => { /* those of the project are offered */
      const field = [...document.querySelectorAll("label.field")].find((l) => l.textContent.startsWith(label)).querySelector("input");
      return [...field.list.options].some((o) => o.value.startsWith("cpu-"));
    }));
    await page.getByLabel("Backend of A").fill("cpu-avx2");
    await page.getByLabel("Backend of B").fill("cpu-avx512");
    await page.getByLabel("B, the candidate").fill("main~1");
    const asked = page.waitForRequest((r) => r.url().includes("/compare?"));
    await page.keyboard.press("Enter");
    const sent = new URL((await asked).url()).searchParams;
    assert.deepEqual(["a", "b", "backend_a", "backend_b", "machine_class_a"].map((n) => sent.get(n)), ["v1.2", "main~1", "cpu-avx2", "cpu-avx512", null]);
    await settled(page);
    assert.equal(await param(page, "b"), "main~1");
    const text = await page.locator(".verdict").innerText();
    assert.match(text, /A: 1360f43c2f \(1 run\): tag v1\.2 at 1360f43c2fc1/);
    assert.match(text, /26 commits lie between A and B on branch main/);
    await page.getByRole("button", { name: "Swap" }).click();
    await until(page, () => new URLSearchParams(location.search).get("backend_a") === "cpu-avx512");
    assert.equal(await param(page, "a"), "main~1");
  });
}

/* Rows out of view read nothing; a row on view has its series and the samples of both ends, and opens the series. */
async function rows_on_view_have_charts_and_open_their_series({ browser, mock }) {
  await withPage(browser, { ...wide, height: 500 }, async (page) => {
    const asked = [];
    page.on("request", (r) => { if (r.url().includes("/plot?")) asked.push(r.url()); });
    await page.goto(mock.url + PAGE);
    await settled(page);
    const rows = page.getByRole("table", { name: "Benchmarks, worst first" }).locator("tbody tr");
    assert.equal(await rows.count(), reply.rows.filter((r) => r.verdict !== "inconclusive").length);
    assert.equal(asked.length, 0);
    await rows.nth(1).scrollIntoViewIfNeeded();
    await rows.nth(1).locator(".side-b").waitFor({ state: "attached" });
    assert.match(await rows.nth(1).locator(".row-chart").innerText(), /27 commits measured from A to B; 25 samples of A, 25 samples of B/);
    assert.ok(asked.length < await rows.count(), `${asked.length} plots were read`);
    await shoot(page, "walk-compare-rows");
    assert.deepEqual(await violations(page), []);
    await rows.nth(1).getByRole("link").first().click();
    await until(page, () => location.pathname.startsWith("/series/") && new URLSearchParams(location.search).get("at") === "0c124b44c039");
  });
}

/* Undecided rows are folded; the runs that would decide them are named, and why they cannot be queued, or they are queued. */
async function undecided_rows_are_queued_to_be_measured_again({ browser, mock, state }) {
  state.orders = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + PAGE);
    await settled(page);
    const folded = page.locator(".undecided");
    assert.equal(await folded.getByRole("table").count(), 0);
    await folded.locator("summary").click();
    await folded.getByRole("table").waitFor();
    const box = page.locator(".compare-repeat");
    const button = box.getByRole("button", { name: "Measure again" });
    assert.equal(await button.getAttribute("aria-disabled"), "true");
    assert.match(await box.innerText(), /sign in with a token that has the scope ingest/i);
    await signIn(page);
    await until(page, () => !document.querySelector(".compare-repeat button").hasAttribute("aria-disabled"));
    const text = plain(await box.innerText());
    assert.match(text, /^10 runs: 5 of each commit on Intel Xeon Platinum 8481C, .*4 rows are expected to be decided; 1 of 5 rows need more than 5\./);
    assert.match(text, /Of 1 row no number of runs is likely to decide it\./);
    assert.equal(state.orders.length, 0);
    await button.press("Enter");
    await box.getByText("Queued 10 jobs").waitFor();
    const sent = state.orders.map(([, body]) => body);
    assert.deepEqual(sent.slice(0, 3).map((o) => o.commit), [reply.a.commit, reply.b.commit, reply.a.commit]);
    assert.deepEqual(sent.map((o) => o.parents ?? null).slice(0, 4), [null, null, [600], [600]]);
    assert.match(sent[0].filter, /^\^\(attention\/f32\/causal\/s128d64\|/);
    await shoot(page, "walk-compare-repeat");
    assert.deepEqual(await violations(page), []);
  });
}

/* Ends that are on no line together have no branch to measure on, no chart, and are warned about. */
async function ends_on_two_lines_are_warned_about({ browser, mock, state }) {
  const sentence = "A and B are not on one line of history: a difference can come from any commit that only one of them contains.";
  state.compare = { between: { branch: null, commits: null, backwards: false, sentence }, b: { ...reply.b, how: "branch \u202egnp.exe at 0c124b44c039" } };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}${PAGE}&verdict=inconclusive`);
    await settled(page);
    await signIn(page);
    assert.match(await page.locator(".verdict").innerText(), /not on one line of history[^]*/);
    assert.match(await page.locator(".ends-found").innerText(), /\[U\+202E\]gnp\.exe/);
    await page.locator(".compare-repeat").getByText("A and B are not on one branch").waitFor();
    await page.locator(".undecided .row-chart").first().getByText("not on one line").waitFor();
  });
}

/* The files are the service's, of the same ends; the map shows the rows of this comparison. */
async function a_comparison_is_exported_and_mapped({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}${PAGE}&machine_class_a=x&machine_class_b=y`);
    await settled(page);
    for (const [name, format] of [["CSV", "csv"], ["JSON", "json"], ["Markdown", "markdown"]]) {
      const to = new URL(await page.getByRole("link", { name, exact: true }).getAttribute("href"), mock.url);
      assert.equal(to.pathname, "/api/v1/compare");
      assert.deepEqual(["format", "a", "b", "machine_class_b"].map((n) => to.searchParams.get(n)), [format, "v1.2", "main", "y"]);
    }
    assert.match(plain(await page.getByRole("table", { name: "Geometric means by kernel and backend" }).innerText()), /softmax[^]*n 2[^]*1 left out/);
    assert.equal(await page.locator(".heat").count(), 0);
    await page.getByText("Heat map: shapes and types").click();
    await page.locator(".heat-box, .heat").first().waitFor();
    assert.equal(await param(page, "map"), "1");
  });
}

export const compareWalks = {
  ends_are_typed_and_their_commits_named, rows_on_view_have_charts_and_open_their_series, undecided_rows_are_queued_to_be_measured_again,
  ends_on_two_lines_are_warned_about, a_comparison_is_exported_and_mapped,
};
