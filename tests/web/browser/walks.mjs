// User journeys: follow a regression from the overview, read a point, choose a range, triage, search.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { openPage, settled, shoot, violations, WAIT_MS } from "./browser.mjs";

export const wide = { width: 1280, theme: "light" };
export const until = (page, test, arg) => page.waitForFunction(test, arg, { timeout: WAIT_MS });
// The address as the page has it: page.url() is updated a moment later.
export const param = (page, name) => page.evaluate((n) => new URLSearchParams(location.search).get(n), name);
export const paramFits = (page, name, pattern) => until(page,
  ([n, p]) => new RegExp(p).test(new URLSearchParams(location.search).get(n) ?? ""), [name, pattern.source]);
const paramLeaves = (page, name, old) => until(page,
  ([n, o]) => new URLSearchParams(location.search).get(n) !== o, [name, old]);
/* A gesture changes the address several times: the assertions of `body` hold at its last, and are tried until then. */
export async function holds(page, body) {
  for (const end = Date.now() + WAIT_MS; ;) {
    try {
      return await body();
    } catch (error) {
      if (error?.code !== "ERR_ASSERTION" || Date.now() > end) throw error;
      await page.evaluate(() => new Promise(requestAnimationFrame));
    }
  }
}
/** Keys that come before the page is rendered again; "Shift+" before a name as for page.keyboard. */
export const pressAtOnce = (locator, keys) => locator.evaluate((element, names) => {
  for (const name of names) {
    const key = name.replace(/^Shift\+/, "");
    element.dispatchEvent(new KeyboardEvent("keydown", { key, shiftKey: key !== name, bubbles: true, cancelable: true }));
  }
}, keys);
const refusals = /the server responded with a status of (401|503)/;

export async function withPage(browser, options, body) {
  const view = await openPage(browser, options);
  try {
    await body(view.page);
    assert.deepEqual(view.faults, []);
  } finally {
    await view.close();
  }
}

async function overview_to_series({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url);
    await settled(page);
    /* Open alerts come first, and are never green. */
    const standing = page.locator(".standing");
    assert.equal((await standing.innerText()).trim(), "2 open alert groups with 3 alerts (2 regressions, 1 broken), 1 group new since the last night; 1 broken build, 1 silent runner; 6 headline metrics unchanged.");
    assert.match(await standing.getAttribute("class"), /tone-bad/);
    await page.getByRole("article").getByRole("link", { name: "gemm_tflops" }).first().click();
    await until(page, () => document.querySelector(".uplot canvas") !== null);
    await until(page, () => location.pathname === "/series/101");
    await until(page, () => document.activeElement?.tagName === "H1");
    await page.goBack();
    await page.getByRole("heading", { name: "Headline metrics" }).waitFor();
    await until(page, () => location.pathname === "/");
  });
}

async function tooltip_tells_the_commit({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    const box = await page.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2);
    await page.locator(".point-card").waitFor();
    const text = await page.locator(".point-card").innerText();
    assert.match(text, /GFLOP\/s/);
    assert.match(text, /[0-9a-f]{10}/);
    assert.match(text, /25 samples/);
    assert.match(text, /to the point before/);
    /* The comparison's verdict, not one of the page's own. */
    await page.locator(".point-card").filter({ hasText: /to the point before: (regression|same within|inconclusive)/ }).waitFor();
    await page.mouse.click(box.x + box.width * 0.7, box.y + box.height / 2);
    await until(page, () => new URLSearchParams(location.search).has("at"));
    await page.mouse.move(5, 5);
    await page.reload();
    await settled(page);
    await page.locator(".point-card").waitFor();
    await shoot(page, "walk-tooltip");
  });
}

