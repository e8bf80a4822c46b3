/* Single keys of the dashboard and their actions. Pure: views/keys.tsx listens and acts. */

/** Letters after "g", by the names of the pages in the navigation. */
export const PAGE_LETTERS: Readonly<Record<string, string>> = {
  Overview: "o", Alerts: "a", Bisections: "b", Suppressions: "u", Quality: "q", Series: "s", Plot: "p", "Heat map": "h", Coverage: "v", Roofline: "l",
  Commits: "c", Nights: "n", Compare: "r", Jobs: "j", Schedules: "d", Machines: "m", Detector: "y", Owners: "w", Notices: "i", Webhooks: "k", Browsers: "x", Tokens: "t", Audit: "e",
};

/** Keys of lists and of every page, in the order of their description. */
export const KEYS: readonly (readonly [readonly string[], string])[] = [
  [["j"], "next row of the list"],
  [["k"], "row before"],
  [["x"], "select the row, or not"],
  [["Enter"], "open the row"],
  [["/"], "search box of the page"],
  [["g"], "then a letter: go to a page"],
  [["?"], "this list"],
];

/** Keys with a modifier: they work while single keys are off, too. */
export const CHORDS: readonly (readonly [readonly string[], string])[] = [
  [["Ctrl", "K"], "search pages, series, commits, alerts, groups, bisections, runs"],
];

/** Keys and gestures of a chart; the keys act while it has the focus. */
export const CHART_KEYS: readonly (readonly [readonly string[], string])[] = [
  [["Ctrl", "wheel"], "zoom at the pointer; on a touch screen: pinch"],
  [["Shift", "drag"], "pan"],
  [["double click"], "everything"],
  [["+", "\u2212", "0"], "zoom in, zoom out, everything"],
  [["\u2190", "\u2192"], "next point of a series; pan a plot"],
];

export type KeyAction = { do: "help" } | { do: "search" } | { do: "row"; by: 1 | -1 } | { do: "mark" } | { do: "wait" } | { do: "go"; page: string };

/** The action of a key; `waiting`: the key before it was "g". Null: nothing of these, and the wait is over. */
export function actionOf(key: string, waiting: boolean): KeyAction | null {
  if (waiting) {
    const page = Object.keys(PAGE_LETTERS).find((name) => PAGE_LETTERS[name] === key);
    return page ? { do: "go", page } : null;
  }
  switch (key) {
    case "?": return { do: "help" };
    case "/": return { do: "search" };
    case "j": return { do: "row", by: 1 };
    case "k": return { do: "row", by: -1 };
    case "x": return { do: "mark" };
    case "g": return { do: "wait" };
    default: return null;
  }
}

/** The row after a step: from none to the first or the last, and no further than the ends. */
export function rowAfter(now: number, by: 1 | -1, rows: number): number {
  if (rows === 0) return -1;
  if (now < 0) return by > 0 ? 0 : rows - 1;
  return Math.min(rows - 1, Math.max(0, now + by));
}
