/* Small things that every page uses. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { formatAgo, formatWhen, parseTime, shortId } from "../base/format";
import { hasMoved } from "../base/location";
import { href } from "../base/route";
import { visible } from "../base/visible";
import type { WhyNoAlert } from "../api/types";
import { Icon } from "./icons";

const minute = signal(Date.now());
window.setInterval(() => { minute.value = Date.now(); }, 30_000);

/** "5 min ago", with the full time for pointers and machines. */
export function When(props: { time: string | number | null | undefined }) {
  const ms = parseTime(props.time);
  if (!Number.isFinite(ms)) return <span class="muted">never</span>;
  return <time dateTime={new Date(ms).toISOString()} title={formatWhen(ms)}>{formatAgo(ms, Math.max(minute.value, Date.now()))}</time>;
}

export function CommitLink(props: { project: string | null | undefined; id: string | null | undefined }) {
  if (!props.id) return <span class="muted">{"\u2013"}</span>;
  if (!props.project) return <code>{shortId(props.id)}</code>;
  return <a class="mono" href={href.commit(props.project, props.id)}>{shortId(props.id)}</a>;
}

/** Long text in a cell: at most two lines, all of it for pointers. */
export function Clamped(props: { text: string }) {
  return <span class="clamped" title={props.text}>{props.text}</span>;
}

/** Name of what was measured: benchmark first, then where; children in a line of their own. */
export function BenchName(props: { benchmark: string; metric: string; backend?: string | null; to?: string; children?: ComponentChildren }) {
  const headline = props.benchmark === "headline" || props.benchmark === "";
  const name = headline ? props.metric : props.benchmark;
  const rest = [headline ? "headline" : props.metric, props.backend].filter((s) => s).join(" \u00b7 ");
  return (
    <span class="bench" title={`${name} ${rest}`}>
      {props.to ? <a href={props.to}>{name}</a> : <span>{name}</span>}
      <small>{rest}</small>
      {props.children && <small>{props.children}</small>}
    </span>
  );
}

/** The alert of a change point; where it has none, why, in the service's own words. */
export function AlertOrWhy(props: { change: { alert_id: number | null; why_no_alert?: WhyNoAlert | null } }) {
  const { alert_id: id, why_no_alert: why } = props.change;
  if (id !== null) return <a href={href.alert(id)}>#{id}</a>;
  return why ? <span class="why muted" title={why.sentence}>none: {why.sentence}</span> : <span class="muted">none</span>;
}

/** Title of a page; takes the focus after a change of page, so that a screen reader starts there. */
export function Page(props: { title: string; lead?: ComponentChildren; side?: ComponentChildren; children?: ComponentChildren }) {
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => { if (hasMoved() && document.activeElement === document.body) title.current?.focus({ preventScroll: true }); }, []);
  useEffect(() => { document.title = `${visible(props.title)} \u00b7 perfci`; }, [props.title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1 tabIndex={-1} ref={title}>{props.title}</h1>
          {props.lead && <div class="lead">{props.lead}</div>}
        </div>
        {props.side && <div class="page-side">{props.side}</div>}
      </header>
      {props.children}
    </>
  );
}

export function Section(props: { title: string; side?: ComponentChildren; children: ComponentChildren; id?: string }) {
  return (
    <section class="section" {...(props.id ? { id: props.id } : {})}>
      <div class="section-head"><h2>{props.title}</h2>{props.side}</div>
      {props.children}
    </section>
  );
}

/** A command to run, with a button that copies it. */
export function Command(props: { text: string; what?: string }) {
  const [done, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard?.writeText(props.text).then(() => {
      setDone(true);
      window.setTimeout(() => setDone(false), 2000);
    }, () => setDone(false));
  };
  return (
    <div class="command">
      <code tabIndex={0} role="region" aria-label={props.what ?? "command"}>{props.text}</code>
      <button type="button" class="button icon-only" aria-label={done ? "Copied" : "Copy the command"} title="Copy" onClick={copy}>
        <Icon name={done ? "check" : "copy"} />
      </button>
    </div>
  );
}

export function Facts(props: { facts: readonly (readonly [string, ComponentChildren])[] }) {
  return <dl class="facts">{props.facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}
