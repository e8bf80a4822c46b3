/* The part of a roofline that is on view: two axes in powers of ten, moved together. Pure. */
import type { RooflineReply } from "../api/roofline";
import { brief } from "../base/format";
import { kept, ticks, zoomed, type View } from "./lines";

export interface Place { x: number; y: number }

/** Decades: the logarithm of operations a byte, and of operations a second. */
export interface Part { x: View; y: View }

/** The least decades of an axis on view. */
export const LEAST = 0.2;
/** Below so many decades the powers of ten are too few for an axis. */
const FEW_POWERS = 3;

const wide = (v: View) => v.to - v.from;
export const middle = (p: Part): Place => ({ x: (p.x.from + p.x.to) / 2, y: (p.y.from + p.y.to) / 2 });
const within = (at: number, v: View) => at >= v.from && at <= v.to;
export const isInside = (at: Place, p: Part): boolean => within(at.x, p.x) && within(at.y, p.y);
const isAll = (v: View, all: View) => wide(v) >= wide(all) * 0.999;
/** Whether both axes show everything. */
export const isWhole = (p: Part, all: Part): boolean => isAll(p.x, all.x) && isAll(p.y, all.y);

/** Both axes by one factor around a place; zooming in ends for both where one of them has the least width. */
export function zoomedPart(p: Part, at: Place, factor: number, all: Part): Part {
  const f = factor < 1 ? Math.min(1, Math.max(factor, LEAST / wide(p.x), LEAST / wide(p.y))) : factor;
  return { x: zoomed(p.x, at.x, f, all.x, LEAST), y: zoomed(p.y, at.y, f, all.y, LEAST) };
}

export const pannedPart = (p: Part, right: number, up: number, all: Part): Part =>
  ({ x: kept({ from: p.x.from + right, to: p.x.to + right }, all.x), y: kept({ from: p.y.from + up, to: p.y.to + up }, all.y) });

/** Moved until the place is inside, with a tenth of the axis around it; an axis that holds it already is not moved. */
export function broughtInto(p: Part, at: Place, all: Part): Part {
  const by = (v: View, to: number) => (within(to, v) ? 0 : to < v.from ? to - wide(v) / 10 - v.from : to + wide(v) / 10 - v.to);
  return pannedPart(p, by(p.x, at.x), by(p.y, at.y), all);
}

/** Within the bounds: data or an address may ask for more than there is, or for less than the least. */
export function fittedPart(p: Part, all: Part): Part {
  const fit = (v: View, a: View) => zoomed(v, (v.from + v.to) / 2, 1, a, LEAST);
  return { x: fit(p.x, all.x), y: fit(p.y, all.y) };
}

/** Six digits: less than a pixel at the least width. */
function numberText(decades: number): string {
  const v = Number((10 ** decades).toPrecision(6));
  return v >= 1e6 || v < 1e-3 ? v.toExponential().replace("+", "") : String(v);
}

/** An axis in the address: "0.5..20"; null: all of it. */
export const spanText = (v: View, all: View): string | null => (isAll(v, all) ? null : `${numberText(v.from)}..${numberText(v.to)}`);

const NUMBER = "\\d{1,20}(?:\\.\\d{1,20})?(?:e-?\\d{1,2})?";
const SPAN = new RegExp(`^(${NUMBER})\\.\\.(${NUMBER})$`);

function spanOf(name: string, text: string, all: View): View | string | null {
  if (text === "") return null;
  const [, low, high] = SPAN.exec(text) ?? [];
  const v = { from: Math.log10(Number(low)), to: Math.log10(Number(high)) };
  if (!Number.isFinite(v.from) || !Number.isFinite(v.to) || v.from >= v.to) return `${name} is "${brief(text, 40)}", expected LOW..HIGH with 0 < LOW < HIGH`;
  return v.from < all.to && v.to > all.from ? v : `${name} is "${text}", and the axis goes from ${numberText(all.from)} to ${numberText(all.to)}`;
}

/** The part that an address names, and for each axis that is ignored the reason. */
export function partOf(x: string, y: string, all: Part): { part: Part; faults: string[] } {
  const [h, v] = [spanOf("x", x, all.x), spanOf("y", y, all.y)];
  const axis = (a: View | string | null, whole: View) => (a === null || typeof a === "string" ? whole : a);
  return { part: fittedPart({ x: axis(h, all.x), y: axis(v, all.y) }, all), faults: [h, v].filter((s): s is string => typeof s === "string") };
}

/** Where a result at b is, in decades; null: it has no place. */
export function placesOf(reply: RooflineReply): (Place | null)[] {
  return reply.benchmarks.map(({ b }) => (b.intensity && b.rate && b.intensity > 0 && b.rate > 0 ? { x: Math.log10(b.intensity), y: Math.log10(b.rate) } : null));
}

export const outsideOf = (reply: RooflineReply, p: Part): number => placesOf(reply).filter((at) => at !== null && !isInside(at, p)).length;

/** Powers of ten within a range, their ends included. */
export function powers(low: number, high: number): number[] {
  const out: number[] = [];
  for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.floor(Math.log10(high) + 1e-9); e++) out.push(10 ** e);
  return out;
}

/** The values at which a line crosses the chart. An axis of three decades or more has powers of ten; a shorter one has 2 and 5 times
 * those, too. Where fewer than three of these values are in view, the lines are round numbers at equal steps. */
export function logTicks(low: number, high: number): number[] {
  if (Math.log10(high / low) >= FEW_POWERS - 1e-9) return powers(low, high);
  const some = powers(low / 10, high).flatMap((p) => [p, 2 * p, 5 * p]).filter((v) => v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9));
  return (some.length >= 3 ? some : ticks(low, high, 5)).map((v) => Number(v.toPrecision(9)));
}

/** Significant digits of a tick, all of which its label needs. */
export const digitsOf = (v: number): number => (v.toPrecision(6).replace(/e.*/, "").replace(/\D/g, "").replace(/^0+|0+$/g, "").length || 1);

/** Which labels have room: powers of ten first, and then, from the left, those that are far enough from any other. */
export function roomy(ticks: readonly number[], places: readonly number[], apart: number): boolean[] {
  const power = ticks.map((v) => Number.isInteger(Math.log10(v)));
  const taken: number[] = [];
  const out = ticks.map(() => false);
  for (const first of [true, false]) places.forEach((at, i) => {
    if (power[i] !== first || taken.some((other) => Math.abs(other - at) < apart - 1e-6)) return;
    taken.push(at);
    out[i] = true;
  });
  return out;
}
