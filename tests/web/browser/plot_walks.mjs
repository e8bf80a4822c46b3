// Ways through the page of many series: completion, a fault in the expression, zoom by keys, the card, the series behind.
import assert from "node:assert/strict";
import { settled, shoot, violations } from "./browser.mjs";
import { groupsOf } from "./mock_groups.mjs";
import { id, plotOf } from "./mock_plot.mjs";
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
    const edge = (of) => of.locator("..").evaluate((td) => { const s = getComputedStyle(td); return [s.backgroundImage.startsWith("repeating-linear-gradient"), s.backgroundSize]; });
    assert.deepEqual(await edge(cell), [true, "100% 4px"]); /* of two series one is broken */
    assert.deepEqual(await edge(page.getByRole("link", { name: /^[^;]*, worse$/ }).first()), [false, "auto"]);
    assert.equal(await page.locator("td.heat-worse").count(), 10);
    await choice(page, "Rows").selectOption("shape");
    await choice(page, "Columns").selectOption("dtype");
    const unmeasured = page.getByRole("link", { name: "k=64 m=64 n=64, bf16: not measured at both commits", exact: true });
    assert.match(await unmeasured.getAttribute("href"), /^\/series\/\d+\?at=/); /* its series, too */
    await choice(page, "Kernel").selectOption("*");
    await page.getByRole("link", { name: /, f32: .3.4 %, better/ }).waitFor();
    await page.getByRole("link", { name: /, f32: broken$/ }).waitFor();
    assert.deepEqual(await violations(page), []);
    const from = page.getByLabel("From");
    assert.match(await from.inputValue(), /^[0-9a-f]{12}$/); /* a whole id is shown by its first digits */
    await from.fill("2026-01-01");
    await from.press("Tab");
    await until(page, () => new URLSearchParams(location.search).get("a") === "2026-01-01");
    await page.getByRole("link", { name: /, f32: broken$/ }).waitFor();
    await page.locator("td.heat-worse a").first().click();
    await until(page, () => location.pathname.startsWith("/series/"));
  });
}

/* Without ends in the address: from the newest release with results, however many commits and other tags came after it. */
async function a_heat_map_begins_with_the_newest_release({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    const commit = (digit, over) => ({ id: digit.repeat(40), parents: [], author: "A", subject: `release ${digit}`, time: "2026-01-01T00:00:00Z", position: 1, runs: 1, alerts: 0, tags: [], releases: [], ...over });
    const tagged = [commit("1", { tags: ["nightly-9"] }), commit("2", { tags: ["v2.0"], releases: ["v2.0"], runs: 0 }), commit("3", { tags: ["latest", "v1.9"], releases: ["v1.9"] }),
      commit("4", { tags: ["v1.8"], releases: ["v1.8"] })];
    await page.route("**/commits?**tagged=true**", (r) => r.fulfill({ json: { commits: tagged, next_cursor: null } }));
    const asked = page.waitForRequest((r) => r.url().includes("/compare?"));
    await page.goto(`${mock.url}/p/kernels/heatmap`);
    assert.equal(new URL((await asked).url()).searchParams.get("a"), "3".repeat(40));
    await settled(page);
    assert.equal(await page.getByLabel("From").inputValue(), "3".repeat(12));
    const offered = await page.locator("datalist").first().locator("option").evaluateAll((all) => all.map((o) => o.value));
    assert.deepEqual(["nightly-9", "latest", "v1.9"].filter((name) => !offered.includes(name)), []); /* any tag is an end */
  });
}

