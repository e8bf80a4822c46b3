// The filters of alert groups: completion from the values that the server has.
import assert from "node:assert/strict";
import { overflow, settled, shoot, violations } from "./browser.mjs";
import { param, until, wide, withPage } from "./walks.mjs";

async function group_filters_complete_what_the_server_has({ browser, mock, state }) {
  state.asked = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels&state=all`);
    await settled(page);
    for (const [label, typed, options, name, value] of [["Kernel", "ge", ["gemm12"], "kernel", "gemm"], ["Backend", "", ["cpu-avx28", "hip4"], "backend", "cpu-avx2"],
      ["Machine", "97", ["epyc-975412"], "machine", "epyc-9754"], ["Owner", "at", ["@org/attention"], "owner", "@org/attention"], ["Assignee", "", ["Ada"], "assignee", "Ada"]]) {
      const box = page.getByRole("combobox", { name: label, exact: true });
      await box.focus();
      await page.keyboard.type(typed);
      const list = page.getByRole("listbox", { name: `${label}: suggestions` });
      await list.waitFor();
      await until(page, ([id, n]) => document.getElementById(id).children.length === n, [await list.getAttribute("id"), options.length]);
      assert.deepEqual(await list.getByRole("option").evaluateAll((all) => all.map((o) => o.textContent)), options, label);
      await page.keyboard.press("ArrowDown");
      assert.equal(await list.getByRole("option", { selected: true }).count(), 1);
      if (name === "backend") {
        await shoot(page, "walk-filters");
        assert.deepEqual(await violations(page), []);
      }
      await page.keyboard.press("Enter");
      await until(page, ([n, v]) => new URLSearchParams(location.search).get(n) === v, [name, value]);
      assert.equal(await box.inputValue(), value);
      assert.ok(state.asked.some((path) => path.startsWith("/groups?") && new URLSearchParams(path.split("?")[1]).get(name) === value), `${name} is asked for`);
      await box.fill("");
      await page.keyboard.press("Enter");
      await until(page, (n) => !new URLSearchParams(location.search).has(n), name);
    }
  });
}

async function a_filter_takes_other_text_and_closes_on_escape({ browser, mock }) {
  await withPage(browser, { width: 390, theme: "dark" }, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels&state=all&kernel=absent`);
    await settled(page);
    const box = page.getByRole("combobox", { name: "Backend" });
    await box.focus();
    await page.getByRole("listbox", { name: "Backend: suggestions" }).waitFor();
    assert.deepEqual(await overflow(page), []);
    await shoot(page, "walk-filters-390");
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    await page.getByRole("listbox", { name: "Backend: suggestions" }).waitFor({ state: "hidden" });
    await page.keyboard.type("new-backend");
    await page.keyboard.press("Enter");
    await until(page, () => new URLSearchParams(location.search).get("backend") === "new-backend");
    assert.equal(await param(page, "kernel"), "absent", "the other filters stay");
  });
}

export const filterWalks = { group_filters_complete_what_the_server_has, a_filter_takes_other_text_and_closes_on_escape };
