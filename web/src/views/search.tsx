/* A bisection on runners that is under way: runs done and expected, and how to cancel it; then why it ended. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import { mayMeasure } from "../api/scopes";
import type { Bisection } from "../api/types";
import { formatDuration } from "../base/format";
import { ActionButton } from "../widgets/action";
import { Facts, Section } from "../widgets/parts";
import { countsText, differenceText } from "./bisection_text";

function Cancel(props: { id: number; done: () => void }) {
  const [said, say] = useState("");
  const cancel = () => {
    request("DELETE", `/bisections/${props.id}`).then(props.done, (error: unknown) => say(error instanceof ApiError ? error.message : String(error)));
  };
  return <p><ActionButton why={mayMeasure()} onClick={cancel}>Cancel the search</ActionButton> <span class="said bad" role="status">{said}</span></p>;
}

export function Search(props: { b: Bisection; reload: () => void }) {
  const { b } = props;
  const cost = b.expected;
  const running = b.state === "running";
  const why = b.reason && b.stopped !== "budget" && !differenceText(b) ? b.reason : null;
  if (!running && !why) return null;
  return (
    <Section title={running ? "Progress" : "End of the search"}>
      {running && cost && <Facts facts={[
        ["Steps done", countsText(b) ?? String(b.runs)], ["Runs expected", cost.runs === null ? "unknown" : `about ${Math.ceil(cost.runs)}`],
        ["Runners", String(cost.runners)], ["Jobs ahead in the queue", String(cost.jobs_waiting)],
        ["Wait", cost.wait_seconds === null ? "unknown" : formatDuration(cost.wait_seconds)], ["Time expected", cost.seconds === null ? "unknown" : formatDuration(cost.seconds)],
        ["Stored runs used", String(cost.stored_runs)]]} />}
      {running && <Cancel id={b.id} done={props.reload} />}
      {why && <p>{why}</p>}
    </Section>
  );
}
