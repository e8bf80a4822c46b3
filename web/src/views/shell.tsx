/* Frame of every page: navigation, project, theme, and whether data is live. */
import { useEffect, useRef, useState } from "preact/hooks";
import { liveNews, liveState } from "../api/live";
import { currentProject, projects } from "../api/projects";
import type { Project } from "../api/types";
import { useApi } from "../api/use";
import { address, navigate, route } from "../base/location";
import { href, type Route } from "../base/route";
import { chooseTheme, themeShown } from "../base/theme";
import { Fence } from "../widgets/fence";
import { Icon } from "../widgets/icons";
import { Account } from "../widgets/sign_in";
import { AlertView } from "./alert";
import { Alerts } from "./alerts";
import { BisectionView } from "./bisection";
import { Bisections } from "./bisections";
import { CommitView } from "./commit";
import { Commits } from "./commits";
import { Compare } from "./compare";
import { ExplainView } from "./explanation";
import { Jobs } from "./jobs";
import { Machines } from "./machines";
import { Missing } from "./missing";
import { NightView } from "./night";
import { Nights } from "./nights";
import { Overview } from "./overview";
import { RunView } from "./run";
import { SeriesView } from "./series";
import { SeriesList } from "./series_list";

function page(r: Route) {
  switch (r.page) {
    case "overview": return <Overview />;
    case "seriesList": return <SeriesList project={r.project} key={r.project} />;
    case "series": return <SeriesView id={r.id} />;
    case "commits": return <Commits project={r.project} key={r.project} />;
    case "commit": return <CommitView project={r.project} id={r.id} key={r.id} />;
    case "nights": return <Nights project={r.project} key={r.project} />;
    case "night": return <NightView project={r.project} id={r.id} key={r.id} />;
    case "compare": return <Compare />;
    case "explain": return <ExplainView />;
    case "alerts": return <Alerts />;
    case "alert": return <AlertView id={r.id} key={r.id} />;
    case "jobs": return <Jobs />;
    case "run": return <RunView id={r.id} key={r.id} />;
    case "machines": return <Machines />;
    case "bisections": return <Bisections />;
    case "bisection": return <BisectionView id={r.id} key={r.id} />;
    case "missing": return <Missing />;
  }
}

const LIVE = { live: "Live", polling: "Polling", connecting: "Connecting" } as const;

function Nav(props: { open: boolean }) {
  const project = currentProject.value;
  const here = route.value.page;
  const alerts = projects.value.state === "data"
    ? (projects.value.data.projects.find((p) => p.name === project)?.alerts_open ?? 0) : 0;
  const links: [string, string, Route["page"][]][] = [
    ["Overview", href.overview(project), ["overview"]],
    ...(project ? [
      ["Series", href.seriesList(project), ["seriesList", "series"]],
      ["Commits", href.commits(project), ["commits", "commit"]],
      ["Nights", href.nights(project), ["nights", "night"]],
    ] as [string, string, Route["page"][]][] : []),
    ["Compare", href.compare(project), ["compare"]],
    ["Alerts", href.alerts(project), ["alerts", "alert"]],
    ["Bisections", href.bisections(project), ["bisections", "bisection"]],
    ["Jobs", href.jobs(project), ["jobs", "run"]],
    ["Machines", href.machines(project), ["machines"]],
  ];
  return (
    <nav id="nav" class={props.open ? "nav open" : "nav"} aria-label="Pages">
      {links.map(([name, to, pages]) => (
        <a key={name} href={to} {...(pages.includes(here) ? { "aria-current": "page" as const } : {})}>
          {name}{name === "Alerts" && alerts > 0 && <span class="pill">{alerts}<span class="sr-only"> open</span></span>}
        </a>
      ))}
      <a class="docs" href="/docs/">Docs</a>
    </nav>
  );
}

function ProjectPicker() {
  const load = projects.value;
  const all = load.state === "data" ? load.data.projects : [];
  const now = currentProject.value ?? "";
  if (all.length === 0) return null;
  const go = (name: string) => {
    const r = route.value;
    if (r.page === "seriesList") navigate(href.seriesList(name));
    else if (r.page === "commits" || r.page === "commit") navigate(href.commits(name));
    else if (r.page === "nights" || r.page === "night") navigate(href.nights(name));
    else if (r.page === "alerts") navigate(href.alerts(name));
    else if (r.page === "jobs") navigate(href.jobs(name));
    else navigate(href.overview(name));
  };
  return (
    <label class="project"><span class="sr-only">Project</span>
      <select value={now} onChange={(e) => go(e.currentTarget.value)}>
        {!all.some((p) => p.name === now) && <option value={now}>{now}</option>}
        {all.map((p) => <option key={p.name} value={p.name} selected={p.name === now}>{p.name}</option>)}
      </select>
    </label>
  );
}

/** "/" goes to the search box of the page, as people expect. */
function onShortcut(e: KeyboardEvent): void {
  const target = e.target instanceof HTMLElement ? e.target : null;
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || target?.closest("input, textarea, select")) return;
  const box = document.querySelector<HTMLInputElement>("input[data-search]");
  if (!box) return;
  e.preventDefault();
  box.focus();
}

export function Shell() {
  const load = useApi<{ projects: Project[] }>("/projects", ["run", "alert"]);
  useEffect(() => { projects.value = load; }, [load.state, load.state === "data" ? load.data : null, load.state === "failed" ? load.error : null]);
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const path = address.value.path;
  const first = useRef(true);
  useEffect(() => {
    setOpen(false);
    if (first.current) first.current = false;
    else main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }, [path]);
  useEffect(() => {
    document.addEventListener("keydown", onShortcut);
    return () => document.removeEventListener("keydown", onShortcut);
  }, []);
  const dark = themeShown.value === "dark";
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header class="top">
        <div class="top-in">
          <a class="brand" href={href.overview(currentProject.value)}>
            <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="7" /><path d="M5 11h9v10h5v-5h8" /></svg>
            perfci
          </a>
          <ProjectPicker />
          <Nav open={open} />
          <div class="top-end">
            <a class="button plain docs" href="/docs/">Docs</a>
            <Account />
            <span class={`live live-${liveState.value}`} title="Whether this page is updated automatically"><i />{LIVE[liveState.value]}</span>
            <button type="button" class="button icon-only plain" aria-label={dark ? "Use the light theme" : "Use the dark theme"}
              title={dark ? "Light" : "Dark"} onClick={() => chooseTheme(dark ? "light" : "dark")}><Icon name={dark ? "sun" : "moon"} /></button>
            <button type="button" class="button icon-only plain menu" aria-label="Pages" aria-expanded={open} aria-controls="nav"
              onClick={() => setOpen(!open)}><Icon name={open ? "cross" : "menu"} /></button>
          </div>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}><Fence key={path}>{page(route.value)}</Fence></main>
      <p class="sr-only" aria-live="polite">{liveNews.value}</p>
    </>
  );
}
