/* The code behind a comparison: whether both sides have the same object code, and the functions that changed. */
import type { ComparedCode } from "../api/compared_code";
import { formatChange } from "../base/format";
import { Section } from "../widgets/parts";
import { Table } from "../widgets/table";

const sentences = {
  identical: "Object code: identical on both sides, so the code is not the cause of a difference.",
  different: "Object code: different.",
  unknown: "Object code: not recorded on both sides.",
};

export function ComparedCodeSection(props: { code: ComparedCode }) {
  const { object_code: word, functions = [] } = props.code;
  if (!word) return null;
  return (
    <Section title="Code">
      <p>{sentences[word]}</p>
      {functions.length > 0 && <Table caption="Functions whose number of instructions changed" rows={functions} keyOf={(f) => f.name} columns={[
        { name: "Function", head: true, cell: (f) => <code>{f.name}</code> },
        { name: "Instructions in A", numeric: true, cell: (f) => f.before.toLocaleString("en-US") },
        { name: "In B", numeric: true, cell: (f) => f.after.toLocaleString("en-US") },
        { name: "Change", numeric: true, cell: (f) => <b>{f.before > 0 ? formatChange(f.after / f.before - 1) : "new"}</b> },
      ]} />}
    </Section>
  );
}
