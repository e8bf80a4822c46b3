// Gestures on charts: wheel, drags, double click and pinch, by real input events. Commits of the long series are numbered.
import assert from "node:assert/strict";
import { openPage, settled } from "./browser.mjs";
import { id as plotId } from "./mock_plot.mjs";
import { holds, param, pressAtOnce, until, wide, withPage } from "./walks.mjs";

const POINTS = 400;
const SERIES = "/series/900";
const PLOT = "/p/kernels/plot";
const PAD = 0.015; /* room at the ends of the series chart: series_chart.tsx */
const id = (row) => row.toString(16).padStart(12, "0");
const zoomed = (page) => until(page, () => new URLSearchParams(location.search).has("zoom"));
const rows = async (page) => (await param(page, "zoom")).split("..").map((c) => parseInt(c, 16));
/** Row at a share of the chart's width that shows the rows from a to b. */
const rowAt = ([a, b], share) => a - (b - a) * PAD + share * (b - a) * (1 + 2 * PAD);
const near = (got, expected, by, what) => assert.ok(Math.abs(got - expected) <= by, `${what}: got ${got}, expected ${expected} within ${by}`);

async function open(page, mock, path, chart) {
  await page.goto(mock.url + path);
  await settled(page);
  await page.locator(chart).scrollIntoViewIfNeeded();
  return page.locator(chart).boundingBox();
}

async function drag(page, box, from, to) {
  await page.mouse.move(box.x + box.width * from, box.y + 150);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * to, box.y + 150, { steps: 8 });
  await page.mouse.up();
}

/** Two fingers around the middle of the box move from one distance to another; shares of its width. */
async function pinch(page, box, from, to) {
  const device = await page.context().newCDPSession(page);
  const at = (apart) => [-0.5, 0.5].map((side, finger) => ({ x: box.x + box.width * (0.5 + side * apart), y: box.y + 150, id: finger }));
  const send = (type, touchPoints) => device.send("Input.dispatchTouchEvent", { type, touchPoints });
  await send("touchStart", at(from));
  for (let step = 1; step <= 8; step += 1) await send("touchMove", at(from + ((to - from) * step) / 8));
  await send("touchEnd", []);
}

async function withTouch(browser, body) {
  const view = await openPage(browser, { width: 390, height: 640, theme: "light", touch: true });
  try {
    await body(view.page);
    assert.deepEqual(view.faults, []);
  } finally {
    await view.close();
  }
}

async function ctrl_wheel_zooms_the_series_at_the_pointer({ browser, mock, state }) {
  state.long = POINTS;
  await withPage(browser, { ...wide, height: 700 }, async (page) => {
    const box = await open(page, mock, SERIES, ".u-over");
    await page.mouse.move(box.x + box.width * 0.25, box.y + 150);
    const top = await page.evaluate(() => window.scrollY);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await zoomed(page);
    const [from, to] = await rows(page);
    near(to - from, (POINTS - 1) / Math.E, 4, "rows on view");
    near(rowAt([from, to], 0.25), rowAt([0, POINTS - 1], 0.25), 2, "row under the pointer");
    await page.mouse.wheel(0, 400);
    await until(page, () => !new URLSearchParams(location.search).has("zoom")); /* no further than everything */
    assert.equal(await page.evaluate(() => window.scrollY), top);
    await page.keyboard.up("Control");
    await page.mouse.wheel(0, 120); /* the page's own */
    await until(page, (before) => window.scrollY > before, top);
    assert.equal(await param(page, "zoom"), null);
  });
}

async function shift_drag_pans_the_series({ browser, mock, state }) {
  state.long = POINTS;
  for (const mode of ["", "&drag=range"]) {
    await withPage(browser, wide, async (page) => {
      const box = await open(page, mock, `${SERIES}?zoom=${id(100)}..${id(200)}${mode}`, ".u-over");
      await page.keyboard.down("Shift");
      await drag(page, box, 0.75, 0.25);
      await page.keyboard.up("Shift");
      await until(page, (old) => !new URLSearchParams(location.search).get("zoom").startsWith(old), id(100));
      await holds(page, async () => {
        const [from, to] = await rows(page);
        near(from, 100 + 0.5 * 100 * (1 + 2 * PAD), 2, "first row");
        near(to - from, 100, 1, "rows on view");
      });
      assert.equal(await param(page, "range"), null);
    });
  }
}

async function a_double_click_shows_the_whole_series({ browser, mock, state }) {
  state.long = POINTS;
  await withPage(browser, wide, async (page) => {
    const box = await open(page, mock, `${SERIES}?zoom=${id(100)}..${id(200)}&at=${id(120)}`, ".u-over");
    await page.mouse.dblclick(box.x + box.width * 0.6, box.y + 150);
    await until(page, () => !new URLSearchParams(location.search).has("zoom"));
    assert.equal(await param(page, "at"), id(120), "the selected point stays");
    await page.mouse.click(box.x + box.width * 0.6, box.y + 150);
    await until(page, (old) => new URLSearchParams(location.search).get("at") !== old, id(120));
  });
}

async function a_pinch_zooms_the_series({ browser, mock, state }) {
  state.long = POINTS;
  await withTouch(browser, async (page) => {
    const box = await open(page, mock, SERIES, ".u-over");
    await pinch(page, box, 0.2, 0.8);
    await zoomed(page);
    await holds(page, async () => {
      const [from, to] = await rows(page);
      near(to - from, (POINTS - 1) / 4, 8, "rows on view");
      near((from + to) / 2, POINTS / 2, 4, "row in the middle");
    });
    await pinch(page, box, 0.8, 0.1);
    await until(page, () => !new URLSearchParams(location.search).has("zoom"));
  });
}

