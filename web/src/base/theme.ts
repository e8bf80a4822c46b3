/* Light or dark: the system's choice, or the one made here and kept in localStorage. */
import { signal } from "@preact/signals";

export type ThemeChoice = "system" | "light" | "dark";
const KEY = "perfci.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function stored(): ThemeChoice {
  try {
    const value = window.localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

export const themeChoice = signal<ThemeChoice>(stored());
/** The theme on view; charts read their colours again when it changes. */
export const themeShown = signal<"light" | "dark">("light");

export function applyTheme(): void {
  const choice = themeChoice.value;
  const shown = choice === "system" ? (dark.matches ? "dark" : "light") : choice;
  document.documentElement.dataset["theme"] = shown;
  themeShown.value = shown;
}

export function chooseTheme(choice: ThemeChoice): void {
  themeChoice.value = choice;
  try {
    if (choice === "system") window.localStorage.removeItem(KEY);
    else window.localStorage.setItem(KEY, choice);
  } catch {
    /* storage is switched off: the choice lasts as long as the page */
  }
  applyTheme();
}

export function startTheme(): void {
  dark.addEventListener("change", applyTheme);
  applyTheme();
}
