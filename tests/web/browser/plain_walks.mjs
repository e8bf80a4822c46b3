// Pages that must not mislead: names from outside, addresses without a page, changes by others, lists that the
// server orders, and zooms of long series.
import assert from "node:assert/strict";
import { settled, shoot, violations } from "./browser.mjs";
import { param, paramFits, until, wide, withPage } from "./walks.mjs";

/* Right-to-left names stay in their place, digits stay digits; every page: text_walks.mjs. */
async function names_are_isolated_and_digits_are_drawn_as_they_are({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    /* A Hebrew name beside Latin text: each is isolated, so the digits after it stay behind it. */
    state.rename = (text, key) => (key === "subject" ? "\u05d0\u05d1\u05d2" : key === "author" ? "128x128 != 1" : text);
    await page.goto(`${mock.url}/p/kernels/commits`);
    await settled(page);
    const cell = page.locator("tbody th").first();
    assert.equal(await cell.locator("bdi").first().innerText(), "\u05d0\u05d1\u05d2");
    /* The font draws "x" between digits as a multiplication sign, and "!=" as one sign, unless its settings disable that. */
    const widths = await cell.locator("small").evaluate((small) => {
      const measure = (settings) => {
        const span = document.createElement("span");
        span.textContent = "128x128 1920x1080 -> !=";
        if (settings) span.style.fontFeatureSettings = settings;
        small.append(span);
        const width = span.getBoundingClientRect().width;
        span.remove();
        return width;
      };
      return [measure(""), measure('"calt" 0, "liga" 0, "cv11", "ss03"'), measure('"calt" 1, "liga" 1, "cv11", "ss03"')];
    });
    assert.equal(widths[0], widths[1]);
    assert.notEqual(widths[0], widths[2], "the font has no such feature: this test shows nothing");
  });
}

async function an_unknown_address_has_a_page({ browser, mock }) {
  await withPage(browser, { ...wide, allow: /status of 404/ }, async (page) => {
    const reply = await page.goto(`${mock.url}/nothing/here`);
    assert.equal(reply.status(), 404);
    await page.getByRole("heading", { name: "No such page" }).waitFor();
    await page.getByRole("link", { name: "Back to the overview" }).click();
    await page.getByRole("heading", { name: "Headline metrics" }).waitFor();
  });
}

async function machines_are_the_projects_own({ browser, mock, state }) {
  state.asked = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/machines?project=kernels`);
    await settled(page);
    for (const list of ["/machines", "/runners"]) {
      const asked = state.asked.filter((p) => p.startsWith(list));
      assert.ok(asked.length > 0 && asked.every((p) => /[?&]project=kernels(&|$)/.test(p)), `${list}: ${asked}`);
    }
    assert.match(await page.locator("main").innerText(), /last measured\s+3 days ago/);
  });
}

/* The sentence above the other series says what their rows say. */
async function evidence_agrees_with_its_rows({ browser, mock, state }) {
  const row = { series_id: 101, metric: "cycles", backend: "cpu-avx2", machine_class: "m", unit: "cycles", exact: false };
  state.alert = { evidence: "alone", witnesses: [{ ...row, rel_change: -0.06, moved: "better" }, { ...row, series_id: 102, rel_change: null, moved: "still" }] };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const text = await page.locator("main").innerText();
    assert.match(text, /1 other series of this benchmark became better\. No change was found in 1 other series/);
    assert.doesNotMatch(text, /did not move/);
  });
}

/* A commit's values have the comparison's verdicts. 12 of them are inconclusive though the parent's median is outside of
 * the interval, which must not be called worse. */
async function a_commit_shows_the_services_verdicts({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/commit/${"0".repeat(40)}`);
    await settled(page);
    const rows = page.getByRole("table", { name: "Values against the parent commit, worst first" }).locator("tbody tr");
    const outside = rows.filter({ hasText: "gemm/f32/m128n128k128" }).filter({ hasText: "cpu-avx2" });
    assert.match(await outside.innerText(), /\+17\.9\s%\s+inconclusive/);
    const words = (await rows.allInnerTexts()).map((text) => /regression|improvement|inconclusive|same|parent not measured|worse|better/.exec(text)?.[0]);
    const count = (word) => words.filter((w) => w === word).length;
    assert.deepEqual(["regression", "inconclusive", "same", "parent not measured"].map(count), [3, 14, 7, 1]);
    await page.getByRole("button", { name: "Moved 3" }).click();
    await until(page, () => document.querySelectorAll("main table tbody tr .badge").length > 0);
    await until(page, ([name, n]) => [...document.querySelectorAll("table")].find((t) => t.caption?.textContent === name).tBodies[0].rows.length === n,
      ["Values against the parent commit, worst first", 3]);
  });
}

