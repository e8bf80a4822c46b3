// Single keys: through lists, to pages, their list, and their switch.
import assert from "node:assert/strict";
import { COLOURS, overflow, settled, shoot, violations } from "./browser.mjs";
import { until, wide, withPage } from "./walks.mjs";

const focused = (page) => page.evaluate(() => document.activeElement?.closest("tr")?.querySelector("th a")?.textContent ?? "");
const GROUPS = ["10 of 40 gemm series", "1 of 8 softmax series"];

async function keys_walk_and_mark_the_rows_of_a_list({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    await page.getByRole("checkbox", { name: "Select group 13" }).waitFor();
    const press = async (key, row) => {
      await page.keyboard.press(key);
      assert.ok((await focused(page)).startsWith(GROUPS[row]), `${key}: ${await focused(page)}`);
    };
    await press("j", 0);
    await press("k", 0); /* no further than the ends */
    await press("j", 1);
    await press("j", 1);
    await press("x", 1);
    await press("k", 0);
    await press("x", 0);
    assert.deepEqual(await page.getByRole("checkbox", { checked: true, name: /^Select group/ }).count(), 2);
    await press("x", 0);
    assert.equal(await page.getByRole("checkbox", { name: "Select group 12" }).isChecked(), false);
    assert.equal(await page.getByRole("checkbox", { name: "Select group 13" }).isChecked(), true);
    await page.keyboard.press("Control+j"); /* a key of the browser */
    assert.ok((await focused(page)).startsWith(GROUPS[0]));
    await shoot(page, "walk-keys-rows");
    await page.keyboard.press("Enter");
    await until(page, () => location.pathname === "/groups/12");
    await page.getByRole("checkbox", { name: "Select alert 200" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    assert.equal(await page.getByRole("checkbox", { name: "Select alert 200" }).isChecked(), true);
    await page.goto(`${mock.url}/p/kernels/series`);
    await settled(page);
    await page.keyboard.press("k");
    const last = await page.locator("tbody tr").last().locator("th a").getAttribute("href");
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("href")), last);
    await page.keyboard.press("Enter");
    await until(page, (to) => location.pathname === to, last);
  });
}

/* Upwards, the header covers what the page scrolls under it: the row is below it. */
async function the_row_of_the_focus_is_in_view({ browser, mock, state }) {
  state.many = 60;
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/series`);
    await settled(page);
    for (let presses = 0; presses < 30; presses += 1) {
      await page.keyboard.press("k");
      const [top, bottom, least, most] = await page.evaluate(() => {
        const box = document.activeElement.closest("tr").getBoundingClientRect();
        return [box.top, box.bottom, document.querySelector("header.top").getBoundingClientRect().bottom, window.innerHeight];
      });
      assert.ok(top >= least && bottom <= most, `row ${presses}: ${top} to ${bottom} px, of ${least} to ${most}`);
    }
  });
}

/* Of a long list the selected groups are changed without a way back to its start. */
async function the_bar_of_actions_stays_in_view({ browser, mock }) {
  for (const width of [1280, 850]) {
    await withPage(browser, { ...wide, width, height: 560 }, async (page) => {
      await page.goto(`${mock.url}/alerts?project=kernels&state=all`);
      await settled(page);
      await page.getByRole("checkbox", { name: "Select group 14" }).waitFor();
      await page.keyboard.press("k");
      await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
      await until(page, () => document.querySelector("table.groups").getBoundingClientRect().top < document.querySelector("header.top").getBoundingClientRect().bottom + 120);
      const [bar, header] = await page.evaluate(() => [document.querySelector(".action-bar").getBoundingClientRect().top, document.querySelector("header.top").getBoundingClientRect().bottom]);
      assert.ok(bar >= header, `${bar} px under a header of ${header} px`);
      await page.keyboard.press("k");
      const row = await page.evaluate(() => document.activeElement.closest("tr").getBoundingClientRect().top - document.querySelector(".action-bar").getBoundingClientRect().bottom);
      assert.ok(row >= 0, `the row is ${-row} px under the bar`);
    });
  }
}

async function g_and_a_letter_go_to_a_page({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/?project=kernels`);
    await settled(page);
    for (const [letter, path, title] of [["a", "/alerts", "Alerts"], ["s", "/p/kernels/series", "Series"], ["j", "/jobs", "Jobs"], ["h", "/p/kernels/heatmap", "Heat map"],
      ["u", "/p/kernels/suppressions", "Suppression rules"], ["n", "/p/kernels/nights", "Nights"], ["m", "/machines", "Machines"], ["o", "/", "kernels"]]) {
      await page.keyboard.press("g");
      await page.locator(".keys-wait").waitFor();
      if (letter === "a") {
        await shoot(page, "walk-keys-wait");
        assert.deepEqual(await violations(page), []);
      }
      await page.keyboard.press(letter);
      await until(page, (to) => location.pathname === to, path);
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      assert.equal(await page.locator(".keys-wait").count(), 0);
    }
    await page.keyboard.press("g");
    await page.locator(".keys-wait").waitFor();
    await page.locator("h1").click(); /* ends the wait */
    await page.locator(".keys-wait").waitFor({ state: "detached" });
    await page.keyboard.press("a"); /* without g */
    await page.keyboard.press("g");
    await page.keyboard.press("z"); /* no page */
    await page.keyboard.press("a");
    assert.equal(await page.evaluate(() => location.pathname), "/");
  });
}

