/* The requests that the first screen of a page waits for, as far as its address tells them. Pure. */
import type { Route } from "../base/route";
import { detailPath, headlinesPath, hiddenPath, lastNightPath, movedPath, openGroupsPath } from "./overview";
import { namesPath, plotPath } from "./plot";

/** width: of the window. */
export function firstPaths(route: Route, query: URLSearchParams, width: number): string[] {
  const project = query.get("project");
  if (route.page === "plot") return [plotPath(route.project, query, width), namesPath(route.project)];
  if (route.page !== "overview" || !project) return [];
  /* Not the jobs and runs at the page's end: their answers would take the server's time while the first screen waits. */
  return [detailPath, headlinesPath, openGroupsPath, lastNightPath, movedPath, hiddenPath].map((path) => path(project));
}
