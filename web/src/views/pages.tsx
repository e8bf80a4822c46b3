/* The component of each route. The overview comes with the first page; the others are fetched when they are opened. */
import type { Route } from "../base/route";
import { lazy } from "../widgets/lazy";
import { Missing } from "./missing";
import { Overview } from "./overview";

const AlertView = lazy(() => import("./alert").then((m) => m.AlertView));
const Alerts = lazy(() => import("./alerts").then((m) => m.Alerts));
const Audit = lazy(() => import("./audit").then((m) => m.Audit));
const BisectionView = lazy(() => import("./bisection").then((m) => m.BisectionView));
const Bisections = lazy(() => import("./bisections").then((m) => m.Bisections));
const Browsers = lazy(() => import("./browsers").then((m) => m.Browsers));
const CommitView = lazy(() => import("./commit").then((m) => m.CommitView));
const Commits = lazy(() => import("./commits").then((m) => m.Commits));
const Compare = lazy(() => import("./compare").then((m) => m.Compare));
const Coverage = lazy(() => import("./coverage").then((m) => m.Coverage));
const Deliveries = lazy(() => import("./deliveries").then((m) => m.Deliveries));
const Detector = lazy(() => import("./detector").then((m) => m.Detector));
const ExplainView = lazy(() => import("./explanation").then((m) => m.ExplainView));
const GroupView = lazy(() => import("./group").then((m) => m.GroupView));
const Jobs = lazy(() => import("./jobs").then((m) => m.Jobs));
const Machines = lazy(() => import("./machines").then((m) => m.Machines));
const Notices = lazy(() => import("./notices").then((m) => m.Notices));
const OwnersView = lazy(() => import("./owners").then((m) => m.OwnersView));
const NightView = lazy(() => import("./night").then((m) => m.NightView));
const Nights = lazy(() => import("./nights").then((m) => m.Nights));
const Heatmap = lazy(() => import("./heatmap").then((m) => m.Heatmap));
const Plot = lazy(() => import("./plot").then((m) => m.Plot));
const Quality = lazy(() => import("./quality").then((m) => m.Quality));
const RooflineView = lazy(() => import("./roofline").then((m) => m.RooflineView));
const RunView = lazy(() => import("./run").then((m) => m.RunView));
const Schedules = lazy(() => import("./schedules").then((m) => m.Schedules));
const SeriesList = lazy(() => import("./series_list").then((m) => m.SeriesList));
const SeriesView = lazy(() => import("./series").then((m) => m.SeriesView));
const Suppressions = lazy(() => import("./suppressions").then((m) => m.Suppressions));
const TraceView = lazy(() => import("./trace").then((m) => m.TraceView));
const Tokens = lazy(() => import("./tokens").then((m) => m.Tokens));

/** Pages whose code is fetched ahead when a pointer rests on a link to them. */
const CODE: Partial<Record<Route["page"], { fetch: () => void }>> = {
  alert: AlertView, alerts: Alerts, bisection: BisectionView, bisections: Bisections, commit: CommitView, commits: Commits, compare: Compare,
  coverage: Coverage, detector: Detector, group: GroupView, heatmap: Heatmap, jobs: Jobs, machines: Machines, night: NightView, nights: Nights,
  plot: Plot, quality: Quality, roofline: RooflineView, run: RunView, schedules: Schedules, series: SeriesView, seriesList: SeriesList,
  suppressions: Suppressions,
};

export const fetchCode = (page: Route["page"]): void => CODE[page]?.fetch();

export function PageOf(props: { route: Route }) {
  const r = props.route;
  switch (r.page) {
    case "overview": return <Overview />;
    case "seriesList": return <SeriesList project={r.project} key={r.project} />;
    case "series": return <SeriesView id={r.id} />;
    case "plot": return <Plot project={r.project} key={r.project} />;
    case "heatmap": return <Heatmap project={r.project} key={r.project} />;
    case "coverage": return <Coverage project={r.project} key={r.project} />;
    case "roofline": return <RooflineView project={r.project} key={r.project} />;
    case "commits": return <Commits project={r.project} key={r.project} />;
    case "commit": return <CommitView project={r.project} id={r.id} key={r.id} />;
    case "nights": return <Nights project={r.project} key={r.project} />;
    case "night": return <NightView project={r.project} id={r.id} key={r.id} />;
    case "suppressions": return <Suppressions project={r.project} key={r.project} />;
    case "schedules": return <Schedules project={r.project} key={r.project} />;
    case "compare": return <Compare />;
    case "explain": return <ExplainView />;
    case "alerts": return <Alerts />;
    case "alert": return <AlertView id={r.id} key={r.id} />;
    case "group": return <GroupView id={r.id} key={r.id} />;
    case "jobs": return <Jobs />;
    case "run": return <RunView id={r.id} key={r.id} />;
    case "trace": return <TraceView run={r.run} id={r.id} key={r.id} />;
    case "machines": return <Machines />;
    case "bisections": return <Bisections />;
    case "bisection": return <BisectionView id={r.id} key={r.id} />;
    case "detector": return <Detector project={r.project} key={r.project} />;
    case "quality": return <Quality project={r.project} key={r.project} />;
    case "owners": return <OwnersView project={r.project} key={r.project} />;
    case "tokens": return <Tokens />;
    case "notices": return <Notices />;
    case "deliveries": return <Deliveries />;
    case "browsers": return <Browsers />;
    case "audit": return <Audit />;
    case "missing": return <Missing />;
  }
}
