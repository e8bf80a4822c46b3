// Ways through a trace: from the run's page, zoom and pan by pointer and keys, the card of a slice, search, and what is missing.
import assert from "node:assert/strict";
import { settled, shoot, violations } from "./browser.mjs";
import { signIn } from "./group_walks.mjs";
import { holds, param, paramFits, pressAtOnce, until, wide, withPage } from "./walks.mjs";

const RUN = "/runs/1072";
const TRACE = `${RUN}/traces/3`;
const SPAN = 4_000_000;

async function open(page, mock, query = "") {
  await page.goto(mock.url + TRACE + query);
  await settled(page);
  await page.locator(".timeline-canvas").waitFor();
  return page.locator(".timeline-canvas").boundingBox();
}

/** The middle of a row on the page. */
async function rowMiddle(page, label) {
  const box = await page.locator(".timeline-labels li").filter({ hasText: label }).first().boundingBox();
  return box.y + box.height / 2;
}

/* The run lists its traces; hostile titles are text. A slice's card names its host call, and the table has the same. */
async function a_run_leads_to_its_timeline({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + RUN);
    await settled(page);
    const traces = page.getByRole("table", { name: "Traces" });
    assert.equal(await page.locator("img").count(), 0);
    assert.match(await traces.innerText(), /\[U\+202E\]gnp\.exe <img src=x/);
    await traces.getByRole("link", { name: "gemm on pfc-edge" }).click();
    await until(page, () => location.pathname === "/runs/1072/traces/3");
    await page.locator(".timeline-canvas").waitFor();
    await page.getByText("Clock core is aligned by 5 pairs of readings: its times are wrong by at most 512 ns.").waitFor();
    const box = await page.locator(".timeline-canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.2, await rowMiddle(page, "stream 0"));
    const card = page.locator(".timeline-card");
    await card.filter({ hasText: "gemm" }).waitFor();
    assert.match(await card.innerText(), /gemm\s+stream 0\s+1\.405\sms\s+begins at 195\.000\sus\s+host call launch at 100\.000\sus, id 1/);
    await page.mouse.move(box.x + box.width * 0.2, await rowMiddle(page, "tensor"));
    await card.filter({ hasText: "slices begin here" }).waitFor();
    assert.match(await card.innerText(), /busy \d\d\.\d\s%/);
    const row = page.getByRole("table", { name: "Slices in view" }).getByRole("row").filter({ hasText: "gemm" }).first();
    assert.match(await row.innerText(), /stream 0[\s\S]*195\sus/);
    assert.match(await row.innerText(), /launch at/);
    assert.equal(await page.getByRole("link", { name: "Download" }).getAttribute("href"), "/api/v1/traces/3/file");
  });
}

/* Ctrl+wheel zooms at the pointer, a drag pans, a double click shows everything; the part is in the address and is kept. */
async function a_timeline_is_zoomed_and_moved_by_pointer({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    const box = await open(page, mock);
    const y = box.y + 60;
    await page.mouse.move(box.x + box.width * 0.5, y);
    await page.keyboard.down("Control");
    for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await paramFits(page, "from", /^\d+$/);
    const [from, to] = await holds(page, async () => {
      const part = [Number(await param(page, "from")), Number(await param(page, "to"))];
      assert.ok(Math.abs((part[0] + part[1]) / 2 - SPAN / 2) < SPAN / 50, `the middle stays: ${part}`);
      assert.ok(part[1] - part[0] < SPAN / 40, `four turns, not three: ${part}`);
      return part;
    });
    await until(page, () => !document.querySelector(".loading"));
    assert.ok(state.timelines.some((t) => t.to - t.from < SPAN / 2), "a part is asked for");
    await page.mouse.move(box.x + box.width * 0.6, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.4, y, { steps: 5 });
    await page.mouse.up();
    const moved = await holds(page, async () => {
      const start = Number(await param(page, "from"));
      assert.ok(Math.abs(start - from - (to - from) * 0.2) < (to - from) * 0.03, `by a fifth: ${start - from} of ${to - from}`);
      return start;
    });
    await page.reload();
    await settled(page);
    await page.locator(".timeline-canvas").waitFor();
    assert.equal(Number(await param(page, "from")), moved);
    const again = await page.locator(".timeline-canvas").boundingBox();
    await page.mouse.dblclick(again.x + again.width / 2, again.y + 60);
    await until(page, () => !new URLSearchParams(location.search).has("from"));
    assert.equal(await page.getByRole("button", { name: "Show all" }).isDisabled(), true);
  });
}

