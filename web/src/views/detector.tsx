/* The detector's configuration: what holds, a form for another one, and a replay of it before it is stored. */
import { useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { DetectorConfig, DetectorVersion, ProjectReplay } from "../api/detector";
import { mayTriage } from "../api/scopes";
import { useApi } from "../api/use";
import { SETTINGS, fieldsOf, readDetector, textOf } from "../base/detector";
import { formatShare } from "../base/format";
import { SaidLine, useAct } from "../widgets/act";
import { ActionButton } from "../widgets/action";
import { Page, Section, When } from "../widgets/parts";
import { OwnToken } from "../widgets/scoped";
import { View } from "../widgets/state";
import { Table } from "../widgets/table";
import { DetectorForm } from "./detector_rules";
import { ReplayResult, type Replays } from "./detector_replay";

/** The present value of a setting: that for all series, and the number of rules that set it for some. */
function present(config: DetectorConfig, name: string): string {
  if (name === "fdr") return config.fdr === undefined ? "the default" : formatShare(config.fdr);
  const own = config.rules.map((r) => r[name as "min_change" | "alpha" | "judged"]).filter((v) => v !== undefined);
  const say = (v: number | boolean) => (typeof v === "boolean" ? (v ? "yes" : "no") : name === "min_change" ? formatShare(v) : String(v));
  return own.length === 0 ? "the default" : `set by rules: ${own.slice(0, 3).map(say).join(", ")}${own.length > 3 ? `, and ${own.length - 3} more` : ""}`;
}

function Edit(props: { project: string; now: DetectorVersion; reload: () => void }) {
  const { now } = props;
  const [fields, setFields] = useState(() => fieldsOf(now.detector));
  const [replays, setReplays] = useState<Replays | null>(null);
  const [large, setLarge] = useState(""); /* text of a configuration that is too large to be replayed */
  const replay = useAct();
  const save = useAct();
  const base = `/projects/${encodeURIComponent(props.project)}`;
  const read = readDetector(fields);
  const fault = "fault" in read ? read.fault : null;
  const text = JSON.stringify(read);
  const same = text === textOf(now.detector);
  const busy = replay.busy ? "the replay is running" : save.busy ? "the settings are being stored" : null;
  const may = mayTriage() ?? fault ?? busy;
  const tried = replays?.text === text || large === text;
  const run = () => replay.act(async () => {
    if ("fault" in read) return null;
    setReplays(null);
    try {
      /* One after the other: the service runs one replay at a time. */
      const stored = await request<ProjectReplay>("POST", `${base}/replay`, now.detector);
      const edited = same ? stored : await request<ProjectReplay>("POST", `${base}/replay`, read.detector);
      setReplays({ stored, edited, text });
    } catch (error) {
      if (error instanceof ApiError && error.status === 413) setLarge(text);
      throw error;
    }
    return "Nothing was stored.";
  });
  const store = () => save.act(async () => {
    if ("fault" in read) return null;
    let made: DetectorVersion;
    try {
      made = await request<DetectorVersion>("POST", `${base}/detector?seen=${now.version}`, read.detector);
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) {
        setReplays(null); /* it compared with settings that hold no longer */
        setLarge("");
        props.reload();
      }
      throw error;
    }
    setFields(fieldsOf(made.detector));
    setReplays(null);
    props.reload();
    return `Version ${made.version} holds from now on; the whole history is judged again.`;
  });
  return (
    <form class="card detector" onSubmit={(e) => { e.preventDefault(); if (!may) void run(); }}>
      <DetectorForm fields={fields} onChange={setFields} />
      <div class="row">
        <ActionButton submit why={may}>Replay these settings</ActionButton>
        <ActionButton primary quiet={may !== null} why={may ?? (same ? "these are the stored settings" : !tried ? "replay these settings first" : null)} onClick={() => void store()}>Save settings</ActionButton>
        <button type="button" class="button" disabled={same} onClick={() => setFields(fieldsOf(now.detector))}>As stored</button>
      </div>
      <SaidLine said={save.said ?? replay.said} />
      {replays && (replays.text === text ? <ReplayResult project={props.project} replays={replays} /> : <p class="muted">The settings were changed after the replay.</p>)}
    </form>
  );
}

export function Detector(props: { project: string }) {
  const load = useApi<DetectorVersion>(`/projects/${encodeURIComponent(props.project)}/detector`);
  return (
    <Page title="Detector" lead={<>How the series of {props.project} are judged. A replay shows what other settings would have alerted; nothing is stored by it. <OwnToken /></>}>
      <View load={load} what="the configuration of the detector">
        {(now) => (
          <>
            <p class="count">{now.version === 0 ? "No configuration was stored: the defaults hold." : <>Version {now.version}, stored by {now.actor || "an unnamed token"} <When time={now.at} />, {now.detector.rules.length === 1 ? "1 rule" : `${now.detector.rules.length} rules`}.</>}</p>
            <Table caption="Settings of the detector" rows={SETTINGS} keyOf={(s) => s.name} className="settings" columns={[
              { name: "Setting", head: true, cell: (s) => <code>{s.name}</code> },
              { name: "Meaning", cell: (s) => <span class="meaning">{s.meaning}</span> },
              { name: "Unit and range", cell: (s) => <span class="bench"><span>{s.unit}</span><small>{s.range}</small></span> },
              { name: "Default", cell: (s) => <span class="meaning">{s.standard}</span> },
              { name: "Present", cell: (s) => present(now.detector, s.name) },
            ]} />
            <Section title="Try other settings"><Edit project={props.project} now={now} reload={() => { if (load.state === "data") load.reload(); }} /></Section>
          </>
        )}
      </View>
    </Page>
  );
}
