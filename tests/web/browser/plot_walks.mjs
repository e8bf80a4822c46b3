// Ways through the page of many series: completion, a fault in the expression, zoom by keys, the card, the series behind.
import assert from "node:assert/strict";
import { settled, violations } from "./browser.mjs";
import { id } from "./mock_plot.mjs";
import { param, until, wide, withPage } from "./walks.mjs";

const PLOT = "/p/kernels/plot";
const choice = (page, label) => page.locator("label.field").filter({ has: page.getByText(label, { exact: true }) }).locator("select");
const status = (page, text) => page.locator(".count").filter({ hasText: text }).waitFor();

/* Names, then values, by keys alone; the address follows, and the lines. */
async function an_expression_is_completed_by_keys({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + PLOT);
    await status(page, "12 series");
    const box = page.getByRole("combobox", { name: "Series" });
    await box.focus();
    await page.keyboard.type("dt");
    await page.getByRole("listbox").getByRole("option", { name: "dtype" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await box.inputValue(), "dtype=");
    await page.keyboard.type("bf");
    await page.getByRole("listbox").getByRole("option", { name: "bf16" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal(await box.inputValue(), "dtype=bf16 ");
    await status(page, "4 series");
    assert.equal(await param(page, "select"), "dtype=bf16");
    assert.equal(await page.getByRole("table", { name: "Lines" }).getByRole("row").count(), 5);
  });
}

/* The server's message is below the input, with the place marked; nothing else of the page is an error. */
async function a_fault_in_the_expression_is_marked({ browser, mock }) {
  await withPage(browser, { ...wide, allow: /400/ }, async (page) => {
    await page.goto(`${mock.url}${PLOT}?select=${encodeURIComponent("k>=big")}`);
    const fault = page.getByRole("alert");
    await fault.waitFor();
    assert.match(await fault.innerText(), /at character 4: expected a number/);
    assert.equal(await fault.locator("mark").innerText(), "big");
    assert.equal(await page.getByRole("combobox", { name: "Series" }).getAttribute("aria-invalid"), "true");
    assert.equal(await page.locator(".failed, canvas").count(), 0);
  });
}

/* Keys zoom and pan; the ends are in the address, and the part in view is asked of the server. */
async function keys_zoom_and_the_server_sends_the_part({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + PLOT);
    await settled(page);
    const asked = page.waitForRequest((r) => r.url().includes("/plot?") && r.url().includes("from=") && r.url().includes("samples=true"));
    await page.locator(".panels").focus();
    await page.keyboard.press("+");
    await asked;
    const from = await param(page, "from");
    await page.keyboard.press("ArrowRight");
    await until(page, (before) => new URLSearchParams(location.search).get("from") > before, from);
    await page.keyboard.press("0");
    await until(page, () => !new URLSearchParams(location.search).has("from"));
    /* a link with ends opens there */
    await page.goto(`${mock.url}${PLOT}?from=${id(30)}&to=${id(60)}`);
    await settled(page);
    await until(page, () => !document.querySelector(".chart-tools .button").disabled);
  });
}

/* The card says the commit, the nearest lines and the reason of a broken result; a click opens the series there. */
async function the_card_names_lines_and_broken_results({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + PLOT);
    await settled(page);
    const canvas = page.locator(".panel-box canvas");
    const box = await canvas.boundingBox();
    /* row 50 of 120, of a view that is padded by 1 % */
    const x = 66 + ((50 + 1.19) / (119 + 2.38)) * (box.width - 76);
    await canvas.hover({ position: { x, y: box.height - 60 } });
    const card = page.locator(".panel-card");
    await card.getByText("change number 50").waitFor();
    const text = await card.innerText();
    assert.match(text, /broken/);
    assert.ok(text.includes("build failed: <b>gemm.c</b>"), text);
    assert.equal(await page.locator(".panel-cross").count(), 1);
    await canvas.click({ position: { x, y: box.height - 60 } });
    await until(page, () => location.pathname.startsWith("/series/"));
    assert.equal(await param(page, "at"), id(50));
  });
}

/* Stacked panels share the crosshair. */
async function stacked_panels_share_the_crosshair({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}${PLOT}?layout=stacked&select=dtype%3Df32`);
    await settled(page);
    await page.locator(".panel-box canvas").first().hover({ position: { x: 500, y: 40 } });
    await until(page, () => document.querySelectorAll(".panel-cross").length === 4);
    assert.equal(new Set(await page.locator(".panel-cross").evaluateAll((all) => all.map((e) => e.style.left))).size, 1);
  });
}

/* Cells say in words what they show by colour; what was not measured is not an empty cell; a cell opens its series. */
async function a_heat_map_tells_changes_from_noise_and_from_nothing({ browser, mock }) {
  await withPage(browser, { width: 390, theme: "dark" }, async (page) => {
    await page.goto(`${mock.url}/p/kernels/heatmap?row=k&column=backend&kernel=gemm`);
    await settled(page);
    const cell = page.getByRole("link", { name: /^64, cpu-avx2: \+11.2 %, worse; largest of 2 series; 1 of them broken or not measured$/ });
    await cell.waitFor();
    assert.equal(await page.locator("td.heat-worse").count(), 10);
    await choice(page, "Rows").selectOption("shape");
    await choice(page, "Columns").selectOption("dtype");
    await page.getByText("k=64 m=64 n=64, bf16: not measured at both commits").waitFor({ state: "attached" });
    await choice(page, "Kernel").selectOption("");
    await page.getByRole("link", { name: /, f32: .3.4 %, better/ }).waitFor();
    await page.getByRole("link", { name: /, f32: broken$/ }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.locator("td.heat-worse a").first().click();
    await until(page, () => location.pathname.startsWith("/series/"));
  });
}

export const plotWalks = {
  a_heat_map_tells_changes_from_noise_and_from_nothing,
  an_expression_is_completed_by_keys, a_fault_in_the_expression_is_marked, keys_zoom_and_the_server_sends_the_part,
  the_card_names_lines_and_broken_results, stacked_panels_share_the_crosshair,
};
