import assert from "node:assert/strict";
import { test } from "node:test";
import { accept, complete, faultAt, quoted, suggest, termAt, type Field, type Suggestion } from "./completion";

const fields: Field[] = [
  { name: "benchmark", numeric: false, values: [{ value: "gemm/f32", series: 2 }, { value: "a b", series: 1 }] },
  { name: "dtype", numeric: false, values: [{ value: "bf16", series: 40 }, { value: "f16", series: 8 }, { value: "f32", series: 3 }] },
  { name: "k", numeric: true, values: [{ value: "512", series: 4 }, { value: "4096", series: 4 }, { value: "big", series: 1 }] },
];
const labels = (text: string, caret = text.length) => suggest(text, caret, fields).map((s) => s.label);

test("a term ends at a blank that is not quoted", () => {
  assert.deepEqual(termAt('a="x y" b', 4), [0, 7]);
  assert.deepEqual(termAt('a="x y" b', 9), [8, 9]);
  assert.deepEqual(termAt("a  b", 2), [2, 2]);
  assert.deepEqual(termAt('a="x\\" y" b', 8), [0, 9]);
});

test("names are suggested before an operator, values behind it, by what they begin with", () => {
  assert.deepEqual(labels(""), ["benchmark", "dtype", "k"]);
  assert.deepEqual(labels("k"), ["k", "benchmark"]);
  assert.deepEqual(labels("dtype="), ["bf16", "f16", "f32"]);
  assert.deepEqual(labels("k=512 dtype=f"), ["f16", "f32", "bf16"]);
  assert.deepEqual(labels("dtype=bf16,f3"), ["f32"]);
  assert.deepEqual(labels("k>="), ["512", "4096"]);
  assert.deepEqual(labels("k="), ["512", "4096", "big"]);
  assert.deepEqual(labels("absent="), []);
});

test("a suggestion takes the place of what is typed, and of nothing else", () => {
  const after = (text: string, caret: number, label: string) => {
    const s = suggest(text, caret, fields).find((x) => x.label === label);
    assert.ok(s, label);
    return accept(text, s);
  };
  assert.deepEqual(after("dt", 2, "dtype"), { text: "dtype=", caret: 6 });
  assert.deepEqual(after("dt k=512", 2, "dtype"), { text: "dtype= k=512", caret: 6 });
  assert.deepEqual(after("dtype=bf", 8, "bf16"), { text: "dtype=bf16 ", caret: 11 });
  assert.deepEqual(after("dtype=bf16,f", 12, "f32"), { text: "dtype=bf16,f32 ", caret: 15 });
  assert.deepEqual(after("dtype=b,f32 k", 7, "bf16"), { text: "dtype=bf16,f32 k", caret: 10 });
  assert.deepEqual(after("benchmark=a", 11, "a b"), { text: 'benchmark="a b" ', caret: 16 });
});

test("values are quoted where they have to be", () => {
  assert.equal(quoted("gemm/f32-x=1"), "gemm/f32-x=1");
  assert.equal(quoted('a "b"\\'), '"a \\"b\\"\\\\"');
  assert.equal(quoted("cpu-*"), '"cpu-*"');
  assert.equal(quoted(""), '""');
});

test("the position of a fault is read from the server's message", () => {
  assert.equal(faultAt('select: at character 4: expected a number after "k>=", got "big"'), 3);
  assert.equal(faultAt("select: 1200 bytes, expected at most 1000"), null);
});

test("a filter of one value is replaced as a whole, by values that begin with the text first", () => {
  const values = [{ value: "cpu-hip", series: 1 }, { value: "hip", series: 4 }, { value: "cuda", series: null }];
  assert.deepEqual(complete(values, "hi").map((s) => s.insert), ["hip", "cpu-hip"]);
  assert.deepEqual(complete(values, "").length, 3);
  assert.deepEqual(complete(values, "hip").map((s) => s.label), ["cpu-hip"], "the value itself is no suggestion");
  assert.equal(accept("hi", complete(values, "hi")[0] as Suggestion).text.trim(), "hip");
});
