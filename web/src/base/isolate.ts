/* Applies visible.ts to the text and the labels of every element, at one place: a page cannot forget it. */
import { Fragment, h, options, type ComponentChild, type VNode } from "preact";
import { runsRightToLeft, visible } from "./visible";

/* Elements that hold no other elements. */
const PLAIN = new Set(["option", "textarea", "title", "text", "tspan"]);
const LABELS = ["title", "aria-label", "placeholder", "label", "data-name"] as const; /* the last one is shown by table.css */

function shown(child: ComponentChild, plain: boolean): ComponentChild {
  if (Array.isArray(child)) return (child as ComponentChild[]).map((c) => shown(c, plain)) as unknown as ComponentChild;
  if (typeof child !== "string") return child;
  const text = visible(child);
  return !plain && runsRightToLeft(text) ? h("bdi", null, text) : text;
}

/** To call once, before the first element is made. */
export function startIsolation(): void {
  const before = options.vnode;
  options.vnode = (vnode: VNode) => {
    const { type } = vnode;
    if ((typeof type === "string" && type !== "bdi") || type === Fragment) {
      const props = vnode.props as Record<string, unknown>;
      if (props["children"] !== undefined) props["children"] = shown(props["children"] as ComponentChild, typeof type === "string" && PLAIN.has(type));
      for (const name of LABELS) {
        const label = props[name];
        if (typeof label === "string") props[name] = visible(label);
      }
    }
    before?.(vnode);
  };
}
