/* Tables that become cards on a narrow screen; roles are spelt out because the cards would lose them. */
import type { ComponentChildren, Key } from "preact";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  /** Numbers are right-aligned, in tabular figures. */
  numeric?: boolean;
  /** The cell that names its row. */
  head?: boolean;
  /** Left out on narrow screens. */
  wide?: boolean;
}

/** Text takes at most two lines, all of it for pointers, as does a number with a long unit; elements have rules of their own. */
const shown = (content: ComponentChildren): ComponentChildren => (typeof content === "string" && (content.length > 40 || content.endsWith("\u2026")) ? <span class="clamped" title={content}>{content}</span> : content);

export function Table<T>(props: {
  caption: string; columns: readonly Column<T>[]; rows: readonly T[]; keyOf: (row: T) => Key;
  className?: string;
  /** A list whose rows the keys j, k and x reach. */
  keys?: boolean;
  rowClass?: (row: T) => string;
}) {
  const classOf = (c: Column<T>) => `${c.numeric ? "num" : ""}${c.wide ? " wide" : ""}${c.head ? " head" : ""}`.trim();
  return (
    <div class="table-box">
      <table role="table" class={props.className ?? ""} {...(props.keys ? { "data-keys": "" } : {})}>
        <caption class="sr-only">{props.caption}</caption>
        <thead role="rowgroup">
          <tr role="row">{props.columns.map((c) => <th key={c.name} role="columnheader" scope="col" class={classOf(c)}>{c.name}</th>)}</tr>
        </thead>
        <tbody role="rowgroup">
          {props.rows.map((row) => (
            <tr key={props.keyOf(row)} role="row" class={props.rowClass?.(row) ?? ""}>
              {props.columns.map((c) => c.head
                ? <th key={c.name} role="rowheader" scope="row" class={classOf(c)}>{shown(c.cell(row))}</th>
                : <td key={c.name} role="cell" class={classOf(c)} data-name={c.name}>{shown(c.cell(row))}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
