/* Results of the new interleaved pairs that check a culprit before it is reported. */
import type { Bisection, Verification } from "../api/types";
import { formatChange, formatP, plural } from "../base/format";
import { Badge } from "../widgets/badge";
import { Command, CommitLink, Section } from "../widgets/parts";
import { Table } from "../widgets/table";

function Verdict(props: { v: Verification }) {
  const { state } = props.v;
  if (state === "confirmed") return <Badge judged={{ tone: "bad", icon: "check", word: "confirmed" }} />;
  if (state === "refuted") return <Badge judged={{ tone: "good", icon: "dot", word: "refuted" }} />;
  return <Badge judged={{ tone: "warn", icon: "question", word: state === "running" ? "under way" : "open" }} />;
}

function changeOf(v: Verification): string {
  if (v.rel_change === null || v.rel_low === null || v.rel_high === null) return "\u2013";
  return `${formatChange(v.rel_change)} (${formatChange(v.rel_low)} to ${formatChange(v.rel_high)})`;
}

export function Verdicts(props: { b: Bisection }) {
  const list = props.b.verifications ?? [];
  if (list.length === 0) return null;
  return (
    <Section title="Confirmation" side={<span class="muted">the commit before the culprit against it, interleaved, new builds</span>}>
      <Table caption="Fresh comparisons" rows={list} keyOf={(v) => v.id} columns={[
        { name: "Commit", head: true, cell: (v) => <CommitLink project={props.b.project} id={v.commit} /> },
        { name: "Against", cell: (v) => <CommitLink project={props.b.project} id={v.before} /> },
        { name: "Verdict", cell: (v) => <Verdict v={v} /> },
        { name: "Change", cell: changeOf },
        { name: "always-valid p", numeric: true, cell: (v) => (v.p === null ? "\u2013" : formatP(v.p)) },
        { name: "Pairs", cell: (v) => `${plural(v.pairs, "pair")}, ${plural(v.layouts, "layout")}${v.runners ? `, on ${v.runners}` : ""}` },
        { name: "Why", cell: (v) => v.reason ?? "" },
      ]} />
      {list.map((v) => <Command key={v.id} text={v.repro} what={`Command: repeat the comparison ${v.id}`} />)}
    </Section>
  );
}