/* The server searches and sorts: what is not loaded yet is found, too. */
async function searches_and_orders_ask_the_server({ browser, mock, state }) {
  state.asked = [];
  const asks = (pattern) => state.asked.some((p) => pattern.test(p));
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/commits`);
    await settled(page);
    const box = page.getByRole("searchbox", { name: "Find subject, author or id" });
    await box.pressSequentially("gemm ");
    await paramFits(page, "q", /^gemm $/);
    await until(page, () => !document.querySelector(".loading"));
    assert.ok(asks(/\/commits\?q=gemm/), state.asked.join("\n"));
    await box.pressSequentially("nothing"); /* the box keeps the focus while rows are loaded */
    await page.getByText("No commit of this project fits").waitFor();
    await page.goto(`${mock.url}/p/kernels/series`);
    await settled(page);
    await page.getByRole("combobox", { name: "Sort by" }).selectOption("change");
    await page.getByRole("combobox", { name: "Backend" }).selectOption({ index: 1 });
    await page.getByRole("combobox", { name: "Change", exact: true }).selectOption("regression");
    await until(page, () => !document.querySelector(".loading"));
    assert.ok(asks(/\/series\?.*backend=[^&]+.*change=regression.*sort=change/), state.asked.join("\n"));
  });
}

/* A part of a long series is loaded for a zoom. Panning and zooming out go on from there, over its ends. */
async function a_zoom_of_a_long_series_is_moved_and_widened({ browser, mock, state }) {
  state.long = 5000;
  state.buckets = 200;
  const id = (i) => i.toString(16).padStart(12, "0");
  state.unmeasured = {};
  const part = async (page) => {
    await until(page, () => new URLSearchParams(location.search).has("zoom") && !document.body.innerText.includes("each point summarises several"));
    const name = await page.locator(".chart").getAttribute("aria-label");
    return Number(/: ([0-9,]+) points/.exec(name)[1].replace(",", ""));
  };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/900?zoom=${id(2000)}..${id(2200)}`);
    await settled(page);
    assert.equal(await part(page), 201);
    await page.getByRole("button", { name: "Pan", exact: true }).click();
    const box = await page.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 150);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.8, box.y + 150, { steps: 8 });
    await page.mouse.up();
    await until(page, (old) => !new URLSearchParams(location.search).get("zoom")?.startsWith(old), id(2000));
    const [from, to] = (await param(page, "zoom")).split("..").map((c) => parseInt(c, 16));
    assert.ok(from < 2000 && from > 1700 && to < 2200 && to > 1900, `${from} to ${to}`);
    assert.ok(await part(page) > 100);
    await page.getByRole("button", { name: "Zoom out" }).click();
    await until(page, ([f, t]) => { const [a, b] = (new URLSearchParams(location.search).get("zoom") ?? "0..0").split("..").map((c) => parseInt(c, 16)); return a < f && b > t; }, [from, to]);
    const [wider, end] = (await param(page, "zoom")).split("..").map((c) => parseInt(c, 16));
    assert.ok(end - wider > (to - from) * 1.5 && end - wider < 2000, `${wider} to ${end}`);
    /* An end that this series has not measured: the server knows its place. */
    state.unmeasured = { ["f".repeat(12)]: 3000 };
    await page.goto(`${mock.url}/series/900?zoom=${"f".repeat(12)}..${id(3050)}`);
    await settled(page);
    assert.equal(await part(page), 51);
    state.unmeasured = { ["f".repeat(12)]: 4999 };
    await page.goto(`${mock.url}/series/900?zoom=${"f".repeat(12)}..${id(4999)}`);
    await page.getByText("The zoom of the address is not shown: 1 point between").waitFor();
  });
}

