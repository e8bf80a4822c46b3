// Runs the tests beside the sources: bundled by esbuild, because Node 18 strips no types.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));

function testsUnder(dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return testsUnder(path);
    return /\.test\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

const work = mkdtempSync(join(tmpdir(), "perfci-web-test-"));
try {
  const entryPoints = testsUnder(join(here, "src"));
  if (entryPoints.length === 0) throw new Error("no tests under src");
  await esbuild.build({
    entryPoints, outdir: work, outbase: join(here, "src"), outExtension: { ".js": ".mjs" },
    bundle: true, platform: "node", format: "esm", target: "node18", sourcemap: "inline",
    jsx: "automatic", jsxImportSource: "preact", logLevel: "warning",
  });
  const bundles = entryPoints.map((path) =>
    join(work, relative(join(here, "src"), path).replace(/\.tsx?$/, ".mjs")));
  const run = spawnSync(process.execPath, ["--test", ...bundles], { stdio: "inherit" });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
