/** Removes the descriptions of GitHub's other products: 400 of the packages' 430 MB. */
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";

for (const name of ["openapi", "openapi-webhooks"]) {
  const folder = path.join(process.argv[2], "node_modules/@octokit", name, "generated");
  for (const file of readdirSync(folder)) {
    if (file !== "api.github.com.json") rmSync(path.join(folder, file));
  }
}
