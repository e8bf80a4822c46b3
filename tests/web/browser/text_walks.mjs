// Text from outside on every page: names of 200 bytes, markup, control characters, overrides of direction and right-to-left
// letters in every member of every answer whose form the service does not fix.
import assert from "node:assert/strict";
import { COLOURS, overflow, settled, shoot, unfold, violations } from "./browser.mjs";
import { PAGES } from "./page_list.mjs";
import { signIn } from "./settings_walks.mjs";
import { until, wide, withPage } from "./walks.mjs";

/* Members with values of the service's own: states, kinds, units of a scale, columns in base64. */
const OWN = new Set(["state", "direction", "kind", "verdict", "status", "better", "broken", "code", "evidence", "basis", "method", "mode", "moved", "new_since", "view",
  "test", "statistic", "source", "scopes", "limited_by", "project", "median", "low", "high", "cells", "cron", "zone", "first", "second", "forge", "month"]);
/* Ids, times and numbers, and names that the pages treat as their own. */
const FORM = /^([0-9a-f]{8,64}|\d{4}-\d{2}-\d{2}.*|-?[\d.]*|headline|canary|kernels|llm-runtime|bad)$/;

/* Unbroken and of 200 bytes; the old text stays in front, because mock and pages choose by it. */
const EVIL = "\u202egnp.exe\u0007<img/src=x/onerror=document.title='broken'>\u2066\u05d0\u05d1\u05d2";
const bytes = (text) => new TextEncoder().encode(text).length;
export const hostile = (text, key) => {
  if (OWN.has(key) || FORM.test(text)) return text;
  const start = text.slice(0, 60) + EVIL;
  return start + "w".repeat(Math.max(0, 200 - bytes(start)));
};
/* The rules whose outcome depends on the length or the letters of a text; pages.mjs has the others, on the same pages. */
const OF_TEXT = { type: "rule", values: [...COLOURS.values, "target-size", "scrollable-region-focusable", "label-content-name-mismatch", "document-title", "duplicate-id-aria"] };
/* Pages without text from outside. */
const WITHOUT = ["compare_form"];

/* In the page, before its scripts: keeps the texts of pictures. */
const keepDrawn = () => {
  window.drawn = [];
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function keep(text, ...place) {
    window.drawn.push(String(text));
    return fillText.call(this, text, ...place);
  };
};

/* In the page: what of its text is not shown as text. */
export const unsafe = (without) => {
  const found = [];
  const labels = [...document.querySelectorAll("*")].flatMap((e) => ["title", "aria-label", "placeholder", "label", "data-name"].map((name) => e.getAttribute(name) ?? ""));
  const all = [document.title, ...labels, ...(window.drawn ?? [])];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement.closest("script, style")) continue;
    all.push(node.data);
    if (/[\u0590-\u08ff]/.test(node.data) && !node.parentElement.closest("bdi, option, textarea, title, text, tspan")) found.push(`not isolated: ${node.parentElement.outerHTML.slice(0, 120)}`);
  }
  for (const text of all) if (/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(text)) found.push(`a control character in ${JSON.stringify(text.slice(0, 120))}`);
  if (!without && !all.some((text) => text.includes("[U+202E]gnp.exe\u2407<img/src=x"))) found.push("no text from outside is shown");
  if (document.querySelector("main img, main script, dialog img, dialog script")) found.push("markup became an element");
  return [...new Set(found)].slice(0, 3);
};

/* In the page: tables wider than their place, narrow name columns, rows of more than four lines. On a narrow screen a row is a
 * card, and each of its cells has so many. */
