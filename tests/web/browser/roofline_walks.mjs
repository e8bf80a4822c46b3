// Ways through the roofline: dots by pointer and by keys, arrows between two commits, filters in the address, what has no place.
import assert from "node:assert/strict";
import { settled, violations } from "./browser.mjs";
import { holds, param, pressAtOnce, until, wide, withPage } from "./walks.mjs";

const ROOFLINE = "/p/kernels/roofline";
/* All of the mock's roofline in decades: 0.1 to 1,000 operations a byte, 1 GOP/s to 1 TOP/s. */
const ALL = { x: [-1, 3], y: [9, 12] };
/* Each benchmark's operations a byte and operations a second: mock_roofline.mjs. */
const DOTS = [[10.667, 1.3454e11], [170.667, 1.9747e11], [0.49976, 5.8082e9], [0.625, 3.6531e10], [1, 1.3112e10], [170.667, 4.5152e11], [512, 2.2304e11], [2.5, 2e9]]
  .map((at) => at.map(Math.log10));
const near = (got, expected, by, what) => assert.ok(Math.abs(got - expected) <= by, `${what}: got ${got}, expected ${expected} within ${by}`);

/** The axes within the window: roofline_chart.tsx. */
async function frameOf(page) {
  const b = await page.locator(".roof svg").boundingBox();
  const left = b.width < 560 ? 74 : 84;
  return { x: b.x + left, y: b.y + 12, width: b.width - left - 22, height: b.height - 52 };
}

/** Both axes of the address, in decades. */
async function partOf(page) {
  const [x, y] = await Promise.all(["x", "y"].map((name) => param(page, name)));
  return { x: x?.split("..").map(Math.log10) ?? ALL.x, y: y?.split("..").map(Math.log10) ?? ALL.y };
}

async function open(page, mock, query = "") {
  await page.goto(mock.url + ROOFLINE + query);
  await settled(page);
  return frameOf(page);
}

/** Shares of the axes from the left and from the bottom, as a place in the window. */
const pixel = (f, right, up) => [f.x + f.width * right, f.y + f.height * (1 - up)];
const share = ([from, to], at) => (at - from) / (to - from);

/** The address comes to have these ends. */
const shows = (page, x, y, by) => holds(page, async () => {
  const got = await partOf(page);
  for (const [name, expected] of Object.entries({ x, y })) for (const i of [0, 1]) near(got[name][i], expected[i], by, `${name}, ${i ? "high" : "low"} end`);
});

const circles = (page) => page.locator("circle.roof-dot").evaluateAll((all) => all.map((c) => { const b = c.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }));

/** The dots that are drawn are those of the part, at their places in it; the text has the number of the others. */
async function dotsAre(page, part) {
  const f = await frameOf(page);
  const within = (at, [from, to]) => at >= from && at <= to;
  const expected = DOTS.filter(([x, y]) => within(x, part.x) && within(y, part.y)).map(([x, y]) => pixel(f, share(part.x, x), share(part.y, y)));
  await holds(page, async () => {
    const drawn = await circles(page);
    assert.equal(drawn.length, expected.length);
    expected.forEach((at, i) => [0, 1].forEach((axis) => near(drawn[i][axis], at[axis], 2, `dot ${i}, ${"xy"[axis]}`)));
  });
  const outside = DOTS.length - expected.length;
  assert.equal(await page.locator(".chart-tools [role=status]").innerText(), outside === 0 ? "" : `${outside} ${outside === 1 ? "benchmark is" : "benchmarks are"} outside of the view`);
}

const isAll = async (page) => {
  await until(page, () => !/[?&][xy]=/.test(location.search));
  await page.locator(".chart-tools").getByRole("button", { name: "All", exact: true, disabled: true }).waitFor();
  await dotsAre(page, ALL);
};

/* Arrow keys go from dot to dot along the axis; each is said in words, and Enter opens its series at the commit. */
async function a_dot_is_named_and_opened_by_keys({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + ROOFLINE);
    await settled(page);
    await page.locator(".count").filter({ hasText: "8 benchmarks of 10 on the roofline: 3 limited by memory, 4 by arithmetic, 1 without a known ceiling; 2 unknown" }).waitFor();
    const chart = page.getByRole("group", { name: /^Roofline of 8 benchmarks/ });
    await chart.focus();
    await page.keyboard.press("Home");
    const said = chart.getByRole("status");
    await said.filter({ hasText: /^gemm\/f32\/m1n4096k4096 on cpu-avx512: 5\.808\sGFLOP\/s at 0\.500 operations a byte, 78\.0\s% of DRAM read, one core$/ }).waitFor();
    await page.keyboard.press("End");
    await said.filter({ hasText: "attention/bf16/h8s1024d64" }).waitFor();
    await page.locator(".roof-card").getByText("41.0\u00a0% of pfc-edge array and vector unit, bf16").waitFor();
    assert.equal(await page.locator(".roof-used").count(), 1);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Enter");
    await until(page, () => location.pathname === "/series/107");
    assert.equal(await param(page, "at"), "12b774678021".padEnd(40, "0"));
  });
}

