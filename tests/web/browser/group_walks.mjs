// Groups of alerts: ten alerts of one cause in few actions, by mouse and by keys; refusals that say why; split and merge.
import assert from "node:assert/strict";
import { overflow, settled, shoot, violations } from "./browser.mjs";
import { until, wide, withPage } from "./walks.mjs";

const refused = /the server responded with a status of (401|409)/;

export async function signIn(page) {
  await page.locator("header .account summary").click();
  await page.locator("header .account").getByLabel("Token").fill("pfc_secret");
  await page.locator("header .account").getByRole("button", { name: "Sign in" }).click();
  await page.locator("header .account").getByText("Signed in", { exact: true }).waitFor({ state: "attached" });
}

const openAlerts = (state, id) => state.groups.find((g) => g.id === id).members.filter((m) => m.state === "untriaged").length;

async function ten_alerts_of_one_cause_take_four_actions({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    await signIn(page);
    assert.equal(openAlerts(state, 12), 10);
    let actions = 0;
    const act = async (step) => { await step; actions += 1; };
    await act(page.getByRole("checkbox", { name: "Select group 12" }).check());
    await act(page.locator(".action-bar").getByLabel("State").selectOption("acknowledged"));
    await act(page.locator(".action-bar").getByLabel("Reason").fill("the LDS change"));
    await act(page.locator(".action-bar").getByRole("button", { name: "Set state" }).click());
    await page.getByText("Set to acknowledged: 10 alerts of 1 group.").waitFor();
    assert.equal(openAlerts(state, 12), 0);
    assert.ok(actions <= 4, `${actions} actions`);
    assert.deepEqual(state.patches, [{ path: "/groups", change: { groups: [{ id: 12, seen: "untriaged" }], state: "acknowledged", reason: "the LDS change" } }]);
    await shoot(page, "walk-groups-triaged");
  });
}

/* With keys alone: the same, and two groups at once. */
async function groups_are_triaged_by_keys_alone({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    await signIn(page);
    const reach = async (name, role) => {
      for (let presses = 0; presses < 80; presses += 1) {
        await page.keyboard.press("Tab");
        const here = await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.closest("label")?.innerText ?? document.activeElement?.textContent ?? "");
        if (here.trim().startsWith(name)) return;
      }
      assert.fail(`no ${role} ${name} by Tab`);
    };
    await page.locator("main h1").focus();
    await reach("Select group 12", "checkbox");
    await page.keyboard.press("Space");
    await reach("Select group 13", "checkbox");
    await page.keyboard.press("Space");
    await page.locator("main h1").focus();
    await reach("Reason", "field");
    await page.keyboard.type("one cause");
    await page.keyboard.press("Enter");
    await page.getByText("Set to acknowledged: 11 alerts of 2 groups.").waitFor();
    assert.deepEqual(state.patches.map((p) => p.change.groups), [[{ id: 12, seen: "untriaged" }, { id: 13, seen: "untriaged" }]]);
  });
}

/* Another person's change is shown beside this one, and is overwritten on request alone. */
async function a_change_of_another_person_is_shown_beside_ones_own({ browser, mock, state }) {
  await withPage(browser, { ...wide, allow: refused }, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    await signIn(page);
    await page.getByRole("checkbox", { name: "Select group 12" }).check();
    for (const m of state.groups.find((g) => g.id === 12).members) m.state = "investigating";
    await page.locator(".action-bar").getByRole("button", { name: "Set state" }).click();
    await page.getByText("seen: group 12 is now investigating, expected untriaged; read it again").waitFor();
    const conflict = page.locator(".conflict");
    await conflict.waitFor();
    assert.match(await conflict.innerText(), /Group 12: now\s+investigating\s*, your entry\s+acknowledged/);
    assert.equal(state.groups.find((g) => g.id === 12).members[0].state, "investigating");
    assert.deepEqual(await violations(page), []);
    await shoot(page, "walk-groups-conflict");
    await conflict.getByRole("button", { name: "Replace by acknowledged" }).click();
    await page.getByText("Set to acknowledged: 10 alerts of 1 group.").waitFor();
    assert.equal(state.groups.find((g) => g.id === 12).members[0].state, "acknowledged");
  });
}

