// The pages of a night on the real service. Arguments: the service's URL, a JSON file with what its API answers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { openPage, overflow, settled, shoot, startBrowser, violations } from "./browser.mjs";

const [url, file] = process.argv.slice(2);
assert.ok(url && file, "expected the service's URL and a file of answers");
const { project, night, series, commit, alert, reason, blocks } = JSON.parse(readFileSync(file, "utf8"));
const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ").replace(/\u2212/g, "-");
const short = (id) => id.slice(0, 10);
/* One decimal; below 0.1 % one digit that counts. */
const percent = (rel) => `${rel < 0 ? "-" : "+"}${Math.abs(rel) < 0.001 ? (Math.abs(rel) * 100).toPrecision(1) : (Math.abs(rel) * 100).toFixed(1)} %`;
const own = (verdict) => night.commits.filter((c) => c.verdict === verdict);
const has = (text, ...facts) => { for (const fact of facts) assert.ok(text.includes(fact), `expected "${fact}" in:\n${text}`); };

const browser = await startBrowser();
try {
  for (const [width, theme] of [[1280, "light"], [390, "dark"]]) {
    const view = await openPage(browser, { width, theme, clock: null });
    const { page } = view;
    const go = async (path, name) => {
      await page.goto(url + path);
      await settled(page);
      assert.equal(await page.locator("main .failed").count(), 0, `${path} shows a failure`);
      assert.deepEqual(await overflow(page), [], `${path} scrolls sideways`);
      assert.deepEqual(await violations(page), [], path);
      await shoot(page, `service-${name}-${width}`);
      return plain(await page.locator("main").innerText());
    };
    const rowOf = async (table, id) => plain(await page.getByRole("table", { name: table }).getByRole("row").filter({ has: page.getByText(short(id), { exact: true }) }).first().innerText());

    has(await go(`/p/${project}/nights`, "nights"), "bench-1", "1 slower", "1 faster", "1 undecided", "1 broken", "25 of 30 minutes");
    const text = await go(`/p/${project}/nights/${night.id}`, "night");
    const within = `${(Math.max(...own("same").map((c) => c.within)) * 100).toFixed(1)} %`;
    const needs = own("undecided")[0].needs_s;
    const open = needs ? `1 undecided (needs ${Math.ceil(needs / 60)} minutes)` : "1 undecided";
    has(text, `7 new commits: 1 slower, 1 faster, 1 broken, ${open}, 1 same (within ${within}), 1 identical, 1 not measured.`, night.note, reason);
    for (const c of night.commits) {
      const row = await rowOf("New commits with their verdicts, in the order of history", c.commit);
      has(row, c.verdict.replace("_", " "), ...(c.worst ? [percent(c.worst.rel_change), c.worst.benchmark] : []), ...(c.reason ? [c.reason] : []));
    }
    /* Boundaries of the slower commit, by the link of its row. */
    const slower = own("slower")[0];
    await page.getByRole("link", { name: `1 of 2 series changed at ${short(slower.commit)}` }).click();
    const table = page.getByRole("table", { name: new RegExp(`^Series at ${short(slower.commit)}`) });
    await table.waitFor();
    for (const s of night.series) {
      const b = s.boundaries.find((o) => o.commit === slower.commit);
      const row = plain(await table.getByRole("row").filter({ hasText: s.benchmark }).innerText());
      has(row, percent(b.rel_low), percent(b.rel_high), String(b.rounds), { regression: "slower", improvement: "faster" }[b.verdict] ?? b.verdict);
    }
    await page.getByText("Order of the visits").click();
    await page.locator(".blocks").waitFor();
    assert.equal(await page.locator(".blocks .visit").count(), blocks);
    await shoot(page, `service-night-open-${width}`);

    /* The same in the series, on the commit, and on the overview. */
    const c = series.columns;
    const at = c.commit.indexOf(slower.commit);
    const card = await go(`/series/${series.series.id}?show=ratio&at=${slower.commit.slice(0, 12)}`, "series");
    has(card, `ratio to the anchor ${short(series.series.anchor)}`, `${c.ratio[at].toFixed(4)} (${c.ratio_low[at].toFixed(4)} to ${c.ratio_high[at].toFixed(4)})`, `block evidence, night ${night.id.slice(0, 8)}`);
    for (const change of series.changes) if (change.why_no_alert) has(card, `none: ${change.why_no_alert.sentence}`);
    const here = await go(`/p/${project}/commit/${slower.commit}`, "commit");
    has(here, "Measured in the night of ", `on bench-1: slower (${percent(slower.worst.rel_change)} ${slower.worst.benchmark})`);
    for (const change of commit.changes) has(here, change.alert_id === null ? `none: ${change.why_no_alert.sentence}` : `#${change.alert_id}`);
    const shown = await go(`/alerts/${alert.id}`, "alert");
    const b = alert.blocks;
    has(shown, "both sides were measured together", `night ${night.id.slice(0, 8)}`, short(b.against), String(b.rounds), `${percent(b.rel_low)} to ${percent(b.rel_high)}`);
    await go(`/alerts?project=${project}`, "alerts");
    has(await go(`/?project=${project}`, "overview"), "Last night", "7 new commits: 1 slower");
    assert.equal(await page.locator("main b b").count(), 0);
    assert.deepEqual(view.faults, []);
    await view.close();
  }
} finally {
  await browser.close();
}