/* With keys alone: zoom, move, choose a slice of the table, read it; the chosen slice is announced. */
async function a_timeline_is_read_by_keys({ browser, mock }) {
  await withPage(browser, { width: 390, theme: "dark" }, async (page) => {
    await open(page, mock);
    const chart = page.getByRole("application", { name: /^Timeline of 8 rows from 0\sns to 4\.000\sms/ });
    await chart.focus();
    await pressAtOnce(chart, ["+", "+", "ArrowRight"]);
    await paramFits(page, "from", /^1750000$/);
    assert.equal(await param(page, "to"), "2750000");
    await page.keyboard.press("0");
    await until(page, () => !new URLSearchParams(location.search).has("from"));
    const name = page.getByRole("table", { name: "Slices in view" }).getByRole("button", { name: "gemm" }).first();
    await name.focus();
    await page.keyboard.press("Enter");
    await page.locator(".timeline [role=status]").filter({ hasText: /^gemm on stream 0, begins at 195\.0\sus, takes 1\.405\sms, caused by launch at 100\.0\sus\.$/ }).waitFor({ state: "attached" });
    await page.locator(".timeline-card").filter({ hasText: "gemm" }).waitFor();
    assert.deepEqual(await violations(page), []);
    /* A choice is kept while the view moves, and Escape takes it back: the card goes, and nothing is announced. */
    await chart.focus();
    await page.keyboard.press("-");
    await page.locator(".timeline-card").filter({ hasText: "gemm" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".timeline-card").waitFor({ state: "detached" });
    assert.equal(await page.locator(".timeline [role=status]").innerText(), "");
  });
}

/* A click chooses the slice under the pointer, which stays chosen after the pointer has left; a click beside all slices chooses none. */
async function a_slice_is_chosen_by_a_click({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    const box = await open(page, mock);
    const chosen = page.locator(".timeline [role=status]");
    assert.equal(await chosen.innerText(), "");
    await page.mouse.click(box.x + box.width * 0.2, await rowMiddle(page, "stream 0"));
    await chosen.filter({ hasText: /^gemm on stream 0, begins at 195\.0\sus, takes 1\.405\sms/ }).waitFor({ state: "attached" });
    await page.mouse.move(5, 5);
    const card = page.locator(".timeline-card").filter({ hasText: "gemm" });
    await card.waitFor();
    assert.match(await card.innerText(), /gemm\s+stream 0\s+1\.405\sms\s+begins at 195\.000\sus\s+host call launch at 100\.000\sus, id 1/);
    await page.mouse.click(box.x + box.width * 0.99, box.y + 4);
    await until(page, () => document.querySelector(".timeline [role=status]").textContent === "");
    await page.mouse.move(5, 5);
    await page.locator(".timeline-card").waitFor({ state: "detached" });
  });
}

