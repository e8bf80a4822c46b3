/* A map of cells as a table: every cell has its value as text, so that colour tells nothing alone. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatChange } from "../base/format";
import { href } from "../base/route";
import { visible } from "../base/visible";
import { sayCell, windowOf, type HeatCell, type HeatMapData } from "./heat";

const SHORT: Record<string, string> = { broken: "broken", none: "\u2013", calm: "" };
const text = (c: HeatCell) => SHORT[c.kind] ?? formatChange(c.change);

/** Above this number of cells only those in view are made: the layout of thousands takes longer than a glance. */
const ALL_CELLS = 1000;
const SIZES = { row: 28, column: 76, around: 4 };

/** The place of the box's view: pixels from the map's corner, and its size. */
interface Place { left: number; top: number; width: number; height: number }

function Cell(props: { cell: HeatCell; row: string; column: string; at: string | null; index: number }) {
  const c = props.cell;
  const said = sayCell(c, props.row, props.column, formatChange(c.change));
  return (
    <td aria-colindex={props.index} class={`heat-${c.kind}${c.step ? ` heat-${c.step}` : ""}${c.absent > 0 && c.absent < c.count ? " heat-part" : ""}`}>{c.series === null ? <span title={said}>{text(c)}<span class="sr-only">{said}</span></span>
      : <a href={href.series(c.series, { at: props.at })} title={said} aria-label={said}>{text(c)}</a>}</td>
  );
}

/** Room for cells that are not made. */
const Room = (props: { of: number; pixels: number; row?: boolean }) => (props.of === 0 ? null
  : props.row ? <tr aria-hidden="true" class="heat-room" style={{ height: `${props.of * props.pixels}px` }} /> : <td aria-hidden="true" class="heat-room" colSpan={props.of} />);

/**
 * `data`: of heatOf(). `row`, `column`: names of the two parameters, for the caption. `at`: commit at which a cell opens
 * its series; null: its newest. Takes the width that it is given and scrolls within it.
 */
export function HeatMap(props: { data: HeatMapData; row: string; column: string; at: string | null }) {
  const { data, row, column } = props;
  const box = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState<Place>({ left: 0, top: 0, width: 1280, height: 800 });
  const large = data.rows.length * data.columns.length > ALL_CELLS;
  const look = () => {
    const b = box.current;
    if (large && b) setPlace({ left: b.scrollLeft, top: b.scrollTop, width: b.clientWidth, height: b.clientHeight });
  };
  useLayoutEffect(look, [large, data]);
  const rows = windowOf(data.rows.length, SIZES.row, place.top, place.height, large ? SIZES.around : null);
  const columns = windowOf(data.columns.length, SIZES.column, place.left, place.width, large ? SIZES.around : null);
  const longest = Math.min(48, Math.max(row.length + column.length + 3, ...data.rows.map((y) => y.length)));
  const name = `min(${longest}ch + 16px, 40vw)`; /* it stays in view, so it may not fill it */
  const shown = data.columns.slice(columns.from, columns.until);
  return (
    <div class={large ? "heat-box heat-box-large" : "heat-box"} ref={box} onScroll={look} tabIndex={0} role="region" aria-label={`Heat map of ${row} by ${column}`}>
      <table class={large ? "heat heat-large" : "heat"} aria-rowcount={data.rows.length + 1} aria-colcount={data.columns.length + 1}
        {...(large ? { style: { width: `calc(${name} + ${data.columns.length * SIZES.column}px)` } } : {})}>
        <caption class="sr-only">Change by {row} and {column}</caption>
        {large && <colgroup><col style={{ width: name }} />{data.columns.map((x) => <col key={x} style={{ width: `${SIZES.column}px` }} />)}</colgroup>}
        <thead><tr aria-rowindex={1}><th scope="col" aria-colindex={1}>{row} \ {column}</th><Room of={columns.from} pixels={SIZES.column} />
          {shown.map((x, k) => <th key={x} scope="col" aria-colindex={columns.from + k + 2} title={x}>{visible(x)}</th>)}<Room of={columns.after} pixels={SIZES.column} /></tr></thead>
        <tbody>
          <Room row of={rows.from} pixels={SIZES.row} />
          {data.rows.slice(rows.from, rows.until).map((y, i) => (
            <tr key={y} aria-rowindex={rows.from + i + 2}><th scope="row" aria-colindex={1} title={y}>{visible(y)}</th><Room of={columns.from} pixels={SIZES.column} />
              {shown.map((x, k) => {
                const c = data.cells[rows.from + i]?.[columns.from + k];
                return c ? <Cell key={x} cell={c} row={y} column={x} at={props.at} index={columns.from + k + 2} /> : <td key={x} aria-colindex={columns.from + k + 2} />;
              })}
              <Room of={columns.after} pixels={SIZES.column} />
            </tr>
          ))}
          <Room row of={rows.after} pixels={SIZES.row} />
        </tbody>
      </table>
    </div>
  );
}

/** `alerts`: the map shows the alerts of a group, of which each is significant. */
export function HeatLegend(props: { alerts?: boolean }) {
  return (
    <ul class="legend heat-legend" aria-label="Legend">
      {[4, 3, 2, 1].map((s) => <li key={`b${s}`}><i class={`heat-better heat-${s}`} />{s === 4 ? "better, 15 % or more" : s === 1 ? "below 2 %" : `${s === 3 ? 5 : 2} % or more`}</li>)}
      <li><i class={props.alerts ? "heat-calm" : "heat-quiet"} />{props.alerts ? "no alert of this group" : "not significant"}</li>
      {[1, 2, 3, 4].map((s) => <li key={`w${s}`}><i class={`heat-worse heat-${s}`} />{s === 4 ? "worse, 15 % or more" : s === 1 ? "below 2 %" : `${s === 3 ? 5 : 2} % or more`}</li>)}
      <li><i class="heat-none" />{props.alerts ? "broken" : "broken or not measured"}</li>
      <li><i class="heat-quiet heat-part" />some of its series are</li>
    </ul>
  );
}
