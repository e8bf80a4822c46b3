/* A bisection on runners: probability of each commit, runs done, runs expected. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { Bisection } from "../api/types";
import { BeliefBars } from "../charts/belief";
import { formatDuration, formatShare, plural } from "../base/format";
import { CommitLink, Facts, Section } from "../widgets/parts";
import { countsText, differenceText } from "./bisection_text";
import { Empty } from "../widgets/state";

function Cancel(props: { id: number; done: () => void }) {
  const [said, say] = useState("");
  const cancel = () => {
    request("DELETE", `/bisections/${props.id}`).then(props.done, (error: unknown) => say(error instanceof ApiError ? error.message : String(error)));
  };
  return <p><button type="button" class="button" onClick={cancel}>Cancel the search</button> <span class="said bad" role="status">{said}</span></p>;
}

export function Search(props: { b: Bisection; reload: () => void }) {
  const { b } = props;
  const line = (b.line ?? []).map((c) => ({ id: c.commit, probability: c.probability ?? 0 }));
  const known = line.some((c) => c.probability > 0);
  const best = [...line].sort((x, y) => y.probability - x.probability).slice(0, 3).filter((c) => c.probability > 0.01);
  const cost = b.expected;
  const running = b.state === "running";
  return (
    <Section title={running ? "Probability of each commit" : "Probability of each commit at the end"}>
      {known ? <BeliefBars line={line} /> : <Empty title="No measurement yet" />}
      {known && <p class="muted">{plural(line.length, "commit")}, oldest first. {best.map((c, i) => <span key={c.id}>{i > 0 ? ", " : ""}<CommitLink project={b.project} id={c.id} /> {formatShare(c.probability)}</span>)}</p>}
      {running && cost && <Facts facts={[
        ["Steps done", countsText(b) ?? String(b.runs)], ["Runs expected", cost.runs === null ? "unknown" : `about ${Math.ceil(cost.runs)}`],
        ["Runners", String(cost.runners)], ["Jobs ahead in the queue", String(cost.jobs_waiting)],
        ["Wait", cost.wait_seconds === null ? "unknown" : formatDuration(cost.wait_seconds)], ["Time expected", cost.seconds === null ? "unknown" : formatDuration(cost.seconds)],
        ["Stored runs used", String(cost.stored_runs)]]} />}
      {running && <Cancel id={b.id} done={props.reload} />}
      {b.reason && b.stopped !== "budget" && !differenceText(b) && <p>{b.reason}</p>}
    </Section>
  );
}
