/* Ctrl+K: one search box for pages and for everything that the project has. */
import { signal } from "@preact/signals";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import { localHits, sourcesOf, type Hit } from "../api/find";
import { currentProject } from "../api/projects";
import { plural } from "../base/format";
import { navigate } from "../base/location";
import { Icon } from "../widgets/icons";
import { sections } from "./nav";

const opened = signal(false);

/** Answers to one text: the hits of each source (null: not here yet), and the failures. */
interface Found { key: string; hits: (Hit[] | null)[]; faults: string[] }

/** Every change of the text cancels the requests of the text before it. */
function useFound(key: string, project: string | null, text: string): Found {
  const [found, setFound] = useState<Found>({ key, hits: [], faults: [] });
  useEffect(() => {
    const abort = new AbortController();
    const sources = sourcesOf(project, text);
    setFound({ key, hits: sources.map(() => null), faults: [] });
    const answer = (at: number, hits: Hit[], fault?: string) => {
      if (!abort.signal.aborted) setFound((old) => ({ key, hits: old.hits.map((h, i) => (i === at ? hits : h)), faults: fault ? [...old.faults, fault] : old.faults }));
    };
    sources.forEach((source, i) => {
      request<never>("GET", source.path, undefined, abort.signal).then((reply) => answer(i, source.hits(reply)),
        (error: unknown) => answer(i, [], `${source.kind}: ${error instanceof ApiError ? error.message : String(error)}`));
    });
    return () => abort.abort();
  }, [key]);
  return found.key === key ? found : { key, hits: [null], faults: [] };
}

function Palette() {
  const id = useId();
  const box = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const project = currentProject.value;
  const found = useFound(`${project ?? ""}\n${text.trim()}`, project, text);
  useEffect(() => { if (!box.current?.open) box.current?.showModal(); }, []);
  const pages = sections(project).flatMap((s) => s.entries);
  const seen = new Set<string>();
  const hits = [...localHits(text, pages), ...found.hits.flatMap((h) => h ?? [])].filter((h) => !seen.has(h.to) && seen.add(h.to));
  const chosen = Math.min(at, hits.length - 1);
  useEffect(() => { if (chosen >= 0) document.getElementById(`${id}${chosen}`)?.scrollIntoView({ block: "nearest" }); }, [chosen]);
  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    box.current?.close();
    navigate(hit.to);
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" && hits.length > 0) setAt((chosen + 1) % hits.length);
    else if (e.key === "ArrowUp" && hits.length > 0) setAt((chosen <= 0 ? hits.length : chosen) - 1);
    else if (e.key === "Enter") open(hits[chosen]);
    else return;
    e.preventDefault();
  };
  const reading = found.hits.some((h) => h === null);
  return (
    <dialog class="palette" ref={box} aria-label="Search" onClose={() => { opened.value = false; }}
      onClick={(e) => { if (e.target === box.current) box.current?.close(); }}>
      <div class="palette-in">
        <label class="palette-box"><span class="sr-only">Search pages, series, commits, alerts, groups, bisections and runs</span><Icon name="search" />
          <input type="text" role="combobox" autofocus spellcheck={false} autocomplete="off" maxLength={200} value={text}
            placeholder={project ? `Search ${project}` : "Search"} aria-expanded={hits.length > 0} aria-controls={`${id}l`} aria-autocomplete="list"
            {...(chosen >= 0 ? { "aria-activedescendant": `${id}${chosen}` } : {})}
            onInput={(e) => { setText(e.currentTarget.value); setAt(0); }} onKeyDown={onKey} /></label>
        <ul id={`${id}l`} role="listbox" aria-label="Results" class="palette-list" hidden={hits.length === 0}>
          {hits.map((hit, i) => (
            <li key={hit.to} id={`${id}${i}`} role="option" aria-selected={i === chosen} onClick={() => open(hit)} onPointerMove={() => setAt(i)}>
              <small class="palette-kind">{hit.kind}</small><span class="palette-name">{hit.name}</span>{hit.detail && <small class="palette-detail">{hit.detail}</small>}
            </li>))}
        </ul>
        <p class="palette-count muted" role="status">{reading ? "Searching\u2026" : hits.length > 0 ? plural(hits.length, "result")
          : `Nothing fits${project ? ` in project ${project}` : ""}. Pages, series, commits, alerts, groups, bisections and runs were searched.`}</p>
        {found.faults.map((fault) => <p key={fault} class="said bad" role="alert">Not searched: {fault}</p>)}
      </div>
    </dialog>
  );
}

/** The button of the header. */
export function PaletteButton(props: { words?: boolean }) {
  const open = () => { opened.value = true; };
  if (props.words) return <button type="button" class="button palette-button" aria-haspopup="dialog" onClick={open}><Icon name="search" /> Search</button>;
  return <button type="button" class="button icon-only plain palette-button" aria-label="Search everything" title="Search (Ctrl+K)" aria-haspopup="dialog" onClick={open}><Icon name="search" /></button>;
}

export function PaletteKey() {
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() !== "k" || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey || document.querySelector("dialog[open]")) return;
      e.preventDefault();
      opened.value = true;
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return opened.value ? <Palette /> : null;
}
