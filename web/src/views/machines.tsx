/* The machines, by class, with every fingerprint they had and what changed from one to the next. */
import type { Machine } from "../api/types";
import { currentProject } from "../api/projects";
import { useApi } from "../api/use";
import { withQuery } from "../base/route";
import { plural } from "../base/format";
import { Icon } from "../widgets/icons";
import { Facts, Page, Section, When } from "../widgets/parts";
import { Runners } from "../widgets/runners";
import { Empty, View } from "../widgets/state";
import { ClassNoiseCard, MachineCanaries, MachineEvents, useNoise } from "./machine_noise";

function Fingerprint({ machine }: { machine: Machine }) {
  const changed = new Map((machine.changed ?? []).map((c) => [c.name, c]));
  const gone = [...changed.values()].filter((c) => c.now === null).map((c): [string, string] => [c.name, "not recorded"]);
  return (
    <details class="card fingerprint" open={!machine.changed || changed.size > 0}>
      <summary>
        <h3><code>{machine.fingerprint_hash.slice(0, 10)}</code> <span class="muted">{machine.name}</span></h3>
        <span>{changed.size > 0 ? <><Icon name="alert" /> changed: {[...changed.keys()].join(", ")}</> : machine.changed ? "as before" : "first fingerprint"}</span>
        <span class="muted">{plural(machine.runs, "run")} · last measured <When time={machine.last_measured_at ?? null} /></span>
      </summary>
      <Facts facts={[...Object.entries(machine.fingerprint), ...gone].sort().map(([k, v]) => [k, changed.has(k)
        ? <><b>{v}</b> <small class="muted">was {changed.get(k)?.before ?? "not recorded"}</small></> : v])} />
    </details>
  );
}

export function Machines() {
  const project = currentProject.value;
  const load = useApi<{ machines: Machine[] }>(withQuery("/machines", { project, limit: 1000 }), ["run"]);
  const noise = useNoise(project);
  return (
    <Page title="Machines" lead="Machines that measured this project, by class. A comparison across different fingerprints says so.">
      <Section title="Runners"><Runners project={project} /></Section>
      {project && <MachineEvents key={project} project={project} />}
      <View load={load} what="machines">
        {({ machines }) => {
          const classes = [...new Set(machines.map((m) => m.machine_class))].sort();
          if (classes.length === 0) return <Empty title="No machine has sent a run yet" />;
          return <>{classes.map((name) => {
            const list = machines.filter((m) => m.machine_class === name);
            return <Section key={name} title={name} side={<span class="muted">{plural(list.length, "fingerprint")}</span>}>
              <div class="stack">{project && <ClassNoiseCard noise={noise} name={name} />}{project && <MachineCanaries project={project} name={name} />}{list.map((m) => <Fingerprint key={m.fingerprint_hash + m.name} machine={m} />).reverse()}</div></Section>;
          })}</>;
        }}
      </View>
    </Page>
  );
}