/* Another user's change while a reason is typed is shown beside the entry, and is not reverted unasked. */
async function a_change_meanwhile_is_shown_and_not_reverted({ browser, mock, state }) {
  const history = [{ at: "2026-02-27T05:30:00Z", actor: "ann", from: "untriaged", to: "fixed", reason: "reverted in 4f1c" }];
  await withPage(browser, { ...wide, allow: /status of 409/ }, async (page) => {
    for (const told of [true, false]) {
      state.alert = {};
      state.patches = [];
      await page.goto(`${mock.url}/alerts/31`);
      await settled(page);
      await page.locator(".live-live").waitFor();
      const form = page.locator(".triage");
      await form.locator("summary").click();
      if (told) {
        await form.getByLabel("Token").fill("pfc_secret");
        await form.getByRole("button", { name: "Sign in" }).click();
        await form.getByText("Signed in").waitFor();
      }
      const first = await form.getByLabel("State").inputValue();
      await form.getByLabel("Reason").fill("looks like noise");
      state.alert = { state: "fixed", history };
      if (told) mock.send("alert"); /* the page reads the change while the reason is typed; else after the refusal */
      else await form.getByRole("button", { name: "Save" }).click();
      const both = form.getByRole("alert");
      await both.getByText(/set by ann.*reverted in 4f1c/).waitFor();
      assert.match(await both.innerText(), new RegExp(`Your entry:\\s*${first}`));
      assert.deepEqual(state.patches, []);
      assert.equal(await form.getByLabel("Reason").inputValue(), "looks like noise");
      if (told) {
        await form.getByLabel("State").selectOption("noise");
        await shoot(page, "walk-conflict");
        assert.deepEqual(await violations(page), []);
        await form.getByRole("button", { name: "Replace by noise" }).click();
        await form.getByText("The alert is now noise.").waitFor();
        assert.deepEqual(state.patches.map((p) => p.change), [{ state: "noise", seen: "fixed", reason: "looks like noise" }]);
      } else {
        await form.getByRole("button", { name: "Keep fixed" }).click();
        await both.waitFor({ state: "detached" });
        assert.equal(await form.getByLabel("State").inputValue(), "fixed");
        assert.deepEqual(state.patches, []);
      }
    }
    /* Without an entry the form follows the alert. */
    state.alert = { state: "investigating" };
    mock.send("alert");
    await until(page, () => document.querySelector(".triage select").value === "investigating");
  });
}

/* Markdown for the pictures of a series: brackets of a name do not end the image's text. */
async function a_series_says_how_other_pages_show_it({ browser, mock, state }) {
  state.rename = (text, key) => (key === "metric" ? `gemm[fast]` : text);
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    await page.getByText("Show it on other pages").click();
    const said = (name) => page.getByRole("region", { name }).innerText();
    assert.equal(await said("Markdown: the chart of this series"), `![gemm fast ](${mock.url}/api/v1/series/101/picture?points=200)`);
    assert.equal(await said("Markdown: its sparkline"), `![gemm fast ](${mock.url}/api/v1/series/101/picture?style=spark)`);
    assert.equal(await said("Markdown: the badge of the project"), `![kernels](${mock.url}/api/v1/projects/kernels/badge)`);
  });
}

export const plainWalks = { a_series_says_how_other_pages_show_it,
  names_are_isolated_and_digits_are_drawn_as_they_are,
  an_unknown_address_has_a_page,
  machines_are_the_projects_own,
  evidence_agrees_with_its_rows,
  a_commit_shows_the_services_verdicts,
  searches_and_orders_ask_the_server,
  a_zoom_of_a_long_series_is_moved_and_widened,
  a_change_meanwhile_is_shown_and_not_reverted,
};
