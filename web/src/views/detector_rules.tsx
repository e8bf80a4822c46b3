/* The form of the detector's configuration: the rate for all series, and rules for some of them. */
import { BLANK_RULE, type DetectorFields, type Glob, type RuleFields } from "../base/detector";
import { Select } from "../widgets/field";

const GLOB_LABELS: readonly (readonly [Glob, string, string])[] = [
  ["benchmark", "Benchmark", "gemm/*"], ["metric", "Metric", "time_ns"], ["backend", "Backend", "cpu-*"], ["machine_class", "Machine class", "epyc-*"], ["branch", "Branch", "main"]];

function Rule(props: { rule: RuleFields; number: number; last: boolean; change: (rule: RuleFields) => void; remove: () => void; move: (by: 1 | -1) => void }) {
  const { rule, number } = props;
  const text = (key: Exclude<keyof RuleFields, "judged">, label: string, hint: string) => (
    <label class="field"><span>{label}</span>
      <input type="text" maxLength={200} placeholder={hint} value={rule[key]} onInput={(e) => props.change({ ...rule, [key]: e.currentTarget.value })} /></label>
  );
  return (
    <fieldset class="detector-rule"><legend>Rule {number}</legend>
      <div class="row">{GLOB_LABELS.map(([key, label, hint]) => <span key={key} class="rule-field">{text(key, label, hint)}</span>)}</div>
      <div class="row">
        {text("min_change", "Smallest change, %", "as before")}{text("alpha", "Alpha", "as before")}
        <Select label="Judged" value={rule.judged} options={[["", "as before"], ["true", "yes"], ["false", "no alerts"]]} onChange={(v) => props.change({ ...rule, judged: v === "true" || v === "false" ? v : "" })} />
        <button type="button" class="button" aria-label={`Move rule ${number} up`} disabled={number === 1} onClick={() => props.move(-1)}>Up</button>
        <button type="button" class="button" aria-label={`Move rule ${number} down`} disabled={props.last} onClick={() => props.move(1)}>Down</button>
        <button type="button" class="button" aria-label={`Remove rule ${number}`} onClick={props.remove}>Remove</button>
      </div>
    </fieldset>
  );
}

export function DetectorForm(props: { fields: DetectorFields; onChange: (fields: DetectorFields) => void }) {
  const { fields, onChange } = props;
  const rules = (list: RuleFields[]) => onChange({ ...fields, rules: list });
  const move = (i: number, by: 1 | -1) => {
    const list = [...fields.rules];
    const [one] = list.splice(i, 1);
    if (one) list.splice(i + by, 0, one);
    rules(list);
  };
  return (
    <>
      <label class="field"><span>fdr, % (empty: 5)</span>
        <input type="text" inputMode="decimal" maxLength={20} placeholder="5" value={fields.fdr} onInput={(e) => onChange({ ...fields, fdr: e.currentTarget.value })} /></label>
      <p class="muted">A rule holds for the series that fit all of its patterns; an empty one fits all, * is any text. Rules are read in order: a later rule overrides those settings that it has.</p>
      {fields.rules.length === 0 && <p>No rule: the defaults hold for every series.</p>}
      {fields.rules.map((rule, i) => (
        <Rule key={i} rule={rule} number={i + 1} last={i === fields.rules.length - 1} move={(by) => move(i, by)}
          change={(one) => rules(fields.rules.map((r, k) => (k === i ? one : r)))} remove={() => rules(fields.rules.filter((_, k) => k !== i))} />
      ))}
      <p><button type="button" class="button" disabled={fields.rules.length >= 200} onClick={() => rules([...fields.rules, BLANK_RULE])}>Add a rule</button></p>
    </>
  );
}
