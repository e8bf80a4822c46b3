// Settings: without a scope each page says what is missing; with it, a change is sent once and its result is shown.
import assert from "node:assert/strict";
import { openPage, overflow, settled, shoot, violations } from "./browser.mjs";
import { EVIL } from "./mock_settings.mjs";
import { until, wide, withPage } from "./walks.mjs";

export const signIn = async (page) => {
  await page.locator(".account summary").click();
  await page.locator(".account").getByLabel("Token").fill("pfc_secret");
  await page.locator(".account").getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Signed in").first().waitFor();
};

const PATHS = ["/settings/tokens", "/settings/notices?project=kernels", "/settings/deliveries?project=kernels", "/settings/browsers", "/settings/audit", "/p/kernels/owners", "/p/kernels/detector"];

async function every_settings_page_is_sound_for_an_administrator({ browser, mock, state }) {
  state.scopes = ["admin"];
  for (const width of [1280, 390]) {
    for (const theme of ["light", "dark"]) {
      const view = await openPage(browser, { width, theme });
      await view.page.goto(mock.url);
      await settled(view.page);
      await view.page.evaluate(() => localStorage.setItem("perfci.signed_in", "1"));
      await signIn(view.page);
      for (const path of PATHS) {
        await view.page.goto(mock.url + path);
        await settled(view.page);
        await until(view.page, () => document.querySelector("main table, main textarea"));
        await shoot(view.page, `${path.replace(/\W+/g, "_")}-${theme}-${width}`);
        assert.deepEqual(await overflow(view.page), [], path);
        assert.deepEqual(await violations(view.page), [], path);
        assert.equal(await view.page.locator("main img").count(), 0, path);
        assert.ok(!(await view.page.locator("main").innerText()).includes("\u202e"), path);
      }
      assert.deepEqual(view.faults, []);
      await view.close();
    }
  }
}

async function a_page_without_its_scope_says_what_the_token_has({ browser, mock, state }) {
  state.scopes = ["read"];
  state.asked = [];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/settings/tokens`);
    await settled(page);
    await page.getByText("sign in with a token that has the scope admin").waitFor();
    await signIn(page);
    await page.getByText("token mara has no scope admin (it has read)").waitFor();
    assert.deepEqual(state.asked.filter((p) => p.startsWith("/tokens")), []); /* nothing is asked that would be refused */
    await shoot(page, "walk-no-scope");
    assert.deepEqual(await violations(page), []);
  });
}

async function a_secret_is_shown_once({ browser, mock, state }) {
  state.scopes = ["admin"];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/settings/tokens`);
    await settled(page);
    await signIn(page);
    const form = page.locator("form.token-new");
    await form.getByLabel("read", { exact: false }).first().uncheck();
    await form.getByText("choose at least one scope").waitFor();
    await form.getByRole("button", { name: "Create token" }).click({ force: true });
    assert.deepEqual(state.patches, []);
    await form.getByLabel("Name").fill("nightly");
    await form.getByLabel(/^ingest/).check();
    await form.getByLabel("Project").selectOption("kernels");
    await form.getByLabel("Valid for").selectOption("30");
    await form.getByLabel("Name").press("Enter");
    await page.getByText("pfc_shown_once").waitFor();
    assert.deepEqual(state.patches, [{ method: "POST", path: "/tokens", change: { name: "nightly", scopes: ["ingest"], project: "kernels", expires_at: "2026-03-29T05:40:00.000Z" } }]);
    await page.getByRole("table", { name: "Tokens" }).getByText("nightly", { exact: true }).waitFor();
    await shoot(page, "walk-token");
    assert.deepEqual(await violations(page), []);
    const kept = await page.evaluate(() => JSON.stringify([window.localStorage, window.sessionStorage, document.cookie, location.href]));
    assert.ok(!kept.includes("pfc_shown_once"), kept);
    await page.getByRole("button", { name: "I have copied it" }).click();
    assert.equal(await page.getByText("pfc_shown_once").count(), 0);
  });
}