/* The commit before is in the address; a benchmark that was not measured there has no arrow, and the table says so. */
async function arrows_lead_from_the_place_before({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await page.goto(mock.url + ROOFLINE);
    await settled(page);
    assert.equal(await page.locator(".roof-arrow").count(), 0);
    const before = page.getByRole("combobox", { name: "Before" });
    assert.ok(await page.locator("datalist option").count() > 2); /* tags and commits are offered */
    await before.fill("v1.2~1");
    assert.equal(await param(page, "a"), null); /* half a name is not asked for */
    await before.press("Enter");
    await until(page, () => new URLSearchParams(location.search).get("a") === "v1.2~1");
    await page.getByText(/^before: tag v1\.2~1 at [0-9a-f]{12}$/).waitFor();
    await until(page, () => document.querySelectorAll(".roof-arrow").length > 0);
    /* three of eight moved by 2 %, which is within a dot; one was not measured */
    assert.equal(await page.locator(".roof-arrow").count(), 4);
    const row = page.getByRole("table", { name: "Benchmarks", exact: true }).getByRole("row").filter({ hasText: "softmax" });
    assert.match(await row.innerText(), /not measured/);
    const circle = page.locator("circle.roof-dot").nth(1);
    await circle.hover();
    await page.locator(".roof-card").getByText(/^before: /).waitFor();
    await circle.click();
    await until(page, () => location.pathname.startsWith("/series/"));
  });
}

/* Filters are in the address; what has no place is a list with reasons, and a name is text, whatever is in it. */
async function what_has_no_place_is_listed({ browser, mock }) {
  await withPage(browser, { width: 390, theme: "dark" }, async (page) => {
    await page.goto(`${mock.url}${ROOFLINE}?backend=cpu-scalar`);
    await settled(page);
    await page.locator(".count").filter({ hasText: "1 benchmark of 3" }).waitFor();
    assert.equal(await page.locator("img").count(), 0);
    assert.ok((await page.getByRole("table", { name: "Benchmarks", exact: true }).innerText()).includes("<img src=x>"));
    await page.getByText("no ceiling of arithmetic and memory is known").first().waitFor();
    const unknown = page.getByRole("table", { name: "Benchmarks without a place" });
    assert.match(await unknown.innerText(), /copy\/f32\/n65536[\s\S]*the run states no operations[\s\S]*headline[\s\S]*none of its metrics is a time/);
    await page.goto(`${mock.url}${ROOFLINE}?select=nothing`);
    await page.getByText("No benchmark has a place on the roofline").waitFor();
    assert.equal(await page.locator(".roof").count(), 0);
    assert.deepEqual(await violations(page), []);
  });
}

/* Turned twice, the wheel shows 1/e of both axes around the pointer; a link has the same part. Without Ctrl it scrolls the page. */
async function ctrl_wheel_zooms_the_roofline_at_the_pointer({ browser, mock }) {
  await withPage(browser, { ...wide, height: 700 }, async (page) => {
    const f = await open(page, mock);
    await dotsAre(page, ALL);
    const top = await page.evaluate(() => window.scrollY);
    await page.mouse.move(...pixel(f, 0.3, 0.6));
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -100);
    await page.mouse.wheel(0, -100);
    const [x, y] = [0.2, 10.8]; /* under the pointer */
    const part = { x: [x - 1.2 / Math.E, x + 2.8 / Math.E], y: [y - 1.8 / Math.E, y + 1.2 / Math.E] };
    await shows(page, part.x, part.y, 0.01);
    await dotsAre(page, part);
    assert.deepEqual(await violations(page), []);
    const ticks = await page.locator(".roof-axes text").allTextContents();
    for (const text of ["1", "2", "5", "10", "50\u00a0GOP/s"]) assert.ok(ticks.includes(text), `${text} among ${ticks}`);
    const link = await page.evaluate(() => location.href);
    const before = await circles(page);
    await page.goto("about:blank");
    await page.goto(link);
    await settled(page);
    await dotsAre(page, part);
    (await circles(page)).forEach((at, i) => [0, 1].forEach((axis) => near(at[axis], before[i][axis], 0.5, `dot ${i} of the link`)));
    await page.mouse.move(...pixel(f, 0.3, 0.6));
    await page.mouse.wheel(0, 100);
    await page.mouse.wheel(0, 100);
    await isAll(page); /* the pointer's place has not moved */
    await page.mouse.wheel(0, 100);
    assert.equal(await page.evaluate(() => window.scrollY), top);
    await page.keyboard.up("Control");
    await page.mouse.wheel(0, 120);
    await until(page, (old) => window.scrollY > old, top);
    await isAll(page);
  });
}

