/* Part of early.ts; base/theme.ts takes over from here. */
{
  let choice: string | null = null;
  try {
    choice = window.localStorage.getItem("perfci.theme");
  } catch {
    /* storage is switched off: the system decides */
  }
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset["theme"] = choice === "light" || choice === "dark" ? choice : dark ? "dark" : "light";
}
export {};
