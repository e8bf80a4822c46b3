/* One panel of lines on a canvas, with a crosshair that panels share; drawn by paint.ts. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { visible } from "../base/visible";
import { attachGestures } from "./gestures";
import { nearestColumn, yRange, type Panel, type View } from "./lines";
import { AXIS, LEFT, paint, RIGHT, TOP, type Picture } from "./paint";

/** A view that has not changed for this long has come to rest. */
const REST_MS = 160;
/** Changes that follow each other this closely move the view: on a slow or busy processor frames are that far apart. */
const MOVE_MS = 400;

export type DragMode = "zoom" | "pan";

export interface PanelProps {
  panel: Panel;
  xs: Float64Array;
  view: View;
  height: number;
  width: number;
  log: boolean;
  drag: DragMode;
  theme: string;
  /** Column under the pointer in any panel. */
  column: number | null;
  /** Line of the reply to bring out; null: all alike. */
  bright: number | null;
  axis: boolean;
  label: string;
  onHover: (column: number | null, y: number, at: { left: number; top: number } | null) => void;
  onZoom: (at: number, factor: number) => void;
  onPan: (by: number) => void;
  onRange: (from: number, to: number) => void;
  onAll: () => void;
  onPick: (column: number, y: number) => void;
  onDrawn?: () => void;
}

export function PanelChart(props: PanelProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<Picture | null>(null);
  const moving = useRef(false);
  const dragged = useRef(false);
  const rest = useRef(0);
  const now = useRef(props);
  now.current = props;
  const seen = useRef(false);
  const dirty = useRef(true);
  const frame = useRef(0);
  const draw = () => {
    dirty.current = true;
    if (!seen.current || frame.current) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      if (!dirty.current || !canvas.current) return;
      dirty.current = false;
      const drawn = paint(canvas.current, now.current, picture.current, moving.current);
      picture.current = drawn.picture;
      canvas.current.dataset["exact"] = String(drawn.exact); /* false while a moved picture is shown */
      now.current.onDrawn?.();
      window.clearTimeout(rest.current);
      if (!drawn.exact) rest.current = window.setTimeout(() => { moving.current = false; draw(); }, dragged.current ? MOVE_MS : REST_MS);
    });
  };
  /* During a drag, or a fast sequence of changes, the last picture is moved. A single change, as by a key, draws a new one. */
  const last = useRef(0);
  useLayoutEffect(() => {
    const at = performance.now();
    moving.current = dragged.current || at - last.current < MOVE_MS;
    last.current = at;
  }, [props.view.from, props.view.to]);
  /* In the frame of the event that moved the view: an effect runs after that frame. */
  useLayoutEffect(draw, [props.panel, props.xs, props.view.from, props.view.to, props.height, props.width, props.log, props.theme, props.bright]);
  useLayoutEffect(() => {
    const host = canvas.current;
    if (!host) return undefined;
    seen.current = host.getBoundingClientRect().top < window.innerHeight + 200; /* until the IntersectionObserver reports, a frame later */
    if (seen.current) draw();
    const watch = new IntersectionObserver((entries) => {
      seen.current = entries.some((e) => e.isIntersecting);
      if (seen.current && dirty.current) draw();
    }, { rootMargin: "200px" });
    watch.observe(host);
    const x = (clientX: number) => {
      const { view, width } = now.current;
      const box = host.getBoundingClientRect();
      const share = (clientX - box.left - LEFT) / (width - LEFT - RIGHT);
      return view.from + share * (view.to - view.from);
    };
    const y = (clientY: number) => {
      const { panel, xs, view, log, height, axis } = now.current;
      const box = host.getBoundingClientRect();
      const [low, high] = picture.current?.of.panel === panel ? picture.current.y : yRange(panel, xs, [view.from, view.to], log);
      const share = 1 - (clientY - box.top - TOP) / (height - TOP - (axis ? AXIS : 6));
      return log ? low * (high / low) ** share : low + share * (high - low);
    };
    const band = host.parentElement?.querySelector<HTMLElement>(".panel-band") ?? null;
    const showBand = (from: number, to: number) => {
      if (!band) return;
      band.hidden = from === to;
      band.style.left = `${Math.min(from, to)}px`;
      band.style.width = `${Math.abs(to - from)}px`;
    };
    const leave = () => now.current.onHover(null, 0, null);
    const stop = attachGestures(host, {
      x, pans: () => now.current.drag === "pan",
      onZoom: (at, factor) => {
        leave(); /* close the card: its layout costs 3 to 7 ms a step */
        now.current.onZoom(at, factor);
      },
      onPan: (by) => {
        dragged.current = true;
        now.current.onPan(by);
      },
      onAll: () => now.current.onAll(),
      onDrag: (span, done) => {
        const left = host.getBoundingClientRect().left;
        if (span && !done) return showBand(span.from - left, span.to - left);
        showBand(0, 0);
        if (span) now.current.onRange(x(Math.min(span.from, span.to)), x(Math.max(span.from, span.to)));
      },
      leaves: true,
      onPress: (e) => now.current.onPick(nearestColumn(now.current.xs, x(e.clientX)), y(e.clientY)),
    });
    const move = (e: PointerEvent) => {
      if (e.buttons & 1 && (now.current.drag === "pan" || e.shiftKey)) return leave(); /* the picture moves, not the pointer over it */
      const box = host.getBoundingClientRect();
      const column = nearestColumn(now.current.xs, x(e.clientX));
      now.current.onHover(column >= 0 ? column : null, y(e.clientY), { left: e.clientX - box.left, top: e.clientY - box.top });
    };
    host.addEventListener("pointermove", move);
    host.addEventListener("pointerleave", leave);
    const release = () => { dragged.current = false; };
    host.addEventListener("pointerup", release);
    host.addEventListener("pointercancel", release);
    return () => {
      watch.disconnect();
      cancelAnimationFrame(frame.current);
      window.clearTimeout(rest.current);
      frame.current = 0;
      stop();
      host.removeEventListener("pointermove", move);
      host.removeEventListener("pointerleave", leave);
      host.removeEventListener("pointerup", release);
      host.removeEventListener("pointercancel", release);
    };
  }, []);
  const { view, width, column, xs } = props;
  const at = column === null ? null : LEFT + (((xs[column] as number) - view.from) / (view.to - view.from)) * (width - LEFT - RIGHT);
  return (
    <div class="panel" role="img" aria-label={props.label}>
      {props.panel.title && <p class="panel-title">{visible(props.panel.title)} <small>{props.panel.unit}</small></p>}
      <div class="panel-box" style={{ height: `${props.height}px` }}>
        <canvas ref={canvas} style={{ width: `${props.width}px`, height: `${props.height}px` }} data-drag={props.drag} />
        <span class="panel-band" hidden />
        {at !== null && at >= LEFT && at <= width - RIGHT && <span class="panel-cross" style={{ left: `${at}px` }} />}
      </div>
    </div>
  );
}