/* A group that another person has closed leaves the list of open ones, and the selection with it: the rest can be changed. */
async function a_group_that_left_the_list_is_not_changed({ browser, mock, state }) {
  await withPage(browser, { ...wide, allow: refused }, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    await signIn(page);
    const bar = page.locator(".action-bar");
    await page.getByRole("checkbox", { name: "Select group 12" }).check();
    await page.getByRole("checkbox", { name: "Select group 13" }).check();
    await bar.getByText("2 groups selected").waitFor();
    for (const m of state.groups.find((g) => g.id === 13).members) m.state = "noise";
    await bar.getByRole("button", { name: "Set 2 groups" }).click();
    await page.getByText("seen: group 13 is now noise, expected untriaged; read it again").waitFor();
    await bar.getByText("1 group selected").waitFor();
    await bar.getByRole("button", { name: "Set state" }).click();
    await page.getByText("Set to acknowledged: 10 alerts of 1 group.").waitFor();
    assert.deepEqual(state.patches.at(-1).change.groups, [{ id: 12, seen: "untriaged" }]);
    assert.equal(state.groups.find((g) => g.id === 13).members[0].state, "noise");
  });
}

/* Owners and hidden alerts are on the row and on the page of a group. */
async function owners_and_hidden_alerts_are_on_view({ browser, mock, state }) {
  state.group = { owner: "@gemm-team ann", suppressed: 2, spark: Array.from({ length: 40 }, (_, i) => 1.07 + Math.sin(i) * 0.004) };
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    const row = page.getByRole("row").filter({ hasText: "10 of 40 gemm series" });
    assert.match(await row.innerText(), /owner @gemm-team ann\s+2 hidden/);
    /* The level before the change is a line, so that a change older than the sparkline is seen. */
    const base = await row.locator(".spark-base").evaluate((e) => e.getBoundingClientRect().y);
    const now = await row.locator(".spark-end").evaluate((e) => e.getBoundingClientRect().y);
    const end = await row.locator(".spark").evaluate((e) => e.getBoundingClientRect().bottom);
    assert.ok(base > now + 10 && base < end, `${base}: expected between ${now} and ${end}`);
    await page.getByRole("navigation").getByText("2 open groups").waitFor();
    await shoot(page, "walk-groups-owner");
    await row.getByRole("link", { name: "10 of 40 gemm series" }).click();
    const form = page.locator(".triage-group");
    await form.waitFor();
    assert.match(await form.innerText(), /No assignee, owner @gemm-team ann\s+2 alerts of it are hidden by suppression rules\./);
    await form.getByRole("link", { name: "2 alerts of it are hidden" }).click();
    await until(page, () => location.pathname === "/p/kernels/suppressions");
    state.alert = { owner: "@gemm-team", suppression: { id: 3, owner: "kernels team", reason: "the new allocator", expires_at: "2026-03-06T08:00:00Z" } };
    await page.goto(`${mock.url}/alerts/31`);
    await settled(page);
    const note = page.getByRole("note").filter({ hasText: "Hidden until" });
    assert.equal(await note.innerText(), "Hidden until 2026-03-06 08:00 by rule 3 of kernels team: the new allocator");
    const box = await note.boundingBox();
    assert.ok(box.y < 300, `${JSON.stringify(box)}: the note is not at the top`);
    await shoot(page, "walk-alert-hidden");
    assert.deepEqual(await violations(page), []);
  });
}