async function a_token_is_rotated_and_revoked_after_a_question({ browser, mock, state }) {
  state.scopes = ["admin"];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/settings/tokens`);
    await settled(page);
    await signIn(page);
    await page.getByLabel("Old secret of token 3 (mara)").selectOption("3600");
    await page.getByRole("button", { name: "Rotate token 3 (mara)" }).click();
    await page.getByText("pfc_rotated").waitFor();
    const revoke = page.getByRole("button", { name: "Revoke token 3 (mara)" });
    await revoke.click();
    await page.getByText("This sign-in ends with its token.").waitFor();
    await page.getByRole("button", { name: "Keep" }).click();
    await revoke.click();
    assert.equal(state.patches.length, 1);
    await page.getByRole("button", { name: "Revoke", exact: true }).click();
    await page.getByText("token 3 (mara) is revoked.").waitFor();
    assert.deepEqual(state.patches, [{ method: "POST", path: "/tokens/3/rotate", change: { overlap_s: 3600 } }, { method: "DELETE", path: "/tokens/3", change: null }]);
    await page.getByRole("button", { name: "Revoke token 3 (mara)", disabled: true }).waitFor();
  });
}

async function a_notice_is_sent_again_or_discarded({ browser, mock, state }) {
  state.scopes = ["read", "triage"];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/settings/notices?project=kernels`);
    await settled(page);
    await page.getByText("To send or discard a notice, sign in with a token that has the scope triage.").waitFor();
    await signIn(page);
    const rows = page.getByRole("table", { name: "Notices that wait" }).locator("tbody tr");
    await rows.first().getByText("8 tries: the receiver answered 410").waitFor();
    await rows.nth(1).getByText("every delivery of this notice was sent or is still tried").waitFor();
    await rows.first().getByRole("button", { name: "Send again: notice 71" }).click();
    await page.getByText("1 delivery of notice 71 will be tried again.").waitFor();
    await rows.nth(1).getByRole("button", { name: "Discard notice 72" }).click();
    await rows.nth(1).getByRole("button", { name: "Discard", exact: true }).click();
    await page.getByText("Notice 72 is discarded.").waitFor();
    await until(page, () => document.querySelectorAll("main tbody tr").length === 1);
    assert.deepEqual(state.patches.map((p) => [p.method, p.path]), [["POST", "/notices/71/send"], ["DELETE", "/notices/72"]]);
  });
}

