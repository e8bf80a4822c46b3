/* All bisections that the service has stored. */
import { currentProject } from "../api/projects";
import type { Bisection } from "../api/types";
import { usePages } from "../api/use";
import { formatDuration, formatShare, plural, shortId } from "../base/format";
import { href, withQuery } from "../base/route";
import { StateBadge } from "../widgets/badge";
import { BenchName, Command, Page } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

export function Bisections() {
  const { load, more, loadingMore } = usePages<{ bisections: Bisection[]; next_cursor?: string | null }, Bisection>(
    withQuery("/bisections", { project: currentProject.value, limit: 100 }), (r) => r.bisections, ["alert", "bisection"]);
  return (
    <Page title="Bisections" lead="Searches for the commit that changed a metric.">
      <View load={load} what="bisections">
        {(rows) => rows.length === 0
          ? <Empty title="No bisection yet"><p>It runs where the repository is and reports here, or on the runners with --remote:</p><Command text="perfci bisect --metric gemm_tflops --good GOOD --bad BAD" what="Command: bisect" /></Empty>
          : <>
            <Table caption="Bisections, newest first" rows={rows} keyOf={(b) => b.id} columns={[
              { name: "Bisection", head: true, cell: (b) => <BenchName benchmark={b.benchmark ?? "headline"} metric={b.metric} backend={b.backend} to={href.bisection(b.id)} /> },
              { name: "Verdict", cell: (b) => <StateBadge state={b.verdict ?? b.state ?? "running"} /> },
              { name: "Culprit", cell: (b) => b.culprits.length === 0 ? <span class="muted">none</span>
                : b.culprits.map((c, i) => <span key={i}><code>{shortId(c.commits[0])}</code>{c.commits.length > 1 ? ` and ${c.commits.length - 1} more` : ""} ({formatShare(c.probability)}) </span>) },
              { name: "Range", cell: (b) => <><code>{shortId(b.good)}</code> to <code>{shortId(b.bad)}</code></> },
              { name: "Cost", numeric: true, cell: (b) => <>{plural(b.runs, "run")}<small class="n">{formatDuration(b.seconds)}</small></> },
            ]} />
            {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
          </>}
      </View>
    </Page>
  );
}
