// Nights: from the list to one night, its verdicts, its pictures, and what the address keeps.
import assert from "node:assert/strict";
import { overflow, settled, shoot, violations } from "./browser.mjs";
import { param, until, wide, withPage } from "./walks.mjs";

const NIGHT = "3f".repeat(16);
const plain = (text) => text.replace(/[\u00a0\u202f]/g, " ");
const rowOf = (page, table, commit) => page.getByRole("table", { name: table }).getByRole("row").filter({ hasText: commit });

async function a_night_says_what_every_new_commit_did({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/nights`);
    await settled(page);
    const row = plain(await rowOf(page, "Nights, newest first", "2026-02-27").innerText());
    for (const fact of [/bench-2/, /9\s+measured of 12/, /1 slower/, /1 faster/, /1 undecided/, /1 broken/, /25 of 30 minutes/]) assert.match(row, fact);
    await page.getByRole("link", { name: "2026-02-27 02:00" }).click();
    await page.getByRole("heading", { name: "Night of 2026-02-27 02:00" }).waitFor();
    await settled(page);
    assert.equal(plain(await page.locator(".standing").innerText()).trim(),
      "12 new commits: 1 slower, 1 faster, 1 broken, 1 undecided (needs 14 minutes), 6 same (within 1.1 %), 1 identical, 1 not measured.");
    assert.match(await page.getByRole("note").innerText(), /no longer builds; 1360f43c2f is measured in its place/);
    const verdicts = "New commits with their verdicts, in the order of history";
    const says = async (commit, ...facts) => {
      const text = plain(await rowOf(page, verdicts, commit).innerText());
      for (const fact of facts) assert.match(text, fact);
    };
    await says("12b7746780", /slower/, /\+4\.3 %/, /\+3\.6 % to \+4\.9 %/, /gemm\/f32\/m64n64k64/, /2 of 5/, /#31/);
    await says("a87d1919b5", /undecided \(needs 14 minutes\)/);
    await says("0a242a6a0a", /identical/, /same program as 9bcefdd0bb\s*$/);
    await says("c99d86cdd1", /broken/, /build failed: gemm\.c:41: error: expected ";"/);
    await says("23ae0cd59a", /not measured/, /the budget ended/);
    await says("0c124b44c0", /same \(within 1\.1 %\)/);
    await rowOf(page, verdicts, "12b7746780").getByRole("link", { name: "#31" }).click();
    await until(page, () => location.pathname === "/alerts/31");
  });
}

async function a_nights_series_and_commit_stay_in_the_address({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/nights/${NIGHT}`);
    await settled(page);
    /* The series with the largest change comes first. */
    await page.getByRole("img", { name: /^Ratios of 11 builds to the anchor 1360f43c2f/ }).waitFor();
    assert.match(plain(await page.locator(".ratios").textContent()), /12b7746780slower\+4\.8 %/);
    await page.locator("main .filters select").selectOption({ label: "attention_tflops \u00b7 headline \u00b7 cpu-avx2" });
    await until(page, () => /6533c7d475faster/.test(document.querySelector(".ratios").textContent));
    assert.equal(await param(page, "series"), "headline|attention_tflops|cpu-avx2");
    /* By keyboard: the link of a commit opens its boundaries. */
    await page.getByRole("link", { name: "2 of 5 series changed at 12b7746780" }).focus();
    await page.keyboard.press("Enter");
    const table = page.getByRole("table", { name: "Series at 12b7746780 against a5b72f8a3e" });
    await table.waitFor();
    await until(page, () => document.activeElement?.tagName === "SUMMARY");
    assert.equal(await param(page, "commit"), "12b774678021");
    assert.equal(await table.getByRole("row").count(), 6);
    assert.match(plain(await table.getByRole("row").nth(1).innerText()), /gemm\/f32\/m64n64k64[^]*slower[^]*\+4\.3 %/);
    await page.reload();
    await settled(page);
    await table.waitFor();
    assert.match(await page.locator(".ratios").textContent(), /6533c7d475faster/);
    await page.keyboard.press("Enter"); /* on its summary: closes it */
    await until(page, () => !new URLSearchParams(location.search).has("commit"));
  });
}

async function the_blocks_of_a_night_are_drawn_in_order({ browser, mock }) {
  for (const options of [wide, { width: 390, theme: "dark" }]) {
    await withPage(browser, options, async (page) => {
      await page.goto(`${mock.url}/p/kernels/nights/${NIGHT}`);
      await settled(page);
      await page.getByText("Order of the visits").click();
      await page.getByRole("img", { name: "138 visits in 30 blocks; each block is read from top to bottom." }).waitFor();
      const marks = await page.locator(".blocks .visit text").allTextContents();
      /* The second block of a round is the first one in reverse order. */
      assert.deepEqual(marks.slice(6, 12), marks.slice(0, 6).reverse());
      assert.ok(marks.includes("A") && marks.includes("L") && marks.includes("9"));
      await shoot(page, `walk-night-blocks-${options.width}`);
      assert.deepEqual(await overflow(page), []);
      assert.deepEqual(await violations(page), []);
    });
  }
}

