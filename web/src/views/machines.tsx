/* The machines, by class, with every fingerprint they had and what changed from one to the next. */
import type { Machine } from "../api/types";
import { useApi } from "../api/use";
import { parseTime, plural } from "../base/format";
import { Icon } from "../widgets/icons";
import { Facts, Page, Section, When } from "../widgets/parts";
import { Empty, View } from "../widgets/state";
import { changedFields } from "./machine_diff";

function Fingerprint(props: { machine: Machine; before: Machine | undefined }) {
  const { machine, before } = props;
  const changed = before ? changedFields(before.fingerprint, machine.fingerprint) : [];
  return (
    <details class="card fingerprint" open={!before || changed.length > 0}>
      <summary>
        <h3><code>{machine.fingerprint_hash.slice(0, 10)}</code> <span class="muted">{machine.name}</span></h3>
        <span>{changed.length > 0 ? <><Icon name="alert" /> changed: {changed.join(", ")}</> : before ? "same fields as the one before" : "first fingerprint"}</span>
        <span class="muted">{plural(machine.runs, "run")} · last <When time={machine.last_seen_at} /></span>
      </summary>
      <Facts facts={Object.entries(machine.fingerprint).sort().map(([k, v]) => [k, changed.includes(k)
        ? <><b>{v}</b> <small class="muted">was {before?.fingerprint[k] ?? "not recorded"}</small></> : v])} />
    </details>
  );
}

export function Machines() {
  const load = useApi<{ machines: Machine[] }>("/machines", ["run"]);
  return (
    <Page title="Machines" lead="Values measured under different fingerprints are never compared silently.">
      <View load={load} what="machines">
        {({ machines }) => {
          const classes = [...new Set(machines.map((m) => m.machine_class))].sort();
          if (classes.length === 0) return <Empty title="No machine has sent a run yet" />;
          return <>{classes.map((name) => {
            const list = machines.filter((m) => m.machine_class === name).sort((a, b) => parseTime(a.first_seen_at) - parseTime(b.first_seen_at));
            const before = (m: Machine, i: number) => list.slice(0, i).reverse().find((o) => o.name === m.name);
            return <Section key={name} title={name} side={<span class="muted">{plural(list.length, "fingerprint")}</span>}>
              <div class="stack">{list.map((m, i) => <Fingerprint key={m.fingerprint_hash + m.name} machine={m} before={before(m, i)} />).reverse()}</div></Section>;
          })}</>;
        }}
      </View>
    </Page>
  );
}
