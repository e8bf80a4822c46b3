// A bisection step by step: the final evidence first, then the search as it went.
import assert from "node:assert/strict";
import { overflow, settled, shoot, violations } from "./browser.mjs";
import { param, until, wide, withPage } from "./walks.mjs";

const PAGE = "/bisections/4";
const slider = (page) => page.getByRole("slider", { name: "Step" });
const button = (page, name) => page.getByRole("button", { name, exact: true });
const dots = (page) => page.locator(".step-dot").count();
const at = (page, step) => page.locator(".scrubber output").getByText(`step ${step} of 11`, { exact: true }).waitFor();
const said = async (locator) => (await locator.innerText()).replace(/\s+/g, " ");
const now = (page) => said(page.locator(".replay-now"));
const note = (page) => said(page.getByRole("note").filter({ hasText: "Alert #31" }));

async function open(page, mock, query = "") {
  await page.goto(mock.url + PAGE + query);
  await settled(page);
  await slider(page).waitFor();
}

async function the_final_evidence_is_above_the_folded_table({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await open(page, mock);
    const heads = await page.locator("main h2, main summary").allInnerTexts();
    const place = (text) => heads.findIndex((h) => h.startsWith(text));
    const order = ["Culprit", "Confirmation", "Search, step by step", "Table of 11 steps"].map(place);
    assert.ok(order.every((p, i) => p >= 0 && p >= (order[i - 1] ?? 0)), heads.join(" | "));
    assert.equal(await page.getByRole("table", { name: "Steps" }).isVisible(), false);
    await page.getByText("Table of 11 steps").click();
    await page.getByRole("table", { name: "Steps" }).waitFor();
    assert.match(await note(page), /^Alert #31 ?: the effect agrees with the alert's .11\.8 % \(.12\.4 % to .11\.2 %\); the intervals overlap\.$/);
  });
}

async function the_slider_and_keys_replay_the_posterior({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await open(page, mock);
    await at(page, 11);
    assert.equal(await dots(page), 11);
    assert.equal(await page.locator(".steps-culprit").count(), 1);
    assert.match(await now(page), /fb68f1971d 99.6 %/);
    await button(page, "Previous").click();
    await at(page, 10);
    assert.equal(await param(page, "step"), "10");
    assert.equal(await dots(page), 10);
    assert.equal(await page.locator(".steps-culprit").count(), 0, "the culprit is shown at the last step only");
    await slider(page).focus();
    await page.keyboard.press("Home");
    await at(page, 1);
    assert.equal(await dots(page), 1);
    const first = await page.locator(".belief").getAttribute("aria-label");
    assert.match(await now(page), /^d262be7acc measured 88\.3/);
    await page.keyboard.press("ArrowRight");
    await at(page, 2);
    assert.notEqual(await page.locator(".belief").getAttribute("aria-label"), first);
    await page.reload(); /* the step is in the address */
    await at(page, 2);
    await page.goto(`${mock.url}${PAGE}?step=4`);
    await at(page, 4);
    assert.match(await now(page), /^a7a6d7a82f broken\./);
    await button(page, "Next").click();
    await at(page, 5);
    assert.match(await now(page), /Most probable after step 4: /, "a step without a posterior says whose is shown");
    await slider(page).focus();
    await page.keyboard.press("End");
    await at(page, 11);
    assert.equal(await param(page, "step"), null);
  });
}

async function play_runs_to_the_end_and_not_against_reduced_motion({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await open(page, mock, "?step=8");
    assert.equal(await button(page, "Play").isDisabled(), true); /* the context asks for reduced motion */
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await button(page, "Play").click();
    await button(page, "Pause").waitFor();
    await at(page, 9);
    await button(page, "Pause").click();
    await button(page, "Play").waitFor();
    await button(page, "Play").click();
    await at(page, 11);
    await button(page, "Play").waitFor(); /* it stops there */
    await button(page, "Play").click(); /* and begins again */
    await at(page, 1);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await until(page, () => [...document.querySelectorAll(".scrubber button")].some((b) => b.textContent === "Play" && b.disabled));
  });
}

