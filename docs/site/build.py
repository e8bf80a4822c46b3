#!/usr/bin/env python3
"""Builds the documentation: build.py ROOT BIN_DIR OUT

Copies the pages of docs/ to OUT.source, writes the pages of the reference beside them (reference.py, from the programs
in BIN_DIR and the sources in ROOT), and runs mkdocs in strict mode: a page that the navigation does not name, or a link
to a file that does not exist, is an error. OUT is replaced only when everything has succeeded.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import reference

# Links of the pages to files of the repository that are not part of the documentation are shown as text.
OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+((?!docs/)(?:bench|core|server|web|deploy|tests|CONTRIBUTING)[^)]*)\)")


def copy_pages(docs, source):
    for path in sorted(docs.rglob("*")):
        name = path.relative_to(docs)
        if path.is_file() and name.parts[0] != "site" and path.suffix in (".md", ".svg", ".png"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".md":
                text = OUTSIDE.sub(lambda match: f"{match[1]} (`{match[2].split('#')[0]}`)"
                                   if f"`{match[2].split('#')[0]}`" != match[1] and match[2].split("#")[0] != match[1]
                                   else f"`{match[2].split('#')[0]}`", path.read_text(encoding="utf-8"))
                (source / name).write_text(text, encoding="utf-8")
            else:
                shutil.copy(path, source / name)


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: build.py ROOT BIN_DIR OUT")
    root, programs, out = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    source, fresh = out.with_name(out.name + ".source"), out.with_name(out.name + ".new")
    for folder in (source, fresh):
        shutil.rmtree(folder, ignore_errors=True)
    copy_pages(root / "docs", source)
    written = reference.write(root, programs, source / "reference")
    # Relative links of a page must work from a folder and from a server alike: "use_directory_urls: false".
    config = (root / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    config = config.replace("@COMMANDS@", "\n".join(f"    - perfci {name}: reference/cli/{name}.md" for name in written))
    config = config.replace("@THEME@", str(root / "docs/site/theme"))
    file = source.with_suffix(".yml")
    file.write_text(config + f"docs_dir: {source}\nsite_dir: {fresh}\n", encoding="utf-8")
    done = subprocess.run([shutil.which("mkdocs") or "mkdocs", "build", "--strict", "--config-file", file],
                          env=dict(os.environ, PYTHONWARNINGS="ignore"), check=False)
    if done.returncode:
        sys.exit(f"build.py: mkdocs failed with status {done.returncode}: the pages are in {source}")
    for unused in ("sitemap.xml", "sitemap.xml.gz"):  # they hold the time of the build
        (fresh / unused).unlink(missing_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    fresh.rename(out)


main()
