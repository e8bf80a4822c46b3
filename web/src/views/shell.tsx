/* Frame of every page: navigation, project, theme, and whether data is live. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { liveNews, liveState } from "../api/live";
import { currentProject, projects } from "../api/projects";
import type { Project } from "../api/types";
import { useApi } from "../api/use";
import { address, navigate, route } from "../base/location";
import { href } from "../base/route";
import { chooseTheme, themeShown } from "../base/theme";
import { Fence } from "../widgets/fence";
import { Icon } from "../widgets/icons";
import { Account } from "../widgets/sign_in";
import { Keys, KeysButton } from "./keys";
import { Nav, hasSecondRow } from "./nav";
import { PaletteButton, PaletteKey } from "./palette";
import { PageOf } from "./pages";

const LIVE = { live: "Live", polling: "Polling", connecting: "Connecting" } as const;

function ProjectPicker() {
  const load = projects.value;
  const all = load.state === "data" ? load.data.projects : [];
  const now = currentProject.value ?? "";
  if (all.length === 0) return null;
  const go = (name: string) => {
    const r = route.value;
    if (r.page === "seriesList") navigate(href.seriesList(name));
    else if (r.page === "plot") navigate(href.plot(name));
    else if (r.page === "heatmap") navigate(href.heatmap(name));
    else if (r.page === "coverage") navigate(href.coverage(name));
    else if (r.page === "commits" || r.page === "commit") navigate(href.commits(name));
    else if (r.page === "nights" || r.page === "night") navigate(href.nights(name));
    else if (r.page === "suppressions") navigate(href.suppressions(name));
    else if (r.page === "schedules") navigate(href.schedules(name));
    else if (r.page === "quality") navigate(href.quality(name));
    else if (r.page === "detector") navigate(href.detector(name));
    else if (r.page === "owners") navigate(href.owners(name));
    else if (r.page === "notices" || r.page === "deliveries" || r.page === "audit") navigate(href.settings(r.page, name));
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

export function Shell() {
  const load = useApi<{ projects: Project[] }>("/projects", ["run", "alert"]);
  useLayoutEffect(() => { projects.value = load; }, [load.state, load.state === "data" ? load.data : null, load.state === "failed" ? load.error : null]);
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const path = address.value.path;
  const first = useRef(true);
  useEffect(() => {
    setOpen(false);
    if (first.current) first.current = false;
    else main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
  }, [path]);
  const dark = themeShown.value === "dark";
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <header class={hasSecondRow() ? "top two-rows" : "top"}>
        <div class="top-in">
          <a class="brand" href={href.overview(currentProject.value)}>
            <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false"><rect width="32" height="32" rx="7" /><path d="M5 11h9v10h5v-5h8" /></svg>
            perfci
          </a>
          <ProjectPicker />
          <Nav open={open}><PaletteButton words /></Nav>
          <div class="top-end">
            <a class="button plain docs" href="/docs/">Docs</a>
            <PaletteButton />
            <KeysButton />
            <Account />
            <span class={`live live-${liveState.value}`} title="Whether this page is updated automatically"><i />{LIVE[liveState.value]}</span>
            <button type="button" class="button icon-only plain" aria-label={dark ? "Use the light theme" : "Use the dark theme"}
              title={dark ? "Light" : "Dark"} onClick={() => chooseTheme(dark ? "light" : "dark")}><Icon name={dark ? "sun" : "moon"} /></button>
            <button type="button" class="button icon-only plain menu" aria-label="Pages" aria-expanded={open} aria-controls="nav"
              onClick={() => setOpen(!open)}><Icon name={open ? "cross" : "menu"} /></button>
          </div>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}><Fence key={path}><PageOf route={route.value} /></Fence></main>
      <p class="sr-only" aria-live="polite">{liveNews.value}</p>
      <Keys />
      <PaletteKey />
    </>
  );
}
