/* An input for a commit as people name it: an id, a tag, a branch or a date. The service finds the commit. */
import { useEffect, useId, useState } from "preact/hooks";
import type { Commit } from "../api/types";

/** As `PFC_END_MAX_TEXT` of the service. */
const MOST = 232;

/** Whole ids are shown by their first digits. */
const shown = (value: string) => (/^[0-9a-f]{40}$/.test(value) ? value.slice(0, 12) : value);

/** `tagged`: commits with tags that may be older than `commits`. `onChange` is called when the text is complete: on Enter, when the field is left, or when an entry of the list is taken. */
export function EndField(props: { label: string; value: string; none: string; commits: readonly Commit[]; tagged?: readonly Commit[]; onChange: (value: string) => void }) {
  const [text, setText] = useState(shown(props.value));
  const list = useId();
  useEffect(() => setText(shown(props.value)), [props.value]);
  const all = [...new Map([...props.commits, ...(props.tagged ?? [])].map((c) => [c.id, c])).values()];
  const tags = all.flatMap((c) => (c.tags ?? []).map((tag) => ({ value: tag, text: `${c.id.slice(0, 10)} ${c.subject}` })));
  const ids = props.commits.map((c) => ({ value: c.id.slice(0, 12), text: c.subject }));
  const named = props.value === "" ? undefined : all.find((c) => c.id.startsWith(props.value) || (c.tags ?? []).includes(props.value));
  const take = (value: string) => { if (value !== shown(props.value)) props.onChange(value); };
  return (
    <div class="end-field">
      <label class="field">
        <span>{props.label}</span>
        <input class="mono" list={list} maxLength={MOST} value={text} placeholder={props.none} title="A commit, a tag, a branch or a date, with ~N behind it for N commits before"
          onInput={(e) => setText(e.currentTarget.value)} onChange={(e) => take(e.currentTarget.value.trim())} />
        <datalist id={list}>{[...tags, ...ids].map((o) => <option key={o.value} value={o.value}>{o.text.slice(0, 60)}</option>)}</datalist>
      </label>
      {named && <small class="muted" title={named.subject}>{named.subject}</small>}
    </div>
  );
}
