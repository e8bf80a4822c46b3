/* Panels of lines with one view and one crosshair. The page owns the view; hovering stays in here. */
import { useState } from "preact/hooks";
import { formatNumber, formatWhen, parseTime, plural, shortId } from "../base/format";
import { themeShown } from "../base/theme";
import { useLatestView } from "./latest_view";
import { kept, nearestLines, zoomed, type Lines, type Panel, type View } from "./lines";
import { colourOf, LEFT } from "./paint";
import { PanelChart, type DragMode } from "./panel";
import { useWidth } from "./width";

export interface LinesChartProps {
  lines: Lines;
  view: View;
  all: View;
  log: boolean;
  drag: DragMode;
  stacked: boolean;
  bright: number | null;
  onView: (view: View) => void;
  /** A line of the reply was clicked at a column. */
  onPick: (line: number, column: number) => void;
  onDrawn?: () => void;
}

const MOST = 8;

export function LinesChart(props: LinesChartProps) {
  const { lines, view, all } = props;
  const [box, width] = useWidth(900);
  const [hover, setHover] = useState<{ column: number; panel: string; y: number; left: number; top: number } | null>(null);
  const n = lines.xs.length;
  const column = hover && hover.column < n ? hover.column : null;
  const one = lines.panels.length === 1;
  const at = useLatestView(view, props.onView);
  const pan = (by: number) => at.show(kept({ from: at.get().from + by, to: at.get().to + by }, all));
  const zoom = (factor: number) => at.show(zoomed(at.get(), (at.get().from + at.get().to) / 2, factor, all));
  const eighth = () => (at.get().to - at.get().from) / 8;
  const steps: Record<string, () => void> = {
    ArrowLeft: () => pan(-eighth()), ArrowRight: () => pan(eighth()), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => at.show(all),
  };
  const onKey = (e: KeyboardEvent) => {
    const step = steps[e.key];
    if (!step || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    step();
  };
  const nearest = hover && nearestLines(lines.panels.find((p) => p.key === hover.panel) as Panel ?? { lines: [] }, hover.column, hover.y, 1)[0];
  const bright = props.bright ?? (hover && !props.stacked && (lines.panels[0]?.lines.length ?? 0) > 1 ? nearest?.index ?? null : null);
  return (
    <div ref={box} class="panels" tabIndex={0} role="application" aria-roledescription="chart" aria-describedby="plot-keys"
      aria-label={`${plural(lines.panels.reduce((sum, p) => sum + p.lines.length, 0), "line")} over ${plural(lines.reply.places, "commit")}. The table below holds the lines.`} onKeyDown={onKey}>
      {lines.panels.map((panel, i) => (
        <PanelChart key={panel.key} panel={panel} xs={lines.xs} view={view} width={width} log={props.log} drag={props.drag} theme={themeShown.value}
          height={props.stacked ? 96 : one ? 430 : 300} column={column} bright={bright}
          axis={!props.stacked || i === lines.panels.length - 1}
          label={`${panel.title || plural(panel.lines.length, "line")}, ${panel.unit}`}
          onHover={(c, y, at) => setHover(c === null || !at ? null : { column: c, panel: panel.key, y, ...at })}
          onZoom={(place, factor) => at.show(zoomed(at.get(), place, factor, all))}
          onPan={pan}
          onRange={(from, to) => { if (to - from >= 2) at.show(kept({ from, to }, all)); }}
          onAll={() => at.show(all)}
          onPick={(c, y) => {
            const line = nearestLines(panel, c, y, 1)[0];
            if (line) props.onPick(line.index, c);
          }}
          {...(i === 0 && props.onDrawn ? { onDrawn: props.onDrawn } : {})} />
      ))}
      {hover && column !== null && <Card lines={lines} column={column} panel={hover.panel} y={hover.y} width={width} left={hover.left} />}
    </div>
  );
}

function Card(props: { lines: Lines; column: number; panel: string; y: number; width: number; left: number }) {
  const { lines, column } = props;
  const c = lines.reply.columns;
  const panel = lines.panels.find((p) => p.key === props.panel);
  if (!panel) return null;
  const shown = nearestLines(panel, column, props.y, MOST);
  const more = panel.lines.filter((l) => Number.isFinite(l.median[column] as number)).length - shown.length;
  const broken = panel.lines.flatMap((l) => l.broken.filter((b) => b.column === column).map((b) => ({ name: l.name, reason: b.reason, index: l.index })));
  const side = props.left > props.width / 2 ? "right" : "left";
  const at = side === "right" ? props.width - props.left + 14 : Math.max(LEFT, props.left + 14);
  return (
    <div class="point-card panel-card" style={{ [side]: `${at}px`, maxWidth: `min(420px, ${props.width - at}px)` }}>
      <p class="point-subject">{c.subject[column]}</p>
      <p class="point-meta"><code>{shortId(c.commit[column])}</code> · {formatWhen(parseTime(c.time[column]))}</p>
      <ul class="panel-values">
        {shown.map((l) => {
          const [low, mid, high] = [l.low[column] as number, l.median[column] as number, l.high[column] as number];
          return (
            <li key={l.index}><Swatch index={l.index} /><span>{l.name}</span>
              <b>{formatNumber(mid, 5)} {panel.unit}</b>{high > low && <small> {formatNumber(low, 4)} to {formatNumber(high, 4)}</small>}</li>
          );
        })}
        {broken.slice(0, 4).map((b) => <li key={`broken ${b.index}`}><Swatch index={b.index} /><span>{b.name}</span><b>broken</b><small>{b.reason}</small></li>)}
      </ul>
      {shown.length === 0 && broken.length === 0 && <p class="muted">No value at this commit</p>}
      {more > 0 && <p class="muted">and {plural(more, "line")} farther away</p>}
    </div>
  );
}

export function Swatch(props: { index: number }) {
  const [r, g, b] = colourOf(themeShown.value, props.index);
  return <i class="swatch" style={{ background: `rgb(${r} ${g} ${b})` }} aria-hidden="true" />;
}
