// The path of a regression on the real service, from the overview to the accepted level: group, heat maps, comparison, a
// bisection that a runner measures, its replay, the culprit, triage. Each walk has a group, a way of input, a theme and a
// width of its own. Arguments: the service's URL, a JSON file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { COLOURS, openPage, overflow, settled, shoot, startBrowser, violations } from "./browser.mjs";
import { until } from "./walks.mjs";

const [url, file] = process.argv.slice(2);
assert.ok(url && file, "expected the service's URL and a file of facts");
const { project, walks, token, culprit, subject } = JSON.parse(readFileSync(file, "utf8"));
const MOST_TABS = 400;

/* ---- two ways of input ---- */

const pointer = {
  list: async (page) => {
    await main(page).getByRole("link", { name: "All alerts" }).click();
  },
  press: (page, locator) => locator.click(),
  type: (page, locator, text) => locator.fill(text),
  choose: (page, locator, name) => locator.selectOption({ label: name }),
  step: (page) => page.getByRole("button", { name: "Previous", exact: true }).click(),
};

/* From the place of the focus on, as a reader of the page would; nothing is focused by the script. */
async function reach(page, locator) {
  await locator.waitFor();
  const there = () => locator.evaluate((e) => e === document.activeElement);
  for (let presses = 0; presses < MOST_TABS; presses += 1) {
    if (await there()) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`${locator} is not reached by ${MOST_TABS} presses of Tab`);
}

const keys = {
  list: async (page) => {
    await page.keyboard.press("g");
    await page.locator(".keys-wait").waitFor();
    await page.keyboard.press("a");
  },
  press: async (page, locator) => {
    await reach(page, locator);
    await page.keyboard.press("Enter");
  },
  type: async (page, locator, text) => {
    await reach(page, locator);
    await page.keyboard.type(text);
  },
  choose: async (page, locator, name) => {
    await reach(page, locator);
    await page.keyboard.type(name.slice(0, 3));
  },
  step: async (page) => {
    await reach(page, page.getByRole("slider", { name: "Step" }));
    await page.keyboard.press("ArrowLeft");
  },
};

/* ---- the path ---- */

const main = (page) => page.locator("main");
const opened = (page, path) => until(page, (to) => location.pathname.startsWith(to), path);

async function signIn(page, hand) {
  const account = page.locator("header .account");
  await hand.press(page, account.locator("summary"));
  await hand.type(page, account.getByLabel("Token"), token);
  await hand.press(page, account.getByRole("button", { name: "Sign in" }));
  await account.getByText("Signed in", { exact: true }).waitFor({ state: "attached" });
}

/* Each shape of the group is a cell of its map, which opens the series at the change; the comparison of the range's ends
 * has a map, too. */
async function map_and_compare(page, hand, look, { group, shapes, series }) {
  await hand.press(page, page.locator("summary", { hasText: "Heat map of the alerts by shape and type" }));
  const cells = page.locator("td[class^=heat-worse] a");
  await cells.first().waitFor();
  assert.equal(await cells.count(), shapes);
  await look("group");
  await hand.press(page, cells.first());
  await opened(page, "/series/");
  await settled(page);
  const shown = await page.evaluate(() => location.pathname.split("/").pop());
  assert.ok(series.includes(Number(shown)), `series ${shown} is none of ${series}`);
  await page.locator(".point-card").waitFor();
  await look("series");
  await page.goBack();
  await opened(page, `/groups/${group}`);
  await settled(page);
  await hand.press(page, main(page).getByRole("link", { name: "compare before and after" }));
  await opened(page, "/compare");
  await settled(page);
  await hand.press(page, page.locator(".compare-heat summary"));
  await page.locator(".compare-heat td[class^=heat-worse] a").first().waitFor();
  await look("compare");
  await page.goBack();
  await opened(page, `/groups/${group}`);
  await settled(page);
}

