#!/usr/bin/env python3
"""Software bill of materials of this tree, as CycloneDX 1.5 JSON on standard output.

usage: sbom.py [--installed]
Components: the Debian packages of deploy/packages/build.txt and runtime.txt, and the npm packages of web/package-lock.json
that are part of the dashboard. --installed adds the versions that dpkg has here. The serial number and the time depend on
the content and SOURCE_DATE_EPOCH alone.
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version():
    return re.search(r'#define PFC_VERSION "([^"]+)"', (ROOT / "core/base/base.h").read_text()).group(1)


def installed(name):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else ""


def debian(ask):
    for kind, scope in (("runtime", "optional"), ("build", "required")):
        for line in (ROOT / f"deploy/packages/{kind}.txt").read_text().splitlines():
            names = line.split("#")[0].strip()
            if not names:
                continue
            found = {name: installed(name) for name in names.split("|")} if ask else {}
            name = next((n for n in found if found[n]), names.split("|")[0])
            component = {"type": "library", "bom-ref": f"deb/{name}", "name": name, "scope": scope,
                         "purl": f"pkg:deb/debian/{name}" + (f"@{found[name]}" if found.get(name) else "")}
            if found.get(name):
                component["version"] = found[name]
            yield component


def npm():
    lock = json.loads((ROOT / "web/package-lock.json").read_text())
    for path, entry in sorted(lock["packages"].items()):
        if not path or entry.get("dev"):
            continue
        name = path.rpartition("node_modules/")[2]
        component = {"type": "library", "bom-ref": f"npm/{name}@{entry['version']}", "name": name, "version": entry["version"],
                     "scope": "required", "purl": f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"}
        if entry.get("license"):
            component["licenses"] = [{"license": {"id": entry["license"]}}]
        if entry.get("integrity", "").startswith("sha512-"):
            import base64
            component["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(entry["integrity"][7:]).hex()}]
        yield component


def main():
    if sys.argv[1:] not in ([], ["--installed"]):
        sys.exit(__doc__)
    components = [*debian("--installed" in sys.argv), *npm()]
    digest = hashlib.sha256(json.dumps([version(), components], sort_keys=True).encode()).hexdigest()
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    root = {"type": "application", "bom-ref": "perfci", "name": "perfci", "version": version(),
            "licenses": [{"license": {"id": "Apache-2.0"}}]}
    document = {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32], version=4)}",
                "version": 1, "metadata": {"timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": root},
                "components": components, "dependencies": [{"ref": "perfci", "dependsOn": [c["bom-ref"] for c in components]}]}
    print(json.dumps(document, indent=1))


main()
