import assert from "node:assert/strict";
import { test } from "node:test";
import { LEAST, broughtInto, digitsOf, fittedPart, isWhole, logTicks, middle, pannedPart, partOf, roomy, spanText, zoomedPart, type Part } from "./roofline_part";

const ALL: Part = { x: { from: -1, to: 3 }, y: { from: 8, to: 12 } };
const PART: Part = { x: { from: 0, to: 1 }, y: { from: 9, to: 11 } };
const near = (got: Part, expected: Part) => {
  for (const axis of ["x", "y"] as const) for (const end of ["from", "to"] as const) {
    assert.ok(Math.abs(got[axis][end] - expected[axis][end]) < 1e-9, `${axis}.${end}: got ${got[axis][end]}, expected ${expected[axis][end]}`);
  }
};

test("both axes zoom by one factor of decades around a place that stays where it is", () => {
  near(zoomedPart(PART, { x: 0.25, y: 10.5 }, 0.5, ALL), { x: { from: 0.125, to: 0.625 }, y: { from: 9.75, to: 10.75 } });
  const there = zoomedPart(PART, { x: 0.9, y: 9.1 }, 1 / Math.E, ALL);
  near(zoomedPart(there, { x: 0.9, y: 9.1 }, Math.E, ALL), PART);
});

test("zooming out ends with all, zooming in at a fifth of a decade of the shorter axis", () => {
  near(zoomedPart(PART, middle(PART), 1e6, ALL), ALL);
  const close = zoomedPart(PART, middle(PART), 1e-6, ALL);
  near(close, { x: { from: 0.4, to: 0.6 }, y: { from: 9.8, to: 10.2 } });
  near(zoomedPart(close, { x: 0.4, y: 9.8 }, 0.5, ALL), close);
  assert.ok(isWhole(ALL, ALL) && !isWhole({ ...ALL, x: PART.x }, ALL) && !isWhole({ ...ALL, y: PART.y }, ALL));
});

test("panning moves both axes and ends at the bounds", () => {
  near(pannedPart(PART, 0.5, -0.25, ALL), { x: { from: 0.5, to: 1.5 }, y: { from: 8.75, to: 10.75 } });
  near(pannedPart(PART, 99, 99, ALL), { x: { from: 2, to: 3 }, y: { from: 10, to: 12 } });
  near(pannedPart(PART, -99, -99, ALL), { x: { from: -1, to: 0 }, y: { from: 8, to: 10 } });
});

test("a place outside is brought into view by as little as leaves it a tenth of room", () => {
  near(broughtInto(PART, { x: 2, y: 10 }, ALL), { x: { from: 1.1, to: 2.1 }, y: PART.y });
  near(broughtInto(PART, { x: -0.5, y: 8.5 }, ALL), { x: { from: -0.6, to: 0.4 }, y: { from: 8.3, to: 10.3 } });
  near(broughtInto(PART, { x: 3, y: 12 }, ALL), { x: { from: 2, to: 3 }, y: { from: 10, to: 12 } });
  assert.deepEqual(broughtInto(PART, { x: 0.01, y: 9.01 }, ALL), PART);
});

test("a part beyond the bounds is moved and widened into them", () => {
  near(fittedPart({ x: { from: -5, to: -0.9 }, y: { from: 9.99, to: 10.01 } }, ALL), { x: { from: -1, to: 3 }, y: { from: 9.9, to: 10.1 } });
  near(fittedPart({ x: { from: 2.5, to: 3.5 }, y: { from: 0, to: 99 } }, ALL), { x: { from: 2, to: 3 }, y: ALL.y });
});

test("an address has the ends of each axis that is not all on view, and gives them back", () => {
  assert.deepEqual([spanText({ from: -0.5, to: 1 }, ALL.x), spanText({ from: 9, to: 11.5 }, ALL.y), spanText(ALL.y, ALL.y)], ["0.316228..10", "1e9..3.16228e11", null]);
  for (const part of [PART, zoomedPart(PART, { x: 0.3, y: 9.7 }, 0.31, ALL)]) {
    const { part: again, faults } = partOf(spanText(part.x, ALL.x) ?? "", spanText(part.y, ALL.y) ?? "", ALL);
    assert.deepEqual(faults, []);
    for (const axis of ["x", "y"] as const) assert.ok(Math.abs(again[axis].from - part[axis].from) < LEAST / 5000 && Math.abs(again[axis].to - part[axis].to) < LEAST / 5000);
  }
  assert.deepEqual(partOf("", "", ALL), { part: ALL, faults: [] });
});

test("an axis of the address that cannot be shown is ignored with a reason, the other one is not", () => {
  for (const text of ["abc", "1", "..", "1..", "0..1", "-1..1", "2..1", "1..1", "1..Infinity", "1..1e999", "1..2..3", "NaN..1", " 1..2", "1..2e+1", "0x1..0x2", "1..9".padStart(5000, "0")]) {
    const { part, faults } = partOf(text, "1e9..1e10", ALL);
    near(part, { x: ALL.x, y: { from: 9, to: 10 } });
    assert.equal(faults.length, 1, text.slice(0, 20));
    assert.match(faults[0] ?? "", /^x is ".{1,40}", expected LOW\.\.HIGH with 0 < LOW < HIGH$/u);
  }
  assert.deepEqual(partOf("1..10", "1e13..1e14", ALL).faults, ['y is "1e13..1e14", and the axis goes from 1e8 to 1e12']);
});

test("ticks are powers of ten, and rounder parts of them where few are in view", () => {
  assert.deepEqual(logTicks(0.1, 1000), [0.1, 1, 10, 100, 1000]);
  assert.deepEqual(logTicks(0.3, 40), [0.5, 1, 2, 5, 10, 20]);
  assert.deepEqual(logTicks(0.3, 25), [0.5, 1, 2, 5, 10, 20]);
  assert.deepEqual(logTicks(1, 10), [1, 2, 5, 10]);
  assert.deepEqual(logTicks(2.1, 3.3), [2.5, 3]);
  assert.deepEqual(logTicks(1e9, 1.6e9), [1e9, 1.2e9, 1.4e9, 1.6e9]);
  for (let low = -3; low < 12; low += 0.037) for (const wide of [LEAST, 0.3, 0.5, 0.8, 1.2, 1.9, 2, 2.9, 3, 4]) {
    const all = logTicks(10 ** low, 10 ** (low + wide));
    assert.ok(all.length >= 2 && all.length <= 9, `${all.length} ticks over ${wide} decades from 10^${low}`);
    assert.equal(new Set(all.map((v) => v.toPrecision(digitsOf(v)))).size, all.length, "no two labels are the same");
    for (const v of all) assert.ok(Number(v.toPrecision(digitsOf(v))) === v && digitsOf(v) <= 2, `${v} has more digits than its label`);
  }
});

test("labels too near to another are left out, those of powers of ten last", () => {
  assert.deepEqual(roomy([1, 2, 5, 10, 20], [0, 30, 70, 100, 146], 46), [true, false, false, true, true]);
  assert.deepEqual(roomy([0.1, 1, 10, 100], [0, 40, 80, 120], 46), [true, false, true, false]);
  assert.deepEqual(roomy([1.2, 1.4, 1.6], [0, 46, 92], 46), [true, true, true]);
});
