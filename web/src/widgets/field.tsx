/* Inputs whose value lives in the address. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./icons";

/** A search box: the address follows a moment after the last key. */
export function Search(props: { label: string; value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(props.value);
  /* Last value written to the address: its echo must not overwrite keys that were pressed since. */
  const said = useRef(props.value);
  useEffect(() => {
    if (props.value === said.current) return;
    said.current = props.value;
    setText(props.value);
  }, [props.value]);
  useEffect(() => {
    if (text === said.current) return undefined;
    const timer = window.setTimeout(() => {
      said.current = text;
      props.onChange(text);
    }, 200);
    return () => window.clearTimeout(timer);
  }, [text]);
  return (
    <label class="search">
      <span class="sr-only">{props.label}</span>
      <Icon name="search" />
      <input type="search" data-search placeholder={props.label} value={text} onInput={(e) => setText(e.currentTarget.value)} />
    </label>
  );
}

export function Select(props: {
  label: string; value: string; options: readonly (readonly [string, string])[]; onChange: (value: string) => void;
}) {
  return (
    <label class="field">
      <span>{props.label}</span>
      <select value={props.value} onChange={(e) => props.onChange(e.currentTarget.value)}>
        {props.options.map(([value, name]) => <option key={value} value={value} selected={value === props.value}>{name}</option>)}
      </select>
    </label>
  );
}

/** A few exclusive choices, as a row of buttons. */
export function Choice<V extends string>(props: {
  label: string; value: V; options: readonly (readonly [V, string])[]; onChange: (value: V) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map(([value, name]) => (
        <button key={value} type="button" aria-pressed={value === props.value} onClick={() => props.onChange(value)}>{name}</button>
      ))}
    </div>
  );
}
