// Every page in light and dark, wide and narrow: no console error, no sideways scrolling, no accessibility violation;
// then the ways through them that people take. Without PERFCI_TESTS_LONG=1, "--pages" shows each size in one theme, and
// "--walks" takes those of suite_walks.mjs.
import assert from "node:assert/strict";
import { COLOURS, ORIENTATION, glued, openPage, overflow, settled, shoot, startBrowser, unfold, violations } from "./browser.mjs";
import { actionWalks } from "./action_walks.mjs";
import { compareWalks } from "./compare_walks.mjs";
import { coverageWalks } from "./coverage_walks.mjs";
import { filterWalks } from "./filter_walks.mjs";
import { gestureWalks } from "./gesture_walks.mjs";
import { groupWalks } from "./group_walks.mjs";
import { keyWalks } from "./key_walks.mjs";
import { nightWalks } from "./night_walks.mjs";
import { PAGES } from "./page_list.mjs";
import { paletteWalks } from "./palette_walks.mjs";
import { plainWalks } from "./plain_walks.mjs";
import { plotWalks } from "./plot_walks.mjs";
import { replayWalks } from "./replay_walks.mjs";
import { rooflineWalks } from "./roofline_walks.mjs";
import { textWalks } from "./text_walks.mjs";
import { traceWalks } from "./trace_walks.mjs";
import { ruleWalks } from "./rule_walks.mjs";
import { settingsWalks } from "./settings_walks.mjs";
import { SUITE_WALKS } from "./suite_walks.mjs";
import { walks } from "./walks.mjs";
import { startMock } from "./mock.mjs";

const dist = process.env.PERFCI_WEB_DIST;
assert.ok(dist, "PERFCI_WEB_DIST names no bundle: run this through ctest");
/* "--pages": every page; "--walks": the ways; else a pattern of names, which may be of both. */
const part = /^--(pages|walks)$/.test(process.argv[2] ?? "") ? process.argv[2] : "";
const only = part ? "" : process.argv[2] ?? "";
const whole = !part || process.env.PERFCI_TESTS_LONG === "1";

const state = { patches: [] };
const mock = await startMock(dist, state);
const browser = await startBrowser();
let failed = 0;
let passed = 0;
async function check(name, body) {
  if (only && !new RegExp(only).test(name)) return;
  const begin = performance.now();
  const took = () => `${((performance.now() - begin) / 1000).toFixed(1)} s`;
  try {
    await body();
    passed++;
    console.log(`ok   ${name} (${took()})`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name} (${took()})\n     ${String(error?.stack ?? error).replace(/\n/g, "\n     ")}`);
  }
}

async function load(view, path) {
  await view.page.goto(mock.url + path);
  await settled(view.page);
}

async function look(view, name, rules) {
  await shoot(view.page, name);
  assert.deepEqual(await overflow(view.page), [], "scrolls sideways");
  assert.deepEqual(await glued(view.page), [], "words without a space between them");
  assert.deepEqual(await violations(view.page, rules), []);
  assert.deepEqual(view.faults, []);
}

async function visit(view, path, name) {
  await load(view, path);
  await look(view, name);
}

try {
  // Each page is loaded once, wide or narrow and in one theme, and then resized and switched to the other as a person would:
  // for a theme the document is the same, and only its colours are examined again. The second size shows what is folded, too.
  const sizes = [[1280, "light", "dark"], [390, "dark", "light"]];
  const view = part === "--walks" ? null : await openPage(browser, { width: 1280, theme: "light" });
  let loaded = "";
  for (const [n, [name, path]] of Object.entries(view ? PAGES : {}).entries()) {
    for (const [m, [width, ...themes]] of (n % 2 ? [...sizes].reverse() : sizes).entries()) {
      await check(`${name} ${themes[0]} ${width}`, async () => {
        view.faults.length = 0;
        await view.page.setViewportSize({ width, height: 900 });
        await view.page.emulateMedia({ colorScheme: themes[0] });
        if (loaded !== path) await load(view, path);
        loaded = path;
        await view.page.waitForFunction(([w, theme]) => innerWidth === w && document.documentElement.dataset.theme === theme, [width, themes[0]]);
        await view.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        if (m === 1) await unfold(view.page);
        await look(view, `${name}-${themes[0]}-${width}`);
      });
      if (whole) await check(`${name} ${themes[1]} ${width}`, async () => {
        view.faults.length = 0;
        await view.page.emulateMedia({ colorScheme: themes[1] });
        await view.page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, themes[1]);
        await look(view, `${name}-${themes[1]}-${width}`, COLOURS);
      });
    }
  }
  if (view) await check("the style sheet locks no orientation", async () => assert.deepEqual(await violations(view.page, ORIENTATION), []));
  await view?.close();
  const all = { ...walks, ...plainWalks, ...nightWalks, ...plotWalks, ...compareWalks, ...ruleWalks, ...coverageWalks, ...settingsWalks, ...groupWalks, ...actionWalks, ...keyWalks, ...gestureWalks, ...paletteWalks, ...replayWalks, ...filterWalks, ...rooflineWalks, ...traceWalks, ...textWalks };
  for (const name of SUITE_WALKS) assert.ok(name in all, `suite_walks.mjs: no walk is named ${name}`);
  for (const [name, walk] of Object.entries(part === "--pages" ? {} : all)) {
    if (!whole && !SUITE_WALKS.has(name)) continue;
    await check(name, async () => {
      for (const key of Object.keys(state)) delete state[key];
      state.patches = [];
      await walk({ browser, mock, state, visit });
    });
  }
} finally {
  await browser.close();
  await mock.close();
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
