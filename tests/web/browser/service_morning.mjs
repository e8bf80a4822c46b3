// A morning on the real service: overview, group, heat map, comparison, triage. Arguments: the service's URL, a JSON file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { COLOURS, openPage, overflow, settled, shoot, startBrowser, violations } from "./browser.mjs";
import { until } from "./walks.mjs";

const [url, file] = process.argv.slice(2);
assert.ok(url && file, "expected the service's URL and a file of facts");
const { project, groups, token, before, after, subjects } = JSON.parse(readFileSync(file, "utf8"));
const q = `?project=${project}`;
const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ").replace(/\u2212/g, "-");
const browser = await startBrowser();

async function withView(options, body) {
  const view = await openPage(browser, { height: 800, clock: null, ...options });
  try {
    await body(view.page);
    assert.deepEqual(view.faults, []);
  } finally {
    await view.close();
  }
}

async function look(page, name, rules) {
  await settled(page);
  assert.equal(await page.locator("main .failed").count(), 0, `${name} shows a failure`);
  assert.deepEqual(await overflow(page), [], `${name} scrolls sideways`);
  assert.deepEqual(await violations(page, rules), [], name);
  await shoot(page, `morning-${name}`);
}

async function signIn(page) {
  await page.locator("header .account summary").click();
  await page.locator("header .account").getByLabel("Token").fill(token);
  await page.locator("header .account").getByRole("button", { name: "Sign in" }).click();
  await page.locator("header .account").getByText("Signed in", { exact: true }).waitFor({ state: "attached" });
}

const bar = (page) => page.locator(".action-bar");
const select = (page, id) => page.getByRole("checkbox", { name: `Select group ${id}` });

/* With a pointer: from the overview to the group, its series and its comparison, then triage. */
async function by_pointer(page) {
  await page.goto(url + q);
  await settled(page);
  await page.getByRole("link", { name: /20 of 100 gemm series: dtype=bf16 and k >= 4096/ }).click();
  await until(page, (id) => location.pathname === `/groups/${id}`, groups.gemm);
  await page.getByRole("heading", { level: 1, name: /20 of 100 gemm series/ }).waitFor();
  for (const part of [page.locator(".levels-change").first(), page.locator(".cause-subject").filter({ hasText: subjects.gemm }), page.getByRole("button", { name: "Set state" })]) {
    const box = await part.boundingBox();
    assert.ok(box && box.y >= 0 && box.y + box.height <= 800, `${JSON.stringify(box)} is not on the first screen`);
  }
  await look(page, "group");
  await signIn(page);
  const order = page.locator(".measure-order").filter({ has: page.getByRole("button", { name: "Run bisection" }) });
  await order.filter({ hasText: /About \d+ runs?/ }).waitFor(); /* the service's estimate; without a runner nothing starts */
  assert.equal(await order.getByRole("button").getAttribute("aria-disabled"), "true");

  await page.goto(`${url}/p/${project}/heatmap?a=${before}&b=${after}`);
  await settled(page);
  const cell = page.getByRole("link", { name: /k=8192 m=512 n=512, bf16: \+[78]\.\d.%, worse/ });
  await cell.waitFor();
  await look(page, "heatmap");
  await cell.click();
  await until(page, () => location.pathname.startsWith("/series/"));
  await page.goto(`${url}/compare${q}&a=${before}&b=${after}`);
  await settled(page);
  assert.match(plain(await page.locator(".verdict").innerText()), /20 regressions/);

  /* Two causes get a state and an owner; one of them is split and merged again. */
  await page.goto(`${url}/alerts${q}`);
  await settled(page);
  await select(page, groups.gemm).check();
  await bar(page).getByLabel("Reason").fill("the scale in the loop");
  await bar(page).getByRole("button", { name: "Set state" }).click();
  await page.getByText("Set to acknowledged: 20 alerts of 1 group.").waitFor();
  await select(page, groups.gemm).check();
  await bar(page).getByLabel("Assignee").fill("Mara");
  await bar(page).getByRole("button", { name: "Assign" }).click();
  await page.getByText("Assigned to Mara: 20 alerts of 1 group.").waitFor();
  await look(page, "triaged");
  await page.goto(`${url}/alerts${q}&assignee=Mara`);
  await settled(page);
  assert.equal(await page.locator("table.groups tbody tr").count(), 1);
  await page.goto(`${url}/groups/${groups.gemm}`);
  await settled(page);
  const rows = page.getByRole("checkbox", { name: /^Select alert/ });
  await rows.nth(18).check();
  await rows.nth(19).check();
  await page.getByRole("button", { name: "Split off 2 alerts" }).click();
  await until(page, (id) => location.pathname !== `/groups/${id}`, groups.gemm);
  await page.getByRole("heading", { level: 2, name: "2 alerts" }).waitFor();
  const made = await page.evaluate(() => location.pathname.split("/").pop());
  await page.goto(`${url}/alerts${q}`);
  await settled(page);
  await select(page, groups.gemm).check();
  await select(page, made).check();
  await bar(page).getByRole("button", { name: `Merge into group ${groups.gemm}` }).click();
  await select(page, made).waitFor({ state: "detached" });

  await page.goto(`${url}/groups/${groups.attention}`);
  await settled(page);
  await page.locator(".accept").getByLabel("Why the new level is right").fill("an agreed cost");
  await page.locator(".accept").getByRole("button", { name: "Accept new level" }).click();
  await page.locator(".accept .action-why").getByText("the level is accepted already").waitFor();
  await page.goto(`${url}/alerts${q}`);
  await settled(page);
  assert.equal(await select(page, groups.attention).count(), 0);
  await page.getByRole("button", { name: "Improvements" }).click();
  await page.getByText(subjects.rmsnorm).waitFor();
  await page.getByRole("button", { name: "Recoveries" }).click();
  await page.locator("table.groups .badge").getByText("verified fixed").first().waitFor();
}

