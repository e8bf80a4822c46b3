/* Text from outside as it is: control characters become visible, and text that runs from right to left is isolated, so
 * that a name neither hides characters nor reorders the text next to it. Pure; isolate.ts applies it to every element. */

/* Controls without tab and line feed, soft hyphen, zero-width space, marks and overrides of direction, line separators, BOM. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
/* Hebrew, Arabic, Syriac, Thaana, N'Ko and others, and their presentation forms. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\ud802\ud803\ud83a\ud83b]/;

function nameOf(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`;
}

/** "exe\u202Egnp" as "exe[U+202E]gnp". */
export function visible(text: string): string {
  return text.replace(CONTROLS, nameOf);
}

export function runsRightToLeft(text: string): boolean {
  return RIGHT_TO_LEFT.test(text);
}