/* The chart goes with the pointer in both directions. A drag without Shift moves nothing and opens nothing. */
async function shift_drag_pans_the_roofline_and_a_double_click_shows_all({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    const f = await open(page, mock, "?x=1..100&y=1e10..1e11");
    const drag = async (from, to) => {
      await page.mouse.move(...pixel(f, ...from));
      await page.mouse.down();
      await page.mouse.move(...pixel(f, ...to), { steps: 8 });
      await page.mouse.up();
    };
    await drag([0.5, 0.2], [0.7, 0.2]);
    await page.keyboard.down("Shift");
    await drag([0.6, 0.6], [0.4, 0.3]);
    await shows(page, [0.4, 2.4], [10.3, 11.3], 0.01); /* a move before the last one: 0.05 and 0.04 less */
    await drag([0.5, 0.9], [0.5, 0.1]); /* straight down, to the upper end of y */
    await page.keyboard.up("Shift");
    await shows(page, [0.4, 2.4], [11, 12], 0.01);
    await dotsAre(page, { x: [0.4, 2.4], y: [11, 12] });
    await page.getByText("5 benchmarks are outside of the view").waitFor();
    await page.mouse.dblclick(...pixel(f, share([0.4, 2.4], DOTS[0][0]), share([11, 12], DOTS[0][1]))); /* on a dot, whose series is not opened */
    await isAll(page);
    await page.locator(".chart-tools").getByRole("button", { name: "Zoom in" }).click();
    await shows(page, [0, 2], [9.75, 11.25], 0.001);
    assert.equal(await page.evaluate(() => location.pathname), ROOFLINE);
    await page.locator(".chart-tools").getByRole("button", { name: "All", exact: true }).click();
    await isAll(page);
  });
}

async function keys_within_one_frame_all_move_the_roofline({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await open(page, mock);
    const chart = page.locator(".roof");
    await chart.focus();
    await pressAtOnce(chart, ["+", "+", "Shift+ArrowRight", "Shift+ArrowUp", "Shift+ArrowUp"]);
    await shows(page, [0.5 + 1 / 8, 1.5 + 1 / 8], [10.125 + 0.75 / 4, 10.875 + 0.75 / 4], 0.001);
    await pressAtOnce(chart, ["Shift+ArrowLeft", "Shift+ArrowDown", "-"]);
    await shows(page, [0, 2], [9.75 + 0.75 / 8, 11.25 + 0.75 / 8], 0.001);
    await pressAtOnce(chart, Array(9).fill("+"));
    await shows(page, [1 - 2 / 15, 1 + 2 / 15], [10.5 + 0.75 / 8 - 0.1, 10.5 + 0.75 / 8 + 0.1], 0.001); /* a fifth of a decade of the shorter axis */
    assert.ok(await page.locator(".roof-axes text").count() >= 6, "both axes have labels");
    await page.keyboard.press("0");
    await isAll(page);
  });
}