/* With keys alone: to the list, to the row, and a state for it. */
async function by_keys(page) {
  await page.goto(url + q);
  await settled(page);
  await signIn(page);
  await page.locator("main h1").focus();
  await page.keyboard.press("g");
  await page.keyboard.press("a");
  await select(page, groups.softmax).waitFor();
  const here = () => page.evaluate(() => document.activeElement?.closest("tr")?.querySelector("input[type=checkbox]")?.getAttribute("aria-label") ?? "");
  for (let presses = 0; presses < 5 && await here() !== `Select group ${groups.softmax}`; presses += 1) await page.keyboard.press("j");
  await page.keyboard.press("x");
  assert.equal(await select(page, groups.softmax).isChecked(), true);
  await page.keyboard.press("Enter");
  await until(page, (id) => location.pathname === `/groups/${id}`, groups.softmax);
  await page.getByRole("heading", { level: 1, name: /1 benchmark broken/ }).waitFor();
  await look(page, "broken-keys");
  const name = () => page.evaluate(() => document.activeElement?.closest("label")?.innerText ?? document.activeElement?.textContent ?? "");
  const reach = async (text) => {
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press("Tab");
      if ((await name()).trim().startsWith(text)) return;
    }
    assert.fail(`no ${text} by Tab`);
  };
  await page.locator("main h1").focus();
  await reach("State");
  await page.keyboard.press("ArrowDown"); /* the state after acknowledged */
  await reach("Reason");
  await page.keyboard.type("gjx");
  await page.keyboard.press("Enter");
  await page.getByText("Set to investigating: 1 alert of 1 group.").waitFor();
}

try {
  await withView({ width: 1280, theme: "light" }, by_pointer);
  await withView({ width: 1024, theme: "dark" }, by_keys);
  await withView({ width: 390, theme: "dark" }, async (page) => {
    for (const [name, path] of [["overview", `/${q}`], ["groups", `/alerts${q}&state=all`], ["group", `/groups/${groups.gemm}`], ["improvements", `/alerts${q}&direction=improvement`],
      ["single", `/alerts${q}&view=alerts`], ["series", `/p/${project}/series`], ["jobs", `/jobs${q}`]]) {
      await page.goto(url + path);
      await look(page, `${name}-390`, name === "group" ? undefined : COLOURS);
    }
  });
} finally {
  await browser.close();
}
console.log("ok");
