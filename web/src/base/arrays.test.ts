import assert from "node:assert/strict";
import { test } from "node:test";
import { readArrays } from "./arrays";

function body(head: object, floats: number[]): ArrayBuffer {
  const text = JSON.stringify(head);
  const long = Math.ceil(text.length / 4) * 4;
  const bytes = new Uint8Array(4 + long + 4 * floats.length).fill(0x20);
  new DataView(bytes.buffer).setUint32(0, long, true);
  bytes.set(new TextEncoder().encode(text), 4);
  new Float32Array(bytes.buffer, 4 + long).set(floats);
  return bytes.buffer;
}
const two = () => 2;

test("the arrays follow the head in the order of their numbers, and a gap is NaN", () => {
  const got = readArrays(body({ name: "a" }, [1, 2, NaN, 4]), two) as { name: string; arrays: Float32Array[] };
  assert.equal(got.name, "a");
  assert.deepEqual(got.arrays.map((a) => [...a]), [[1, 2], [NaN, 4]]);
});

test("their length is what the head tells; a head alone has none", () => {
  const got = readArrays(body({ each: 3 }, [1, 2, 3]), (head) => (head as { each: number }).each) as { arrays: Float32Array[] };
  assert.deepEqual(got.arrays.map((a) => [...a]), [[1, 2, 3]]);
  assert.deepEqual((readArrays(body({}, []), () => 0) as { arrays: Float32Array[] }).arrays, []);
});

test("a body that is cut off is refused", () => {
  const whole = body({ name: "a" }, [1, 2, 3, 4]);
  for (const bytes of [0, 3, 8, whole.byteLength - 8, whole.byteLength - 4, whole.byteLength - 1]) {
    if (bytes === whole.byteLength - 8) assert.doesNotThrow(() => readArrays(whole.slice(0, bytes), two), "one array less");
    else assert.throws(() => readArrays(whole.slice(0, bytes), two), String(bytes));
  }
});
