/* The requests that a page makes at once, as far as its address tells them. Pure. */
import type { Route } from "../base/route";
import { detailPath, headlinesPath, hiddenPath, lastNightPath, movedPath, openGroupsPath, recentJobsPath, recentRunsPath } from "./overview";
import { namesPath, plotPath } from "./plot";

/** width: of the window. */
export function firstPaths(route: Route, query: URLSearchParams, width: number): string[] {
  const project = query.get("project");
  if (route.page === "plot") return [plotPath(route.project, query, width), namesPath(route.project)];
  if (route.page !== "overview" || !project) return [];
  return [detailPath, headlinesPath, openGroupsPath, lastNightPath, movedPath, hiddenPath, recentJobsPath, recentRunsPath].map((path) => path(project));
}
