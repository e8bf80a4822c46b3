/* The history, newest first, measured or not. */
import type { Commit } from "../api/types";
import { usePages } from "../api/use";
import { plural, shortId } from "../base/format";
import { query, setQuery } from "../base/location";
import { href, withQuery } from "../base/route";
import { Badge } from "../widgets/badge";
import { Search } from "../widgets/field";
import { Command, Page, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { Table } from "../widgets/table";

export function Commits(props: { project: string }) {
  const text = query.value.get("q") ?? "";
  const a = query.value.get("a");
  const { load, more, loadingMore } = usePages<{ commits: Commit[]; next_cursor?: string | null }, Commit>(
    withQuery(`/projects/${encodeURIComponent(props.project)}/commits`, { q: text, limit: 100 }), (r) => r.commits, ["run", "alert"]);
  return (
    <Page title="Commits" lead="Newest first. Choose one as A, then compare any other with it.">
      <div class="filters" role="search"><Search label="Find subject, author or id" value={text} onChange={(q) => setQuery({ q }, true)} /></div>
      <View load={load} what="commits">
        {(rows) => {
          if (rows.length === 0) {
            return text ? <Empty title="No commit of this project fits" />
              : <Empty title="No commit yet"><p>The history comes with the first nightly round:</p><Command text="perfci nightly" what="Command: measure new commits" /></Empty>;
          }
          return (
            <>
              <p class="count" role="status">{plural(rows.length, "commit")}{more ? ", more on the server" : ""}</p>
              <History project={props.project} rows={rows} a={a} />
              {more && <p class="more"><button type="button" class="button" disabled={loadingMore} onClick={more}>{loadingMore ? "Loading\u2026" : "Show more"}</button></p>}
            </>
          );
        }}
      </View>
    </Page>
  );
}

function History(props: { project: string; rows: Commit[]; a: string | null }) {
  const { project, a } = props;
  return (
    <Table caption="Commits" rows={props.rows} keyOf={(c) => c.id} rowClass={(c) => (c.id === a ? "current" : "")} columns={[
      { name: "Subject", head: true, cell: (c) => <span class="bench"><a href={href.commit(project, c.id)}>{c.subject}</a><small>{[c.author, ...(c.tags ?? [])].join(" \u00b7 ")}</small></span> },
      { name: "Commit", cell: (c) => <code>{shortId(c.id)}</code> },
      { name: "When", cell: (c) => <When time={c.time} /> },
      { name: "Runs", cell: (c) => c.runs > 0 ? plural(c.runs, "run") : <span class="muted">not measured</span> },
      { name: "Alerts", cell: (c) => c.alerts > 0 ? <Badge judged={{ tone: "bad", icon: "alert", word: plural(c.alerts, "alert") }} /> : <span class="muted">none</span> },
      { name: "Compare", cell: (c) => a === c.id
        ? <button type="button" class="link" onClick={() => setQuery({ a: null }, true)}>A: clear</button>
        : a ? <a href={href.compare(project, a, c.id)}>with A<span class="sr-only">: {shortId(c.id)}</span></a>
          : <button type="button" class="link" onClick={() => setQuery({ a: c.id }, true)}>choose as A<span class="sr-only">: {shortId(c.id)}</span></button> },
    ]} />
  );
}
