// The dashboard on the real server: from the overview to the series of the headline, its change and its alert; every
// page it passes is free of console errors. Arguments: URL, the commit that is to blame.
import assert from "node:assert/strict";
import { openPage, overflow, settled, shoot, startBrowser } from "../web/browser/browser.mjs";

const [url, planted] = process.argv.slice(2);
assert.ok(url && planted, "expected the service's URL and the planted commit");
const short = planted.slice(0, 7);
const browser = await startBrowser();
try {
  for (const [width, theme] of [[1280, "light"], [390, "dark"]]) {
    const view = await openPage(browser, { width, theme, clock: null });
    const { page } = view;
    await page.goto(`${url}/?project=tiny`);
    await settled(page);
    await shoot(page, `overview-${width}`);
    await page.getByRole("article").getByRole("link", { name: "gemm_tflops" }).first().click();
    await page.waitForSelector(".uplot canvas");
    await settled(page);
    assert.match(page.url(), /\/series\/\d+/);
    assert.ok((await page.locator("main").innerText()).includes(short), "the series page does not name the commit");
    await shoot(page, `series-${width}`);
    for (const [name, path] of [["alerts", "/alerts?project=tiny&state=all"], ["commits", "/p/tiny/commits"],
      ["jobs", "/jobs?project=tiny"], ["machines", "/machines"], ["bisections", "/bisections"]]) {
      await page.goto(url + path);
      await settled(page);
      assert.equal(await page.locator("main .failed").count(), 0, `${path} shows a failure`);
      assert.deepEqual(await overflow(page), [], `${path} scrolls sideways`);
      await shoot(page, `${name}-${width}`);
    }
    assert.deepEqual(view.faults, []);
    await view.close();
  }
} finally {
  await browser.close();
}
