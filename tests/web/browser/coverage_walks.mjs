// Coverage, quality and machines: gaps are named, a job that closes one is queued, and what is not known says why.
import assert from "node:assert/strict";
import { settled, shoot, violations } from "./browser.mjs";
import { id } from "./mock_pages.mjs";
import { signIn } from "./settings_walks.mjs";
import { param, until, wide, withPage } from "./walks.mjs";

async function gaps_are_named_and_closed_by_a_job({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/coverage`);
    await settled(page);
    const row = page.locator(".coverage tbody tr").first();
    assert.equal((await row.locator("td > [aria-hidden]").allTextContents()).join("").slice(0, 12), "xxxx-xxx---x");
    await row.getByRole("button", { name: /^2 gaps of gemm/ }).click();
    assert.equal(await param(page, "row"), "100");
    const gaps = page.getByRole("table", { name: /^Commits without a value of gemm/ });
    assert.equal(await gaps.locator("tbody tr").count(), 4);
    await gaps.getByText("<b>exe[U+202E]gnp.</b> tile sizes").waitFor();
    /* Signed out, no job is sent, and the button says what is missing. */
    const first = gaps.locator("tbody tr").first();
    await first.getByText("sign in with a token that has the scope ingest").waitFor();
    await first.getByRole("button").click({ force: true });
    assert.equal(state.orders, undefined);
    await signIn(page);
    await until(page, () => !document.querySelector("table tbody tr .action-why")?.textContent.includes("sign in"));
    const jobs = page.getByRole("table", { name: /^Backfill jobs/ });
    await jobs.getByText("no connected runner is of class riscv").waitFor();
    await page.getByText(/^A backfill job measures one commit when no other job waits: about .* \(median of \d+ finished (backfill )?jobs?\), \d+ jobs? in the queue\.$/).waitFor();
    await first.getByRole("button", { name: /^Backfill/ }).click();
    await first.getByText("Job 600 is queued").waitFor();
    assert.deepEqual(state.orders, [["/jobs", { project: "kernels", kind: "backfill", commit: id(115), labels: { machine_class: "Intel Xeon Platinum 8481C" } }]]);
    /* The same job is not queued twice. */
    await first.getByRole("button", { name: /^Backfill/ }).click({ force: true });
    assert.equal(state.orders.length, 1);
    await shoot(page, "walk-coverage");
    assert.deepEqual(await violations(page), []);
  });
}

async function without_a_runner_no_gap_can_be_closed({ browser, mock, state }) {
  state.noRunner = true;
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/coverage`);
    await settled(page);
    await signIn(page);
    await page.getByRole("table", { name: /^Backfill jobs/ }).getByText("no runner is connected").first().waitFor();
  });
}

async function hundreds_of_rows_come_in_pages({ browser, mock, state }) {
  state.rows = 250;
  await withPage(browser, { width: 390, theme: "light" }, async (page) => {
    await page.goto(`${mock.url}/p/kernels/coverage`);
    await settled(page);
    const rows = (n) => until(page, (k) => document.querySelectorAll(".coverage tbody tr").length === k, n);
    await rows(100);
    await page.getByRole("button", { name: "Show more" }).click();
    await rows(200);
    await page.getByRole("button", { name: "Show more" }).click();
    await rows(250);
    assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
    const fills = page.getByRole("table", { name: /^Backfill jobs/ }).locator("tbody tr");
    assert.equal(await fills.count(), 10);
    await page.getByRole("button", { name: "Show all 13 commits" }).click();
    assert.equal(await fills.count(), 13);
    /* The name stays on view while the signs scroll beside it. */
    const place = () => page.locator(".coverage tbody tr").first().evaluate((r) => [r.querySelector("th").getBoundingClientRect().left, r.querySelector("td").getBoundingClientRect().left]);
    const [name, sign] = await place();
    await page.locator(".coverage-box").evaluate((box) => { box.scrollLeft = 200; });
    const [after, moved] = await place();
    assert.equal(after, name);
    assert.equal(moved, sign - 200);
    await page.getByLabel("Backend").selectOption("cpu-avx2");
    await rows(100);
    assert.equal(await param(page, "backend"), "cpu-avx2");
  });
}

async function figures_of_quality_name_what_is_not_decided({ browser, mock, state }) {
  state.truncated = true;
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/quality`);
    await settled(page);
    await page.getByText("22 alerts: 12 confirmed, 3 false alarms; not decided: 4 untriaged, 2 withdrawn, 1 recovered.").waitFor();
    await page.getByText("Only the newest 22 alerts of these months are counted.").waitFor();
    const months = page.getByRole("table", { name: "Quality by month" }).locator("tbody tr");
    assert.match(await months.first().innerText(), /2026-02\s+4\s+not known\s+no alert is decided\s+4 untriaged\s+not known\s+none of 4 alerts/);
    assert.match(await months.nth(1).innerText(), /80\.0.%\s+12 of 15 decided[^]*1.h 30.min\s+p90 25.h, n 15, 3 without[^]*2\.3.days/);
    await page.getByText("<b>exe[U+202E]gnp.</b>").waitFor();
    const asked = page.waitForRequest(/\/quality\?months=24$/);
    await page.getByLabel("Months").selectOption("24");
    await until(page, () => new URLSearchParams(location.search).get("months") === "24");
    await asked;
  });
}

async function a_machine_shows_its_canary_noise_and_events({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/machines?project=kernels`);
    await settled(page);
    const events = page.getByRole("table", { name: "Events of machines, newest first" }).locator("tbody tr");
    assert.match(await events.first().innerText(), /rack-7[^]*its series[^]*6\.2.% slower in 39 of 41 series: kernel: 6\.1 -> 6\.5/);
    assert.match(await events.nth(1).innerText(), /rack-2[^]*canary[^]*for 3 runs, which are kept out of detection/);
    const canary = page.getByRole("table", { name: "Canary of Intel Xeon Platinum 8481C" }).locator("tbody tr");
    await canary.first().waitFor();
    assert.match(await canary.first().innerText(), /time_ns[^]*80 points[^]*812\.\d+.us[^]*0\.4.%/);
    assert.equal(await canary.first().getByRole("link").getAttribute("href"), "/series/190");
    const each = page.getByRole("table", { name: "Canary on each machine of Intel Xeon Platinum 8481C" }).locator("tbody tr");
    await each.nth(1).waitFor();
    assert.match((await each.first().innerText()).replace(/\u00a0/g, " "), /lab-07[^]*816\.\d+ us[^]*0\.0 %[^]*1\.0 %[^]*none/);
    assert.match((await each.nth(1).innerText()).replace(/\u00a0/g, " "), /lab-08[^]*901\.\d+ us[^]*\+10\.\d %[^]*1\.0 %[^]*1 of 6 runs/);
    await page.getByText(/^Noise of a series: median .*%, p90 .*% \(\d+ series/).waitFor();
    await shoot(page, "walk-machines");
    assert.deepEqual(await violations(page), []);
  });
}

export const coverageWalks = { a_machine_shows_its_canary_noise_and_events, figures_of_quality_name_what_is_not_decided, gaps_are_named_and_closed_by_a_job, without_a_runner_no_gap_can_be_closed, hundreds_of_rows_come_in_pages };