async function a_series_shows_ratios_to_its_anchor({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    await page.getByText("two speeds on bench-2").waitFor();
    const ink = () => page.locator(".uplot canvas").evaluate((c) => c.toDataURL().length);
    const values = await ink();
    await page.getByRole("button", { name: "Ratio to anchor" }).click();
    await until(page, () => new URLSearchParams(location.search).get("show") === "ratio");
    await page.getByText("ratio to the anchor 1360f43c2f, whiskers").waitFor();
    assert.notEqual(await ink(), values);
    await page.locator(".chart").focus();
    await page.keyboard.press("End");
    const card = page.locator(".point-card");
    await card.getByText("block evidence, night 3f3f3f3f").waitFor();
    assert.match(plain(await card.innerText()), /0\.8588 \(0\.8552 to 0\.8623\) of the anchor 1360f43c2f; 77\.\d+ GFLOP\/s/);
    /* Two points before, the values rise and the ratios fall: the machine became faster. */
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await card.getByText("\u22122.6\u00a0% to the point before").waitFor();
    await page.reload();
    await settled(page);
    await until(page, () => document.querySelector("button[aria-pressed=true]")?.textContent === "Ratio to anchor");
    await page.getByRole("button", { name: "Values" }).click();
    await until(page, () => !new URLSearchParams(location.search).has("show"));
  });
}

async function a_change_without_an_alert_says_why({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    const changes = page.getByRole("table", { name: "Change points, newest first" });
    assert.match(await changes.getByRole("row").nth(1).innerText(), /#31/);
    assert.match(await changes.getByRole("row").nth(2).innerText(), /none: It is an improvement: improvements open no alert\./);
    await page.goto(`${mock.url}/series/101?at=f3eb639a0033`);
    await page.locator(".point-card").getByText("No alert: It is an improvement: improvements open no alert.").waitFor();
    await page.goto(`${mock.url}/p/kernels/commit/${"0".repeat(40)}`);
    await settled(page);
    const here = page.getByRole("table", { name: "Change points at this commit" });
    assert.match(await here.getByRole("row").nth(1).innerText(), /#31/);
    assert.match(await here.getByRole("row").nth(2).innerText(), /none: It was measured singly; the next night measures both sides in blocks <b>first<\/b>\./);
    await page.getByText("Measured in the night of 2026-02-26 02:00 on bench-2: same (within 0.8\u00a0%)").waitFor();
    await page.getByRole("link", { name: "night of 2026-02-26 02:00" }).click();
    await until(page, () => location.pathname === `/p/kernels/nights/${"2e".repeat(16)}`);
  });
}

async function an_alert_shows_the_blocks_behind_it({ browser, mock, state }) {
  const blocks = { kind: "blocks", session: NIGHT, against: "a5b72f8a3e90aa", commit: "12b7746780216656a2a397f4ca7b8bf76c1a0151", verdict: "different",
    rounds: 12, rel_low: -0.0414, rel_high: -0.0309, margin: 0.01, p: 2e-5, p_adjusted: 0.0021 };
  state.alert = { blocks };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const facts = plain(await page.locator(".block-evidence + .facts").innerText());
    for (const fact of [/Rounds\s+12/, /Interval\s+\u22124\.1 % to \u22123\.1 %/, /Against\s+a5b72f8a3e/, /p\s+< ?0\.0001, adjusted 0\.002/, /Margin\s+1\.0 %/]) assert.match(facts, fact);
    await shoot(page, "walk-alert-blocks");
    assert.deepEqual(await violations(page), []);
    await page.getByRole("link", { name: "night 3f3f3f3f" }).click();
    await page.getByRole("table", { name: "Series at 12b7746780 against a5b72f8a3e" }).waitFor();
  });
  state.alert = {}; /* of single measurements */
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    await page.getByText("1 other series of this benchmark became worse, too.").waitFor();
    assert.equal(await page.locator(".block-evidence").count(), 0);
  });
}

async function candidates_wait_for_the_next_night({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    const table = page.getByRole("table", { name: "Changes that wait for the next night, largest first" });
    await table.waitFor();
    assert.match(plain(await table.getByRole("row").nth(1).innerText()), /norm_gbps[^]*\u22124\.2 %[^]*12b7746780[^]*a5b72f8a3e[^]*It was measured singly; the next session measures both sides in blocks\./);
    assert.match(await table.getByRole("row").nth(2).innerText(), /The session ended undecided: <b>its budget<\/b> was spent\./);
    await shoot(page, "walk-candidates");
    state.empty = true;
    await page.reload();
    await page.getByText("No open alert").waitFor();
    assert.equal(await page.getByText("Waiting for the next night").count(), 0);
  });
}

async function two_speeds_are_marked_where_the_series_is_listed({ browser, mock, state }) {
  state.alert = { two_speeds: ["bench-2", "<i>rack</i>"] };
  await withPage(browser, wide, async (page) => {
    for (const path of ["/", "/p/kernels/series"]) {
      await page.goto(mock.url + path);
      await settled(page);
      assert.equal(await page.getByText("two speeds on bench-2").count(), 1, path);
    }
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    await page.getByText("two speeds on bench-2").waitFor();
    await page.getByText("two speeds on <i>rack</i>").waitFor();
  });
}

async function names_of_a_night_are_text({ browser, mock, state }) {
  const bad = "<img src=x onerror=document.title='broken'>";
  state.night = { machine: bad, note: bad, branch: bad };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/nights/${NIGHT}`);
    await settled(page);
    assert.equal(await page.getByRole("note").innerText(), bad);
    assert.equal(await page.locator("main img:not(svg), main script").count(), 0);
  });
}

export const nightWalks = { a_night_says_what_every_new_commit_did, a_nights_series_and_commit_stay_in_the_address, the_blocks_of_a_night_are_drawn_in_order, names_of_a_night_are_text, a_series_shows_ratios_to_its_anchor, a_change_without_an_alert_says_why,
  an_alert_shows_the_blocks_behind_it, candidates_wait_for_the_next_night, two_speeds_are_marked_where_the_series_is_listed };