async function keyboard_walks_the_points({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    await page.locator(".chart").focus();
    await page.keyboard.press("End");
    await paramFits(page, "at", /^[0-9a-f]{12}$/);
    const last = await param(page, "at");
    await page.keyboard.press("ArrowLeft");
    await paramLeaves(page, "at", last);
    await until(page, () => /Commit [0-9a-f]{10}/.test(document.querySelector("p[aria-live=polite].sr-only")?.textContent ?? ""));
    const beside = await param(page, "at");
    await page.keyboard.press("Home");
    await paramLeaves(page, "at", beside);
    const first = await param(page, "at");
    await page.keyboard.press("ArrowRight");
    await paramLeaves(page, "at", first);
    await page.keyboard.press("+");
    await paramFits(page, "zoom", /^[0-9a-f]{12}\.\.[0-9a-f]{12}$/);
    await page.keyboard.press("0");
    await until(page, () => !new URLSearchParams(location.search).has("zoom"));
    await page.keyboard.press("Shift+ArrowRight");
    await page.getByRole("link", { name: "Compare these commits" }).waitFor();
    await page.keyboard.press("Enter");
    await until(page, () => location.pathname.startsWith("/p/kernels/commit/"));
  });
}

async function dragging_zooms_and_selects_a_range({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    const drag = async (from, to) => {
      const box = await page.locator(".u-over").boundingBox();
      await page.mouse.move(box.x + box.width * from, box.y + 150);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * ((from + to) / 2), box.y + 150, { steps: 4 });
      await page.mouse.move(box.x + box.width * to, box.y + 150, { steps: 4 });
      await page.mouse.up();
    };
    await drag(0.5, 0.9);
    await until(page, () => new URLSearchParams(location.search).has("zoom"));
    await page.getByRole("button", { name: "All", exact: true }).click();
    await until(page, () => !new URLSearchParams(location.search).has("zoom"));
    await page.getByRole("button", { name: "Select range" }).click();
    await drag(0.6, 0.8);
    await until(page, () => new URLSearchParams(location.search).has("range"));
    await shoot(page, "walk-range");
    const to = await page.getByRole("link", { name: "Compare these commits" }).getAttribute("href");
    assert.match(to, /^\/compare\?project=kernels&a=[0-9a-f]{40}&b=[0-9a-f]{40}$/);
    assert.match(await page.locator(".range-bar .command code").innerText(), /^perfci bisect --metric gemm_tflops/);
  });
}

async function sliders_show_what_other_settings_find({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    const rows = (n) => until(page, (k) => document.querySelector("table caption")?.closest("table").querySelectorAll("tbody tr").length === k, n);
    const says = (text) => page.locator(".tuning [role=status]").getByText(text).waitFor();
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    await page.getByText("2.3 % within 5 points; 1 % takes 38 points").waitFor();
    await page.getByText("the newest 2 points may be a new level").waitFor();
    await rows(2);
    await page.getByText("Try other detector settings").click();
    await says("The changes above are the stored ones.");
    const floor = page.getByRole("slider", { name: /Smallest change/ });
    await floor.fill("46"); /* about 10 %: above the smaller change */
    await rows(1);
    await says("1 change: 0 new, 1 of the stored ones not");
    await paramFits(page, "min_change", /^0\.09/);
    await page.getByRole("slider", { name: /False alarms/ }).fill("60");
    await says("2 changes: 1 new, 1 of the stored ones not");
    await shoot(page, "walk-sliders");
    assert.deepEqual(await violations(page), []);
    await page.reload();
    await says("2 changes: 1 new, 1 of the stored ones not");
    await page.getByRole("button", { name: "As stored" }).click();
    await rows(2);
    await until(page, () => !new URLSearchParams(location.search).has("min_change"));
    await floor.fill("60"); /* above both */
    await page.getByText("These settings find no change point.").waitFor();
  });
}

