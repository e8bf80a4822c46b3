#!/usr/bin/env python3
"""Holds the tree to its floors: an #include names a folder below, never one above or beside.

Usage: check_layers.py ROOT     prints each include that breaks the order, and each public type that two headers
                                define, and each service that binds a statement by position or works on JSON; exit 1
                                if there is any.
       check_layers.py ROOT --headers CC FLAG...   also compiles every header alone.
"""

import os
import re
import subprocess
import sys
import tempfile

# Folders that each folder may include, besides itself. The longest folder name that matches applies.
ALLOWED = {
    "core/base": [],
    "core/http": ["core/base"],
    "core/git": ["core/base", "core/owners", "core/wire"],
    "core/stats": ["core/base"],
    "core/changepoint": ["core/base", "core/stats"],
    "core/blocks": ["core/base", "core/stats"],
    "core/bisect": ["core/base", "core/stats"],
    "core/suspects": ["core/base", "core/stats"],
    "core/owners": ["core/base"],
    "core/queue": ["core/base", "core/stats"],
    "core/schedule": ["core/base"],
    "core/select": ["core/base"],
    "core/wire": ["core/base", "core/stats"],
    "core/forge": ["core/base", "core/http", "core/wire", "core/stats"],
    "core/comparison": ["core/base", "core/stats", "core/wire", "core/blocks"],
    "core/comment": ["core/base", "core/stats", "core/wire", "core/comparison", "core/forge"],
    "core/findings": ["core/base"],
    "core/library": ["core/base", "core/stats", "core/changepoint", "core/bisect", "core/wire", "core/comparison"],
    "core/import": ["core/base", "core/stats", "core/wire"],
    "core/machine": ["core/base", "core/wire"],
    "core/objects": ["core/base", "core/stats", "core/wire"],
    "core/trace": ["core/base"],
    "core/analysis": ["core/base", "core/stats", "core/trace"],
    "core/analysis/explain": ["core/base", "core/stats", "core/trace", "core/wire", "core/analysis"],
    "core/analysis/report": ["core/base", "core/stats", "core/trace", "core/wire", "core/forge", "core/analysis"],
    "kernels/cpu": ["core/base"],
    "kernels/accel": ["core/base", "core/trace"],
    "server/repo": ["core", "schema"],
    "server/services": ["core", "server/repo"],
    "server/http": ["core", "server/services", "server/repo"],
    "server/bot": ["core", "server/services", "server/repo"],
    "server/handlers": ["core", "server/services", "server/bot", "server/http", "server/repo"],
    "server/notify": ["core", "server/services", "server/repo"],
    "server/workers": ["core", "server/bot", "server/notify", "server/services", "server/repo"],
    "server": ["core", "schema"],  # main.c and its settings: above all of the server
    "runner": ["core"],
    "bench": ["core", "kernels"],
    "bench/studies/sandbox": ["core", "runner"],  # it measures the runner's sandbox
    "cli": ["schema", "core", "bench", "runner", "kernels"],
    "schema": ["core/base"],
    "tests": ["core", "kernels", "server", "runner", "bench", "cli", "schema"],
}
# Words that a folder may not contain: kernels hold no timing code (the harness measures them from outside), and the
# harness has no notion of commits (its caller attributes the numbers).
MUTE = {
    "kernels": (r"core/base/clock\.h|<time\.h>|<sys/time\.h>|\b(clock_gettime|gettimeofday)\s*\(|\bclock\(\)|"
                r"rdtsc|pfc_clock_|perf_event_open", "timing"),
    "bench/harness": (r"core/git|core/http|[.>]commit\b|PERFCI_COMMIT", "commits"),
    "bench/machine": (r"core/git|core/http|[.>]commit\b|PERFCI_COMMIT", "commits"),
    "bench/suite": (r"core/git|core/http|[.>]commit\b|PERFCI_COMMIT", "commits"),
    "bench/counters": (r"core/git|core/http|[.>]commit\b|PERFCI_COMMIT", "commits"),
}
# Rules see structs: server/repo binds parameters by position and reads rows by column, by the functions that
# schema/statements.py makes of schema/queries.
BY_POSITION = re.compile(r"\bpfc_args_\w+|\bpfc_args\b|\bpfc_res_(?!free\b)\w+|\bpfc_tx_(?:query|copy)\w*|"
                         r"\bpfc_rows_(?:query|read|page|one)\b|\bpfc_query_id\b")
