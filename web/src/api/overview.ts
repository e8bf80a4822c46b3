/* The paths that the overview asks for. */
import { withQuery } from "../base/route";

const of = (project: string) => `/projects/${encodeURIComponent(project)}`;

export const detailPath = of;
export const lastNightPath = (project: string) => withQuery(`${of(project)}/sessions`, { limit: 1 });
export const headlinesPath = (project: string) => withQuery(`${of(project)}/series`, { headline: 1, spark: 60 });
export const movedPath = (project: string) => withQuery("/environment", { project, open: 1, limit: 50 });
export const openGroupsPath = (project: string) => withQuery("/groups", { project, state: "open", sort: "worth", limit: 8 });
export const hiddenPath = (project: string) => withQuery(`${of(project)}/suppressions`, { limit: 200 });
export const recentJobsPath = (project: string) => withQuery("/jobs", { project, limit: 6 });
export const recentRunsPath = (project: string) => withQuery(`${of(project)}/runs`, { limit: 8 });
