/* Completion of expressions that select series (core/select/select.h). Pure. */

export interface Value { value: string; series: number | null }

export interface Field {
  name: string;
  numeric: boolean;
  values: readonly { value: string; series: number }[];
}

export interface Suggestion {
  /** Text that takes the place of the expression from `from` to `to`. */
  insert: string;
  from: number;
  to: number;
  label: string;
  /** Series that have it. */
  series: number | null;
  /** It is all of the text: no blank follows it. */
  whole?: boolean;
}

const OPERATOR = /!=|<=|>=|=|<|>/;
const MOST = 12;

/** The term around the caret: terms end at blanks that are not quoted. */
export function termAt(text: string, caret: number): [number, number] {
  let from = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted && c === "\\") i++;
    else if (c === '"') quoted = !quoted;
    else if (!quoted && (c === " " || c === "\t")) {
      if (i >= caret) return [from, i];
      from = i + 1;
    }
  }
  return [from, text.length];
}

/** A value as the expression writes it. */
export function quoted(value: string): string {
  return value === "" || /[\s,"*\\]/.test(value) ? `"${value.replace(/[\\"]/g, "\\$&")}"` : value;
}

const plain = (text: string) => text.replace(/^"/, "").replace(/"$/, "").replace(/\\(["\\])/g, "$1");

/** Values and names that begin with what is typed come before those that contain it. */
function ranked<T>(all: readonly T[], text: (item: T) => string, typed: string): T[] {
  const want = typed.toLowerCase();
  const place = (item: T) => text(item).toLowerCase().indexOf(want);
  return all.filter((item) => place(item) >= 0).sort((a, b) => Math.min(1, place(a)) - Math.min(1, place(b))).slice(0, MOST);
}

/** Values for an input that holds one value: the text as a whole is replaced. */
export function complete(values: readonly Value[], text: string): Suggestion[] {
  return ranked(values, (v) => v.value, text.trim()).filter((v) => v.value !== text)
    .map((v) => ({ insert: v.value, from: 0, to: text.length, label: v.value, series: v.series, whole: true }));
}

export function suggest(text: string, caret: number, fields: readonly Field[]): Suggestion[] {
  const [from, end] = termAt(text, caret);
  const term = text.slice(from, end);
  const found = OPERATOR.exec(term);
  if (!found || caret <= from + found.index) {
    const to = found ? from + found.index + found[0].length : end;
    return ranked(fields, (f) => f.name, found ? term.slice(0, found.index) : term)
      .map((f) => ({ insert: `${f.name}=`, from, to, label: f.name, series: null }));
  }
  const name = plain(term.slice(0, found.index));
  const field = fields.find((f) => f.name === name);
  if (!field) return [];
  const first = from + found.index + found[0].length;
  const several = found[0] === "=" || found[0] === "!=";
  let begin = first;
  let inside = false;
  for (let i = first; i < caret; i++) {
    if (text[i] === '"') inside = !inside;
    else if (several && !inside && text[i] === ",") begin = i + 1;
  }
  const comma = text.indexOf(",", caret);
  const to = comma >= 0 && comma < end ? comma : end;
  const values = several ? field.values : field.values.filter((v) => Number.isFinite(Number(v.value)));
  return ranked(values, (v) => v.value, plain(text.slice(begin, caret)))
    .map((v) => ({ insert: quoted(v.value), from: begin, to, label: v.value, series: v.series }));
}

/** The expression with the suggestion in it, and where the caret stands then. */
export function accept(text: string, s: Suggestion): { text: string; caret: number } {
  const name = s.insert.endsWith("=");
  const rest = text.slice(s.to);
  const gap = name || rest !== "" || s.whole ? "" : " ";
  return { text: text.slice(0, s.from) + s.insert + gap + rest, caret: s.from + s.insert.length + gap.length };
}

/** Character (from 0) at which the server says the fault is; null: it says none. */
export function faultAt(message: string): number | null {
  const found = /^select: at character (\d+):/.exec(message);
  return found ? Number(found[1]) - 1 : null;
}