/* Plain arrows walk the dots, and bring those outside into view; a zoom by keys keeps the marked one at its place. */
async function keys_bring_a_dot_into_the_view_of_the_roofline({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await open(page, mock, "?x=100..1000&y=1e11..1e12");
    await dotsAre(page, { x: [2, 3], y: [11, 12] });
    const chart = page.locator(".roof");
    await chart.focus();
    await pressAtOnce(chart, ["Home", "ArrowRight", "ArrowRight"]);
    await chart.getByRole("status").filter({ hasText: /^layernorm/ }).waitFor();
    const part = { x: [DOTS[2][0] - 0.1, DOTS[2][0] + 0.9], y: [DOTS[2][1] - 0.1, DOTS[2][1] + 0.9] };
    await shows(page, part.x, part.y, 0.001);
    await dotsAre(page, part);
    await page.locator(".roof-card").getByText("layernorm").waitFor();
    const bright = () => page.locator(".roof-bright").evaluate((c) => [Number(c.getAttribute("cx")), Number(c.getAttribute("cy"))]);
    const before = await bright();
    await pressAtOnce(chart, ["+", "+"]);
    const around = (at, [from, to]) => [at - (at - from) / 4, at + (to - at) / 4];
    await shows(page, around(DOTS[4][0], part.x), around(DOTS[4][1], part.y), 0.001);
    (await bright()).forEach((at, i) => near(at, before[i], 1, "the marked dot"));
    await pressAtOnce(chart, ["Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight"]);
    await until(page, () => document.querySelector(".roof-bright, .roof-card") === null); /* the marked dot has left the view */
    await page.keyboard.press("Enter");
    await until(page, () => location.pathname === "/series/105");
  });
}

/* Two fingers take the chart with them and zoom it; one finger scrolls the page. */
async function two_fingers_zoom_the_roofline_and_one_scrolls_the_page({ browser, mock }) {
  await withPage(browser, { width: 390, height: 640, theme: "dark", touch: true }, async (page) => {
    await open(page, mock);
    await page.locator(".roof svg").scrollIntoViewIfNeeded();
    const f = await frameOf(page);
    const device = await page.context().newCDPSession(page);
    const touch = (type, points) => device.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
    const [x, y] = pixel(f, 0.5, 0.5);
    const fingers = (apart, moved) => [-1, 1].map((side) => [x + side * 30 * apart + moved * 24, y + side * 12 * apart - moved * 18]);
    await touch("touchStart", fingers(1, 0));
    for (let step = 1; step <= 8; step += 1) await touch("touchMove", fingers(1 + step / 4, step / 8));
    await touch("touchEnd", []);
    const around = (at, wide, part) => [at - wide * part, at + wide * (1 - part)];
    const end = { x: around(1, 4 / 3, 0.5 + 24 / f.width), y: around(10.5, 1, 0.5 + 18 / f.height) };
    await shows(page, end.x, end.y, 0.03); /* a move before the last one: axes wider by 0.12 and 0.09 */
    const top = await page.evaluate(() => window.scrollY);
    await touch("touchStart", [[x, y]]);
    for (let step = 1; step <= 8; step += 1) await touch("touchMove", [[x, y - 20 * step]]);
    await touch("touchEnd", []);
    await until(page, (old) => window.scrollY > old, top);
    await shows(page, end.x, end.y, 0.03);
  });
}

/* An axis that cannot be shown is said, and the other one is as the address has it; the first key mends the address. */
async function a_malformed_part_of_the_roofline_is_ignored({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    const said = page.locator(".said.bad");
    for (const [x, reason] of [["<b>..1", 'x is "<b>..1", expected LOW..HIGH with 0 < LOW < HIGH'], ["5..5", 'x is "5..5", expected LOW..HIGH with 0 < LOW < HIGH'],
      ["1e9..1e10", 'x is "1e9..1e10", and the axis goes from 0.1 to 1000']]) {
      await open(page, mock, `?x=${encodeURIComponent(x)}&y=1e10..1e11`);
      assert.equal(await said.innerText(), `The zoom of the address is not shown: ${reason}.`);
      await dotsAre(page, { x: ALL.x, y: [10, 11] });
    }
    assert.deepEqual(await violations(page), []);
    await page.locator(".roof").focus();
    await page.keyboard.press("+");
    await shows(page, [0, 2], [10.25, 10.75], 0.001);
    assert.equal(await said.count(), 0);
    await open(page, mock, "?x=0&y=..");
    assert.match(await said.innerText(), /: x is "0", .*; y is "\.\.", expected/);
    await dotsAre(page, ALL);
    await page.locator(".roof").focus();
    await page.keyboard.press("0");
    await isAll(page);
    assert.equal(await said.count(), 0);
  });
}

export const rooflineWalks = {
  a_dot_is_named_and_opened_by_keys, arrows_lead_from_the_place_before, what_has_no_place_is_listed,
  ctrl_wheel_zooms_the_roofline_at_the_pointer, shift_drag_pans_the_roofline_and_a_double_click_shows_all, keys_within_one_frame_all_move_the_roofline,
  keys_bring_a_dot_into_the_view_of_the_roofline, two_fingers_zoom_the_roofline_and_one_scrolls_the_page, a_malformed_part_of_the_roofline_is_ignored,
};