# Services take and return structs: handlers decode and encode JSON, server/repo/documents reads and writes the columns
# of type jsonb.
JSON = re.compile(r"<jansson\.h>|\bjson_\w+|\bJSON_[A-Z_]+\b|\bpfc_json_\w+|\bpfc_\w+_from_json\b|\bpfc_\w+_json\(|"
                  r'\\"\w+\\"\s*:')
# Runs arrive as text in a ticket, so that a thread of the writer parses them and not the request's.
JSON_ALLOWED = {"server/services/ingest/writer.c": "pfc_run_from_json"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
# Files made by the build are in build/PRESET/generated and belong to the folder they are named for.
# A header for one instruction set is compiled as the files that include it are.
ISA_HEADERS = {"avx2.h": ["-mavx2", "-mfma"], "avx512.h": ["-mavx512f", "-mfma"]}
# Programs of made repositories, which studies measure: nothing of the product is in them.
APART = ("bench/studies/night",)
TOPS = ("core", "kernels", "server", "runner", "bench", "cli", "schema", "tests")


def sources(root):
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            if any(within(os.path.relpath(folder, root), apart) for apart in APART):
                continue
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def floor_of(path):
    best = [key for key in ALLOWED if path == key or path.startswith(key + "/")]
    return max(best, key=len) if best else None


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def check_includes(root):
    faults = []
    seen = 0
    for path in sources(root):
        floor = floor_of(path)
        if floor is None:
            faults.append(f"{path}: its folder is not in the list of floors")
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        for target in INCLUDE.findall(text):
            seen += 1
            if not target.startswith(tuple(top + "/" for top in TOPS)):
                faults.append(f'{path}: "{target}" is not written from the root')
            elif not within(target, floor) and not any(within(target, ok) for ok in ALLOWED[floor]):
                faults.append(f'{path}: {floor} may not include "{target}"')
    if seen == 0:
        faults.append(f"no include was found under {root}")
    return faults


TYPE = re.compile(r"^\}\s*(pfc_\w+)\s*;|^(?:struct|enum|union)\s+(pfc_\w+)\s*\{", re.M)


def check_types(root):
    """A reader who looks for a type finds one definition: two headers may not define the same name."""
    faults, homes = [], {}
    for path in sources(root):
        if not path.endswith(".h") or within(path, "tests"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
        for match in TYPE.finditer(text):
            name = match.group(1) or match.group(2)
            home = homes.setdefault(name, path)
            if home != path:
                faults.append(f"{path}: {name} is defined in {home} as well")
    return faults


def check_mute(root):
    faults = []
    for folder, (words, subject) in MUTE.items():
        paths = [path for path in sources(root) if within(path, folder)]
        if not paths:
            faults.append(f"{folder}: nothing there to hold silent about {subject}")
        for path in paths:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if re.search(words, line):
                        faults.append(f"{path}:{number}: {folder} knows nothing of {subject}")
    return faults


def check_statements(root):
    faults = []
    for path in sources(root):
        if not within(path, "server/services"):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = BY_POSITION.search(line)
                if match:
                    faults.append(f"{path}:{number}: {match.group()}: a statement is called by its function")
                match = JSON.search(line)
                if match and match.group() != JSON_ALLOWED.get(path):
                    faults.append(f"{path}:{number}: {match.group()}: services hold no JSON (server/repo/documents)")
    return faults


def check_headers(root, compiler):
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sources(root):
            if not path.endswith(".h") or path.startswith("tests/"):
                continue
            unit = os.path.join(folder, "one.c")
            with open(unit, "w", encoding="utf-8") as file:
                file.write(f'#include "{path}"\n#include "{path}"\ntypedef int unit_is_not_empty;\n')
            isa = next((flags for end, flags in ISA_HEADERS.items() if path.endswith(end)), [])
            done = subprocess.run(
                compiler + isa + ["-I" + root, "-fsyntax-only", unit], capture_output=True, text=True
            )
            if done.returncode != 0:
                faults.append(f"{path} does not compile alone:\n{done.stderr.strip()[:600]}")
    return faults


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: check_layers.py ROOT [--headers CC FLAG...]")
    root = os.path.abspath(sys.argv[1])
    faults = check_includes(root) + check_types(root) + check_mute(root) + check_statements(root)
    if "--headers" in sys.argv:
        faults += check_headers(root, sys.argv[sys.argv.index("--headers") + 1 :])
    for fault in faults:
        print(fault)
    print(f"layers: {len(faults)} fault(s)")
    sys.exit(1 if faults else 0)


main()