async function search_narrows_and_stays_in_the_address({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/series`);
    await settled(page);
    await page.keyboard.press("/");
    await page.keyboard.type("attention causal");
    await until(page, () => document.querySelectorAll("tbody tr").length === 3);
    await paramFits(page, "q", /^attention causal$/);
    await page.getByRole("combobox", { name: "Change", exact: true }).selectOption("improvement");
    await page.getByText("Nothing fits these filters").waitFor();
    await page.goBack();
    await until(page, () => document.querySelectorAll("tbody tr").length === 3);
  });
}

async function triage_needs_a_sign_in_and_no_script_can_read_its_token({ browser, mock, state }) {
  await withPage(browser, { ...wide, allow: refusals }, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const form = page.locator(".triage");
    const first = await form.getByLabel("State").inputValue();
    await form.getByLabel("State").selectOption("acknowledged");
    await form.getByLabel("Reason").fill("looked at it");
    const save = form.getByRole("button", { name: "Save" });
    const why = () => save.evaluate((b) => document.getElementById(b.getAttribute("aria-describedby") ?? "")?.textContent ?? "");
    assert.equal(await why(), "sign in with a token that has the scope triage");
    await save.press("Enter");
    await form.locator("summary").click();
    await form.getByLabel("Token").fill("pfc_secret");
    await form.getByRole("button", { name: "Sign in" }).click();
    await form.getByText("Signed in").waitFor();
    await until(page, () => !document.querySelector(".triage button[aria-disabled]"));
    assert.deepEqual(state.patches, []); /* the key sent nothing before */
    await form.getByLabel("State").selectOption("verified_fixed");
    assert.match(await why(), /^verified fixed comes after fixed or backed out, and the alert is /);
    await form.getByLabel("State").selectOption("acknowledged");
    await save.click();
    await form.getByText("The alert is now acknowledged.").waitFor();
    assert.deepEqual(state.patches, [{ token: "Bearer pfc_secret", change: { state: "acknowledged", seen: first, reason: "looked at it" } }]);
    const kept = await page.evaluate(() => JSON.stringify([window.localStorage, window.sessionStorage, document.cookie]));
    assert.ok(!kept.includes("pfc_") && !kept.includes("pfs_"), kept);
    assert.ok(!(await page.evaluate(() => location.href)).includes("pfc_secret"));
  });
}

/* One machine's step stands where its regressions would: on the overview, on the series, over its alerts. */
async function a_machine_that_moved_is_one_event_and_may_be_dismissed({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url);
    const card = page.locator(".moved").first();
    await card.waitFor();
    assert.match(await card.innerText(), /rack-7.*6\.2.%.* slower since.*39 of 41 series moved/s);
    assert.match(await card.innerText(), /kernel: 6\.1 -> 6\.5/);
    assert.match(await page.locator(".moved").nth(1).innerText(), /canary.s band for 3 runs/);
    await card.getByRole("link", { name: "38 alerts explained by it" }).click();
    await until(page, () => new URLSearchParams(location.search).get("event") === "12");
    await page.getByRole("heading", { name: "Explained by a machine" }).waitFor();
    await page.getByText("This is not the machine").click();
    await page.getByLabel("Reason").fill("the flags changed");
    const dismiss = page.getByRole("button", { name: "Make it 38 regressions again" });
    assert.equal(await dismiss.evaluate((b) => document.getElementById(b.getAttribute("aria-describedby") ?? "")?.textContent), "sign in with a token that has the scope triage");
    await dismiss.press("Enter");
    assert.deepEqual(state.patches, []);
    await page.locator("header .account summary").click();
    await page.locator("header .account").getByLabel("Token").fill("pfc_secret");
    await page.locator("header .account").getByRole("button", { name: "Sign in" }).click();
    await until(page, () => !document.querySelector(".moved button[type=submit][aria-disabled]"));
    await dismiss.click();
    await page.getByText("mara says that it is not the machine: the flags changed.").waitFor();
    assert.deepEqual(state.patches.map((p) => p.change), [{ dismissed: true, reason: "the flags changed" }]);
    await page.goto(`${mock.url}/series/101`);
    await page.getByRole("heading", { name: "Machines that moved" }).waitFor();
    assert.equal(await page.locator(".moved").count(), 1); /* that of the series' class */
  });
}

async function a_closed_service_asks_for_a_token({ browser, mock, state }) {
  state.token = "pfc_reader";
  await withPage(browser, { ...wide, allow: refusals }, async (page) => {
    await page.goto(mock.url);
    await page.getByText("This service is read with a token only.").waitFor();
    const form = page.locator(".failed").first();
    await form.getByLabel("Token").fill("pfc_reader");
    await form.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Headline metrics" }).waitFor();
    /* the stream is open, too: the token became a session, and no script can read it */
    const until = Date.now() + 60_000;
    while (mock.listeners() === 0 && Date.now() < until) await page.waitForTimeout(20);
    assert.equal(mock.listeners(), 1);
    assert.equal(await page.evaluate(() => document.cookie), "");
    /* the next page needs no token; signing out ends that, and what was read goes */
    await page.reload();
    await page.getByRole("heading", { name: "Headline metrics" }).waitFor();
    await page.locator(".account summary").click();
    await page.locator(".account").getByText("this browser").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("This service is read with a token only.").first().waitFor();
    assert.equal(await page.getByRole("heading", { name: "Headline metrics" }).count(), 0);
  });
}

async function a_failure_shows_the_servers_sentence({ browser, mock, state }) {
  state.broken = true;
  await withPage(browser, { ...wide, allow: refusals }, async (page) => {
    await page.goto(`${mock.url}/alerts`);
    await page.getByText("The database does not answer; the service tries again.").waitFor();
    await shoot(page, "walk-failed");
    state.broken = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("rowheader").first().waitFor();
  });
}

async function an_empty_service_says_what_to_do({ browser, mock, state, visit }) {
  state.empty = true;
  for (const width of [1280, 390]) {
    const view = await openPage(browser, { width, theme: "light" });
    for (const path of ["/", "/p/kernels/series", "/p/kernels/commits", "/p/kernels/coverage", "/p/kernels/quality", "/alerts", "/jobs", "/machines", "/bisections"]) {
      await visit(view, path, `empty${path.replace(/\W/g, "_")}-${width}`);
    }
    await view.page.goto(mock.url);
    await settled(view.page);
    assert.match(await view.page.locator("main").innerText(), /perfci init/);
    await view.close();
  }
}

async function news_refreshes_the_page({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    await page.locator(".live-live").waitFor();
    state.alert = { state: "fixed" };
    mock.send("alert");
    await page.locator(".page-side").getByText("fixed").waitFor();
  });
}

async function the_theme_is_kept({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url);
    await settled(page);
    await page.getByRole("button", { name: "Use the dark theme" }).click();
    await page.reload();
    await settled(page);
    await until(page, () => document.documentElement.dataset.theme === "dark");
  });
}

async function the_menu_works_on_a_phone({ browser, mock }) {
  await withPage(browser, { width: 390, theme: "light" }, async (page) => {
    await page.goto(mock.url);
    await settled(page);
    await page.getByRole("button", { name: "Pages" }).click();
    await shoot(page, "walk-menu");
    assert.deepEqual(await violations(page), []);
    await page.getByRole("navigation").getByRole("link", { name: "Alerts", exact: true }).click();
    await until(page, () => location.pathname === "/alerts");
    await until(page, () => !document.querySelector("nav.open"));
  });
}

async function a_page_that_breaks_leaves_the_way_out({ browser, mock, state }) {
  state.alert = { range: null };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await page.getByText("This page cannot show what the server sent").waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Fleet" }).click();
    await page.getByRole("navigation").getByRole("link", { name: "Machines" }).click();
    await page.getByRole("heading", { level: 1, name: "Machines" }).waitFor();
  });
}

async function a_page_whose_code_is_gone_offers_to_reload({ browser, mock }) {
  await withPage(browser, { ...wide, allow: /the server responded with a status of 404/ }, async (page) => {
    await page.goto(mock.url);
    await settled(page);
    await page.route(/\/assets\/machines-.*\.js$/, (route) => route.fulfill({ status: 404, body: "" }));
    await page.getByRole("navigation").getByRole("link", { name: "Fleet" }).click();
    await page.getByRole("heading", { level: 1, name: "Jobs" }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Machines" }).click();
    await page.getByText("The code of this page was not received").waitFor();
    await page.unroute(/\/assets\/machines-.*\.js$/);
    await page.getByRole("button", { name: "Reload" }).click();
    await page.getByRole("heading", { level: 1, name: "Machines" }).waitFor();
  });
}

async function suspects_come_with_their_reasons_and_the_commands({ browser, mock, state }) {
  const evil = "<img src=x onerror=document.title='broken'>";
  const reasons = ["lies where the series changes its level", evil];
  state.suspects = { suspects: Array.from({ length: 14 }, (_, i) => ({ kind: "commit", probability: i ? 0.005 : 0.93, ruled_out: i === 13, reasons,
    commit: i.toString(16).padStart(40, "a"), subject: i ? `change ${i}` : evil, author: null, measured: false })), sources: 0, series: 16 };
  state.alert = { group: { id: 12, series: 20, measured: 30, summary: "20 of 30 gemm series" } };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    assert.match(await page.getByRole("note").first().innerText(), /history says .* pairs says .* do not overlap/);
    const rows = page.getByRole("table", { name: "Suspects of the change" }).locator("tbody tr");
    assert.equal(await rows.count(), 10);
    assert.match(await rows.first().innerText(), /93\.0[^]*<img src=x[^]*lies where the series changes its level[^]*<img src=x/);
    await page.getByRole("button", { name: "Show all 14 suspects" }).click();
    assert.equal(await rows.count(), 14);
    assert.match(await rows.last().innerText(), /ruled out/);
    assert.equal(await page.locator("main img").count(), 0);
    assert.match(await page.locator("ol.history").innerText(), /probability 0\.996 culprit: fb68f1971d/);
    assert.match(await page.locator("main").innerText(), /the history and 16 of the 20 series of the group, without new runs; the benchmark's sources are unknown/);
    assert.match(await page.getByRole("region", { name: "Command: reproduce the change" }).innerText(), /^perfci repro alert:31$/);
  });
}

async function an_alert_is_explained_unasked({ browser, mock, state }) {
  const evil = "<img src=x onerror=document.title='broken'>";
  const { causes } = JSON.parse(await readFile(new URL("../fixtures/explanation.json", import.meta.url), "utf8"));
  state.explanation = { causes: [{ ...causes[0], text: evil }, ...causes.slice(1)], warnings: ["The runs differ in cpu."] };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const section = page.locator("section", { hasText: "What changed inside, and why" }).last();
    const text = await section.innerText();
    for (const part of [evil, "The runs differ in cpu.", "100826", "428434", "Limiter before: compute", "Limiter after: latency", "It acts through latency"])
      assert.ok(text.includes(part), `${part} in ${text}`);
    assert.equal(await page.locator("main img").count(), 0);
    await section.getByText("The contributions as a table").click();
    const rows = section.getByRole("table", { name: "Contributions to the difference" }).locator("tbody tr");
    assert.match(await rows.first().innerText(), /latency[^]*load_b[^]*97,900[^]*29\.9/);
    assert.match(await section.getByRole("link", { name: "The report as one page" }).getAttribute("href"), /^\/api\/v1\/alerts\/31\/explanation\?format=html$/);
  });
}

/* Range, slope and release stand where the suspects would; no commit is named, and no search offered. */
async function a_drift_has_a_range_and_no_suspects({ browser, mock, state }) {
  const [first, last, tagged] = ["a", "b", "c"].map((d) => d.repeat(40));
  state.alert = { kind: "drift", commit: null, culprit: null, commit_low: first, commit_high: last, rel_change: 0.031, rel_low: 0.026, rel_high: 0.035,
    title: "drift: +3.1 % over 69 commits, since v1.2: +1.5 %", drift: { first, last, commits: 69, weeks: 9.857, rel_per_week: 0.0031,
      rel_per_week_low: 0.0026, rel_per_week_high: 0.0036, rel_per_commit: 0.00045,
      reference: { tag: "v1.2<b>", commit: tagged, rel_change: 0.015, rel_low: 0.012, rel_high: 0.018 } } };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const text = await page.locator("main").innerText();
    for (const fact of [/No single culprit/i, /aaaaaaa[0-9a-f]* to bbbbbbb[0-9a-f]*: 69 commits in 9\.9 weeks/, /0\.31\s?% a week/, /v1\.2<b> \(ccccccc[0-9a-f]*\): \+1\.5/,
      /perfci repro alert:31/, /drift: \+3\.1 % over 69 commits, since v1\.2/]) assert.match(text, fact);
    assert.equal(await page.getByRole("table", { name: "Suspects of the change" }).count(), 0);
    assert.doesNotMatch(text, /perfci bisect|First measured at the new level/);
  });
}

/* On the list, the overview and its own page a change of toolchain says what changed, and names no commit. */
async function a_change_of_toolchain_names_no_commit({ browser, mock, state }) {
  const title = "toolchain: compiler gcc 12.2.0 -> 13.1.0";
  const change = { kind: "toolchain", title, culprit: null, suspect: null, boundary: [{ name: "compiler", before: "gcc 12.2.0", now: "gcc 13.1.0" }] };
  state.alert = change;
  state.alerts = change;
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const text = await page.locator("main").innerText();
    assert.match(text, /No commit: what changed there[^]*toolchain: compiler gcc 12\.2\.0 -> 13\.1\.0/i);
    assert.doesNotMatch(text, /First measured at the new level|Culprit and suspects/);
    for (const path of ["/alerts", "/alerts?view=alerts", "/"]) {
      await page.goto(mock.url + path);
      await settled(page);
      assert.ok((await page.getByText(title).count()) > 0, path);
    }
  });
}

async function names_from_outside_are_text({ browser, mock, state }) {
  state.alert = { benchmark: "<img src=x onerror=document.title='broken'>", note: "<script>document.title='broken'</script>" };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    assert.match(await page.locator("h1").innerText(), /<img src=x/);
    assert.equal(await page.locator("main img, main script").count(), 0);
  });
}

async function size_is_no_burden({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    const timed = async (path, ready) => {
      await page.goto(`${mock.url}/machines`);
      await settled(page);
      return page.evaluate(([to, selector]) => new Promise((done) => {
        const link = document.createElement("a");
        link.href = to;
        document.querySelector("main").append(link);
        const start = performance.now();
        link.click();
        const look = () => (document.querySelector(selector) ? requestAnimationFrame(() => done(performance.now() - start)) : requestAnimationFrame(look));
        look();
      }), [path, ready]);
    };
    state.many = 200;
    console.log(`     200 sparklines after ${(await timed("/p/kernels/series", "tbody tr:nth-child(200) svg")).toFixed(0)} ms`);
    assert.equal(await page.locator("svg.spark").count(), 200);
    state.long = 5000;
    console.log(`     5,000 points after ${(await timed("/series/900", ".uplot canvas")).toFixed(0)} ms`);
    await shoot(page, "walk-5000");
    await page.locator(".chart").focus();
    await page.keyboard.press("End");
    await page.locator(".point-card").waitFor();
  });
}

async function a_comparison_shows_what_is_broken_and_what_differs({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/compare?project=kernels&a=1360f43c2fc1&b=0c124b44c039`);
    await settled(page);
    const verdict = await page.locator(".verdict").innerText();
    assert.match(verdict, /1 broken, 10 regressions/);
    assert.match(verdict, /A and B differ in compiler: gcc 12\.2 \u2192 gcc 13\.1/);
    const first = page.locator(".compare-table tbody tr").first();
    assert.match(await first.innerText(), /softmax\/f32\/n4096[^]*Broken in B: wrong result: element 3/);
    await page.getByRole("button", { name: "Broken 1" }).click();
    await until(page, () => document.querySelectorAll(".compare-table tbody tr").length === 1);
  });
}