/* In the picture of an alert a click opens a commit: not one that begins a double click. */
async function the_chart_of_an_alert_zooms_in_place({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    const box = await open(page, mock, "/alerts/31", ".u-over");
    const drawn = () => page.locator(".uplot canvas").evaluate((c) => c.toDataURL());
    const first = await drawn();
    await page.mouse.dblclick(box.x + box.width * 0.4, box.y + 150);
    await page.mouse.move(5, 5);
    await until(page, (old) => document.querySelector(".uplot canvas").toDataURL() !== old, first);
    assert.equal(await page.evaluate(() => location.pathname), "/alerts/31");
    await page.mouse.click(box.x + box.width * 0.4, box.y + 150);
    await until(page, () => location.pathname.startsWith("/p/kernels/commit/"));
  });
}

const ids = [...Array(120).keys()].map(plotId);
const moved = (page, [from, to]) => until(page, (old) => new URLSearchParams(location.search).get("from") !== old[0]
  && new URLSearchParams(location.search).get("to") !== old[1], [from, to]);

const columns = (page) => Promise.all(["from", "to"].map(async (name) => ids.indexOf(await param(page, name))));
const openPlot = (page, mock) => open(page, mock, PLOT, ".panel-box canvas");

async function wheel_drag_and_double_click_move_the_plot({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    const box = await openPlot(page, mock);
    await page.mouse.move(box.x + 66 + (box.width - 76) / 2, box.y + 150);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.keyboard.up("Control");
    await until(page, () => new URLSearchParams(location.search).has("from"));
    const first = await columns(page);
    near(first[1] - first[0], 121 / Math.E, 3, "columns on view");
    near((first[0] + first[1]) / 2, 60, 2, "column under the pointer");
    await page.keyboard.down("Shift");
    await drag(page, box, 0.7, 0.5);
    await page.keyboard.up("Shift");
    await moved(page, first.map((i) => ids[i]));
    await holds(page, async () => {
      const second = await columns(page);
      near(second[0] - first[0], (0.2 * box.width * (121 / Math.E)) / (box.width - 76), 2, "columns panned by");
      near(second[1] - second[0], first[1] - first[0], 1, "columns on view");
    });
    await page.mouse.dblclick(box.x + box.width / 2, box.y + 150);
    await until(page, () => !new URLSearchParams(location.search).has("from"));
    assert.equal(await page.evaluate(() => location.pathname), PLOT);
  });
}

async function keys_within_one_frame_all_move_the_plot({ browser, mock }) {
  await withPage(browser, wide, async (page) => {
    await openPlot(page, mock);
    await pressAtOnce(page.locator(".panels"), ["+", "+", "ArrowRight", "ArrowRight"]);
    await holds(page, async () => {
      const [from, to] = await columns(page);
      near(to - from, 121 / 4, 2, "columns on view");
      near((from + to) / 2, 60 + 121 / 16, 2, "column in the middle");
    });
  });
}

async function keys_within_one_frame_all_move_the_series({ browser, mock, state }) {
  state.long = POINTS;
  await withPage(browser, wide, async (page) => {
    await open(page, mock, SERIES, ".u-over");
    const chart = page.locator(".chart");
    await pressAtOnce(chart, ["+", "+"]);
    await holds(page, async () => {
      const [from, to] = await rows(page);
      near(to - from, (POINTS - 1) / 4, 3, "rows on view");
    });
    await pressAtOnce(chart, ["0", "Home", "ArrowRight", "ArrowRight"]);
    await holds(page, async () => assert.equal(await param(page, "at"), id(2)));
    assert.equal(await param(page, "zoom"), null);
  });
}

/* A swipe over the plot scrolls the page; it opens no series. */
async function a_pinch_zooms_the_plot_and_a_swipe_scrolls_the_page({ browser, mock }) {
  await withTouch(browser, async (page) => {
    const box = await openPlot(page, mock);
    await pinch(page, box, 0.2, 0.8);
    await until(page, () => new URLSearchParams(location.search).has("from"));
    await holds(page, async () => {
      const [from, to] = await columns(page);
      near(to - from, 121 / 4, 2, "columns on view"); /* a step before the last one it is 3 more */
    });
    const before = [await param(page, "from"), await page.evaluate(() => window.scrollY)];
    const device = await page.context().newCDPSession(page);
    await page.evaluate(() => {
      window.ended = [];
      for (const type of ["pointercancel", "pointerup"]) document.addEventListener(type, () => window.ended.push(type), true);
    });
    const finger = (type, y) => device.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x: box.x + box.width / 2, y }] });
    await finger("touchStart", box.y + 300);
    for (let step = 1; step <= 8; step += 1) await finger("touchMove", box.y + 300 - 25 * step);
    await finger("touchEnd");
    await until(page, (top) => window.scrollY > top, before[1]);
    assert.deepEqual(await page.evaluate(() => window.ended), ["pointercancel"]);
    assert.equal(await param(page, "from"), before[0]);
    assert.equal(await page.evaluate(() => location.pathname), PLOT);
  });
}

export const gestureWalks = {
  ctrl_wheel_zooms_the_series_at_the_pointer, shift_drag_pans_the_series, a_double_click_shows_the_whole_series, a_pinch_zooms_the_series,
  the_chart_of_an_alert_zooms_in_place, wheel_drag_and_double_click_move_the_plot, keys_within_one_frame_all_move_the_plot,
  keys_within_one_frame_all_move_the_series, a_pinch_zooms_the_plot_and_a_swipe_scrolls_the_page,
};