/* WCAG 1.4.11: marks have a contrast of 3:1 to what is beside them. */
async function dots_are_legible({ browser, mock }) {
  for (const [width, theme] of [[1280, "light"], [390, "dark"]]) {
    await withPage(browser, { width, theme }, async (page) => {
      await open(page, mock, "?step=9");
      const all = await page.evaluate(() => {
        const light = (text) => {
          const [r, g, b] = text.match(/[\d.]+/g).slice(0, 3).map((v) => Number(v) / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const probe = document.createElement("i");
        probe.style.color = "var(--surface)";
        document.body.append(probe);
        const ground = light(getComputedStyle(probe).color);
        probe.remove();
        return [...document.querySelectorAll(".step-dot circle")].map((c) => {
          const stroke = light(getComputedStyle(c).stroke);
          return { radius: c.getBoundingClientRect().width / 2, contrast: (Math.max(stroke, ground) + 0.05) / (Math.min(stroke, ground) + 0.05) };
        });
      });
      assert.equal(all.length, 9);
      await until(page, () => { /* the dot of the step is in view, also where the plot is wider than the screen */
        const dot = document.querySelector(".step-now").getBoundingClientRect();
        return dot.left >= 0 && dot.right <= document.documentElement.clientWidth;
      });
      for (const d of all) assert.ok(d.radius >= 4 && d.contrast >= 3, `${width} ${theme}: ${JSON.stringify(d)}`);
      await shoot(page, `walk-replay-${theme}-${width}`);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(await overflow(page), []);
    });
  }
}

/* 40 commits, of which the last two were measured six times each. */
async function a_long_search_keeps_its_numbers_apart({ browser, mock, state }) {
  const id = (i) => (i + 1).toString(16).padStart(40, "0");
  const measured = [...Array(40).keys(), ...Array(10).fill(0).map((_, i) => 38 + (i % 2))];
  state.bisection = { line: [...Array(40).keys()].map((i) => ({ commit: id(i) })), culprits: [],
    steps: measured.map((place) => ({ commit: id(place), value: place < 39 ? 90 : 80, build: 0, state: "measured", confirm: false })) };
  for (const width of [1280, 390]) {
    await withPage(browser, { width, theme: "light" }, async (page) => {
      await open(page, mock);
      await page.locator(".scrubber output").getByText("step 50 of 50", { exact: true }).waitFor();
      const shown = await page.evaluate(() => [...document.querySelectorAll(".step-dot")].map((g) => {
        const box = g.querySelector("circle").getBoundingClientRect();
        const text = g.querySelector("text");
        return { x: box.x + box.width / 2, y: box.y + box.height / 2, wide: box.width, said: text?.textContent ?? "",
          size: text ? parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a : 0 };
      }));
      assert.deepEqual(shown.map((d) => d.said), measured.map((_, i) => String(i + 1)));
      for (const d of shown) assert.ok(d.size >= 10, `step ${d.said}: a number of ${d.size} px at ${width} px`);
      const close = shown.flatMap((a, i) => shown.slice(i + 1).filter((b) => Math.hypot(a.x - b.x, a.y - b.y) < a.wide).map((b) => `${a.said} on ${b.said}`));
      assert.deepEqual(close, []);
      const ticks = await page.evaluate(() => [...document.querySelectorAll(".steps .tick.mono")].map((t) => t.getBoundingClientRect()).map((b) => [b.left, b.right]));
      ticks.slice(1).forEach(([left], i) => assert.ok(left > ticks[i][1], "names of commits touch each other"));
      await shoot(page, `walk-replay-long-${width}`);
      assert.deepEqual(await overflow(page), []);
    });
  }
}

async function a_report_has_its_steps_and_says_why_no_posterior({ browser, mock, state }) {
  state.bisection = { mode: "report", line: undefined, verifications: undefined, alert_id: null };
  await withPage(browser, wide, async (page) => {
    await open(page, mock);
    await page.getByText("No posterior: the report of a local search has no options.").waitFor();
    await page.getByText("No alert belongs to this search.").waitFor();
    assert.equal(await page.locator(".belief").count(), 0);
    assert.equal(await dots(page), 11);
    await button(page, "Previous").click();
    assert.equal(await dots(page), 10);
  });
}

async function an_effect_that_differs_from_the_alerts_is_explained({ browser, mock, state }) {
  state.alert = { rel_change: -0.05, rel_low: -0.052, rel_high: -0.048 };
  state.bisection = { machine_class: "epyc-9754" };
  await withPage(browser, wide, async (page) => {
    await open(page, mock);
    assert.match(await note(page), /differs from the alert's .5\.0 % .*do not overlap\. Possible reasons: the alert's results are of Intel Xeon Platinum 8481C, those of the search of epyc-9754; .*many sessions/);
  });
}

export const replayWalks = {
  the_final_evidence_is_above_the_folded_table, the_slider_and_keys_replay_the_posterior, play_runs_to_the_end_and_not_against_reduced_motion,
  dots_are_legible, a_long_search_keeps_its_numbers_apart, a_report_has_its_steps_and_says_why_no_posterior, an_effect_that_differs_from_the_alerts_is_explained,
};
