// Ctrl+K: the search of pages and of everything that a project has, by keys.
import assert from "node:assert/strict";
import { COLOURS, overflow, settled, shoot, violations } from "./browser.mjs";
import { hostile, unsafe } from "./text_walks.mjs";
import { until, wide, withPage } from "./walks.mjs";

const dialog = (page) => page.getByRole("dialog", { name: "Search" });
const box = (page) => dialog(page).getByRole("combobox");
const options = (page) => dialog(page).getByRole("option");
const ready = (page) => dialog(page).getByRole("status").getByText(/^\d+ results?$/).waitFor();
const active = (page) => page.evaluate(() => document.getElementById(document.activeElement?.getAttribute("aria-activedescendant") ?? "")?.innerText ?? "");

async function open(page, url) {
  await page.goto(url);
  await settled(page);
  await page.keyboard.press("Control+k");
  await box(page).waitFor();
}

async function ctrl_k_opens_each_kind_of_thing({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    for (const [typed, kind, path] of [["heat m", "page", "/p/kernels/heatmap"], ["nights", "page", "/p/kernels/nights"], ["alert 31", "alert", "/alerts/31"], ["#4", "bisection", "/bisections/4"],
      ["run 1072", "run", "/runs/1072"], ["group 12", "group", "/groups/12"], ["f".repeat(32), "run", `/runs/${"f".repeat(32)}`], ["bisection gemm found", "bisection", "/bisections/"],
      ["series attention", "series", "/series/"], ["commit pack", "commit", "/p/kernels/commit/"]]) {
      await open(page, `${mock.url}/?project=kernels`);
      await page.keyboard.type(typed);
      await ready(page);
      assert.match(await active(page), new RegExp(`^${kind}\\b`), typed);
      await page.keyboard.press("Enter");
      await until(page, (to) => location.pathname.startsWith(to), path);
      await dialog(page).waitFor({ state: "detached" });
      await until(page, () => document.activeElement?.tagName === "H1");
    }
  });
}

async function the_results_are_walked_by_keys_and_name_their_kinds({ browser, mock }) {
  for (const [theme, width] of [["light", 1280], ["dark", 390]]) {
    await withPage(browser, { width, theme }, async (page) => {
      await open(page, `${mock.url}/?project=kernels`);
      assert.deepEqual(await options(page).allInnerTexts().then((all) => all.filter((t) => !t.startsWith("page"))), [], "without a text only pages");
      await shoot(page, `walk-palette-pages-${theme}-${width}`);
      await page.keyboard.type("gemm");
      await ready(page);
      const kinds = new Set((await options(page).allInnerTexts()).map((t) => t.split(/\s/)[0]));
      assert.deepEqual([...kinds].sort(), ["alert", "bisection", "commit", "group", "series"]);
      const first = await active(page);
      await page.keyboard.press("ArrowDown");
      const second = await active(page);
      assert.notEqual(second, first);
      await page.keyboard.press("ArrowUp");
      assert.equal(await active(page), first);
      await page.keyboard.press("ArrowUp"); /* from the first to the last */
      assert.equal(await active(page), (await options(page).last().innerText()));
      assert.equal(await dialog(page).getByRole("option", { selected: true }).count(), 1);
      await shoot(page, `walk-palette-${theme}-${width}`);
      assert.deepEqual(await violations(page, theme === "light" ? undefined : COLOURS), []);
      assert.deepEqual(await overflow(page), []);
      await box(page).fill("nothing has this name");
      await dialog(page).getByText("Nothing fits in project kernels.").waitFor();
      assert.equal(await options(page).count(), 0);
    });
  }
}

async function escape_closes_it_and_the_focus_is_back({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    const search = page.getByRole("searchbox", { name: "Search groups" });
    await search.focus();
    for (const chord of ["Control+k", "Meta+k"]) { /* in a text field, too */
      await page.keyboard.press(chord);
      await box(page).waitFor();
      await page.keyboard.type("x");
      await page.keyboard.press("Escape");
      await dialog(page).waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("placeholder")), "Search groups");
    }
    assert.equal(await search.inputValue(), "");
    /* Single keys are off: the chord and the button work on. */
    await page.evaluate(() => localStorage.setItem("perfci.keys", "off"));
    await page.reload();
    await settled(page);
    await page.keyboard.press("Control+k");
    await box(page).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Search everything" }).click();
    await box(page).waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Search everything");
    /* and the list of keys has it */
    await page.getByRole("button", { name: "Keys" }).click();
    assert.match(await page.getByRole("dialog", { name: "Keys" }).innerText(), /Ctrl\s*K\s+search pages/);
  });
}

/* The next letter cancels the requests of the text before it. */
async function a_longer_text_cancels_the_search_before_it({ browser, mock, state }) {
  state.hold = "gem";
  state.asked = [];
  await withPage(browser, wide, async (page) => {
    await open(page, `${mock.url}/?project=kernels`);
    const cancelled = [];
    page.on("requestfailed", (r) => { if (/[?&]q=gem(&|$)/.test(r.url())) cancelled.push(r.failure().errorText); });
    await box(page).fill("gem");
    for (const list of ["series", "commits", "groups", "alerts", "bisections"]) {
      while (!state.asked.some((a) => a.split("?")[0].endsWith(list) && /[?&]q=gem(&|$)/.test(a))) await page.evaluate(() => undefined);
    }
    await box(page).fill("gemm");
    await ready(page);
    assert.deepEqual(cancelled, Array(5).fill("net::ERR_ABORTED"));
  });
}

async function a_list_that_cannot_be_searched_is_named({ browser, mock }) {
  await withPage(browser, { ...wide, allow: /503/ }, async (page) => {
    await page.route(/\/bisections\?/, (route) => route.fulfill({ status: 503, contentType: "application/json",
      body: JSON.stringify({ error: { code: "unavailable", message: "The database does not answer." } }) }));
    await open(page, `${mock.url}/?project=kernels`);
    await page.keyboard.type("gemm");
    await ready(page);
    assert.equal(await dialog(page).getByRole("alert").innerText(), "Not searched: bisection: The database does not answer.");
  });
}

async function hostile_names_are_text_in_the_results({ browser, mock, state }) {
  state.rename = hostile;
  await withPage(browser, { width: 390, theme: "light" }, async (page) => {
    await open(page, `${mock.url}/?project=kernels`);
    await page.keyboard.type("gemm");
    await ready(page);
    assert.ok((await dialog(page).innerText()).includes("[U+202E]gnp.exe"));
    assert.deepEqual(await page.evaluate(unsafe), []);
    assert.deepEqual(await page.evaluate(() => { const d = document.querySelector("dialog"); return d.scrollWidth - d.clientWidth; }), 0);
    await shoot(page, "walk-palette-hostile");
    assert.deepEqual(await violations(page), []);
    await page.emulateMedia({ colorScheme: "dark" });
    assert.deepEqual(await violations(page, COLOURS), []);
  });
}

export const paletteWalks = {
  ctrl_k_opens_each_kind_of_thing, the_results_are_walked_by_keys_and_name_their_kinds, escape_closes_it_and_the_focus_is_back,
  a_longer_text_cancels_the_search_before_it, a_list_that_cannot_be_searched_is_named, hostile_names_are_text_in_the_results,
};