/* A button that cannot work says why to eyes, keys and screen readers, and sends nothing. */
async function buttons_that_cannot_work_say_why({ browser, mock, state }) {
  state.scopes = ["read"];
  await withPage(browser, { ...wide, allow: refused }, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    const set = page.locator(".action-bar").getByRole("button", { name: "Set state" });
    const why = async () => set.evaluate((b) => document.getElementById(b.getAttribute("aria-describedby") ?? "")?.textContent ?? "");
    assert.equal(await set.getAttribute("aria-disabled"), "true");
    assert.equal(await why(), "sign in with a token that has the scope triage");
    await set.focus();
    await page.keyboard.press("Enter");
    await signIn(page);
    await until(page, () => document.querySelector(".action-why")?.textContent?.includes("no scope triage"));
    assert.equal(await why(), "token mara has no scope triage (it has read)");
    await set.click({ force: true }); /* a pointer reaches it, too */
    state.scopes = ["read", "triage"];
    await page.reload();
    await settled(page);
    await until(page, () => document.querySelector(".action-why")?.textContent === "select at least one group");
    await page.getByRole("checkbox", { name: "Select group 13" }).check();
    assert.equal(await set.getAttribute("aria-disabled"), null);
    assert.deepEqual(state.patches, []);
  });
}

async function improvements_and_recoveries_stand_beside_regressions({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    await page.getByRole("button", { name: "Improvements" }).click();
    await page.getByRole("link", { name: "3 of 40 gemm series" }).waitFor();
    assert.equal(await page.getByRole("checkbox").count(), 0);
    await page.getByRole("button", { name: "Recoveries" }).click();
    await page.getByText("No recovery").waitFor();
    await page.goBack();
    await page.goBack();
    await page.getByRole("searchbox", { name: "Search groups" }).fill("softmax");
    await until(page, () => document.querySelectorAll("table.groups tbody tr").length === 1);
    await page.getByRole("link", { name: "1 of 8 softmax series" }).click();
    await page.getByRole("heading", { level: 1, name: "1 of 8 softmax series" }).waitFor();
    await until(page, () => location.pathname === "/groups/13");
  });
}

/* At 1280 x 800 nothing has to be scrolled to see how much, of what, and which commit. */
async function cause_size_and_suspect_are_on_the_first_screen({ browser, mock, state }) {
  await withPage(browser, { ...wide, height: 800 }, async (page) => {
    await page.goto(`${mock.url}/groups/12`);
    await settled(page);
    const seen = [page.getByRole("heading", { level: 1 }), page.getByText("10 series of 40 measured there"), page.locator(".levels-change").first(), page.getByText("gemm: stage the tiles in LDS").first(),
      page.getByText("Mara Lindqvist").first(), page.locator(".cause a.mono").first(), page.getByRole("button", { name: "Set state" })];
    for (const part of seen) {
      const box = await part.boundingBox();
      assert.ok(box && box.y >= 0 && box.y + box.height <= 800, `${JSON.stringify(box)} is not on the first screen`);
    }
    await shoot(page, "walk-group");
    assert.deepEqual(await overflow(page), []);
    /* A finished search of the group has named another commit than the place of the step. */
    const commit = "5f".repeat(20);
    state.alerts = { suspect: { commit, subject: "gemm: pad the leading dimension", author: "Ines", named: false, bisection_id: 4 } };
    await page.reload();
    await settled(page);
    const cause = await page.locator(".cause-commit").innerText();
    assert.match(cause, /^5f5f5f5f5f.* found by search #4, not confirmed$/);
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    const row = page.getByRole("row").filter({ hasText: "10 of 40 gemm series" });
    assert.match(await row.innerText(), /5f5f5f5f5f.* found by search #4, not confirmed[^]*gemm: pad the leading dimension \(Ines\)/);
    await shoot(page, "walk-group-found");
    await row.getByRole("link", { name: "search #4" }).click();
    await until(page, () => location.pathname === "/bisections/4");
  });
}

/* A key changes the choice by two events, input and change; what the first one draws must not undo the choice. */
async function the_state_of_a_group_is_chosen_by_a_key({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/groups/12`);
    await settled(page);
    await signIn(page);
    await page.locator(".triage-group").getByLabel("State").focus();
    await page.keyboard.press("ArrowDown"); /* the state after acknowledged */
    await page.locator(".triage-group").getByLabel("Reason").press("Enter");
    await page.getByText("Set to investigating: 10 alerts of 1 group.").waitFor();
    assert.deepEqual(state.patches.map((p) => p.change.state), ["investigating"]);
  });
}

/* Two changes in a row: the second one names the state that the first one has set, before the list is read again. */
async function a_second_change_does_not_wait_for_the_list({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/alerts?project=kernels`);
    await settled(page);
    await signIn(page);
    const box = page.getByRole("checkbox", { name: "Select group 12" });
    await box.check();
    const held = [];
    await page.route(/\/api\/v1\/groups\?/, (route) => { held.push(route); });
    await page.locator(".action-bar").getByRole("button", { name: "Set state" }).click();
    await page.getByText("Set to acknowledged: 10 alerts of 1 group.").waitFor();
    await page.getByRole("row").filter({ has: box }).getByText("acknowledged").waitFor();
    await box.check();
    await page.locator(".action-bar").getByLabel("Assignee").fill("Mara");
    await page.locator(".action-bar").getByRole("button", { name: "Assign" }).click();
    await page.getByText("Assigned to Mara: 10 alerts of 1 group.").waitFor();
    assert.deepEqual(state.patches.map((p) => p.change.groups), [[{ id: 12, seen: "untriaged" }], [{ id: 12, seen: "acknowledged" }]]);
    await page.unrouteAll({ behavior: "ignoreErrors" });
  });
}

