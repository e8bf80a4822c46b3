// Figures of the dashboard on a running service: node measure.mjs URL PROJECT BUNDLE.txt
//
// Prints a Markdown table. Times are medians of 5 loads (LOADS), from the navigation or the click to the frame in which the chart
// was drawn (performance marks of the pages). "processor": what the page's own thread has used by then, which a loaded machine
// lengthens less than the time. The server keeps answers: those "not kept" are asked for with other columns each time, so restart
// the server before a second measurement. Needs PERFCI_WEB_MODULES, the folder with playwright-core.
import { existsSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [url, project, bundle] = process.argv.slice(2);
if (!url || !project || !bundle || !process.env.PERFCI_WEB_MODULES) {
  console.error("usage: PERFCI_WEB_MODULES=DIR node measure.mjs URL PROJECT BUNDLE.txt");
  process.exit(2);
}
const { chromium } = createRequire(join(resolve(process.env.PERFCI_WEB_MODULES), "any.js"))("playwright-core");
const executablePath = [process.env.PERFCI_CHROMIUM, "/usr/bin/chromium", "/usr/bin/google-chrome"].find((p) => p && existsSync(p));
const LOADS = Number(process.env.LOADS ?? 5);
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const rows = [];
const row = (what, value, target) => {
  console.error(`${what}: ${value}`);
  rows.push(`| ${what} | ${value} | ${target} |`);
};

const browser = await chromium.launch({ executablePath, args: ["--headless", "--no-sandbox", "--disable-dev-shm-usage"] });
const open = async (width = 1280) => (await browser.newContext({ viewport: { width, height: 800 } })).newPage();
/* Milliseconds of processor time of the page's thread since the call. */
async function processor(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const now = async () => 1000 * (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
  const begin = await now();
  return async () => (await now()) - begin;
}
const marked = (page, name) => page.waitForFunction((n) => performance.getEntriesByName(n).length > 0, name, { timeout: 120_000 });

/* From the navigation of a fresh page. */
async function loadTimes(path, mark) {
  const all = [];
  for (let i = 0; i < LOADS; i++) {
    const page = await open();
    await page.goto(url + path);
    await marked(page, mark);
    all.push(await page.evaluate((n) => performance.getEntriesByName(n)[0].startTime, mark));
    await page.context().close();
  }
  return median(all);
}

/* From a click on an entry of the navigation, in a page that is open. fresh: a question that the server has not been asked. */
async function clickTimes(entry, mark, fresh = false) {
  const all = [], own = [];
  for (let i = 0; i < LOADS; i++) {
    const page = await open(fresh ? 1330 + 50 * i : 1280);
    await page.goto(`${url}/p/${project}/series`);
    await page.waitForSelector("tbody tr");
    await page.evaluate(() => addEventListener("click", () => performance.mark("clicked"), { capture: true, once: true }));
    const used = await processor(page);
    await page.getByRole("link", { name: entry, exact: true }).click();
    await marked(page, mark);
    own.push(await used());
    all.push(await page.evaluate((n) => performance.getEntriesByName(n)[0].startTime - performance.getEntriesByName("clicked")[0].startTime, mark));
    await page.context().close();
  }
  return `${median(all).toFixed(0)} ms (processor ${median(own).toFixed(0)} ms)`;
}

/* Frames a second while the wheel zooms in and out, or the pointer drags. */
async function frames(act) {
  const page = await open();
  await page.goto(`${url}/p/${project}/plot?drag=pan`);
  await marked(page, "plot-drawn");
  const box = await page.locator(".panel-box canvas").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.keyboard.down("Control");
  for (let i = 0; i < 4; i++) await page.mouse.wheel(0, -120);
  await page.keyboard.up("Control");
  await page.evaluate(() => {
    window.__count = 0;
    const tick = () => { window.__frames = requestAnimationFrame(tick); };
    tick();
    performance.clearMarks("plot-drawn");
  });
  const used = await processor(page);
  const begin = performance.now();
  await act(page, box);
  const seconds = (performance.now() - begin) / 1000;
  const drawn = await page.evaluate(() => performance.getEntriesByName("plot-drawn").length);
  const own = (await used()) / drawn;
  await page.context().close();
  return `${(drawn / seconds).toFixed(0)} (processor ${own.toFixed(1)} ms each)`;
}

const reply = await (await fetch(`${url}/api/v1/projects/${project}/plot?points=1300`)).json();
const points = reply.lines.reduce((sum, l) => sum + l.points, 0);
const size = `${reply.lines.length} series, ${points.toLocaleString("en")} points`;

row(`plot, ${size}: drawn after the navigation`, `${(await loadTimes(`/p/${project}/plot`, "plot-drawn")).toFixed(0)} ms`, "< 1,000 ms");
row(`plot, ${size}: drawn after the click`, await clickTimes("Plot", "plot-drawn"), "< 300 ms");
row("likewise, an answer that is not kept", await clickTimes("Plot", "plot-drawn", true), "");
for (const fresh of [true, false]) {
  const server = [];
  for (let i = 0; i < LOADS; i++) {
    const at = performance.now();
    await (await fetch(`${url}/api/v1/projects/${project}/plot?points=1300&format=arrays&cells=${fresh ? 130001 + i : 130000}`)).arrayBuffer();
    server.push(performance.now() - at);
  }
  row(fresh ? "the request alone, not kept" : "the request alone, kept", `${median(server).toFixed(0)} ms`, "");
}
/* The same drawing without the server and the network: the page's own work for one frame. */
{
  const page = await open();
  await page.goto(`${url}/p/${project}/plot`);
  await marked(page, "plot-drawn");
  const own = [];
  for (let i = 0; i < LOADS; i++) {
    own.push(await page.evaluate(() => new Promise((done) => {
      performance.clearMarks("plot-drawn");
      const at = performance.now();
      const axes = [...document.querySelectorAll(".choice button")].filter((b) => ["Log", "Linear"].includes(b.textContent));
      axes.find((b) => b.getAttribute("aria-pressed") !== "true").click();
      const wait = () => { const m = performance.getEntriesByName("plot-drawn"); if (m.length) done(m[0].startTime - at); else requestAnimationFrame(wait); };
      requestAnimationFrame(wait);
    })));
  }
  row(`plot, ${size}: drawn again with another axis`, `${median(own).toFixed(0)} ms`, "");
  await page.context().close();
}
row("plot: charts drawn a second while panning", await frames(async (page, box) => {
  await page.mouse.down();
  for (let i = 0; i < 60; i++) await page.mouse.move(box.x + box.width / 2 + 100 * Math.sin(i / 6), box.y + box.height / 2);
  await page.mouse.up();
}), ">= 30");
row("plot: charts drawn a second while zooming", await frames(async (page) => {
  await page.keyboard.down("Control");
  for (let i = 0; i < 60; i++) await page.mouse.wheel(0, i % 20 < 10 ? -30 : 30);
  await page.keyboard.up("Control");
}), ">= 30");
row("heat map: cells drawn after the click", await clickTimes("Heat map", "heat-drawn"), "");

/* 5,000 cells, from an answer that is put in the place of the server's. */
{
  const cells = Array.from({ length: 5000 }, (_, i) => ({ benchmark: `gemm/t${i % 50}/k${Math.floor(i / 50)}`, backend: "cpu", params: { dtype: `t${i % 50}`, k: String(Math.floor(i / 50)) } }));
  const all = [];
  for (let i = 0; i < LOADS; i++) {
    const page = await open();
    await page.route("**/coverage?**", (r) => r.fulfill({ json: { rows: cells.map((c, n) => ({ ...c, series_id: n + 1, machine_class: "m", cells: "x", missing: 0 })), next_cursor: null } }));
    await page.route("**/compare?**", (r) => r.fulfill({ json: { a: { commit: "a".repeat(40), runs: [1] }, b: { commit: "b".repeat(40), runs: [2] }, margin_rel: 0.01,
      rows: cells.map((c, n) => ({ ...c, series_id: n + 1, metric: "time_ns", unit: "ns", direction: "lower", rel_change: (n % 40 - 20) / 100, verdict: ["regression", "same", "improvement"][n % 3] })),
      only_a: [], only_b: [], summary: { regression: 0, improvement: 0, same: 0, inconclusive: 0, broken: 0 } } }));
    await page.goto(`${url}/p/${project}/heatmap?row=k&column=dtype`);
    await page.waitForSelector("td.heat-worse");
    /* rows and columns change places: all cells are made again, and laid out */
    all.push(await page.evaluate(() => new Promise((done) => {
      const [rows] = [...document.querySelectorAll("label.field select")].slice(2);
      rows.value = "benchmark";
      rows.dispatchEvent(new Event("change", { bubbles: true }));
      const back = () => {
        rows.value = "k";
        const again = performance.now();
        rows.dispatchEvent(new Event("change", { bubbles: true }));
        requestAnimationFrame(() => requestAnimationFrame(() => { document.body.getBoundingClientRect(); done(performance.now() - again); }));
      };
      requestAnimationFrame(() => requestAnimationFrame(back));
    })));
    await page.context().close();
  }
  row("heat map, 5,000 cells: made and laid out", `${median(all).toFixed(0)} ms`, "< 200 ms");
}

/* The overview's largest contentful paint. */
{
  const all = [];
  for (let i = 0; i < LOADS; i++) {
    const page = await open();
    await page.goto(`${url}/?project=${project}`);
    await page.waitForSelector("main h1");
    await page.waitForTimeout(1500);
    all.push(await page.evaluate(() => new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime)).observe({ type: "largest-contentful-paint", buffered: true }))));
    await page.context().close();
  }
  row("overview: largest contentful paint", `${median(all).toFixed(0)} ms`, "< 500 ms");
}
await browser.close();
row("processor; load average", `${cpus()[0].model}, ${cpus().length} cores; ${loadavg()[0].toFixed(1)}`, "");
row("JavaScript and CSS of the first page, gzip", `${(Number(/first page: (\d+)/.exec(readFileSync(bundle, "utf8"))?.[1]) / 1000).toFixed(1)} kB`, "<= 100 kB");
console.log(`| figure | measured | target |\n|---|---|---|\n${rows.join("\n")}`);
