/* Numbers, units and times as people read them. Pure; owns every unit the pages show. */
import { visible } from "./visible";

export interface Scale {
  /** Stored values are multiplied by this to be shown. */
  factor: number;
  unit: string;
}

const SI: readonly (readonly [number, string])[] = [
  [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""],
];
const MINUS = "\u2212";
const NBSP = "\u00a0";
const UNIT_LENGTH = 16;

/** The start of a text, as it fits into so many characters. */
export function brief(text: string, length: number): string {
  const all = [...visible(text)];
  return all.length > length ? `${all.slice(0, length - 1).join("")}\u2026` : all.join("");
}

/** A unit of a project's own as it fits beside a number; a run document allows 200 bytes. */
export const briefUnit = (unit: string): string => brief(unit, UNIT_LENGTH);

/** The unit in which a value of this size reads best: 1250 ns is 1.25 us, 0.054 TFLOP/s is 54 GFLOP/s. */
export function scaleFor(unit: string, size: number): Scale {
  const abs = Math.abs(size);
  if (unit === "ns") {
    if (abs >= 1e9) return { factor: 1e-9, unit: "s" };
    if (abs >= 1e6) return { factor: 1e-6, unit: "ms" };
    if (abs >= 1e3) return { factor: 1e-3, unit: "us" };
    return { factor: 1, unit };
  }
  const rate = /^(T|G|M|k)?(FLOP\/s|B\/s|OP\/s)$/.exec(unit);
  if (rate) {
    const base = SI.find(([, prefix]) => prefix === (rate[1] ?? ""))?.[0] ?? 1;
    return si(abs * base, base, rate[2] ?? "");
  }
  if (unit === "bytes" || unit === "B") return si(abs, 1, "B");
  if (unit === "cycles" || unit === "instructions") {
    const s = si(abs, 1, "");
    return { factor: s.factor, unit: s.unit ? `${s.unit} ${unit}` : unit };
  }
  return { factor: 1, unit: briefUnit(unit) };
}

function si(abs: number, base: number, name: string): Scale {
  const [size, prefix] = SI.find(([limit]) => abs >= limit) ?? [1, ""];
  return { factor: base / size, unit: prefix + name };
}

/** At least `digits` significant digits, whole numbers never rounded: 1234.5 -> "1,234.5" at 5. */
export function formatNumber(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return "\u2013";
  const abs = Math.abs(value);
  let text: string;
  if (abs !== 0 && (abs >= 1e15 || abs < 1e-4)) {
    text = abs.toExponential(digits - 1);
  } else {
    const whole = abs < 1 ? 0 : Math.floor(Math.log10(abs)) + 1;
    const lead = abs < 1 && abs > 0 ? Math.floor(-Math.log10(abs)) : 0;
    const places = Math.max(0, Math.min(8, digits - whole + lead));
    text = abs.toFixed(places);
    const [int = "", frac] = text.split(".");
    text = int.replace(/\B(?=(\d{3})+$)/g, ",") + (frac ? `.${frac}` : "");
  }
  return value < 0 && /[1-9]/.test(text) ? MINUS + text : text;
}

/** Value with the unit that fits it: formatValue(1250, "ns") === "1.250 us". */
export function formatValue(value: number | null | undefined, unit: string, digits = 4): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
  const scale = scaleFor(unit, value);
  /* Counts are exact: a change of one cycle is real, so it has to show. */
  const counted = unit === "cycles" || unit === "instructions" || unit === "";
  if (Number.isInteger(value) && (scale.factor === 1 || (counted && Math.abs(value) < 1e9))) {
    return unit ? `${formatCount(value)}${NBSP}${briefUnit(unit)}` : formatCount(value);
  }
  const text = formatNumber(value * scale.factor, digits);
  return scale.unit ? `${text}${NBSP}${scale.unit}` : text;
}

/** Three significant digits: 1250 -> "1.25 us". */
export function formatNs(ns: number): string {
  return formatValue(ns, "ns", 3).replace(NBSP, " ");
}

/** An interval in one unit: "81.9 – 83.4 GFLOP/s". */
export function formatInterval(low: number | null, high: number | null, unit: string, digits = 4): string {
  if (low === null || high === null || low === high) return formatValue(low ?? high, unit, digits);
  const scale = scaleFor(unit, Math.max(Math.abs(low), Math.abs(high)));
  const span = `${formatNumber(low * scale.factor, digits)}${NBSP}\u2013${NBSP}${formatNumber(high * scale.factor, digits)}`;
  return scale.unit ? `${span}${NBSP}${scale.unit}` : span;
}

