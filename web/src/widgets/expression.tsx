/* Text inputs with completion: an expression that selects series, and a single value of a filter. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { accept, complete, faultAt, suggest, type Field, type Suggestion, type Value } from "../base/completion";
import { formatCount } from "../base/format";

/** An expression, with completion of names and values. `fault`: the server's message about it; null: it was understood. */
export function Expression(props: { label: string; value: string; fields: readonly Field[]; placeholder: string; fault: string | null; onChange: (value: string) => void }) {
  return <Completed {...props} className="expression" search most={1000} suggest={(text, caret) => suggest(text, caret, props.fields)} />;
}

/** One value of those that are known; another one can be typed. */
export function ValueFilter(props: { label: string; value: string; values: readonly Value[]; onChange: (value: string) => void }) {
  return <Completed {...props} className="filter-value" placeholder="" fault={null} most={100} suggest={(text) => complete(props.values, text)} />;
}

function Completed(props: {
  label: string; value: string; placeholder: string; className: string; most: number;
  /** It is the search box of its page. */
  search?: boolean;
  suggest: (text: string, caret: number) => Suggestion[];
  fault: string | null;
  onChange: (value: string) => void;
}) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(props.value);
  const said = useRef(props.value);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [caret, setCaret] = useState(text.length);
  useEffect(() => {
    if (props.value === said.current) return;
    said.current = props.value;
    setText(props.value);
  }, [props.value]);
  const send = (value: string) => {
    said.current = value;
    props.onChange(value);
  };
  const all = open ? props.suggest(text, caret) : [];
  const take = (s: Suggestion) => {
    const next = accept(text, s);
    setText(next.text);
    setCaret(next.caret);
    setAt(-1);
    const box = input.current;
    if (box) {
      box.value = next.text;
      box.setSelectionRange(next.caret, next.caret);
      box.focus();
    }
    if (!s.insert.endsWith("=")) send(next.text.trim());
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" && !open) setOpen(true);
    else if (e.key === "ArrowDown" && all.length) setAt((at + 1) % all.length);
    else if (e.key === "ArrowUp" && all.length) setAt((at <= 0 ? all.length : at) - 1);
    else if ((e.key === "Enter" || e.key === "Tab") && open && at >= 0 && all[at]) take(all[at] as Suggestion);
    else if (e.key === "Enter") {
      setOpen(false);
      send(text.trim());
    } else if (e.key === "Escape" && open) setOpen(false);
    else return;
    if (e.key === "Tab" && !(open && at >= 0)) return;
    e.preventDefault();
  };
  const place = props.fault ? faultAt(props.fault) : null;
  return (
    <div class={props.className}>
      <label for={`${id}i`}>{props.label}</label>
      <input id={`${id}i`} ref={input} type="text" role="combobox" {...(props.search ? { "data-search": true } : {})} spellcheck={false} autocomplete="off" autocapitalize="off"
        aria-expanded={all.length > 0} aria-controls={`${id}l`} aria-autocomplete="list" {...(all.length > 0 && at >= 0 ? { "aria-activedescendant": `${id}${at}` } : {})}
        {...(props.fault ? { "aria-invalid": "true" as const, "aria-describedby": `${id}f` } : {})}
        placeholder={props.placeholder} value={text} maxLength={props.most}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setCaret(e.currentTarget.selectionStart ?? e.currentTarget.value.length);
          setOpen(true);
          setAt(-1);
        }}
        onSelect={(e) => setCaret(e.currentTarget.selectionStart ?? 0)}
        onFocus={() => setOpen(true)} onKeyDown={onKey}
        onBlur={() => {
          setOpen(false);
          send(text.trim());
        }} />
      <ul id={`${id}l`} role="listbox" aria-label={`${props.label}: suggestions`} class="suggestions" hidden={all.length === 0}>
        {all.map((s, i) => (
          <li key={s.label} id={`${id}${i}`} role="option" aria-selected={i === at} onPointerDown={(e) => {
            e.preventDefault();
            take(s);
          }}><code>{s.label}</code>{s.series !== null && <small>{formatCount(s.series)}</small>}</li>
        ))}
      </ul>
      {props.fault && (
        <p class="fault" id={`${id}f`} role="alert">{props.fault}
          {place !== null && <code class="fault-text" aria-hidden="true">{props.value.slice(0, place)}<mark>{props.value.slice(place) || "\u00a0"}</mark></code>}
        </p>
      )}
    </div>
  );
}
