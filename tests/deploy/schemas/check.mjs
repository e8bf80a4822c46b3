// The action and the list of components, checked by their publishers' own descriptions.
// usage: node check.mjs MODULES ACTION.yml BOM.json     MODULES: folder with the packages of package.json
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const [modules, action, bom] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, "package.json"));
const faults = [];

// The parser imports JSON without an attribute, which Node.js refuses: bundle it first.
const bundle = path.resolve(modules, "parser.cjs");
await require("esbuild").build({
  stdin: { contents: `export { parseAction } from "@actions/workflow-parser/actions/action-parser"; export { NoOperationTraceWriter } from "@actions/workflow-parser";`, resolveDir: path.resolve(modules) },
  bundle: true, platform: "node", format: "cjs", outfile: bundle, logLevel: "error",
});
const { parseAction, NoOperationTraceWriter } = require(bundle);
const parsed = parseAction({ name: action, content: fs.readFileSync(action, "utf8") }, new NoOperationTraceWriter());
for (const error of parsed.context.errors.getErrors()) faults.push(`${action}: ${error.message}`);
if (!parsed.value) faults.push(`${action}: nothing was read`);

const folder = path.join(path.dirname(require.resolve("@cyclonedx/cyclonedx-library/package.json")), "res/schema");
const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, name), "utf8"));
const Ajv = require("ajv").default;
const ajv = new Ajv({ strict: false, allErrors: true });
require("ajv-formats").default(ajv);
for (const format of ["iri-reference", "idn-email"]) ajv.addFormat(format, true);
for (const name of ["spdx.SNAPSHOT.schema.json", "jsf-0.82.SNAPSHOT.schema.json"]) ajv.addSchema({ ...read(name), $id: `http://cyclonedx.org/schema/${name}` });
const validate = ajv.compile(read("bom-1.5.SNAPSHOT.schema.json"));
if (!validate(JSON.parse(fs.readFileSync(bom, "utf8"))))
  for (const error of validate.errors) faults.push(`${bom}${error.instancePath}: ${error.message}`);

for (const fault of faults) console.error(fault);
console.log(`schemas: ${faults.length} fault(s)`);
process.exit(faults.length ? 1 : 0);
