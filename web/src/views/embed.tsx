/* Markdown that shows a series or a project on other pages: pictures that the service draws (docs/how-to/embed.md). */
import type { Series } from "../api/types";
import { Command } from "../widgets/parts";

/** An image of Markdown; brackets of the name would end its text. */
const image = (name: string, path: string) => `![${name.replace(/[[\]\\]/g, " ")}](${window.location.origin}/api/v1${path})`;

export function Embed(props: { series: Series; name: string }) {
  const { series: s, name } = props;
  return (
    <details class="section">
      <summary>Show it on other pages</summary>
      <p>SVG pictures without scripts, in light and dark. They are public where the server runs with public reading; otherwise a proxy adds a token.</p>
      <Command what="Markdown: the chart of this series" text={image(name, `/series/${s.id}/picture?points=200`)} />
      <Command what="Markdown: its sparkline" text={image(name, `/series/${s.id}/picture?style=spark`)} />
      {s.project && <Command what="Markdown: the badge of the project" text={image(s.project, `/projects/${encodeURIComponent(s.project)}/badge`)} />}
    </details>
  );
}
