// Ways through the roofline: dots by pointer and by keys, arrows between two commits, filters in the address, what has no place.
import assert from "node:assert/strict";
import { settled, violations } from "./browser.mjs";
import { param, until, wide, withPage } from "./walks.mjs";

const ROOFLINE = "/p/kernels/roofline";

/* Arrow keys go from dot to dot along the axis; each is said in words, and Enter opens its series at the commit. */
async function a_dot_is_named_and_opened_by_keys({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + ROOFLINE);
    await settled(page);
    await page.locator(".count").filter({ hasText: "8 benchmarks of 10 on the roofline: 3 limited by memory, 4 by arithmetic, 1 without a known ceiling; 2 unknown" }).waitFor();
    const chart = page.getByRole("group", { name: /^Roofline of 8 benchmarks/ });
    await chart.focus();
    await page.keyboard.press("Home");
    const said = chart.getByRole("status");
    await said.filter({ hasText: /^gemm\/f32\/m1n4096k4096 on cpu-avx512: 5\.808\sGFLOP\/s at 0\.500 operations a byte, 78\.0\s% of DRAM read, one core$/ }).waitFor();
    await page.keyboard.press("End");
    await said.filter({ hasText: "attention/bf16/h8s1024d64" }).waitFor();
    await page.locator(".roof-card").getByText("41.0\u00a0% of pfc-edge array and vector unit, bf16").waitFor();
    assert.equal(await page.locator(".roof-used").count(), 1);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Enter");
    await until(page, () => location.pathname === "/series/107");
    assert.equal(await param(page, "at"), "12b774678021".padEnd(40, "0"));
  });
}

/* The commit before is in the address; a benchmark that was not measured there has no arrow, and the table says so. */
async function arrows_lead_from_the_place_before({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + ROOFLINE);
    await settled(page);
    assert.equal(await page.locator(".roof-arrow").count(), 0);
    const before = page.getByRole("combobox", { name: "Before" });
    assert.ok(await page.locator("datalist option").count() > 2); /* tags and commits are offered */
    await before.fill("v1.2~1");
    assert.equal(await param(page, "a"), null); /* half a name is not asked for */
    await before.press("Enter");
    await until(page, () => new URLSearchParams(location.search).get("a") === "v1.2~1");
    await page.getByText(/^before: tag v1\.2~1 at [0-9a-f]{12}$/).waitFor();
    await until(page, () => document.querySelectorAll(".roof-arrow").length > 0);
    /* three of eight moved by 2 %, which is within a dot; one was not measured */
    assert.equal(await page.locator(".roof-arrow").count(), 4);
    const row = page.getByRole("table", { name: "Benchmarks", exact: true }).getByRole("row").filter({ hasText: "softmax" });
    assert.match(await row.innerText(), /not measured/);
    const circle = page.locator("circle.roof-dot").nth(1);
    await circle.hover();
    await page.locator(".roof-card").getByText(/^before: /).waitFor();
    await circle.click();
    await until(page, () => location.pathname.startsWith("/series/"));
  });
}

/* Filters are in the address; what has no place is a list with reasons, and a name is text, whatever is in it. */
async function what_has_no_place_is_listed({ browser, mock }) {
  await withPage(browser, { width: 390, theme: "dark" }, async (page) => {
    await page.goto(`${mock.url}${ROOFLINE}?backend=cpu-scalar`);
    await settled(page);
    await page.locator(".count").filter({ hasText: "1 benchmark of 3" }).waitFor();
    assert.equal(await page.locator("img").count(), 0);
    assert.ok((await page.getByRole("table", { name: "Benchmarks", exact: true }).innerText()).includes("<img src=x>"));
    await page.getByText("no ceiling of arithmetic and memory is known").first().waitFor();
    const unknown = page.getByRole("table", { name: "Benchmarks without a place" });
    assert.match(await unknown.innerText(), /copy\/f32\/n65536[\s\S]*the run states no operations[\s\S]*headline[\s\S]*none of its metrics is a time/);
    await page.goto(`${mock.url}${ROOFLINE}?select=nothing`);
    await page.getByText("No benchmark has a place on the roofline").waitFor();
    assert.equal(await page.locator(".roof").count(), 0);
    assert.deepEqual(await violations(page), []);
  });
}

export const rooflineWalks = { a_dot_is_named_and_opened_by_keys, arrows_lead_from_the_place_before, what_has_no_place_is_listed };
