#!/usr/bin/env python3
"""Writes components.json, the schemas of answers.py and the examples of examples.py, compacted, as a C array: embed.py IN.json OUT.c."""
import json
import pathlib
import sys

from answers import SCHEMAS
from examples import EXAMPLES

components = json.loads(pathlib.Path(sys.argv[1]).read_text())
twice = components["schemas"].keys() & SCHEMAS.keys()
if twice:
    sys.exit(f"{sys.argv[1]} and answers.py both have {sorted(twice)}")
components["schemas"].update(SCHEMAS)
for name, example in EXAMPLES.items():
    components["schemas"][name]["examples"] = [example]
data = json.dumps(components, separators=(",", ":")).encode()
rows = [",".join(str(b) for b in data[i : i + 32]) for i in range(0, len(data), 32)]
pathlib.Path(sys.argv[2]).write_text(
    '/* Written by server/handlers/description/embed.py. */\n#include "server/handlers/description/components.h"\n\n'
    "const unsigned char pfc_components_json[] = {\n" + ",\n".join(rows) + "\n};\n"
    f"const size_t pfc_components_json_len = {len(data)};\n")
