/** The npm packages of package.json, from the folder that the build installed them in. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const folder = process.env.FORGE_PACKAGES;
const require = createRequire(path.join(folder, "package.json"));

export const load = (name) => require(name);
export const json = (file) => JSON.parse(readFileSync(path.join(folder, "node_modules", file), "utf8"));
