/* Icons drawn here, in the colour of the text around them. */
import type { IconName } from "../base/verdict";

const PATHS: Record<IconName | "sun" | "moon" | "search" | "menu" | "key" | "copy" | "left" | "right" | "system", string> = {
  down: "M8 3v9M4 8.5 8 12.5l4-4",
  up: "M8 13V4M4 7.5 8 3.5l4 4",
  flat: "M3 6h10M3 10h10",
  question: "M5.8 6a2.3 2.3 0 1 1 3.2 2.1c-.7.3-1 .8-1 1.6M8 12.4v.1",
  alert: "M8 2.5 14 13H2zM8 6.5v3M8 11.3v.1",
  check: "M3 8.5l3.2 3.2L13 4.8",
  clock: "M8 2.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM8 5v3.2l2.2 1.4",
  dot: "M8 6a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
  cross: "M4 4l8 8M12 4l-8 8",
  branch: "M5 3v10M5 9c4 0 6-1 6-4M11 5V3",
  sun: "M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  system: "M2 3h12v8H2zM6 14h4M8 11v3",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9zM10.5 10.5 14 14",
  key: "M10.5 2.5a3 3 0 1 1-2.2 5L3 12.9V14h2v-1.6h1.5V11H8V9.4M11 5v.1",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  left: "M10 3 5 8l5 5",
  right: "M6 3l5 5-5 5",
};

export function Icon(props: { name: keyof typeof PATHS }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[props.name]} />
    </svg>
  );
}
