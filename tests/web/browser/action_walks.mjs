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
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/machines`);
    await settled(page);
    await signIn(page); /* before the chart: a sign-in reads the series again, which replaces its chart */
    await page.goto(`${mock.url}/series/101?drag=range`);
    await settled(page);
    const box = await page.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    const bar = page.locator(".range-bar");
    await bar.getByText("About 12 runs").waitFor();
    await bar.getByRole("button", { name: "Run bisection" }).click();
    await until(page, () => location.pathname === "/bisections/4");
    const [, order] = state.orders[0];
    assert.equal(order.metric, "gemm_tflops");
    assert.match(order.good, /^[0-9a-f]{40}$/);
    assert.match(order.bad, /^[0-9a-f]{40}$/);
    assert.notEqual(order.good, order.bad);
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
    await failed.getByRole("button", { name: /^Retry job/ }).click();
    await page.getByLabel("Commit", { exact: true }).fill("a".repeat(40));
    await page.getByRole("button", { name: "Backfill" }).click();
    await page.getByText("Job 600 measures aaaaaaaaaa.").waitFor();
    assert.deepEqual(state.orders[0], ["DELETE", "/jobs/510"]);
    assert.equal(state.orders[1][1].kind, "backfill");
    assert.deepEqual(state.orders[2], ["/jobs", { project: "kernels", kind: "backfill", commit: "a".repeat(40) }]);
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
  a_search_shows_its_cost_before_it_is_started, a_dragged_range_is_searched, a_search_that_cannot_run_says_why, accepting_a_level_says_what_it_resets_and_keeps,
  jobs_are_cancelled_retried_and_backfilled, a_schedule_is_run_now_unless_its_night_runs,
};
