/** GitHub's published descriptions (OpenAPI): is a request, or a webhook, one that they know? */
import { json, load } from "./packages.mjs";

const { default: Ajv } = load("ajv");

/** OpenAPI 3.0 says "nullable", JSON Schema a list of types. In place. */
function modern(node) {
  if (Array.isArray(node)) {
    node.forEach(modern);
  } else if (node && typeof node === "object") {
    if (node.nullable === true && typeof node.type === "string") node.type = [node.type, "null"];
    if (node.nullable === true && Array.isArray(node.enum)) node.enum.push(null);
    delete node.nullable;
    delete node.discriminator;
    Object.values(node).forEach(modern);
  }
  return node;
}

class Description {
  constructor(file) {
    this.doc = modern(json(file));
    this.ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false, logger: false });
    this.ajv.addSchema({ $id: "doc", components: this.doc.components });
    this.compiled = new Map();
  }

  resolve(node) {
    return node?.$ref ? node.$ref.slice(2).split("/").reduce((at, key) => at[key], this.doc) : node;
  }

  faults(key, schema, value) {
    if (!this.compiled.has(key)) {
      const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"doc#/');
      this.compiled.set(key, this.ajv.compile(JSON.parse(text)));
    }
    const validate = this.compiled.get(key);
    return validate(value) ? [] : validate.errors.map((e) => `${key}${e.instancePath}: ${e.message}`);
  }
}

let api, hooks;

/** The path of the description that a request's path is an instance of; literal parts win. */
function templateOf(paths, path) {
  const parts = path.split("/");
  const fits = Object.keys(paths).filter((template) => {
    const wanted = template.split("/");
    return wanted.length === parts.length && wanted.every((w, i) => w.startsWith("{") || w === parts[i]);
  });
  return fits.sort((a, b) => a.split("{").length - b.split("{").length)[0];
}

/** Faults of a request to GitHub; none: []. */
export function requestFaults(method, url, headers, body) {
  api ??= new Description("@octokit/openapi/generated/api.github.com.json");
  const template = templateOf(api.doc.paths, url.pathname);
  const operation = api.doc.paths[template]?.[method.toLowerCase()];
  const name = `${method} ${template ?? url.pathname}`;
  const faults = [];
  if (!operation) return [`${name}: not published`];

  const parameters = (operation.parameters ?? []).map((p) => api.resolve(p));
  for (const [key, value] of url.searchParams) {
    const known = parameters.find((p) => p.in === "query" && p.name === key);
    const typed = known?.schema.type === "integer" ? Number(value) : value;
    if (!known) faults.push(`${name}: query "${key}" is not published`);
    else faults.push(...api.faults(`${name}?${key}`, known.schema, typed));
  }
  const content = api.resolve(operation.requestBody)?.content?.["application/json"];
  if (body !== undefined && !content) faults.push(`${name}: takes no body`);
  if (content && body !== undefined) {
    const schema = api.resolve(content.schema);
    const known = new Set([schema, ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].flatMap((s) => Object.keys(api.resolve(s).properties ?? {})));
    faults.push(...api.faults(name, content.schema, body));
    for (const key of Object.keys(body)) if (!known.has(key)) faults.push(`${name}: member "${key}" is not published`);
    if (headers["content-type"] !== "application/json") faults.push(`${name}: content type ${headers["content-type"]}`);
  }
  if (content && body === undefined && api.resolve(operation.requestBody).required) faults.push(`${name}: needs a body`);
  if (headers.accept !== "application/vnd.github+json") faults.push(`${name}: accept ${headers.accept}`);
  if (headers["x-github-api-version"] !== "2022-11-28") faults.push(`${name}: version ${headers["x-github-api-version"]}`);
  if (!headers["user-agent"]) faults.push(`${name}: no user agent`);
  return faults;
}

/** Members that GitHub added after the examples were recorded, and times that it sends as numbers, too. */
const NEWER = /must have required property '(node_id|app_slug|has_discussions|details_url|permissions|events|disabled)'|(created|updated)_at: must be string/;

/** Faults of a webhook's payload. */
export function webhookFaults(event, payload) {
  hooks ??= new Description("@octokit/openapi-webhooks/generated/api.github.com.json");
  const dashes = (text) => text.replaceAll("_", "-");
  const name = [dashes(event), payload.action && dashes(payload.action)].filter(Boolean).join("-");
  const operation = (hooks.doc.webhooks[name] ?? hooks.doc.webhooks[dashes(event)])?.post;
  if (!operation) return [`webhook ${name}: not published`];
  return hooks.faults(name, operation.requestBody.content["application/json"].schema, payload).filter((fault) => !NEWER.test(fault));
}