/* A search counts the whole trace, steps through it, and fades the rest; its text is in the address. */
async function slices_are_found_by_name({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await open(page, mock);
    const names = () => page.getByRole("table", { name: "Slices in view" }).getByRole("button").allInnerTexts();
    assert.ok((await names()).some((n) => n === "gemm"), "all slices are listed");
    await page.getByRole("searchbox", { name: "Find slice" }).fill("GEM");
    await page.getByText(/slices? with "gem"/).waitFor();
    assert.ok((await names()).length > 0 && (await names()).every((n) => n.includes("gem")), `only those that fit: ${await names()}`);
    await page.getByRole("searchbox", { name: "Find slice" }).fill("TILE");
    await page.getByText('6,000 slices have a name with "TILE"; steps go through the first 200').waitFor();
    assert.equal(await param(page, "find"), "TILE");
    await page.getByRole("button", { name: "Next" }).click();
    await page.locator(".timeline-card").filter({ hasText: "tile" }).waitFor();
    await paramFits(page, "from", /^\d+$/);
    await page.getByRole("searchbox", { name: "Find slice" }).fill("absent");
    await page.getByText('0 slices have a name with "absent"').waitFor();
    await page.getByText('0 slices with "absent"').waitFor(); /* in the table below */
    assert.equal(await page.getByRole("table", { name: "Slices in view" }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Next" }).count(), 0);
    await page.getByRole("searchbox", { name: "Find slice" }).fill("");
    await until(page, () => !new URLSearchParams(location.search).has("find"));
  });
}

/* Missing things have a name: no trace, no records, lost records, a clock that is not aligned, a trace that is not there. */
async function what_a_trace_lacks_is_named({ browser, mock, state }) {
  state.traces = "none";
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + RUN);
    await page.getByText("No trace is stored with this run").waitFor();
    await page.getByText("perfci trace store FILE.pct --run 1072").waitFor();
    state.trace = "unaligned";
    await open(page, mock);
    await page.getByText("Clock core is not aligned with the host: it counts from tick 0 at its nominal rate.").waitFor();
    const units = page.getByRole("table", { name: "Units" });
    assert.match(await units.innerText(), /12 records lost[\s\S]*3 slices not drawn: too many at once[\s\S]*1 end without a begin/);
    await page.goto(`${mock.url}${RUN}/traces/4`);
    await page.getByText("The trace has no records").waitFor();
    assert.equal(await page.locator(".timeline-canvas").count(), 0);
  });
  await withPage(browser, { ...wide, allow: /status of 404/ }, async (page) => {
    await page.goto(`${mock.url}${RUN}/traces/none`);
    await page.getByText("Nothing is at /traces/none.").waitFor();
  });
}

/* On an alert: the stored traces, else a job for each side that has none. */
async function an_alert_has_traces_of_both_sides({ browser, mock, state }) {
  const box = (page) => page.getByRole("table", { name: "Traces of both sides" });
  const button = (page) => page.getByRole("button", { name: "Store traces of both sides" });
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await box(page).waitFor();
    assert.equal(await button(page).getAttribute("aria-disabled"), "true");
    await page.getByText("both sides have traces").waitFor();
    await box(page).getByRole("link", { name: "gemm on pfc-edge" }).last().click();
    await until(page, () => location.pathname === "/runs/1072/traces/3");
    state.orders = [];
    state.sides = { before: {}, after: { job: { id: 590, state: "done" } } };
    await page.goto(`${mock.url}/alerts/31`);
    await box(page).waitFor();
    assert.match(await box(page).innerText(), /Before[\s\S]*none[\s\S]*After[\s\S]*none: job 590 left no trace/);
    await page.getByText("sign in with a token that has the scope ingest").last().waitFor();
    await signIn(page);
    await button(page).press("Enter");
    await box(page).getByText("none yet: job 601 is queued").waitFor();
    assert.deepEqual(state.orders, [["/alerts/31/traces", {}]]);
    await page.getByText("queued already: job 601, job 602").waitFor();
    await shoot(page, "walk-alert-traces");
    assert.deepEqual(await violations(page), []);
  });
}

/* A run without traces: the order measures its commit again, on the accelerators of the run. */
async function a_run_is_measured_again_with_traces({ browser, mock, state }) {
  state.traces = "none";
  state.orders = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + RUN);
    await signIn(page);
    await page.getByRole("button", { name: "Measure again with traces" }).press("Enter");
    await page.getByText("Job 600 measures the commit again. Its run has the traces.").waitFor();
    const [path, order] = state.orders.at(-1);
    assert.equal(path, "/jobs");
    assert.deepEqual([order.traces, order.kind, order.backends, /^[0-9a-f]{40}$/.test(order.commit)], [true, "measure", ["accel:pfc-edge"], true]);
    await shoot(page, "walk-run-traces");
  });
}

export const traceWalks = { an_alert_has_traces_of_both_sides, a_run_is_measured_again_with_traces, a_run_leads_to_its_timeline, a_timeline_is_zoomed_and_moved_by_pointer, a_timeline_is_read_by_keys, a_slice_is_chosen_by_a_click, slices_are_found_by_name, what_a_trace_lacks_is_named };