async function the_keys_are_listed_and_can_be_switched_off({ browser, mock }) {
  for (const theme of ["light", "dark"]) {
    await withPage(browser, { ...wide, theme }, async (page) => {
      await page.goto(`${mock.url}/alerts?project=kernels`);
      await settled(page);
      await page.getByRole("checkbox", { name: "Select group 13" }).waitFor();
      await page.keyboard.press("j");
      await page.keyboard.press("?");
      const list = page.getByRole("dialog", { name: "Keys" });
      await list.waitFor();
      const text = await list.innerText();
      for (const entry of [/j\s+next row/, /x\s+select the row/, /Enter\s+open the row/, /g a\s+Alerts/, /g h\s+Heat map/, /Ctrl\s*wheel\s+zoom at the pointer/, /double click\s+everything/]) assert.match(text, entry);
      assert.equal(await list.locator("dl").nth(1).locator("dt").count(), await page.locator(".nav-pages a, .nav-sections > li:first-child > a").count(), "every page has a letter");
      await shoot(page, `walk-keys-${theme}`);
      assert.deepEqual(await violations(page, theme === "light" ? undefined : COLOURS), []);
      assert.deepEqual(await overflow(page), []);
      await page.keyboard.press("j"); /* the list under it stays where it is */
      await page.keyboard.press("Escape");
      await list.waitFor({ state: "detached" });
      assert.ok((await focused(page)).startsWith(GROUPS[0]), "the focus is back in the list");
      if (theme === "dark") return;
      /* Text is typed as it is. */
      const box = page.getByRole("searchbox", { name: "Search groups" });
      await box.focus();
      await page.keyboard.type("gj?x/");
      assert.equal(await box.inputValue(), "gj?x/");
      await box.fill("");
      await page.getByRole("checkbox", { name: "Select group 13" }).waitFor();
      /* Off, also after a reload; the button of the header works on. */
      await page.getByRole("button", { name: "Keys" }).click();
      await list.getByRole("checkbox", { name: "Single keys are on" }).uncheck();
      await list.getByRole("button", { name: "Close" }).click();
      await page.reload();
      await settled(page);
      await page.getByRole("checkbox", { name: "Select group 13" }).waitFor();
      for (const key of ["j", "g", "?"]) await page.keyboard.press(key);
      assert.equal(await focused(page), "");
      assert.equal(await page.locator(".keys-wait, dialog").count(), 0);
      await page.getByRole("button", { name: "Keys" }).click();
      await list.getByRole("checkbox", { name: "Single keys are on" }).check();
      await page.keyboard.press("Escape");
      await list.waitFor({ state: "detached" });
      await page.keyboard.press("j");
      assert.ok((await focused(page)).startsWith(GROUPS[0]));
    });
  }
}

export const keyWalks = {
  keys_walk_and_mark_the_rows_of_a_list, the_row_of_the_focus_is_in_view, the_bar_of_actions_stays_in_view, g_and_a_letter_go_to_a_page, the_keys_are_listed_and_can_be_switched_off,
};
