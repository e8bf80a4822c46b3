/* A button that shows why it is disabled. It stays reachable by keyboard: the reason is its description. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export function ActionButton(props: {
  children: ComponentChildren; why: string | null; onClick?: () => void; primary?: boolean; submit?: boolean; label?: string; quiet?: boolean;
}) {
  const id = useId();
  const off = props.why !== null;
  const click = (e: Event) => {
    if (!off) { props.onClick?.(); return; }
    e.preventDefault(); /* a submit button would send its form */
  };
  return (
    <span class="action">
      <button type={props.submit ? "submit" : "button"} class={props.primary ? "button primary" : "button"} onClick={click}
        {...(props.label ? { "aria-label": props.label } : {})} {...(off ? { "aria-disabled": "true" as const, "aria-describedby": id } : {})}>{props.children}</button>
      {off && <small id={id} class={props.quiet ? "action-why sr-only" : "action-why"}>{props.why}</small>}
    </span>
  );
}
