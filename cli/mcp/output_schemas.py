#!/usr/bin/env python3
"""Writes the schemas of the HTTP API's answers as a C array, for the output schemas of `perfci mcp`:
output_schemas.py DESCRIPTION_FOLDER OUT.c.

A client of the Model Context Protocol refuses a result that breaks its schema, and the service may be older or newer than this
program. So members and words that are not known pass, and members may be absent; types and meanings are kept.

"own" has the members whose text is always one of a list of words, an id or a time: perfci wrote it, and it quotes no author.
"""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
from answers import SCHEMAS  # noqa: E402 (the folder is an argument)

schemas = {**json.loads((folder / "components.json").read_text(encoding="utf-8"))["schemas"], **SCHEMAS}


def loosen(schema):
    """A schema that later and earlier services pass, too."""
    if isinstance(schema, list):
        return [loosen(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {}
    for key, value in schema.items():
        if key == "enum":
            out["type"] = ["string", "null"] if None in value else "string"
            out["description"] = "one of: " + ", ".join(str(word) for word in value if word is not None)
        elif key == "const":
            out["type"] = "string" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"
        elif key == "$ref":
            out[key] = "#/$defs/" + value.rsplit("/", 1)[-1]
        elif key == "properties":
            out[key] = {name: loosen(item) for name, item in value.items()}
        elif key == "additionalProperties" and value is False or key in ("required", "examples", "pattern", "format"):
            continue
        else:
            out[key] = loosen(value)
    return out


def resolve(schema):
    while "$ref" in schema:
        schema = schemas[schema["$ref"].rsplit("/", 1)[-1]]
    return schema


def texts(schema):
    """Each schema of text in it: itself, its items or its alternatives."""
    schema = resolve(schema)
    if "enum" in schema or "const" in schema:
        yield True
    elif "string" in schema.get("type", ""):
        yield "pattern" in schema or schema.get("format") == "date-time"
    for item in [schema.get("items")] + schema.get("anyOf", []):
        if isinstance(item, dict):
            yield from texts(item)


def members(schema):
    """(name, is it perfci's own) of each member with text."""
    if isinstance(schema, list):
        for item in schema:
            yield from members(item)
    elif isinstance(schema, dict):
        for name, item in schema.get("properties", {}).items():
            yield from ((name, own) for own in texts(item))
            # The names of an open object's members are not known, nor whose text they have.
        for item in schema.values():
            yield from members(item)


found = {}
for name, own in members(list(schemas.values())):
    found[name] = found.get(name, True) and own
# Names of projects, machines, runners and branches are chosen by people.
own = {name: True for name, all_own in sorted(found.items()) if all_own and name not in ("project", "name", "runner")}

reached, todo = {}, [name for name in schemas if name.endswith("Answer")]
while todo:
    name = todo.pop()
    if name in reached:
        continue
    reached[name] = loosen(schemas[name])
    text = json.dumps(reached[name])
    todo += [other for other in schemas if f'"#/$defs/{other}"' in text]

data = json.dumps({"schemas": reached, "own": own}, separators=(",", ":"), sort_keys=True).encode()
rows = [",".join(str(byte) for byte in data[i:i + 32]) for i in range(0, len(data), 32)]
pathlib.Path(sys.argv[2]).write_text(
    '/* Written by cli/mcp/output_schemas.py. */\n#include "cli/mcp/mcp.h"\n\n'
    "const unsigned char mcp_schemas_json[] = {\n" + ",\n".join(rows) + "\n};\n"
    f"const size_t mcp_schemas_json_len = {len(data)};\n", encoding="utf-8")
