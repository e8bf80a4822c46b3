/* Owners of benchmarks and files: the project's own rules, and the repository's CODEOWNERS. */
import { useState } from "preact/hooks";
import { request } from "../api/client";
import { mayTriage } from "../api/scopes";
import type { Owners } from "../api/settings";
import { useApi } from "../api/use";
import { plural } from "../base/format";
import { SaidLine, useAct } from "../widgets/act";
import { ActionButton } from "../widgets/action";
import { CommitLink, Page, Section, When } from "../widgets/parts";
import { OwnToken, Scoped } from "../widgets/scoped";
import { View } from "../widgets/state";

const MAX = 262_144;
const lines = (text: string) => text.split("\n").filter((l) => l.trim() !== "" && !l.trim().startsWith("#")).length;

function Edit(props: { project: string; owners: Owners; reload: () => void }) {
  const { owners } = props;
  const [from, setFrom] = useState(owners.rules); /* the rules that the edit began with */
  const [text, setText] = useState(owners.rules);
  const { busy, said, act } = useAct();
  const changed = text !== from;
  const other = owners.rules !== from;
  const why = mayTriage() ?? (busy ? "the rules are being stored" : !changed ? "the rules are as they are stored" : null);
  const save = () => act(async () => {
    const now = await request<Owners>("POST", `/projects/${encodeURIComponent(props.project)}/owners`, { rules: text });
    setFrom(now.rules);
    setText(now.rules);
    props.reload();
    return `${plural(lines(now.rules), "rule")} stored; the owners of the open alerts are found again.`;
  });
  return (
    <form class="card owners" onSubmit={(e) => { e.preventDefault(); if (!why) void save(); }}>
      <label class="field"><span>Rules: a line is PATTERN OWNER..., the last rule that matches counts</span>
        <textarea class="mono" rows={12} maxLength={MAX} spellcheck={false} value={text} placeholder={"benchmark:gemm/* @numerics\nkernel:attention ann@example.org\n/kernels/cpu/ @cpu-team"} onInput={(e) => setText(e.currentTarget.value)} /></label>
      <p class="muted">A pattern is <code>benchmark:GLOB</code>, <code>kernel:GLOB</code> or a path as in CODEOWNERS. A line that starts with # is a comment.</p>
      {other && changed && <p class="said bad" role="status">The stored rules were changed meanwhile. Saving replaces them. <button type="button" class="button" onClick={() => { setFrom(owners.rules); setText(owners.rules); }}>Take the stored ones</button></p>}
      <div class="row"><ActionButton submit primary why={why}>Save rules</ActionButton></div>
      <SaidLine said={said} />
    </form>
  );
}

function Content(props: { project: string }) {
  const load = useApi<Owners>(`/projects/${encodeURIComponent(props.project)}/owners`);
  return (
    <View load={load} what="owners">
      {(owners) => (
        <>
          <p class="count">{owners.updated_at ? <>Changed <When time={owners.updated_at} />.</> : "No rule was stored yet."}</p>
          <Edit project={props.project} owners={owners} reload={() => { if (load.state === "data") load.reload(); }} />
          <Section title="CODEOWNERS of the repository">
            {owners.codeowners
              ? <><p class="count"><code>{owners.codeowners.path}</code> at <CommitLink project={props.project} id={owners.codeowners.commit} />, {plural(lines(owners.codeowners.text), "rule")}</p>
                <pre class="card codeowners" tabIndex={0} role="region" aria-label="CODEOWNERS">{owners.codeowners.text}</pre></>
              : <p class="muted">The repository has no CODEOWNERS file that the service has read.</p>}
          </Section>
        </>
      )}
    </View>
  );
}

export function OwnersView(props: { project: string }) {
  return (
    <Page title="Owners" lead={<>Owners of the benchmarks and files of {props.project}. <OwnToken /></>}>
      <Scoped scope={null} what="the owners, whose addresses are in the rules"><Content project={props.project} /></Scoped>
    </Page>
  );
}
