// Bundles the dashboard: node build.mjs OUT
//
// OUT gets index.html, assets/NAME-HASH.ext with NAME-HASH.ext.gz and .br beside, and manifest.json, written
// last, so that its presence says that the rest is complete:
//   {"pages": ["/", "/p/", ...], "files": [{"path", "type", "bytes", "gzip", "br", "immutable"}]}
// `pages` are the paths (exact, or prefixes when they end in "/") that answer with index.html.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "dist"));
const PAGES = ["/", "/p/", "/series/", "/compare", "/alerts", "/alerts/", "/groups/", "/jobs", "/runs/", "/machines",
  "/bisections", "/bisections/", "/explain", "/settings/"];
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Fonts are compressed already; for anything else the smaller forms are kept beside the plain one. */
async function put(files, path, bytes, immutable) {
  const gzip = extname(path) === ".woff2" ? null : gzipSync(bytes, { level: 9 });
  await mkdir(dirname(join(out, path)), { recursive: true });
  await writeFile(join(out, path), bytes);
  const br = gzip && brotliCompressSync(bytes);
  if (gzip) await writeFile(join(out, `${path}.gz`), gzip);
  if (br) await writeFile(join(out, `${path}.br`), br);
  files.push({
    path, type: TYPES[extname(path)], bytes: bytes.length, gzip: gzip ? gzip.length : null, br: br ? br.length : null, immutable,
  });
}

const common = {
  absWorkingDir: here,
  outdir: out,
  bundle: true,
  minify: true,
  write: false,
  target: ["es2021", "chrome100", "firefox100", "safari15.4"],
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};
// A script without imports: it runs before the modules are here.
const early = await esbuild.build({ ...common, entryPoints: { early: "src/early.ts" }, format: "iife" });
const result = await esbuild.build({
  ...common,
  entryPoints: { main: "src/main.tsx", style: "src/style/style.css" },
  // A page's code is a file of its own, fetched when the page is opened; code that pages share is named by what it holds.
  splitting: true,
  chunkNames: "assets/[name]-[hash]",
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  metafile: true,
  loader: { ".woff2": "file" },
  assetNames: "assets/[name]-[hash]",
  publicPath: "/",
  define: { "process.env.NODE_ENV": '"production"' },
});

/* The chunks that main.js imports become one file: a browser has six connections, and 15 files of a kilobyte would queue before
   the first answers of the API. Other files import from it under names that carry the chunk's number. */
const outputs = result.metafile.outputs;
const main = Object.keys(outputs).find((name) => outputs[name].entryPoint === "src/main.tsx");
const merged = new Set();
const follow = (name) => outputs[name].imports.filter((i) => i.kind === "import-statement").forEach((i) => {
  if (merged.has(i.path)) return;
  merged.add(i.path);
  follow(i.path);
});
follow(main);
const chunks = [...merged].sort();
const textOf = new Map(result.outputFiles.map((f) => [`assets/${basename(f.path)}`, f]));
const bundled = await esbuild.build({
  ...common,
  format: "esm",
  stdin: { contents: chunks.map((name, n) => outputs[name].exports.map((e) => `export { ${e} as c${n}_${e} } from "/assets/${basename(name)}";`).join("\n")).join("\n"), resolveDir: here },
  plugins: [{ name: "outputs", setup(build) {
    build.onResolve({ filter: /^\/assets\// }, ({ path }) => ({ path: path.slice(1), namespace: "outputs" }));
    build.onLoad({ filter: /.*/, namespace: "outputs" }, ({ path }) => ({ contents: textOf.get(path).contents, loader: "js" }));
  } }],
});
const shared = Buffer.from(bundled.outputFiles[0].contents);
const sharedHash = createHash("sha256").update(shared).digest("hex").slice(0, 10);
const sharedName = `assets/shared-${sharedHash}.js`;
/* A file that imports from the shared one gets its hash into the name, since its content changes with it. */
const renamed = new Map();
for (const file of result.outputFiles) {
  const name = basename(file.path);
  if (file.path.startsWith(join(out, "assets") + sep) && name.endsWith(".js")) renamed.set(name, name.replace(/\.js$/, `-${sharedHash.slice(0, 4)}.js`));
}
function linked(text) {
  chunks.forEach((path, n) => {
    const name = basename(path);
    text = text.replace(new RegExp(`import\\{([^{}]*)\\}from"/assets/${name}";`, "g"), (_, list) =>
      `import{${list.split(",").map((one) => { const [from, to] = one.split(" as "); return `c${n}_${from} as ${to ?? from}`; }).join(",")}}from"/${sharedName}";`)
      .replaceAll(`import"/assets/${name}";`, `import"/${sharedName}";`);
    if (text.includes(name)) throw new Error(`${name} is imported in a form that build.mjs does not know`);
  });
  for (const [from, to] of renamed) text = text.replaceAll(`/assets/${from}`, `/assets/${to}`);
  return text;
}

await rm(out, { recursive: true, force: true });
const files = [];
const names = new Map();
const hashed = (name, bytes) => {
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 10);
  return `assets/${basename(name, extname(name))}-${hash}${extname(name)}`;
};
for (const file of [...early.outputFiles, ...result.outputFiles]) {
  const name = basename(file.path);
  if (chunks.some((path) => basename(path) === name)) continue;
  const bytes = name.endsWith(".js") ? Buffer.from(linked(file.text)) : Buffer.from(file.contents);
  const path = file.path.startsWith(join(out, "assets") + sep) ? `assets/${renamed.get(name) ?? name}` : hashed(name, bytes);
  names.set(name, path);
  await put(files, path, bytes, true);
}
const icon = await readFile(join(here, "src/icon.svg"));
names.set("icon.svg", hashed("icon.svg", icon));
await put(files, names.get("icon.svg"), icon, true);

await put(files, sharedName, shared, true);
// Fetched beside main.js, not after it.
names.set("preload", `<link rel="modulepreload" href="/${sharedName}">\n`);

const html = (await readFile(join(here, "index.html"), "utf8")).replace(/\{\{([\w.]+)\}\}/g, (_, name) => {
  const path = names.get(name);
  if (path === undefined) throw new Error(`index.html names ${name}, which the bundle does not contain`);
  return name === "preload" ? path : `/${path}`;
});
await put(files, "index.html", Buffer.from(html), false);
files.sort((a, b) => (a.path < b.path ? -1 : 1));
await writeFile(join(out, "manifest.json"), `${JSON.stringify({ pages: PAGES, files }, null, 1)}\n`);
const shown = new Set(["main.js", "style.css", "early.js"].map((name) => names.get(name)));
shown.add(sharedName);
const size = files.filter((f) => shown.has(f.path)).reduce((sum, f) => sum + f.gzip, 0);
for (const f of files) console.log(`${f.path} ${f.bytes} bytes${f.gzip ? `, ${f.gzip} gzip` : ""}`);
console.log(`first page: ${size} bytes gzip in ${shown.size} files`);
