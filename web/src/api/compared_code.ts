/* The code behind a comparison: the same members in GET /compare, `perfci compare --json` and a pull request's document. */
export interface CountedFunction { name: string; before: number; after: number }
export interface ComparedCode {
  object_code?: "identical" | "different" | "unknown"; /* absent: of an older server */
  functions?: CountedFunction[]; /* whose number of instructions changed; empty: not counted, or none */
}
