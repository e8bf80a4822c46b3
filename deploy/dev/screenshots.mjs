// The screenshots of the documentation: screenshots.mjs DASHBOARD COMMIT FOLDER (called by screenshots.sh).
import { createRequire } from "node:module";
import { join } from "node:path";

const [dashboard, commit, folder] = process.argv.slice(2);
const require = createRequire(join(process.env.PERFCI_WEB_MODULES, "any.js"));
const { chromium } = require("playwright-core");
const base = new URL(dashboard);
const project = base.searchParams.get("project");

const browser = await chromium.launch({ executablePath: process.env.PERFCI_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"] });

/** Waits until the page shows its data, as the tests of the pages do, then writes NAME.png. */
async function shoot(name, path, { theme = "light", wait } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: theme,
    reducedMotion: "reduce", timezoneId: "UTC", locale: "en-GB" });
  const page = await context.newPage();
  await page.goto(new URL(path, base).href);
  await page.waitForSelector("main h1, main .failed");
  await page.waitForFunction(() => !document.querySelector(".loading"));
  if (wait) await page.waitForSelector(wait);
  if (await page.$("main .failed")) throw new Error(`${path}: ${await page.textContent("main .failed")}`);
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
  console.log(`${name}.png: ${path}`);
}

async function api(path) {
  const answer = await fetch(new URL(`/api/v1${path}`, base));
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const q = `?project=${encodeURIComponent(project)}`;
const { alerts } = await api(`/alerts${q}`);
const alert = alerts.find((a) => a.suspect?.commit === commit || a.culprit === commit) ?? alerts[0];
if (!alert) throw new Error(`project ${project} has no alert: the demonstration did not find its slowdown`);
const { bisections } = await api(`/bisections${q}`);

await shoot("overview", `/${q}`);
await shoot("series", `/series/${alert.series_id}${q}`, { wait: "canvas, svg" });
await shoot("alert", `/alerts/${alert.id}${q}`);
await shoot("commit", `/p/${encodeURIComponent(project)}/commit/${commit}`);
if (bisections[0]) await shoot("bisection", `/bisections/${bisections[0].id}${q}`);
await browser.close();
