/* A map of cells as a table: every cell has its value as text, so that colour tells nothing alone. */
import { formatChange } from "../base/format";
import { href } from "../base/route";
import { visible } from "../base/visible";
import { sayCell, type HeatCell, type HeatMapData } from "./heat";

const SHORT: Record<string, string> = { broken: "broken", none: "\u2013" };
const text = (c: HeatCell) => SHORT[c.kind] ?? formatChange(c.change);

/**
 * `data`: of heatOf(). `row`, `column`: names of the two parameters, for the caption. `at`: commit at which a cell opens
 * its series; null: its newest. Takes the width that it is given and scrolls within it.
 */
export function HeatMap(props: { data: HeatMapData; row: string; column: string; at: string | null }) {
  const { data, row, column } = props;
  return (
    <div class="heat-box" tabIndex={0} role="region" aria-label={`Heat map of ${row} by ${column}`}>
      <table class="heat">
        <caption class="sr-only">Change by {row} and {column}</caption>
        <thead><tr><th scope="col">{row} \ {column}</th>{data.columns.map((x) => <th key={x} scope="col">{visible(x)}</th>)}</tr></thead>
        <tbody>
          {data.rows.map((y, i) => (
            <tr key={y}><th scope="row">{visible(y)}</th>
              {data.columns.map((x, k) => {
                const c = data.cells[i]?.[k];
                if (!c) return <td key={x} />;
                const said = sayCell(c, y, x, formatChange(c.change));
                const name = `heat-${c.kind}${c.step ? ` heat-${c.step}` : ""}`;
                return (
                  <td key={x} class={name}>{c.series === null ? <span title={said}>{text(c)}<span class="sr-only">{said}</span></span>
                    : <a href={href.series(c.series, { at: props.at })} title={said} aria-label={said}>{text(c)}</a>}</td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function HeatLegend() {
  return (
    <ul class="legend heat-legend" aria-label="Legend">
      {[4, 3, 2, 1].map((s) => <li key={`b${s}`}><i class={`heat-better heat-${s}`} />{s === 4 ? "better, 15 % or more" : s === 1 ? "below 2 %" : `${s === 3 ? 5 : 2} % or more`}</li>)}
      <li><i class="heat-quiet" />not significant</li>
      {[1, 2, 3, 4].map((s) => <li key={`w${s}`}><i class={`heat-worse heat-${s}`} />{s === 4 ? "worse, 15 % or more" : s === 1 ? "below 2 %" : `${s === 3 ? 5 : 2} % or more`}</li>)}
      <li><i class="heat-none" />broken or not measured</li>
    </ul>
  );
}