async function a_broken_benchmark_says_since_when_and_why({ browser, mock, state }) {
  const none = { before: null, after: null, rel_change: null, rel_low: null, rel_high: null, p: null };
  state.alert = { ...none, kind: "broken", benchmark: "gemm/f32/m64", reason: "wrong result: element 3", undone_by: null };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const text = await page.locator("main").innerText();
    assert.match(text, /Broken benchmark/);
    assert.match(text, /Broken since [0-9a-f]{10}[^]*: wrong result: element 3/);
    assert.doesNotMatch(text, /NaN/);
  });
}

/* Places in the series chart where at least six columns of pixels in a row have none of the line's colour. */
function gapsOfLine(page) {
  return page.evaluate(() => {
    const canvas = document.querySelector(".uplot canvas");
    const probe = document.createElement("canvas").getContext("2d");
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
    probe.fillRect(0, 0, 1, 1);
    const line = probe.getImageData(0, 0, 1, 1).data;
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const near = (at) => [0, 1, 2].every((i) => Math.abs(data[at + i] - line[i]) < 24) && data[at + 3] > 200;
    const drawn = Array.from({ length: width }, (_, x) => Array.from({ length: height }, (__, y) => (y * width + x) * 4).some(near));
    const text = drawn.map((d) => (d ? "x" : " ")).join("").trim();
    return text.split(/x+/).filter((empty) => empty.length >= 6).length;
  });
}

