// A headless Chromium that reports everything that goes wrong in a page.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const modules = process.env.PERFCI_WEB_MODULES;
if (!modules) throw new Error("PERFCI_WEB_MODULES names no folder: run this through ctest");
const require = createRequire(join(modules, "any.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const shots = process.env.PERFCI_WEB_SHOTS ?? "";
if (shots) mkdirSync(shots, { recursive: true });

export const WAIT_MS = Number(process.env.PERFCI_WEB_WAIT_MS ?? 240_000); /* a deadline for a busy machine, not an expectation */

/** A few minutes after the newest fixture, so that ages read the same on every day. */
const NOW = new Date("2026-02-27T05:40:00Z");

export async function startBrowser() {
  /* The shell first: the same engine without the browser around it, which takes a third of the processor time. */
  const executablePath = [process.env.PERFCI_CHROMIUM, "/usr/bin/chromium-headless-shell", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    .find((p) => p && existsSync(p));
  if (!executablePath) throw new Error("no Chromium on this machine: deploy/install.sh test, or PERFCI_CHROMIUM=PROGRAM");
  return chromium.launch({ executablePath, timeout: WAIT_MS, args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"] });
}

/** A page whose complaints are collected in `faults`; `allow` is a pattern of what a test provokes on purpose. */
export async function openPage(browser, { width, height = 900, theme, allow, touch = false, clock = NOW }) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale: "en-GB",
    timezoneId: "UTC", reducedMotion: "reduce", hasTouch: touch });
  const page = await context.newPage();
  page.setDefaultTimeout(WAIT_MS);
  if (clock) await page.clock.setFixedTime(clock);
  const faults = [];
  const note = (text) => { if (!allow?.test(text)) faults.push(text); };
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") note(`console ${m.type()}: ${m.text()}`); });
  page.on("pageerror", (e) => note(`page error: ${e.message}`));
  page.on("request", (r) => { if (!r.url().startsWith("http://127.0.0.1:")) note(`asks another host: ${r.url()}`); });
  return { page, faults, close: () => context.close() };
}

/** Until the page shows data, an empty state or a failure, and the fonts are there. */
export async function settled(page) {
  await page.waitForSelector("main h1, main .failed");
  await page.waitForFunction(() => !document.querySelector(".loading"));
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
}

/** Opens what is folded; parts that are loaded then are waited for. */
export async function unfold(page) {
  if (await page.locator("main details").count() === 0) return;
  for (let depth = 0; depth < 2; depth += 1) {
    await page.evaluate(() => new Promise((done) => {
      for (const details of document.querySelectorAll("main details")) details.open = true;
      requestAnimationFrame(() => requestAnimationFrame(done));
    }));
    await settled(page);
  }
}

export async function overflow(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > width + 1)
      .slice(0, 5).map((e) => `${e.tagName}.${e.className?.baseVal ?? e.className}`);
  });
}

/** Words of two elements without a space between them: "gemmWhat limits it?". */
export async function glued(page) {
  return page.evaluate(() => {
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const at = (node, place) => {
      const range = document.createRange();
      range.setStart(node, place);
      range.setEnd(node, place + 1);
      return range.getBoundingClientRect();
    };
    const unseen = [...document.querySelectorAll("main *")].filter((e) => getComputedStyle(e).clipPath !== "none"); /* for screen readers alone */
    const ends = [], begins = [];
    while (texts.nextNode()) {
      const node = texts.currentNode;
      const element = node.parentElement;
      if (!element.checkVisibility() || unseen.some((e) => e.contains(element))) continue; /* the first: in a closed <details> */
      if (/[\p{L}\p{N}]$/u.test(node.data)) ends.push({ node, box: at(node, node.data.length - 1) });
      if (/^[\p{L}\p{N}]/u.test(node.data)) begins.push({ node, box: at(node, 0) });
    }
    const found = [];
    const byRight = Map.groupBy(ends.filter((e) => e.box.width > 0), (e) => Math.round(e.box.right));
    for (const { node, box } of begins.filter((e) => e.box.width > 0))
      for (const x of [-1, 0, 1])
        for (const e of byRight.get(Math.round(box.left) + x) ?? [])
          if (e.node.parentElement !== node.parentElement && Math.abs(box.left - e.box.right) < 1 && Math.abs(box.bottom - e.box.bottom) < box.height / 2)
            found.push(`${e.node.data.slice(-20)}|${node.data.slice(0, 20)}`);
    return found.slice(0, 5);
  });
}

const EVERYTHING = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] };
/** The rules whose outcome depends on colours. */
export const COLOURS = { type: "rule", values: ["color-contrast", "link-in-text-block"] };
/** The rule that reads the style sheet, which all pages share: it costs a request for each. */
export const ORIENTATION = { type: "rule", values: ["css-orientation-lock"] };

/** Violations of WCAG 2.2 A and AA. Evaluated, not added as a script, because the page's policy rightly refuses those. */
export async function violations(page, rules = EVERYTHING) {
  if (!await page.evaluate(() => "axe" in window)) await page.evaluate(axe);
  return page.evaluate(async ([runOnly, preload]) => {
    /* The selectors of all elements that pass take half of the time: they are made when there is a violation. */
    const run = (more) => window.axe.run(document, { runOnly, preload, resultTypes: ["violations"], ...more });
    const { violations: found } = await run({ selectors: false });
    return (found.length === 0 ? [] : (await run({})).violations)
      .map((v) => `${v.id}: ${v.help} (${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join("; ")})`);
  }, [rules, rules === ORIENTATION]);
}

export async function shoot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}
