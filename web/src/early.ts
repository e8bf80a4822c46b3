/*
 * Runs before the first paint and before the code of the pages is here. Sets the theme, so that a dark page never flashes
 * white, and asks for what the page will show, so that the answers arrive beside the code. A bundle of its own.
 */
import { askAhead } from "./base/ahead";
import { firstPaths } from "./api/first";
import { matchRoute } from "./base/route";
import "./theme";

const KEEP_MS = 10_000;
for (const path of ["/projects", ...firstPaths(matchRoute(window.location.pathname), new URLSearchParams(window.location.search), window.innerWidth)]) askAhead(path, KEEP_MS);
