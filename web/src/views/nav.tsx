/* Navigation in two rows: the sections, and the pages of the section that is open. */
import type { ComponentChildren } from "preact";
import { currentProject, projects } from "../api/projects";
import { route } from "../base/location";
import { href, type Route } from "../base/route";

/** A page with an entry; `routes` are those under it, for which the entry is marked as well. */
type Entry = { name: string; to: string; routes: Route["page"][] };
type Section = { name: string; entries: Entry[] };

const entry = (name: string, to: string, ...routes: Route["page"][]): Entry => ({ name, to, routes });

/** Sections without a page that can be opened are left out: those of kernels and commits need a project. */
export function sections(project: string | null): Section[] {
  const all: Section[] = [
    { name: "Overview", entries: [entry("Overview", href.overview(project), "overview")] },
    { name: "Alerts", entries: [
      entry("Alerts", href.alerts(project), "alerts", "alert", "group"),
      entry("Bisections", href.bisections(project), "bisections", "bisection"),
      ...(project ? [entry("Suppressions", href.suppressions(project), "suppressions"), entry("Quality", href.quality(project), "quality")] : []),
    ] },
    { name: "Kernels", entries: project ? [
      entry("Series", href.seriesList(project), "seriesList", "series"),
      entry("Plot", href.plot(project), "plot"),
      entry("Heat map", href.heatmap(project), "heatmap"),
      entry("Coverage", href.coverage(project), "coverage"),
      entry("Roofline", href.roofline(project), "roofline"),
    ] : [] },
    { name: "History", entries: [
      ...(project ? [
        entry("Commits", href.commits(project), "commits", "commit"),
        entry("Nights", href.nights(project), "nights", "night"),
      ] : []),
      entry("Compare", href.compare(project), "compare", "explain"),
    ] },
    { name: "Fleet", entries: [
      entry("Jobs", href.jobs(project), "jobs", "run"),
      ...(project ? [entry("Schedules", href.schedules(project), "schedules")] : []),
      entry("Machines", href.machines(project), "machines"),
    ] },
    { name: "Settings", entries: [
      ...(project ? [entry("Detector", href.detector(project), "detector"), entry("Owners", href.owners(project), "owners")] : []),
      entry("Notices", href.settings("notices", project), "notices"),
      entry("Webhooks", href.settings("deliveries", project), "deliveries"),
      entry("Tokens", href.settings("tokens"), "tokens"),
      entry("Browsers", href.settings("browsers"), "browsers"),
      entry("Audit", href.settings("audit"), "audit"),
    ] },
  ];
  return all.filter((s) => s.entries.length > 0);
}

const isHere = (entries: Entry[]) => entries.some((e) => e.routes.includes(route.value.page));

/** Whether the section that is open has several pages, which then have a row of their own. */
export const hasSecondRow = () => (sections(currentProject.value).find((s) => isHere(s.entries))?.entries.length ?? 0) > 1;

export function Nav(props: { open: boolean; children: ComponentChildren }) {
  const project = currentProject.value;
  const alerts = projects.value.state === "data"
    ? (projects.value.data.projects.find((p) => p.name === project)?.groups_open ?? 0) : 0;
  return (
    <nav id="nav" class={props.open ? "nav open" : "nav"} aria-label="Pages">
      <ul class="nav-sections">
        {sections(project).map(({ name, entries, entries: [first] }) => first && (
          <li key={name} class={isHere(entries) ? "nav-here" : ""}>
            <a class="nav-section" href={first.to} {...(isHere(entries) ? { "aria-current": "true" as const } : {})}>
              {name}{name === "Alerts" && alerts > 0 && <span class="pill">{alerts}<span class="sr-only"> open groups</span></span>}
            </a>
            {entries.length > 1 && (
              <ul class="nav-pages" aria-label={name}>
                {entries.map((e) => (
                  <li key={e.name}><a href={e.to} {...(isHere([e]) ? { "aria-current": "page" as const } : {})}>{e.name}</a></li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      <a class="docs" href="/docs/">Docs</a>
      {props.children}
    </nav>
  );
}
