// The texts of many pages of one service, as a person reads them. Arguments: the service's URL, a JSON file with a list of
// paths, the file to write: an object from path to text. Fails when a page reports a fault.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { openPage, settled, shoot, startBrowser } from "../web/browser/browser.mjs";

const [url, list, out] = process.argv.slice(2);
assert.ok(url && list && out, "expected URL, list of paths, and output file");
const texts = {};
const browser = await startBrowser();
try {
  const view = await openPage(browser, { width: 1600, theme: "light", clock: null });
  for (const path of JSON.parse(readFileSync(list, "utf8"))) {
    await view.page.goto(url + path);
    await settled(view.page);
    // Folded parts hold facts, too; a person opens them.
    await view.page.evaluate(() => document.querySelectorAll("main details").forEach((d) => { d.open = true; }));
    texts[path] = await view.page.locator("main").innerText();
    await shoot(view.page, `facts${path.replace(/[^a-z0-9]+/gi, "-").slice(0, 60)}`);
    assert.equal(await view.page.locator("main .failed").count(), 0, `${path} shows a failure: ${texts[path].slice(0, 300)}`);
  }
  assert.deepEqual(view.faults, []);
} finally {
  await browser.close();
}
writeFileSync(out, JSON.stringify(texts));
