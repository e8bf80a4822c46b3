import assert from "node:assert/strict";
import { test } from "node:test";
import {
  effectRange, formatAgo, formatCertainty, formatChange, formatCount, formatDuration, formatInterval, formatNs, formatNumber, formatP, formatShare, formatShares,
  formatValue, formatWatchOdds, parseTime, plural, scaleFor, shortId,
} from "./format";

const plain = (s: string) => s.replace(/[\u00a0\u202f]/g, " ");

test("nanoseconds move to the unit that reads best", () => {
  assert.equal(formatNs(1250), "1.25 us");
  assert.equal(formatNs(999), "999 ns");
  assert.equal(formatNs(2.5e6), "2.50 ms");
  assert.equal(formatNs(3e9), "3.00 s");
});

test("rates keep their meaning when the prefix changes", () => {
  assert.equal(plain(formatValue(0.0543, "TFLOP/s")), "54.30 GFLOP/s");
  assert.equal(plain(formatValue(1.25, "TFLOP/s")), "1.250 TFLOP/s");
  assert.equal(plain(formatValue(1843.2, "GB/s")), "1.843 TB/s");
  assert.deepEqual(scaleFor("TFLOP/s", 0.05), { factor: 1000, unit: "GFLOP/s" });
});

test("whole counts are not rounded away", () => {
  assert.equal(plain(formatValue(812, "cycles")), "812 cycles");
  assert.equal(plain(formatValue(123456, "")), "123,456");
  assert.equal(plain(formatValue(1234567, "cycles")), "1,234,567 cycles");
  assert.equal(plain(formatValue(2.5e9, "cycles")), "2.500 G cycles");
  assert.equal(formatCount(1234567), "1,234,567");
});

test("unknown units pass through, missing values are a dash", () => {
  assert.equal(plain(formatValue(3.14159, "widgets")), "3.142 widgets");
  assert.equal(formatValue(null, "ns"), "\u2013");
  assert.equal(formatValue(NaN, "ns"), "\u2013");
});

test("of a long unit the start is shown, with its control characters", () => {
  const long = "tokens for each second and device";
  for (const shown of [formatValue(3.14159, long), formatValue(3, long), formatInterval(1, 2, long)]) assert.match(shown, /\u00a0tokens for each\u2026$/);
  assert.equal(plain(formatValue(2, "a\u202eb")), "2 a[U+202E]b");
});

test("numbers keep significant digits on both sides of one", () => {
  assert.equal(formatNumber(0.001234), "0.001234");
  assert.equal(formatNumber(-12.5), "\u221212.50");
  assert.equal(formatNumber(1234567, 4), "1,234,567");
  assert.equal(formatNumber(0), "0.0000".slice(0, formatNumber(0).length));
  assert.equal(formatNumber(-0.0), formatNumber(0));
});

test("changes carry a sign and never show minus zero", () => {
  assert.equal(plain(formatChange(0.1234)), "+12.3 %");
  assert.equal(plain(formatChange(-0.081)), "\u22128.1 %");
  assert.equal(plain(formatChange(-0.00002)), "\u22120.002 %");
  assert.equal(plain(formatChange(-0)), "0.0 %");
  assert.equal(plain(formatChange(2.5)), "+250 %");
  assert.equal(plain(formatShare(0.012)), "1.2 %");
  assert.equal(plain(formatCertainty(0.99991)), "> 99.9 %");
  assert.equal(plain(formatCertainty(0.97)), plain(formatShare(0.97)));
});

test("an interval has one unit", () => {
  assert.equal(plain(formatInterval(990, 1010, "ns", 3)), "0.990 \u2013 1.01 us");
});

test("p-values are never told as zero", () => {
  assert.equal(plain(formatP(0)), "< 0.0001");
  assert.equal(formatP(0.00042), "0.0004");
  assert.equal(formatP(0.25), "0.250");
});

test("durations and ages", () => {
  assert.equal(plain(formatDuration(4.21)), "4.2 s");
  assert.equal(plain(formatDuration(200)), "3 min 20 s");
  assert.equal(plain(formatDuration(7500)), "2 h 5 min");
  const now = Date.parse("2026-03-04T12:00:00Z");
  assert.equal(formatAgo(now - 20_000, now), "just now");
  assert.equal(formatAgo(now - 300_000, now), "5 min ago");
  assert.equal(formatAgo(now - 86_400_000, now), "1 day ago");
  assert.equal(formatAgo(now - 400 * 86_400_000, now), "1 year ago");
});

test("times come as text or as Unix seconds", () => {
  assert.equal(parseTime("2026-03-04T12:00:00Z"), Date.UTC(2026, 2, 4, 12));
  assert.equal(parseTime(1_700_000_000), 1_700_000_000_000);
  assert.ok(Number.isNaN(parseTime(null)));
});

test("small words", () => {
  assert.equal(plural(1, "run"), "1 run");
  assert.equal(plural(2, "series", "series"), "2 series");
  assert.equal(shortId("0123456789abcdef"), "0123456789");
});

test("the ratio names the likelier of change and spike", () => {
  assert.equal(formatWatchOdds(3.24), "3.2 to 1 for a change");
  assert.equal(formatWatchOdds(1), "1 to 1 for a change");
  assert.equal(formatWatchOdds(1 / 11), "11 to 1 for a spike");
  assert.equal(formatWatchOdds(412.4), "412 to 1 for a change");
  assert.equal(formatWatchOdds(5.6e6), "over 1,000 to 1 for a change"); /* nothing measured is that sure */
});

test("shares in a sentence stay on one line", () => {
  assert.equal(formatShares("8 of 40 series: s >= 2048; -4.9 % to +5.0 %"), "8 of 40 series: s >= 2048; \u22124.9\u00a0% to +5.0\u00a0%");
  assert.equal(formatShares("-14.8 %"), "\u221214.8\u00a0%");
  assert.equal(formatShares("since v1-2: 100 percent % of k-4"), "since v1-2: 100 percent % of k-4");
});

test("a range of effects begins at its lower end, as in the service's summaries", () => {
  assert.equal(plain(effectRange(0.06, 0.078)), "+6.0 % to +7.8 %");
  assert.equal(plain(effectRange(-0.04, -0.09)), "\u22129.0 % to \u22124.0 %");
  assert.equal(plain(effectRange(0.0301, 0.0302)), "+3.0 %");
  assert.equal(effectRange(null, 0.1), "");
});