/* Of a map with thousands of cells those in view are made; scrolling makes the others, and the counts tell of all. */
async function a_large_heat_map_makes_the_cells_in_view({ browser, mock }) {
  await withPage(browser, { width: 1280, theme: "light" }, async (page) => {
    const cells = Array.from({ length: 5000 }, (_, i) => ({ benchmark: `gemm/t${i % 50}/k${Math.floor(i / 50)}`, backend: "cpu", params: { dtype: `t${i % 50}`, k: String(Math.floor(i / 50)) } }));
    await page.route("**/coverage?**", (r) => r.fulfill({ json: { rows: cells.map((c, n) => ({ ...c, series_id: n + 1, machine_class: "m", cells: "x", missing: 0 })), next_cursor: null } }));
    await page.route("**/compare?**", (r) => r.fulfill({ json: { a: { commit: "a".repeat(40), runs: [1] }, b: { commit: "b".repeat(40), runs: [2] }, margin_rel: 0.01,
      rows: cells.map((c, n) => ({ ...c, series_id: n + 1, metric: "time_ns", unit: "ns", direction: "lower", rel_change: 0.04, verdict: "regression" })),
      only_a: [], only_b: [], summary: { regression: 5000, improvement: 0, same: 0, inconclusive: 0, broken: 0 } } }));
    await page.goto(`${mock.url}/p/kernels/heatmap?row=k&column=dtype`);
    await page.getByRole("link", { name: "0, t0: +4.0 %, worse", exact: true }).waitFor();
    const made = await page.locator("td.heat-worse").count();
    assert.ok(made > 300 && made < 2000, `${made} of 5,000 cells were made`);
    assert.equal(await page.locator("table.heat").getAttribute("aria-rowcount"), "101");
    const last = page.getByRole("link", { name: "99, t49: +4.0 %, worse", exact: true });
    assert.equal(await last.count(), 0);
    const height = await page.locator(".heat-box").evaluate((b) => b.scrollHeight);
    await page.locator(".heat-box").evaluate((b) => b.scrollTo(b.scrollWidth, b.scrollHeight));
    await last.waitFor();
    assert.equal(await page.locator("tr", { has: last }).getAttribute("aria-rowindex"), "101");
    assert.equal(await page.locator(".heat-box").evaluate((b) => b.scrollHeight), height, "the rows that are not made keep their room");
    const name = page.getByRole("rowheader", { name: "99", exact: true });
    assert.ok(await name.evaluate((e) => e.getBoundingClientRect().left >= e.closest(".heat-box").getBoundingClientRect().left), "the names of the rows stay in view");
    assert.ok(await last.evaluate((e) => { const b = e.closest(".heat-box").getBoundingClientRect(); const r = e.getBoundingClientRect(); return r.bottom <= b.bottom && r.right <= b.right; }), "the last cell is in view");
    assert.deepEqual(await violations(page), []);
    await shoot(page, "walk-heatmap-large");
  });
}

/* Inside a group the map has its alerts, and says where there is none. */
async function a_group_shows_its_alerts_as_a_heat_map({ browser, mock, state }) {
  await withPage(browser, { width: 1280, theme: "light" }, async (page) => {
    /* all members but the last are known, and two benchmarks have no alert */
    const members = groupsOf(state).find((g) => g.id === 12).members;
    const known = [...members.slice(0, -1).map((m) => ({ benchmark: m.benchmark, backend: m.backend, params: { dtype: "bf16", m: m.benchmark.split("/m")[1] } })),
      ...["64", "128"].map((m) => ({ benchmark: `gemm/f32/m${m}`, backend: "hip", params: { dtype: "f32", m } })),
      { benchmark: "softmax/f16/m7", backend: "hip", params: { dtype: "f16", m: "7" } }];
    await page.route("**/coverage?**", (r) => r.fulfill({ json: { rows: known.map((b, n) => ({ ...b, series_id: n + 1, machine_class: "m", cells: "x", missing: 0 })), next_cursor: null } }));
    await page.goto(`${mock.url}/groups/12`);
    await settled(page);
    assert.equal(await page.locator("table.heat").count(), 0);
    await page.getByText("Heat map of the alerts by shape and type").click();
    await page.locator("table.heat").waitFor();
    const named = await page.locator("table.heat td a, table.heat td .sr-only").evaluateAll((all) => all.map((e) => e.getAttribute("aria-label") ?? e.textContent));
    assert.equal(named.filter((n) => /%, worse$/.test(n)).length, members.length - 1, named.join("\n"));
    assert.equal(named.filter((n) => /^m=\d+, f32: no alert of this group$/.test(n)).length, 2, named.join("\n"));
    await page.getByText("1 series without shape or dtype: not on the map.").waitFor();
    assert.deepEqual(await violations(page), []);
    await shoot(page, "walk-group-heatmap");
    /* All alerts are of one kernel: the shapes of the others are shown when asked for. */
    const other = page.locator("table.heat").getByRole("link", { name: "m=7, f16: no alert of this group" });
    assert.equal(await other.count(), 0);
    await page.getByRole("combobox", { name: "Kernel" }).selectOption({ label: "all" });
    await other.waitFor({ state: "attached" });
  });
}

