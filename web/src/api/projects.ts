/* The projects, and which of them the page is about. */
import { computed, signal } from "@preact/signals";
import { query, route } from "../base/location";
import type { Project } from "./types";
import type { Load } from "./use";

export const projects = signal<Load<{ projects: Project[] }>>({ state: "loading" });
/** Set by pages whose address does not name the project (a series, an alert, a run) after their data has arrived. */
export const shownProject = signal<string | null>(null);

export const currentProject = computed<string | null>(() => {
  const r = route.value;
  if ("project" in r) return r.project;
  const asked = query.value.get("project");
  if (asked) return asked;
  if (shownProject.value) return shownProject.value;
  const load = projects.value;
  return load.state === "data" ? (load.data.projects[0]?.name ?? null) : null;
});
