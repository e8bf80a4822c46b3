// Actions from a page: searches with their cost shown first, a level accepted, jobs, schedules.
import assert from "node:assert/strict";
import { settled, shoot, violations } from "./browser.mjs";
import { signIn } from "./group_walks.mjs";
import { until, wide, withPage } from "./walks.mjs";

const COST = "About 12 runs over 9 commits, 25 min, uses 3 stored runs; begins in 3 min (1 job waiting, 2 runners).";
const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ");

/* Runs, minutes and the wait come before the click; the click sends what was estimated. */
async function a_search_shows_its_cost_before_it_is_started({ browser, mock, state }) {
  state.orders = [];
  await withPage(browser, wide, async (page) => {
    for (const [path, name, order] of [["/groups/12", "Run bisection", { alert_id: 31 }], ["/alerts/31", "Verify the suspect", { alert_id: 31 }]]) {
      state.alert = { culprit: null, suspect: { commit: "fb68f1971d2f73a0665c7cb82fe5aca5f6772bfa", subject: "gemm: x", author: "M", named: false } };
      await page.goto(mock.url + path);
      await settled(page);
      if (state.orders.length === 0) await signIn(page);
      const box = page.locator(".measure-order").filter({ has: page.getByRole("button", { name }) });
      await box.filter({ hasText: "About 12 runs" }).waitFor();
      assert.ok(plain(await box.innerText()).includes(COST), await box.innerText());
      assert.equal(state.orders.length, path === "/groups/12" ? 0 : 1);
      await shoot(page, `walk-measure${path.replace(/\W/g, "_")}`);
      await box.getByRole("button", { name }).press("Enter");
      await until(page, () => location.pathname === "/bisections/4");
      const [to, sent] = state.orders.at(-1);
      assert.equal(to, "/bisections");
      assert.equal(sent.alert_id, order.alert_id);
      assert.equal(sent.bad === undefined, name === "Run bisection");
    }
  });
}

async function a_dragged_range_is_searched({ browser, mock, state }) {
  state.orders = [];
  const suspect = "fb68f1971d2f73a0665c7cb82fe5aca5f6772bfa";
  state.alert = { culprit: null, suspect: { commit: suspect, subject: "gemm: x", author: "M", named: false } };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/machines`);
    await settled(page);
    await signIn(page); /* before the chart: a sign-in reads the series again, which replaces its chart */
    const drag = async (from, to) => {
      await page.goto(`${mock.url}/series/101?drag=range`);
      await settled(page);
      const box = await page.locator(".u-over").boundingBox();
      await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 4 });
      await page.mouse.up();
    };
    const bar = page.locator(".range-bar");
    const verify = bar.locator(".measure-order").filter({ has: page.getByRole("button", { name: "Verify the suspect" }) });
    await drag(0.3, 0.6); /* an improvement lies in it */
    await verify.getByText("no regression was found between these commits").waitFor();
    await bar.getByText("About 12 runs").first().waitFor();
    await bar.getByRole("button", { name: "Run bisection" }).click();
    await until(page, () => location.pathname === "/bisections/4");
    const [, order] = state.orders[0];
    assert.equal(order.metric, "gemm_tflops");
    assert.match(order.good, /^[0-9a-f]{40}$/);
    assert.match(order.bad, /^[0-9a-f]{40}$/);
    assert.notEqual(order.good, order.bad);
    await drag(0.6, 0.99); /* with the regression of alert 31 */
    await verify.getByText("About 12 runs").waitFor();
    assert.match(plain(await verify.innerText()), /^Verify: compare fb68f1971d, the suspect of the regression of \u2212\d+\.\d %, with the commit before it, in new runs\./);
    await shoot(page, "walk-range-verify");
    assert.deepEqual(await violations(page), []);
    await verify.getByRole("button").click();
    await until(page, () => location.pathname === "/bisections/4");
    const [, second] = state.orders[1];
    assert.deepEqual([second.alert_id, second.bad, second.metric], [31, suspect, "gemm_tflops"]);
    assert.match(second.good, /^[0-9a-f]{40}$/);
  });
}

/* Without a runner, and without the right, the buttons say so. */
async function a_search_that_cannot_run_says_why({ browser, mock, state }) {
  state.noRunner = true;
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/groups/12`);
    await settled(page);
    const button = page.getByRole("button", { name: "Run bisection" });
    const why = () => button.evaluate((b) => document.getElementById(b.getAttribute("aria-describedby") ?? "")?.textContent ?? "");
    assert.equal(await why(), "sign in with a token that has the scope ingest");
    await signIn(page);
    await until(page, () => document.querySelector(".measure .action-why")?.textContent === "no runner is connected that could measure");
    assert.equal(await why(), "no runner is connected that could measure");
    assert.deepEqual(await violations(page), []);
  });
}

