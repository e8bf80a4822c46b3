// Suppression rules: what they hide is said where alerts are counted; a rule is tried, stored and ended.
import assert from "node:assert/strict";
import { settled, shoot, violations } from "./browser.mjs";
import { until, wide, withPage } from "./walks.mjs";

async function hidden_alerts_are_counted_by_rule({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    for (const path of ["/?project=kernels", "/alerts?project=kernels"]) {
      await page.goto(mock.url + path);
      await settled(page);
      await page.getByText("2 alerts hidden by 1 suppression rule").click();
      await page.getByText("benchmark gemm/*, dtype=bf16, metric time_ns, value goes up, below 3.0 %").waitFor();
    }
    await page.getByRole("link", { name: "2 by rule 3" }).click();
    await page.getByRole("heading", { name: "Alerts that rule 3 has hidden" }).waitFor();
    await page.getByText("still hidden").waitFor();
    await page.getByRole("link", { name: "gemm/bf16/m64n64k64" }).waitFor();
  });
}

async function a_rule_is_tried_and_stored_by_keys({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/suppressions`);
    await settled(page);
    await page.locator("form.suppress summary").click();
    await page.locator("form.suppress").getByLabel("Token").fill("pfc_secret");
    await page.locator("form.suppress").getByLabel("Token").press("Enter");
    await until(page, () => !document.querySelector("form.suppress details"));
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("Fill in at least one field").waitFor();
    assert.deepEqual(state.patches, []);
    await page.getByLabel("Benchmark").focus();
    await page.keyboard.type("gemm/*");
    await page.keyboard.press("Tab");
    await page.keyboard.type("dtype=bf16");
    await page.getByLabel("Changes below, %").fill("2.5");
    await page.getByRole("button", { name: "Preview" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("It would hide 2 open alerts, 1 of them not hidden yet, and concerns 5 alerts of the last 90 days.").waitFor();
    await shoot(page, "walk-suppress");
    assert.deepEqual(await violations(page), []);
    /* A changed field makes the preview stale. */
    await page.getByLabel("Metric").fill("time_ns");
    assert.equal(await page.getByRole("region", { name: "Preview" }).count(), 0);
    await page.getByLabel("Owner").fill("ann");
    await page.getByLabel("Reason").fill("known");
    await page.getByLabel("Ends after days").fill("91");
    await page.keyboard.press("Enter");
    assert.equal(state.patches.length, 1); /* the browser refuses 91 days */
    await page.getByLabel("Ends after days").fill("7");
    await page.keyboard.press("Enter");
    await page.getByText("Rule 9 hides 2 alerts until").waitFor();
    assert.deepEqual(state.patches[1], { method: "POST", path: "/projects/kernels/suppressions", change: {
      benchmark: "gemm/*", params: { dtype: "bf16" }, metric: "time_ns", max_change: 0.025, owner: "ann", reason: "known", days: 7 } });
    await page.getByRole("button", { name: "End now: rule 2" }).click();
    await until(page, () => !document.querySelector('[aria-label="End now: rule 2"]'));
    assert.deepEqual(state.patches[2], { method: "DELETE", path: "/projects/kernels/suppressions/2", change: null });
  });
}

export const ruleWalks = { hidden_alerts_are_counted_by_rule, a_rule_is_tried_and_stored_by_keys };