const untidy = () => {
  const found = new Map(); /* one fault of a kind and table */
  const fault = (kind, text) => { if (!found.has(kind)) found.set(kind, text); };
  const cards = innerWidth <= 760;
  for (const table of document.querySelectorAll("main table")) {
    const name = table.caption?.textContent ?? "";
    const box = table.closest(".table-box");
    if (box && box.scrollWidth > box.clientWidth + 1) fault(`${name} box`, `${name}: ${box.scrollWidth} px in ${box.clientWidth}`);
    /* Lists have an entry for each fact, which has two lines at most; they are measured, and then left out of their rows. */
    for (const entry of table.querySelectorAll("tbody li")) {
      const lines = entry.offsetHeight / parseFloat(getComputedStyle(entry).lineHeight);
      if (lines > 2.3) fault(`${name} entry`, `${name}: entry of ${lines.toFixed(1)} lines: ${entry.innerText.slice(0, 60)}`);
    }
    const lists = [...table.querySelectorAll("tbody ul")];
    for (const list of lists) list.style.display = "none";
    for (const row of table.tBodies[0]?.rows ?? []) {
      const head = row.querySelector("th") ?? row.cells[0];
      if (!head || head.offsetParent === null) continue;
      const style = getComputedStyle(head);
      const inner = head.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const ch = parseFloat(style.fontSize) * 0.6; /* of this font, rounded down */
      if (head.innerText.length > 20 && inner < 16 * ch) fault(`${name} column`, `${name}: name column ${inner.toFixed(0)} px`);
      const lines = (e, more) => (e.clientHeight - more - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom)) / parseFloat(style.lineHeight);
      if (!cards && lines(row, 0) > 4.3) fault(`${name} row`, `${name}: row of ${lines(row, 0).toFixed(1)} lines: ${row.innerText.slice(0, 60)}`);
      for (const cell of cards ? row.cells : []) {
        const label = cell.tagName === "TD" && cell.dataset.name ? 18 : 0;
        if (lines(cell, label) > 4.3) fault(`${name} ${cell.dataset.name}`, `${name}: ${cell.dataset.name ?? "head"} of ${lines(cell, label).toFixed(1)} lines: ${cell.innerText.slice(0, 60)}`);
      }
    }
    for (const list of lists) list.style.display = "";
  }
  return [...found.values()];
};

/* Shows the card of a point, where the page has such a picture. */
async function showCard(page) {
  for (const [part, key] of [[".chart[tabindex]", "End"], [".roof", "Home"], [".timeline-table .link", "Enter"], [".panels canvas", ""]]) {
    const first = page.locator(`main ${part}`).first();
    if (await first.count() === 0) continue;
    if (key) await first.press(key);
    else await first.hover();
    const card = page.locator(".point-card").first();
    await card.waitFor();
    const { x, width } = await card.boundingBox();
    return x >= 0 && x + width <= page.viewportSize().width ? [] : [`the card of a point is at ${x} px, ${width} px wide`];
  }
  return [];
}

async function resize(page, width) {
  await page.setViewportSize({ width, height: 900 });
  await until(page, (w) => innerWidth === w, width);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function recolour(page, theme) {
  await page.emulateMedia({ colorScheme: theme });
  await until(page, (name) => document.documentElement.dataset.theme === name, theme);
}

async function text_from_outside_fits_every_page_and_stays_text({ browser, mock, state }) {
  state.scopes = ["read", "ingest", "triage", "runner", "admin"];
  state.rename = hostile;
  const faults = [];
  await withPage(browser, wide, async (page) => {
    await page.addInitScript(keepDrawn);
    await page.goto(mock.url);
    await signIn(page);
    for (const [n, [name, path]] of Object.entries(PAGES).entries()) {
      const note = (list, at = "") => faults.push(...list.map((fault) => `${name}${at}: ${fault}`));
      await resize(page, 1280);
      await recolour(page, n % 2 ? "dark" : "light");
      await page.goto(mock.url + path);
      await settled(page);
      await unfold(page);
      note(await page.locator("main .failed").allInnerTexts());
      note(await showCard(page), " at 1280 px");
      note(await page.evaluate(unsafe, WITHOUT.includes(name)));
      note(await violations(page, OF_TEXT));
      for (const width of [1280, 1024, 390]) {
        if (width < 1280) await resize(page, width);
        if (width === 390) note(await showCard(page), " at 390 px");
        note((await overflow(page)).slice(0, 1).map((e) => `${e} leaves the page`), ` at ${width} px`);
        note(await page.evaluate(untidy), ` at ${width} px`);
        await shoot(page, `text-${name}-${width}`);
      }
    }
  });
  assert.ok(faults.length === 0, faults.join("\n"));
}

export const textWalks = { text_from_outside_fits_every_page_and_stays_text };