/* Ordered from the group's page, measured by the runner; what it finds comes to the open page by the event stream. */
async function bisect(page, hand, look) {
  const order = page.locator(".measure-order").filter({ has: page.getByRole("button", { name: "Run bisection" }) });
  await order.locator("button:not([aria-disabled])").waitFor();
  await hand.press(page, order.getByRole("button"));
  await opened(page, "/bisections/");
  await main(page).locator(".card").filter({ hasText: subject }).locator(`a[href$="${culprit}"]`).first().waitFor();
  await main(page).locator(".badge", { hasText: "confirmed" }).first().waitFor();
  await look("bisection");
  const step = await page.locator(".scrubber output").innerText();
  const [, last] = /^step (\d+) of \1$/.exec(step) ?? [];
  assert.ok(Number(last) >= 3, `${step}: expected the last of several steps`);
  for (let back = 1; back <= 2; back += 1) {
    await hand.step(page);
    await page.locator(".scrubber output").getByText(`step ${last - back} of ${last}`, { exact: true }).waitFor();
  }
  await look("replay");
}

async function triage_and_accept(page, hand, look, { group }) {
  await hand.press(page, page.getByRole("note").getByRole("link", { name: /^Alert #\d+$/ }));
  await opened(page, "/alerts/");
  await main(page).locator(".badge", { hasText: "culprit" }).first().waitFor();
  await look("alert");
  await hand.press(page, main(page).getByRole("link", { name: `Group ${group}`, exact: true }));
  await opened(page, `/groups/${group}`);
  await main(page).locator(".cause-commit", { hasText: "culprit" }).locator(`a[href$="${culprit}"]`).waitFor();
  const form = main(page).locator(".triage-group");
  await hand.choose(page, form.getByLabel("State"), "investigating");
  await hand.type(page, form.getByLabel("Reason"), "the culprit is confirmed");
  await hand.press(page, form.getByRole("button", { name: "Set state" }));
  await form.getByText(/Set to investigating: \d+\salerts? of 1\sgroup\./).waitFor();
  /* The next change names the state that the page shows: it must have come back from the service. */
  await main(page).locator(".badge", { hasText: "investigating" }).first().waitFor();
  const accept = main(page).locator(".accept");
  await hand.type(page, accept.getByLabel("Why the new level is right"), "the conversion is needed");
  await hand.press(page, accept.getByRole("button", { name: "Accept new level" }));
  await accept.getByText("the level is accepted already").waitFor();
  await look("accepted");
}

async function walk(page, hand, facts) {
  /* The same document is there for each hand and, but for its colours, in each theme. */
  const rules = facts.theme === "light" ? undefined : COLOURS;
  const look = async (name) => {
    await settled(page);
    await page.evaluate(() => window.scrollTo(0, 0)); /* the header covers nothing on the picture */
    assert.equal(await main(page).locator(".failed").count(), 0, `${name} shows a failure`);
    assert.deepEqual(await overflow(page), [], `${name} scrolls sideways`);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), facts.theme);
    if (facts.hand === "pointer") assert.deepEqual(await violations(page, rules), [], name);
    await shoot(page, `walk-${facts.width}-${facts.theme}-${facts.hand}-${name}`);
  };
  await page.goto(`${url}?project=${project}`);
  await settled(page);
  await signIn(page, hand);
  await hand.list(page);
  await opened(page, "/alerts");
  await hand.press(page, main(page).locator(`table.groups a[href="/groups/${facts.group}"]`).first());
  await opened(page, `/groups/${facts.group}`);
  await map_and_compare(page, hand, look, facts);
  await bisect(page, hand, look);
  await triage_and_accept(page, hand, look, facts);
}

const browser = await startBrowser();
try {
  for (const w of walks) {
    const view = await openPage(browser, { height: 800, clock: null, width: w.width, theme: w.theme });
    const begun = Date.now();
    try {
      await walk(view.page, { pointer, keys }[w.hand], w);
      assert.deepEqual(view.faults, []);
      console.log(`walked by ${w.hand}, ${w.theme}, ${w.width} px: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
    } catch (error) {
      error.message = `${w.hand}, ${w.theme}, ${w.width} px: ${error.message}`;
      throw error;
    } finally {
      await view.close();
    }
  }
} finally {
  await browser.close();
}
console.log("ok");
