import assert from "node:assert/strict";
import { test } from "node:test";
import { runsRightToLeft, visible } from "./visible";

test("control characters are shown, other text is unchanged", () => {
  assert.equal(visible("exe.\u202egnp.txt"), "exe.[U+202E]gnp.txt");
  assert.equal(visible("a\u0000b\u001bc\u007fd\u0085"), "a\u2400b\u241bc\u2421d[U+0085]");
  assert.equal(visible("\u2066x\u2069\u200f\u061c\ufeff\u200b"), "[U+2066]x[U+2069][U+200F][U+061C][U+FEFF][U+200B]");
  for (const text of ["", "gemm/f32 128x128", "\u00b11.5\u00a0%", ">\u202f99.9", "a\tb\nc", "na\u00efve \u4e2d\u6587 \u{1f468}\u200d\u{1f469}"]) {
    assert.equal(visible(text), text);
  }
});

test("text that runs from right to left is found", () => {
  for (const text of ["\u05d0\u05d1", "x \u0645\u062d\u0645\u062f", "\ufb50"]) assert.equal(runsRightToLeft(text), true);
  for (const text of ["", "abc", "\u4e2d\u6587", "\u2212 5 %"]) assert.equal(runsRightToLeft(text), false);
});