/** Relative change with its sign: 0.1234 -> "+12.3 %". Tiny exact changes keep their digits. */
export function formatChange(rel: number | null | undefined): string {
  if (rel === null || rel === undefined || !Number.isFinite(rel)) return "\u2013";
  const pct = Math.abs(rel) * 100;
  const text = pct === 0 ? "0.0" : pct >= 100 ? pct.toFixed(0) : pct >= 0.1 ? pct.toFixed(1) : pct.toPrecision(1);
  if (/^[0.]*$/.test(text)) return `0.0${NBSP}%`;
  return `${rel < 0 ? MINUS : "+"}${text}${NBSP}%`;
}

/** "+6.0 % to +8.1 %", the lower end first, as in the service's summaries; one figure where both are equal. */
export function effectRange(least: number | null, most: number | null): string {
  if (least === null || most === null) return "";
  const [low, high] = [formatChange(Math.min(least, most)), formatChange(Math.max(least, most))];
  return low === high ? low : `${low} to ${high}`;
}

/** A share without a sign: 0.0123 -> "1.2 %". */
export function formatShare(share: number | null | undefined): string {
  return formatChange(share).replace(/^\+/, "");
}

/** A probability: never "100 %", since no measurement gives certainty. */
export function formatCertainty(probability: number): string {
  return probability > 0.999 ? ">\u202f99.9\u202f%" : formatShare(probability);
}

/** Ratio of the probabilities of a change and of a spike: 3.2 -> "3.2 to 1 for a change", 0.25 -> "4 to 1 for a spike". */
export function formatWatchOdds(odds: number): string {
  const n = odds >= 1 ? odds : 1 / odds;
  const shown = n > 1000 ? "over 1,000" : n < 10 ? String(Math.round(n * 10) / 10) : String(Math.round(n));
  return `${shown} to 1 for a ${odds >= 1 ? "change" : "spike"}`;
}

/** p-values: exact enough to act on, never "0". */
export function formatP(p: number | null | undefined): string {
  if (p === null || p === undefined || !Number.isFinite(p)) return "\u2013";
  if (p < 0.0001) return "<\u202f0.0001";
  return p < 0.001 ? p.toFixed(4) : p.toFixed(3);
}

export function formatCount(n: number): string {
  return formatNumber(n, 16).replace(/\.0+$/, "");
}

/** "1 run", "2 runs". */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${formatCount(n)} ${n === 1 ? one : many}`;
}

/** Shares in a sentence of the service as formatShare writes them: no line break before the sign, a minus sign. */
export function formatShares(sentence: string): string {
  return sentence.replace(/(^|\s)-(?=\d)/g, `$1${MINUS}`).replace(/(\d) %/g, `$1${NBSP}%`);
}

export function shortId(commit: string | null | undefined): string {
  return commit ? commit.slice(0, 10) : "\u2013";
}

/** Seconds as "4.2 s", "3 min 20 s", "2 h 5 min". */
export function formatDuration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "\u2013";
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)}${NBSP}s`;
  const s = Math.round(seconds);
  if (s < 3600) return `${Math.floor(s / 60)}${NBSP}min${s % 60 ? ` ${s % 60}${NBSP}s` : ""}`;
  const m = Math.round(s / 60);
  return `${Math.floor(m / 60)}${NBSP}h${m % 60 ? ` ${m % 60}${NBSP}min` : ""}`;
}

/** Seconds of work that is still to do, as whole minutes, rounded up: "14 minutes". */
export function formatMinutes(seconds: number): string {
  return plural(Math.ceil(seconds / 60), "minute");
}

/** A ratio with enough digits to show 0.01 %: "1.0312". */
export function formatRatio(ratio: number | null | undefined): string {
  return ratio === null || ratio === undefined || !Number.isFinite(ratio) ? "\u2013" : ratio.toFixed(ratio < 10 ? 4 : 2);
}

/** How long before `now`, both in milliseconds: "just now", "5 min ago", "3 days ago". */
export function formatAgo(then: number, now: number): string {
  const s = Math.round((now - then) / 1000);
  if (!Number.isFinite(s)) return "\u2013";
  if (s < 0) return "in the future";
  if (s < 45) return "just now";
  if (s < 3600) return `${Math.max(1, Math.round(s / 60))} min ago`;
  if (s < 86400) return `${Math.round(s / 3600)} h ago`;
  if (s < 86400 * 45) return `${plural(Math.round(s / 86400), "day")} ago`;
  if (s < 86400 * 365) return `${plural(Math.round(s / 86400 / 30.4), "month")} ago`;
  return `${plural(Math.round(s / 86400 / 365.25), "year")} ago`;
}

/** Local date and minute: "2026-03-04 15:06". */
export function formatWhen(ms: number): string {
  if (!Number.isFinite(ms)) return "\u2013";
  const d = new Date(ms);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}`;
}

/** Milliseconds of an API time: an RFC 3339 string, or Unix seconds. NaN when it is neither. */
export function parseTime(time: string | number | null | undefined): number {
  if (typeof time === "number") return time * 1000;
  return time ? Date.parse(time) : NaN;
}