/* A running search is cancelled by an account that may start one. */
async function a_search_is_cancelled_unless_the_button_says_why_not({ browser, mock, state }) {
  state.bisection = { state: "running", mode: "remote" };
  state.orders = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/bisections/4`);
    await settled(page);
    const button = page.getByRole("button", { name: "Cancel the search" });
    assert.equal(await button.evaluate((b) => document.getElementById(b.getAttribute("aria-describedby") ?? "")?.textContent), "sign in with a token that has the scope ingest");
    await button.press("Enter");
    await signIn(page);
    await until(page, () => [...document.querySelectorAll("button")].some((b) => b.textContent === "Cancel the search" && !b.hasAttribute("aria-disabled")));
    assert.deepEqual(state.orders, []);
    const answered = page.waitForResponse((r) => r.request().method() === "DELETE");
    await button.press("Enter");
    await answered;
    assert.deepEqual(state.orders, [["DELETE", "/bisections/4"]]);
  });
}

async function accepting_a_level_says_what_it_resets_and_keeps({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/groups/12`);
    await settled(page);
    await signIn(page);
    const form = page.locator(".accept");
    assert.match(await form.innerText(), /Resets the baseline[^]*Keeps the points, the noise of the whole history/);
    assert.equal(await form.getByRole("button", { name: "Accept new level" }).getAttribute("aria-disabled"), "true");
    await form.getByLabel("Why the new level is right").fill("agreed cost");
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelector(".accept input")?.value === "");
    assert.deepEqual(state.patches, [{ path: "/groups", change: { groups: [{ id: 12, seen: "untriaged" }], accept: true, reason: "agreed cost" } }]);
    /* Where there is no new level, the button says so. */
    for (const [group, alerts, why] of [[{}, { kind: "broken" }, "a broken benchmark has no level"], [{ direction: "recovery" }, {}, "the old level is back"]]) {
      Object.assign(state, { group, alerts });
      await page.goto(`${mock.url}/groups/12`);
      await settled(page);
      await form.getByLabel("Why the new level is right").fill("agreed cost");
      await page.keyboard.press("Enter");
      assert.equal(await form.locator(".action-why").innerText(), why[0].toUpperCase() + why.slice(1));
      assert.equal(state.patches.length, 1);
    }
  });
}

async function jobs_are_cancelled_retried_and_backfilled({ browser, mock, state }) {
  state.orders = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/jobs?project=kernels`);
    await settled(page);
    const cancel = page.getByRole("button", { name: "Cancel job 510" });
    assert.equal(await cancel.getAttribute("aria-disabled"), "true");
    await signIn(page);
    await until(page, () => !document.querySelector('[aria-label="Cancel job 510"]')?.hasAttribute("aria-disabled"));
    await cancel.press("Enter");
    await page.getByRole("button", { name: "Retry job 510" }).waitFor();
    const failed = page.getByRole("row").filter({ hasText: "backfill" });
    const retried = failed.getByRole("button", { name: /^Retry job/ });
    const number = (await retried.getAttribute("aria-label")).split(" ").pop();
    await retried.click();
    await page.getByLabel("Commit", { exact: true }).fill("a".repeat(40));
    await page.getByRole("button", { name: "Backfill" }).click();
    await page.getByText("Job 600 measures aaaaaaaaaa.").waitFor();
    const short = (await page.locator("tbody a.mono").first().innerText()).trim();
    assert.equal(short.length, 10);
    await page.getByLabel("Commit", { exact: true }).fill(short); /* as the pages show it */
    await page.getByRole("button", { name: "Backfill" }).click();
    await until(page, () => document.querySelector(".backfill input")?.value === "");
    assert.deepEqual(state.orders[0], ["DELETE", "/jobs/510"]);
    assert.deepEqual(state.orders[1], ["POST", `/jobs/${number}/retry`]); /* the service knows all that it was ordered with */
    assert.deepEqual(state.orders[2], ["/jobs", { project: "kernels", kind: "backfill", commit: "a".repeat(40) }]);
    assert.match(state.orders[3][1].commit, /^[0-9a-f]{40}$/);
    await shoot(page, "walk-jobs");
  });
}

async function a_schedule_is_run_now_unless_its_night_runs({ browser, mock, state }) {
  state.orders = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + "/p/kernels/schedules");
    await settled(page);
    await signIn(page);
    const weekly = page.getByRole("button", { name: "Run now: weekly" });
    await until(page, () => [...document.querySelectorAll(".action-why")].some((e) => e.textContent === "night 42 of it is running"));
    assert.equal(await weekly.getAttribute("aria-disabled"), "true");
    const nightly = page.getByRole("button", { name: "Run now: nightly" });
    assert.equal(await nightly.getAttribute("aria-disabled"), null);
    await nightly.press("Enter");
    await page.getByText("night 43 of it is running").waitFor();
    assert.deepEqual(state.orders, [["POST", "/projects/kernels/schedules/nightly/run"]]);
  });
}

export const actionWalks = {
  a_search_shows_its_cost_before_it_is_started, a_dragged_range_is_searched, a_search_that_cannot_run_says_why, a_search_is_cancelled_unless_the_button_says_why_not,
  accepting_a_level_says_what_it_resets_and_keeps,
  jobs_are_cancelled_retried_and_backfilled, a_schedule_is_run_now_unless_its_night_runs,
};