async function owners_are_edited_and_the_audit_log_has_pages({ browser, mock, state }) {
  state.scopes = ["admin"];
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/owners`);
    await settled(page);
    await signIn(page);
    await page.getByText("the rules are as they are stored").waitFor();
    await page.getByLabel(/^Rules:/).fill("# gemm\nbenchmark:gemm/* @blas\nkernel:attention ann@example.org\n");
    await page.getByRole("button", { name: "Save rules" }).click();
    await page.getByText("2 rules stored; the owners of the open alerts are found again.").waitFor();
    assert.deepEqual(state.patches, [{ method: "POST", path: "/projects/kernels/owners", change: { rules: "# gemm\nbenchmark:gemm/* @blas\nkernel:attention ann@example.org\n" } }]);
    /* The stored rules are those that were saved: a further edit is not reported as a conflict. */
    await page.getByLabel(/^Rules:/).fill("kernel:gemm @blas\n");
    await page.getByRole("button", { name: "Save rules" }).and(page.locator(":not([aria-disabled])")).waitFor();
    assert.equal(await page.getByText("The stored rules were changed meanwhile.").count(), 0);
    await page.goto(`${mock.url}/settings/audit`);
    const rows = (n) => until(page, (k) => document.querySelectorAll("main tbody tr").length === k, n);
    await rows(100);
    await page.getByRole("button", { name: "Show more" }).click();
    await rows(103);
    await page.getByLabel("Project").last().selectOption("kernels");
    await rows(52);
    assert.ok((await page.locator("main").innerText()).includes(EVIL.replace("\u202e", "[U+202E]")));
  });
}

async function other_settings_are_replayed_before_they_are_stored({ browser, mock, state }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(`${mock.url}/p/kernels/detector`);
    await settled(page);
    await page.getByText(/^set by rules: 2(\.0+)?.%/).waitFor();
    await signIn(page);
    const save = page.getByRole("button", { name: "Save settings" });
    await page.getByText("these are the stored settings").waitFor();
    await page.getByRole("button", { name: "Add a rule" }).click();
    await page.getByText("rule 2: it sets nothing").first().waitFor();
    const rule = page.getByRole("group", { name: "Rule 2" });
    await rule.getByLabel("Benchmark").fill("softmax/*");
    await rule.getByLabel("Smallest change, %").fill("2000");
    await page.getByText('rule 2: smallest change: expected 0.0001 to 1000 %, got "2000"').first().waitFor();
    await rule.getByLabel("Smallest change, %").fill("12");
    await page.getByText("replay these settings first").waitFor();
    await save.click({ force: true });
    assert.deepEqual(state.patches, []);
    await page.getByRole("button", { name: "Replay these settings" }).click();
    const stored = { fdr: 0.05, rules: [{ benchmark: "gemm/*", min_change: 0.02 }] };
    const edited = { fdr: 0.05, rules: [...stored.rules, { benchmark: "softmax/*", min_change: 0.12 }] };
    const figures = page.getByRole("table", { name: "Replay of the stored settings and of these" });
    assert.match(await figures.getByRole("row", { name: /^Precision/ }).innerText(), /50\.0.%\s+100\.0.%/);
    assert.match(await figures.getByRole("row", { name: /^F1/ }).innerText(), /50\.0.%\s+66\.7.%/);
    await page.getByText("1 alert of these settings only, 1 of the stored ones only, 2 of both.").waitFor();
    const alerts = page.getByRole("table", { name: "Alerts of either configuration" }).locator("tbody tr");
    assert.match(await alerts.nth(1).innerText(), /only the stored settings[^]*false alarm/);
    assert.deepEqual(state.patches.map((p) => [p.path, p.change]), [["/projects/kernels/replay", stored], ["/projects/kernels/replay", edited]]);
    await shoot(page, "walk-detector");
    assert.deepEqual(await violations(page), []);
    /* Other settings than those of the replay are not stored. */
    await rule.getByLabel("Smallest change, %").fill("13");
    await page.getByText("replay these settings first").waitFor();
    await page.getByText("The settings were changed after the replay.").waitFor();
    await rule.getByLabel("Smallest change, %").fill("12");
    await save.click();
    await page.getByText("Version 3 holds from now on; the whole history is judged again.").waitFor();
    assert.deepEqual(state.patches[2], { method: "POST", path: "/projects/kernels/detector", change: edited });
    await page.getByText(/^Version 3, stored by mara/).waitFor();
  });
}

async function settings_stored_meanwhile_are_not_overwritten({ browser, mock, state }) {
  await withPage(browser, { ...wide, allow: /the server responded with a status of 409/ }, async (page) => {
    await page.goto(`${mock.url}/p/kernels/detector`);
    await settled(page);
    await signIn(page);
    await page.getByLabel(/^fdr/).fill("1");
    await page.getByRole("button", { name: "Replay these settings" }).click();
    await page.getByRole("table", { name: "Replay of the stored settings and of these" }).waitFor();
    state.storedMeanwhile = { fdr: 0.2, rules: [] };
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("seen: expected 3, got 2").waitFor();
    await page.getByText(/^Version 3, stored by ines/).waitFor();
    assert.deepEqual(state.detector.detector, { fdr: 0.2, rules: [] });
    assert.equal(await page.getByLabel(/^fdr/).inputValue(), "1"); /* what was entered stays */
    await page.getByText("replay these settings first").waitFor(); /* the replay compared with settings that hold no longer */
    await page.getByRole("button", { name: "Replay these settings" }).click();
    await page.getByRole("table", { name: "Replay of the stored settings and of these" }).waitFor();
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("Version 4 holds from now on").waitFor();
  });
}

async function a_project_too_large_for_a_replay_can_be_configured({ browser, mock, state }) {
  state.tooLarge = true;
  await withPage(browser, { ...wide, allow: /the server responded with a status of 413/ }, async (page) => {
    await page.goto(`${mock.url}/p/kernels/detector`);
    await settled(page);
    await signIn(page);
    await page.getByLabel(/^fdr/).fill("1");
    await page.getByText("replay these settings first").waitFor();
    await page.getByRole("button", { name: "Replay these settings" }).click();
    await page.getByText("replay: over 1000000 points").waitFor();
    await page.getByRole("button", { name: "Save settings" }).click();
    await page.getByText("Version 3 holds from now on").waitFor();
    assert.deepEqual(state.patches.pop().change, { fdr: 0.01, rules: [{ benchmark: "gemm/*", min_change: 0.02 }] });
  });
}

export const settingsWalks = { settings_stored_meanwhile_are_not_overwritten, other_settings_are_replayed_before_they_are_stored, a_project_too_large_for_a_replay_can_be_configured, every_settings_page_is_sound_for_an_administrator, a_page_without_its_scope_says_what_the_token_has, a_secret_is_shown_once,
  a_token_is_rotated_and_revoked_after_a_question, a_notice_is_sent_again_or_discarded, owners_are_edited_and_the_audit_log_has_pages };
