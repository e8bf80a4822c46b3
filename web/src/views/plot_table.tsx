/* The lines of a plot as a table: what the picture says, in numbers. */
import { formatChange, formatCount, formatNumber, plural } from "../base/format";
import { href } from "../base/route";
import { changeIn, type Drawn, type Lines, type Panel } from "../charts/lines";
import { Swatch } from "../charts/lines_chart";
import { Table } from "../widgets/table";

interface Row { line: Drawn; panel: Panel }

function last(line: Drawn): number {
  for (let i = line.median.length - 1; i >= 0; i--) if (Number.isFinite(line.median[i] as number)) return line.median[i] as number;
  return NaN;
}

export function PlotTable(props: { project: string; lines: Lines; group: string | null; onBright: (line: number | null) => void }) {
  const { lines, group } = props;
  const rows: Row[] = lines.panels.flatMap((panel) => panel.lines.map((line) => ({ line, panel })));
  const of = (r: Row) => lines.reply.lines[r.line.index];
  const some = (pick: (line: Lines["reply"]["lines"][number]) => number) => lines.reply.lines.some((l) => pick(l) > 0);
  return (
    <div onPointerLeave={() => props.onBright(null)}>
      <Table caption="Lines" className="plot-table" rows={rows} keyOf={(r) => r.line.index} columns={[
        { name: "Line", head: true, cell: (r) => {
          const id = of(r)?.series_id;
          return (
            <span class="bench" onPointerEnter={() => props.onBright(r.line.index)}><Swatch index={r.line.index} />
              {id ? <a href={href.series(id)} onFocus={() => props.onBright(r.line.index)} onBlur={() => props.onBright(null)}>{r.line.name}</a> : <span>{r.line.name}</span>}
              <small>{params(of(r)?.params)}</small></span>
          );
        } },
        { name: "Latest", numeric: true, cell: (r) => Number.isFinite(last(r.line)) ? `${formatNumber(last(r.line), 5)} ${r.panel.unit}` : "\u2013" },
        { name: "Change", numeric: true, cell: (r) => {
          const change = changeIn(r.line, 0, r.line.median.length);
          return Number.isFinite(change) ? formatChange(change) : "\u2013";
        } },
        { name: group ? "Commits" : "Results", numeric: true, cell: (r) => formatCount(of(r)?.points ?? 0) },
        ...(group ? [
          { name: "Series", numeric: true, cell: (r: Row) => formatCount(of(r)?.members ?? 0) },
          { name: "Incomplete", numeric: true, wide: true, cell: (r: Row) => formatCount(of(r)?.partial ?? 0) },
        ] : []),
        ...(lines.reply.broken.length > 0 ? [{ name: "Broken", numeric: true, cell: (r: Row) => formatCount(r.line.broken.length) }] : []),
        ...(some((l) => l.moved) ? [{ name: "Machine moved", numeric: true, wide: true, cell: (r: Row) => formatCount(of(r)?.moved ?? 0) }] : []),
      ]} />
      {group && <p class="muted">Incomplete: commits at which some series of the group were not measured. They have no value: {plural(lines.reply.lines.reduce((sum, l) => sum + l.partial, 0), "commit")}.</p>}
    </div>
  );
}

function params(all: Record<string, string> | null | undefined): string {
  return all ? Object.entries(all).map(([name, value]) => `${name}=${value}`).join(" ") : "";
}
