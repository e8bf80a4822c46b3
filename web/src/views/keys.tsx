/* Single keys: they move through the lists of the page, and go to pages. They can be switched off, because speech input
 * types letters, too (WCAG 2.1.4). A row is reached by the focus of its link, so that Enter opens it. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { currentProject } from "../api/projects";
import { navigate } from "../base/location";
import { CHART_KEYS, CHORDS, KEYS, PAGE_LETTERS, actionOf, rowAfter } from "../base/keys";
import { sections } from "./nav";

const STORE = "perfci.keys";

function stored(): boolean {
  try {
    return window.localStorage.getItem(STORE) !== "off";
  } catch {
    return true;
  }
}

const enabled = signal(stored());
const listed = signal(false);
const waiting = signal(false);

function enable(on: boolean): void {
  enabled.value = on;
  try {
    if (on) window.localStorage.removeItem(STORE);
    else window.localStorage.setItem(STORE, "off");
  } catch {
    /* storage is switched off: the choice lasts as long as the page */
  }
}

/** Pages that can be opened now, with their letters. */
const pages = () => sections(currentProject.value).flatMap((s) => s.entries).filter((e) => PAGE_LETTERS[e.name]);

/** The focusable heads of the rows of all lists on the page, in order. */
function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("main table[data-keys] tbody tr")].flatMap((row) => {
    const link = row.querySelector<HTMLElement>("th a");
    return link ? [link] : [];
  });
}

const focusedRow = () => (document.activeElement instanceof HTMLElement ? document.activeElement.closest("table[data-keys] tbody tr") : null);

/** Whether the element with the focus uses the key itself: a text field, a list of choices, a dialog. */
const takesKeys = (e: KeyboardEvent) => e.target instanceof HTMLElement
  && e.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], dialog") !== null;

function onKey(e: KeyboardEvent): void {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !enabled.value || takesKeys(e)) return;
  const action = actionOf(e.key, waiting.value);
  if (e.key !== "Shift") waiting.value = action?.do === "wait";
  if (!action) return;
  if (action.do === "row") {
    const all = rows();
    const next = all[rowAfter(all.findIndex((link) => link.closest("tr") === focusedRow()), action.by, all.length)];
    if (!next) return;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  } else if (action.do === "mark") {
    const box = focusedRow()?.querySelector<HTMLInputElement>("input[type=checkbox]");
    if (!box) return;
    box.click();
  } else if (action.do === "search") {
    const box = document.querySelector<HTMLInputElement>("input[data-search]");
    if (!box) return;
    box.focus();
  } else if (action.do === "go") {
    const page = pages().find((p) => p.name === action.page);
    if (page) navigate(page.to);
  } else if (action.do === "help") {
    listed.value = true;
  }
  e.preventDefault();
}

function Described(props: { keys: typeof KEYS }) {
  return <dl>{props.keys.map(([keys, what]) => <div key={what}><dt>{keys.map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>;
}

/** The list of keys, and the switch. */
function List() {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => { if (!box.current?.open) box.current?.showModal(); }, []);
  const close = () => box.current?.close();
  return (
    <dialog class="keys-list" ref={box} aria-labelledby="keys-title" onClose={() => { listed.value = false; }}
      onClick={(e) => { if (e.target === box.current) close(); }}>
      <div class="keys-in">
        <div class="section-head"><h2 id="keys-title">Keys</h2><button type="button" class="button" onClick={close}>Close</button></div>
        <label class="check"><input type="checkbox" checked={enabled.value} onChange={(e) => enable(e.currentTarget.checked)} /> Single keys are on</label>
        <div class="keys-columns">
          <Described keys={[...KEYS, ...CHORDS]} />
          <dl>{pages().map((p) => <div key={p.name}><dt><kbd>g</kbd> <kbd>{PAGE_LETTERS[p.name]}</kbd></dt><dd>{p.name}</dd></div>)}</dl>
        </div>
        <div class="keys-charts"><h3>Charts</h3><Described keys={CHART_KEYS} /></div>
      </div>
    </dialog>
  );
}

/** Shown after "g", until the next key or click: which letter goes where. */
function Waiting() {
  return <p class="keys-wait">{pages().map((p) => <span key={p.name}><kbd>{PAGE_LETTERS[p.name]}</kbd> {p.name}</span>)}</p>;
}

/** The button of the header; it works when single keys are off, too. */
export function KeysButton() {
  return <button type="button" class="button icon-only plain keys-button" aria-label="Keys" title="Keys" aria-haspopup="dialog" onClick={() => { listed.value = true; }}><kbd>?</kbd></button>;
}

export function Keys() {
  useEffect(() => {
    const end = () => { waiting.value = false; };
    document.addEventListener("keydown", onKey);
    document.addEventListener("pointerdown", end);
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("pointerdown", end);
    };
  }, []);
  return <>{listed.value && <List />}<div role="status">{waiting.value && <Waiting />}</div></>;
}
