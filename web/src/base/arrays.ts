/*
 * Answers with columns of numbers as bytes: the length of a head in JSON, the head, then arrays of 32-bit floats of one
 * length. They are used where they lie: base64 in JSON costs a pass over two million characters. Pure.
 */
export const ARRAYS_TYPE = "application/vnd.perfci.arrays";

/** The head with `arrays`, views of the body. Throws RangeError or SyntaxError: the body is cut off, or no such answer. */
export function readArrays(body: ArrayBuffer, lengthOf: (head: unknown) => number): unknown {
  const long = new DataView(body).getUint32(0, true);
  const head: unknown = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, long)));
  const each = lengthOf(head);
  const rest = (body.byteLength - 4 - long) / 4;
  const count = each > 0 ? rest / each : 0;
  if (!Number.isInteger(rest) || !Number.isInteger(count)) throw new RangeError("the arrays are cut off");
  const arrays = Array.from({ length: count }, (_, i) => new Float32Array(body, 4 + long + 4 * each * i, each));
  return Object.assign(head as object, { arrays });
}