/* 200 lines that take longer than a frame: while the pointer drags, their picture is moved; at rest it is the one that is
 * drawn without any move. */
async function a_dragged_picture_comes_to_rest_as_drawn_at_once({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.route("**/api/**/plot?**", async (route) => {
      const reply = plotOf(new URL(route.request().url()));
      const lines = Array.from({ length: 400 }, (_, n) => ({ ...reply.lines[n % reply.lines.length], series_id: 1000 + n, benchmark: `gemm/n${n}` })).slice(0, 200);
      await route.fulfill({ json: { ...reply, lines, matched: 200, samples: true, places: reply.columns.commit.length } });
    });
    await page.goto(`${mock.url}${PLOT}?drag=pan`);
    await settled(page);
    const canvas = page.locator(".panel-box canvas");
    await canvas.and(page.locator("[data-exact=true]")).waitFor();
    const box = await canvas.boundingBox();
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    await page.mouse.move(middle.x, middle.y);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -150);
    await page.keyboard.up("Control");
    await until(page, () => new URLSearchParams(location.search).has("from"));
    await page.evaluate(() => {
      window.moves = [];
      const host = document.querySelector(".panel-box canvas");
      new MutationObserver(() => window.moves.push(host.dataset.exact)).observe(host, { attributeFilter: ["data-exact"] });
    });
    await page.mouse.down();
    for (let i = 1; i <= 30; i++) await page.mouse.move(middle.x + 4 * i, middle.y);
    await page.mouse.up();
    await page.mouse.move(2, 2); /* off the chart, whose nearest line would be brought out */
    await until(page, () => { /* at rest: exact, and the same in 20 polls */
      const host = document.querySelector(".panel-box canvas");
      const now = host.dataset.exact + host.toDataURL();
      window.same = now === window.last ? (window.same ?? 0) + 1 : 0;
      window.last = now;
      return host.dataset.exact === "true" && window.same >= 20;
    });
    assert.ok((await page.evaluate(() => window.moves)).includes("false"), "no picture was moved: the machine draws 200 lines within 5 ms");
    const rested = await canvas.evaluate((c) => c.toDataURL());
    /* Another theme, and back: drawn from the values, whatever was shown before. */
    for (const name of ["Use the dark theme", "Use the light theme"]) {
      const last = await canvas.evaluate((c) => c.toDataURL());
      await page.getByRole("button", { name }).click();
      await until(page, (old) => document.querySelector(".panel-box canvas").toDataURL() !== old, last);
    }
    await until(page, (want) => document.querySelector(".panel-box canvas").toDataURL() === want, rested);
  });
}

/* The commit that lines are relative to is named as an end of a comparison is; the case of a tag's name stays. */
async function lines_are_relative_to_an_end({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}${PLOT}?y=relative`);
    await settled(page);
    const field = page.getByLabel("Relative to commit");
    for (const [typed, sent] of [["Release-1.2~1", "Release-1.2~1"], ["  1A2B3C4 ", "1a2b3c4"]]) {
      const asked = page.waitForRequest((r) => new URL(r.url()).searchParams.get("relative") === sent);
      await field.fill(typed);
      await field.press("Enter");
      await asked;
      await settled(page);
    }
  });
}

export const plotWalks = {
  a_dragged_picture_comes_to_rest_as_drawn_at_once,
  a_large_heat_map_makes_the_cells_in_view, a_group_shows_its_alerts_as_a_heat_map,
  a_heat_map_tells_changes_from_noise_and_from_nothing, a_heat_map_begins_with_the_newest_release, lines_are_relative_to_an_end,
  an_expression_is_completed_by_keys, a_fault_in_the_expression_is_marked, keys_zoom_and_the_server_sends_the_part,
  the_card_names_lines_and_broken_results, stacked_panels_share_the_crosshair,
};
