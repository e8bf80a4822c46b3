#!/usr/bin/env python3
"""Writes the bundled dashboard as C arrays: embed.py OUT.c [DIST].

DIST holds manifest.json, {"pages": [...], "files": [{"path", "type", "gzip", "br", "immutable"}]}, and the
files it names, compressed forms beside them as PATH.gz and PATH.br. Without DIST the program gets one page
that says the dashboard was not built in.
"""
import json
import pathlib
import sys

PLAIN = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>perfci</title></head>
<body>
<h1>perfci</h1>
<p>This server was built without its dashboard. The HTTP API is described at
<a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p>
</body>
</html>
"""


def array(name, data):
    rows = [",".join(str(b) for b in data[i : i + 32]) for i in range(0, len(data), 32)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "\n};\n"


def text(value):
    return json.dumps(value)


def main():
    out = pathlib.Path(sys.argv[1])
    dist = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    if dist:
        manifest = json.loads((dist / "manifest.json").read_text())
    else:
        manifest = {"pages": ["/"], "files": [
            {"path": "index.html", "type": "text/html; charset=utf-8", "gzip": None, "immutable": False}]}

    parts = ['/* Written by server/http/embed.py. */\n#include "server/http/assets.h"\n\n']
    rows = []
    for i, f in enumerate(sorted(manifest["files"], key=lambda f: f["path"])):
        data = (dist / f["path"]).read_bytes() if dist else PLAIN.encode()
        parts.append(array(f"data_{i}", data))
        forms = []
        for coding, ending in (("gzip", ".gz"), ("br", ".br")):
            if f.get(coding):
                form = (dist / (f["path"] + ending)).read_bytes()
                parts.append(array(f"{coding}_{i}", form))
                forms.append(f"{coding}_{i}, {len(form)}")
            else:
                forms.append("NULL, 0")
        packed = ", ".join(forms)
        rows.append(f"    {{ {text(f['path'])}, {text(f['type'])}, data_{i}, {len(data)}, {packed}, "
                    f"{'true' if f['immutable'] else 'false'} }},\n")
    parts.append("const pfc_asset pfc_assets[] = {\n" + "".join(rows) + "};\n")
    parts.append(f"const size_t pfc_assets_len = {len(rows)};\n")
    pages = "".join(f"    {text(p)},\n" for p in manifest["pages"])
    parts.append("const char *const pfc_asset_pages[] = {\n" + pages + "};\n")
    parts.append(f"const size_t pfc_asset_pages_len = {len(manifest['pages'])};\n")
    parts.append(f"const bool pfc_assets_dashboard = {'true' if dist else 'false'};\n")
    out.write_text("".join(parts))


if __name__ == "__main__":
    main()