async function broken_results_are_marked_with_their_reason({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/series/101`);
    await settled(page);
    await page.getByRole("heading", { name: "Broken", exact: true }).waitFor();
    await page.getByRole("cell", { name: "segmentation fault" }).waitFor();
    /* in the chart: a mark at the broken commit's place, whose reason a pointer shows; no line over commits without a value */
    await page.getByText("a gap: commits that this series has no value of").waitFor();
    const box = await page.locator(".uplot .u-over").boundingBox();
    assert.equal(await gapsOfLine(page), 10); /* as many as the fixture has positions that are not neighbours */
    await page.mouse.move(box.x + box.width * 0.9854, box.y + box.height / 2);
    const card = page.locator(".point-card");
    await card.getByText("segmentation fault").waitFor();
    assert.match(await card.innerText(), /make it wrong[^]*0c124b44c0 has no value: broken in run #1072/);
    await shoot(page, "walk-broken-mark");
    await page.goto(`${mock.url}/p/kernels/commit/${"0".repeat(40)}`);
    await settled(page);
    await page.getByRole("heading", { name: "Broken here" }).waitFor();
    await page.getByRole("cell", { name: "wrong result: element 3" }).waitFor();
  });
}

export const walks = {
  overview_to_series, broken_results_are_marked_with_their_reason, a_broken_benchmark_says_since_when_and_why, a_comparison_shows_what_is_broken_and_what_differs, a_machine_that_moved_is_one_event_and_may_be_dismissed, tooltip_tells_the_commit, keyboard_walks_the_points, dragging_zooms_and_selects_a_range, sliders_show_what_other_settings_find,
  search_narrows_and_stays_in_the_address, triage_needs_a_sign_in_and_no_script_can_read_its_token, a_closed_service_asks_for_a_token,
  a_failure_shows_the_servers_sentence, an_empty_service_says_what_to_do, news_refreshes_the_page, the_theme_is_kept,
  the_menu_works_on_a_phone, a_page_that_breaks_leaves_the_way_out, a_page_whose_code_is_gone_offers_to_reload, suspects_come_with_their_reasons_and_the_commands, an_alert_is_explained_unasked, a_drift_has_a_range_and_no_suspects, a_change_of_toolchain_names_no_commit, names_from_outside_are_text, size_is_no_burden,
};