async function a_group_is_split_and_merged_again({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/groups/12`);
    await settled(page);
    await signIn(page);
    await page.getByRole("checkbox", { name: "Select alert 203" }).check();
    await page.getByRole("checkbox", { name: "Select alert 204" }).check();
    await page.getByLabel("Reason of the split").fill("another kernel");
    await page.getByRole("button", { name: "Split off 2 alerts" }).click();
    await until(page, () => location.pathname === "/groups/23");
    await page.getByRole("heading", { name: "2 alerts" }).waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Alerts", exact: true }).first().click();
    await page.getByRole("checkbox", { name: "Select group 12" }).check();
    await page.getByRole("checkbox", { name: "Select group 23" }).check();
    await page.locator(".action-bar").getByLabel("Reason").fill("one cause after all");
    await page.getByRole("button", { name: "Merge into group 12" }).click();
    await until(page, () => !document.querySelector('[aria-label="Select group 23"]'));
    assert.deepEqual(state.patches.map((p) => [p.path, p.change]), [["/groups/12/split", { alerts: [203, 204], reason: "another kernel" }], ["/groups/12/merge", { groups: [23], reason: "one cause after all" }]]);
  });
}

async function an_issue_is_filed_or_the_refusal_says_why({ browser, mock, state }) {
  await withPage(browser, { ...wide, allow: refused }, async (page) => {
    state.unlinked = true;
    await page.goto(`${mock.url}/groups/12`);
    await settled(page);
    await signIn(page);
    await page.getByRole("button", { name: "File an issue" }).click();
    await page.getByRole("alert").getByText("the project is linked to no repository of a forge").waitFor();
    state.unlinked = false;
    await page.getByRole("button", { name: "File an issue" }).click();
    const link = page.getByRole("link", { name: "octo/kernels #12" });
    await link.waitFor();
    assert.equal(await link.getAttribute("href"), "https://forge.example/octo/kernels/issues/12");
    await page.getByRole("button", { name: "Update the issue" }).waitFor();
    await shoot(page, "walk-group-issue");
    assert.deepEqual(await overflow(page), []);
  });
}

export const groupWalks = {
  ten_alerts_of_one_cause_take_four_actions, groups_are_triaged_by_keys_alone, a_change_of_another_person_is_shown_beside_ones_own,
  a_group_that_left_the_list_is_not_changed, owners_and_hidden_alerts_are_on_view, buttons_that_cannot_work_say_why,
  improvements_and_recoveries_stand_beside_regressions, cause_size_and_suspect_are_on_the_first_screen, the_state_of_a_group_is_chosen_by_a_key,
  a_second_change_does_not_wait_for_the_list, a_group_is_split_and_merged_again,
  an_issue_is_filed_or_the_refusal_says_why,
};
